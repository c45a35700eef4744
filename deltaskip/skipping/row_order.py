"""The order of a scan's rows: its terms over the columns of a table, and what a row must satisfy to be among the first.

The first n rows are found by predicates. If n rows are known, of which the last has the value v of the first term, a
row can be among the first n only if it is not behind v: in descending order with NULLs last, if `x >= v`. That is a
predicate like those of WHERE, so the proofs of `skipping.proofs` decide which files, row groups and pages may have such
rows: bounds are used as bounds, and never as values (docs/pages/soundness.md, The first rows of an order).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from deltaskip.engine import engine, is_column
from deltaskip.errors import InvalidArgument, InvalidArgumentType, PredicateError
from deltaskip.predicates import expression_node
from deltaskip.records import dataclass
from deltaskip.sparkexpr import ColumnExpr, SortTerm, as_read, to_sql
from deltaskip.sparkexpr import nodes as n
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.bind import bind_expression
from deltaskip.sparkexpr.coerce import type_of
from deltaskip.sparkexpr.types.lengths import declared_type, holds_char

if TYPE_CHECKING:
    from deltaskip.skipping.log_scan import LogScan

_FORMS = "text such as 'ts DESC, id', a Column, or a list of them"
# Types whose values Spark does not sort.
_UNORDERED = (t.VARIANT,)


@dataclass(frozen=True, slots=True)
class OrderTerm:
    """A term of an order, bound to a table.

    Attributes:
        given: The term as written.
        node: The expression, bound; a FieldRef for a column.
        type: Its type; None if only Spark knows it.
        padded: Whether it is a column of type char(n), whose values are compared padded.
    """

    given: SortTerm
    node: n.Node
    type: t.DataType | None
    padded: bool

    @property
    def prunes(self) -> bool:
        """Whether a predicate on the values of the term can be evaluated for rows in this process."""
        return self.type is not None and not self.padded and not isinstance(self.type, t.StructType | t.ArrayType)

    def column(self) -> n.FieldRef | None:
        """The column, if the term is one that a predicate compares."""
        return self.node if self.prunes and isinstance(self.node, n.FieldRef) else None

    def not_behind(self, value: Any, strict: bool) -> n.Node | None:
        """The condition of the rows that sort before a value, or that are equal to it; None for every row.

        Args:
            value: A value of the type, as in Literal; None for NULL.
            strict: Whether equal rows do not satisfy it.
        """
        assert self.type is not None
        subject, null = self.given.node, n.IsNull(self.given.node)
        if value is None:
            if self.given.nulls_first:
                return n.Literal(False, t.BOOLEAN) if strict else null
            return n.Not(null) if strict else None
        op = (">" if self.given.descending else "<") + ("" if strict else "=")
        ahead = n.Compare(op, subject, n.Literal(value, self.type))
        return n.Or((null, ahead)) if self.given.nulls_first else ahead


def given_terms(scan: LogScan, by: object) -> tuple[SortTerm, ...]:
    """Return the terms of an order as a caller gives them.

    Args:
        scan: The scan, whose session may understand SQL text in another way.
        by: Text such as "ts DESC NULLS LAST, id", an expression of `deltaskip.col`, with `desc()` or without, a PySpark
            Column, a SortOrder, or a list of them.

    Raises:
        PredicateError: A term does not parse.
        InvalidArgument: There is no term.
        InvalidArgumentType: A term has another type.
    """
    found: list[SortTerm] = []
    for each in by if isinstance(by, list | tuple) else [by]:
        if isinstance(each, SortTerm):
            found.append(each)
        elif isinstance(each, str):
            if not each.strip():
                raise InvalidArgument(f"by is empty: it must be {_FORMS}.")
            try:
                for text, descending, nulls_first in SortTerm.texts(each):
                    found.append(SortTerm(expression_node(text, meaning=scan.meaning), descending, nulls_first))
            except PredicateError as error:
                raise PredicateError(f"by is not valid: {error}") from error
        elif isinstance(each, ColumnExpr):
            found.append(each.asc())
        elif is_column(each):
            found.append(_of_session(scan, each))
        elif hasattr(each, "path") and hasattr(each, "nulls_first"):
            order: Any = each
            found.append(SortTerm(n.Column(tuple(order.path)), bool(order.descending), bool(order.nulls_first)))
        else:
            raise InvalidArgumentType.of("by", _FORMS, each)
    if not found:
        raise InvalidArgument(f"by is empty: it must be {_FORMS}.")
    return tuple(found)


def bound_terms(scan: LogScan, terms: Sequence[SortTerm]) -> tuple[OrderTerm, ...]:
    """Return the terms bound to the table of a scan.

    Raises:
        PredicateError: A column does not exist, types do not fit, or Spark does not sort values of the type.
        InvalidArgument: A term is a constant.
    """
    snapshot, zone = scan.snapshot, scan.time_zone or "UTC"
    partitions = [field.name for field in snapshot.partition_fields]
    found = []
    for term in terms:
        if not n.columns_of(term.node) and not any(isinstance(part, n.Opaque) for part in n.walk(term.node)):
            raise InvalidArgument(f"by must name columns, such as 'ts DESC', not the constant {to_sql(term.node)}.")
        read = term.node
        if not isinstance(read, n.Column):
            read = as_read(read, snapshot.schema, zone)
        node = bind_expression(read, snapshot.schema, partitions, snapshot.mapping_mode, zone, ansi=scan.in_ansi)
        kind = type_of(node)
        if kind in _UNORDERED or isinstance(kind, t.MapType):
            raise PredicateError(
                f"Spark does not sort values of type {t.simple_string(kind).upper()}: by must not have "
                f"{to_sql(term.node)}."
            )
        declared = declared_type(snapshot.schema, node.logical) if isinstance(node, n.FieldRef) else None
        found.append(OrderTerm(term, node, kind, declared is not None and holds_char(declared)))
    return tuple(found)


def _of_session(scan: LogScan, column: object) -> SortTerm:
    term: SortTerm = engine("A Column of pyspark").column_to_term(column, scan.meaning.node)
    if isinstance(term.node, n.UnprintableExpression):
        raise InvalidArgument(
            f"by is a Column of PySpark without SQL text ({to_sql(term.node)}): write text such as 'ts DESC'."
        )
    return SortTerm(scan.meaning.node(term.node), term.descending, term.nulls_first)
