"""The clauses of a MERGE as the caller gives them, and the checks that need no schema.

# delta-spark, DeltaMergeInto; the same clauses are refused, with other messages
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from deltaskip.engine import is_column
from deltaskip.errors import InvalidArgument, InvalidArgumentType, OptionAdvice, PredicateError
from deltaskip.predicates import warn_of_bare_date
from deltaskip.records import dataclass
from deltaskip.sparkexpr import ColumnExpr, literal_node, to_node, to_sql
from deltaskip.sparkexpr.nodes import Node
from deltaskip.sparkexpr.text.sql_text import sql_tokens

ClauseKind = Literal["matched", "not matched", "not matched by source"]
ClauseAction = Literal["update", "insert", "delete"]


@dataclass(frozen=True, slots=True)
class MergeClause:
    """A WHEN clause.

    Attributes:
        kind: The rows that the clause applies to: pairs of a source row and a target row, source rows without a target
            row, or target rows without a source row.
        action: The action on these rows: update, delete or insert.
        where: Its condition, SQL text, a PySpark Column or an expression of `deltaskip.col`; None if it applies to
            all rows to which no earlier clause applies.
        values: Expressions by column name; None for all columns of the source by name, and for deletions.
        except_: Columns that a clause for all columns leaves out.
    """

    kind: ClauseKind
    action: ClauseAction
    where: Any = None
    values: Mapping[str, Any] | None = None
    except_: tuple[str, ...] = ()

    @property
    def takes_all(self) -> bool:
        """Whether it takes all columns of the source."""
        return self.action != "delete" and self.values is None


def check_clauses(clauses: Iterable[MergeClause], table: str) -> None:
    """Check number and order of the clauses.

    Raises InvalidArgument if there are none, or if a clause without a condition is not the last of its kind.
    """
    found = list(clauses)
    if not found:
        one = OptionAdvice("when_matched_update_all", text="when_matched_update_all()")
        raise InvalidArgument(f"A merge into {table} has no clause: add one, such as {one}.").advising(one)
    last = {clause.kind: i for i, clause in enumerate(found)}
    early = next((c for i, c in enumerate(found) if c.where is None and last[c.kind] != i), None)
    if early is not None:
        raise InvalidArgument(
            f"The {early.action} clause for rows that are {early.kind} has no condition, so the clauses of this kind "
            f"after it never apply: only the last clause of a kind may lack a condition."
        )


def reads_only_changed_rows(clauses: Iterable[MergeClause]) -> bool:
    """Whether a merge depends only on target rows that it changes.

    An unchanged row that matches matters only if it prevents the insertion of a row of the source.
    """
    found = list(clauses)
    matched = [clause for clause in found if clause.kind == "matched"]
    return not any(c.kind == "not matched" for c in found) or (bool(matched) and matched[-1].where is None)


def checked_condition(name: str, value: object) -> Any:
    """Return a condition or None. Raises InvalidArgumentType, or PredicateError for SQL text with a query."""
    if value is None:
        return None
    if isinstance(value, str) and any(token.is_word("SELECT") for token in sql_tokens(value)):
        raise PredicateError(f"{name} contains a query, which a condition of a merge cannot: {value}")
    if isinstance(value, (list, tuple)):
        from deltaskip.sparkexpr import tuples_node

        return tuples_node(value, name)
    return _checked(name, value)


def checked_values(name: str, values: object) -> dict[str, Any]:
    """Return expressions by column name. Raises InvalidArgumentType, or PredicateError for empty text."""
    if not isinstance(values, Mapping):
        raise InvalidArgumentType.of(name, "a dict of expressions by column name", values)
    for key in values:
        if not isinstance(key, str):
            raise InvalidArgumentType.of(f"Each column name in {name}", "a str", key)
    return {key: _checked_value(f"{name}[{key!r}]", value) for key, value in values.items()}


def expression_text(value: object) -> str:
    """Return an expression for the table's history and messages."""
    if isinstance(value, ColumnExpr | Node):
        return to_sql(to_node(value))
    text = str(value)
    # A PySpark Column.
    return text[8:-2] if text.startswith("Column<'") else text


def _checked_value(name: str, value: object) -> Any:
    if isinstance(value, str | ColumnExpr | Node) or is_column(value):
        return _checked(name, value)
    return literal_node(value, name)


def _checked(name: str, value: object) -> Any:
    if isinstance(value, str):
        if not value.strip():
            raise PredicateError(f"{name} is empty: write an SQL expression.")
        warn_of_bare_date(name, value)
        return value
    if isinstance(value, ColumnExpr | Node) or is_column(value):
        return value
    raise InvalidArgumentType.of(name, "SQL text, a Column or an expression of deltaskip.col", value)
