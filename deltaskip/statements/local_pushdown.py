"""Predicates of a query for DuckDB that DuckDB does not pass to its source, and that mean the same in Spark.

A relation that stands alone in its FROM is filtered by the WHERE that follows it, and by nothing before. So the terms
of that WHERE, which AND joins, may filter the scan of the table, if every row for which DuckDB finds them TRUE is one
for which Spark does. DuckDB applies them again. Nothing is passed where anything is uncertain.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from deltaskip.errors import PredicateError
from deltaskip.lazy_regex import regex
from deltaskip.sparkexpr import nodes as n
from deltaskip.sparkexpr import parse_sql, to_sql
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.text.sql_text import SqlToken
from deltaskip.statements.references import Reference

_AFTER_WHERE = (
    *("GROUP", "HAVING", "ORDER", "LIMIT", "OFFSET", "WINDOW", "QUALIFY", "UNION", "INTERSECT", "EXCEPT", "SELECT"),
)
_COMPARED = {"=": "=", "<=>": "<=>", "<": ">", "<=": ">=", ">": "<", ">=": "<=", "!=": "!="}
"""The operators, with those of the same comparison from right to left."""
_WHOLE = (t.INTEGER, t.LONG)
_DAY = regex(r"\d{4}-\d\d-\d\d")


def sure_predicate(text: str, tokens: Sequence[SqlToken], reference: Reference, schema: t.StructType) -> str | None:
    """Return a predicate, in Spark SQL, that rows of a table must satisfy to matter for a query; None for none.

    Args:
        text: The query, in the SQL of DuckDB.
        tokens: Its tokens.
        reference: The table in the query.
        schema: Its columns.
    """
    place = own_where(text, tokens, reference)
    if place is None:
        return None
    try:
        where = parse_sql(text[slice(*place)])
    except PredicateError:
        return None
    terms = [_sure(each, reference.alias, schema) for each in _terms(where)]
    found = [to_sql(each) for each in terms if each is not None]
    return " AND ".join(f"({each})" for each in found) or None


def own_where(text: str, tokens: Sequence[SqlToken], reference: Reference) -> tuple[int, int] | None:
    """Return start and end of the WHERE of a table that stands alone in its FROM; None for none.

    Also None if Spark and DuckDB may read a string or a name of the query differently. For arguments, see
    `sure_predicate`.
    """
    # Strings with backslashes are others in DuckDB, and names may stand in double quotes.
    if "\\" in text or '"' in text or any(token.is_word("SAMPLE", "TABLESAMPLE") for token in tokens):
        return None
    at = next(i for i, token in enumerate(tokens) if token.start >= reference.start)
    end = next((i for i, token in enumerate(tokens) if token.start >= reference.end), len(tokens))
    if not tokens[at - 1].is_word("FROM"):
        return None
    end += alias_length(tokens[end:], reference)
    if end >= len(tokens) or not tokens[end].is_word("WHERE"):
        return None
    return tokens[end].end, tokens[_end_of_where(tokens, end + 1) - 1].end


def alias_length(after: Sequence[SqlToken], reference: Reference) -> int:
    """Return how many tokens after a table are its alias: 0, 1, or 2 with AS."""
    has_as = bool(after) and after[0].is_word("AS")
    name = after[has_as] if len(after) > has_as else None
    if name is None or name.kind not in ("word", "name") or (name.is_word("WHERE", "LIMIT") and not has_as):
        return 0
    return has_as + 1 if name.text == reference.alias else 0


def join_predicates(predicates: Sequence[str], schema: t.StructType) -> list[str]:
    """Return the predicates of DuckDB, over the columns of a table, that mean the same in Spark, in its SQL.

    Args:
        predicates: The predicates, without qualifiers before columns.
        schema: The columns.
    """
    found = []
    for text in predicates:
        try:
            terms = _terms(parse_sql(text))
        except PredicateError:
            continue
        found += [to_sql(each) for each in (_same(term, schema) for term in terms) if each is not None]
    return found


def _same(node: n.Node, schema: t.StructType) -> n.Node | None:
    """A term that has the same value in Spark and in DuckDB; None otherwise."""
    match node:
        case n.Compare(op, n.Literal() as literal, n.Column() as column) if op in _COMPARED:
            return _same(n.Compare(_COMPARED[op], column, literal), schema)
        case n.Compare(_, n.Column() as column, n.Literal(value, kind)) if value is not None:
            found = _over(node, column, "", schema, _same_literals([(value, kind)]))
            return found or _sure(node, "", schema)
        case n.In(n.Column() as column, tuple(values)):
            literals = [(each.value, each.type) for each in values if isinstance(each, n.Literal)]
            return _over(node, column, "", schema, _same_literals(literals) if len(literals) == len(values) else ())
        case n.IsNull(n.Column() as column) | n.Not(n.IsNull(n.Column() as column)):
            return _over(node, column, "", schema, (*t.INTEGRAL_BITS, *t.FLOATING, t.STRING, *t.DATETIMES, t.BOOLEAN))
    return _sure(node, "", schema)


def _same_literals(literals: Sequence[tuple[object, t.DataType]]) -> Sequence[t.DataType]:
    """The types of columns that Spark and DuckDB compare alike with each of some constants."""
    if all(kind in _WHOLE and value is not None for value, kind in literals):
        return tuple(t.INTEGRAL_BITS)
    if all(kind == t.DATE and value is not None for value, kind in literals):
        return (t.DATE,)
    if all(kind == t.STRING and isinstance(value, str) for value, kind in literals):
        days = all(_DAY.fullmatch(str(value)) for value, _ in literals)
        return (t.STRING, t.DATE) if days else (t.STRING,)
    return ()


def _end_of_where(tokens: Sequence[SqlToken], start: int) -> int:
    """The index after the last token of the predicate that begins at an index."""
    depth = 0
    for at in range(start, len(tokens)):
        token = tokens[at]
        if token.text in ("(", "[", "{") and token.kind == "symbol":
            depth += 1
        elif token.text in (")", "]", "}") and token.kind == "symbol":
            depth -= 1
        if depth < 0 or (depth == 0 and token.is_word(*_AFTER_WHERE)):
            return at
    return len(tokens)


def _terms(node: n.Node) -> list[n.Node]:
    return [term for child in node.children for term in _terms(child)] if isinstance(node, n.And) else [node]


def _sure(node: n.Node, alias: str, schema: t.StructType) -> n.Node | None:
    """The term with the column's name alone, if it is TRUE in Spark wherever it is in DuckDB; None otherwise."""
    match node:
        case n.Compare(op, n.Literal() as literal, other) if op in _COMPARED and not isinstance(other, n.Literal):
            return _sure(n.Compare(_COMPARED[op], other, literal), alias, schema)
        case n.Compare(_, n.Column() as column, n.Literal(value, kind)):
            return _over(node, column, alias, schema, _same_comparison(node.op, kind) if value is not None else ())
        case n.Compare(_, n.Cast(n.Column() as column, t.DATE), n.Literal(value, t.DATE)):
            return _over(node, column, alias, schema, (t.TIMESTAMP, t.TIMESTAMP_NTZ) if value is not None else ())
        case n.Compare(_, n.Call("year", (n.Column() as column,)), n.Literal(int(), kind)) if kind in _WHOLE:
            return _over(node, column, alias, schema, (t.DATE, t.TIMESTAMP, t.TIMESTAMP_NTZ))
        case n.Like(n.Column() as column, n.Literal(str() as pattern), _, False):
            return _over(node, column, alias, schema, (t.STRING,) if "_" not in pattern else ())
        case n.Call("starts_with" | "prefix", (n.Column() as column, n.Literal(str()) as prefix)):
            return _over(n.StartsWith(column, prefix), column, alias, schema, (t.STRING,))
        case _:
            return None


