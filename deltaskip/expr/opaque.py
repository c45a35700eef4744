"""SQL without a node: whether it is an expression at all, and which columns it names. Asked of sqlglot."""

from __future__ import annotations

from deltaskip.expr.nodes import Opaque

__all__ = ["is_valid_sql", "opaque"]


def opaque(sql: str) -> Opaque:
    """The Opaque node of `sql`, with the columns that sqlglot finds in it (none where it cannot parse the piece)."""
    from sqlglot import exp

    tree = _parse(sql)
    if tree is None:
        return Opaque(sql)
    found: dict[tuple[str, ...], None] = {}
    for column in tree.find_all(exp.Column):
        parts = [part.name for part in column.parts]
        above = column.parent
        # Beyond four parts sqlglot hangs the rest of the name around the column.
        while isinstance(above, exp.Dot) and isinstance(above.expression, exp.Identifier):
            parts.append(above.expression.name)
            above = above.parent
        if not isinstance(column.this, exp.Star):
            found[tuple(parts)] = None
    return Opaque(sql, tuple(found))


def is_valid_sql(sql: str) -> bool:
    """Whether sqlglot can read `sql` as one expression of Spark SQL."""
    return _parse(sql) is not None


def _parse(sql: str):  # type: ignore[no-untyped-def]
    # sqlglot takes a while to load and only rare predicates need it.
    import sqlglot
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    try:
        return sqlglot.parse_one(sql, dialect="spark", into=exp.Condition)
    except (SqlglotError, RecursionError):
        return None