def _same_comparison(op: str, kind: t.DataType) -> Sequence[t.DataType]:
    """The types of columns that Spark and DuckDB compare alike with constants of a type, by an operator."""
    # Both compare a double with a number as doubles, and NaN as the greatest one.
    doubles = [t.DOUBLE] if kind in _WHOLE or isinstance(kind, t.DecimalType) else []
    if op != "<=>":
        # DuckDB passes other comparisons itself.
        return doubles
    return [*doubles, *(t.INTEGRAL_BITS if kind in _WHOLE else [t.STRING] if kind == t.STRING else [])]


def _over(
    node: n.Node, column: n.Column, alias: str, schema: t.StructType, types: Collection[t.DataType]
) -> n.Node | None:
    """The term over a top-level column of the table, if it has one of some types; None otherwise."""
    parts = column.parts
    if len(parts) == 2 and t.fold_name(parts[0]) == t.fold_name(alias):
        parts = parts[1:]
    fields = [field for field in schema.fields if t.fold_name(field.name) == t.fold_name(parts[0])]
    if len(parts) != 1 or len(fields) != 1 or fields[0].type not in types:
        return None
    if {t.CHAR_VARCHAR_KEY, t.COLLATIONS_KEY} & fields[0].metadata.keys():
        # Spark does not compare these strings by their bytes.
        return None
    return n.with_node_replaced(node, column, n.Column((fields[0].name,)))
