"""Bounds of expressions over one column: `expressionStats` of files, by the transforms of the clustering columns.

# RFC Clustering by expressions (delta-io/delta, pull request 6737, not merged)

The bounds enclose every value of the expression that is neither NULL nor NaN, as its writer computed it. They serve a
predicate on that very expression, in place of the bounds of a column, if no session gives it another value:

* No settings and no library decide about the value. Letters beyond ASCII are the exception: versions of Unicode differ
  in their upper and lower cases, which are never ASCII, so a comparison with ASCII has the same result in each.
* Midnight of a DATE depends on the time zone, so its bounds hold within the greatest distance between two zones.

The bounds say nothing about NULL: a leaf that NULL may satisfy keeps every file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from deltaskip.errors import PredicateError
from deltaskip.records import dataclass
from deltaskip.skipping import program
from deltaskip.skipping.proofs.leaf_values import leaf_values, literals_of
from deltaskip.skipping.proofs.preimage.value_sets import intersect, merged
from deltaskip.skipping.proofs.table_columns import TableColumns
from deltaskip.skipping.proofs.terms import within
from deltaskip.sparkexpr import nodes as n
from deltaskip.sparkexpr import parse_sql, to_sql
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.bind import bind_expression
from deltaskip.sparkexpr.coerce import type_of
from deltaskip.sparkexpr.preimages import domain_of
from deltaskip.sparkexpr.values.calendar import MICROS_PER_HOUR
from deltaskip.stats.layout import StatField, bound_kind

# Offsets of time zones are from -18:00 to +18:00.
BETWEEN_ZONES = 36 * MICROS_PER_HOUR
_CASED = ("upper", "lower")
_DATE_PARTS = (*("year", "quarter", "month", "dayofmonth", "dayofyear", "dayofweek", "weekday", "weekofyear"), "trunc")
_TEXT_PARTS = ("substring", "left", "right", "length")
_VARIANT_READS = ("variant_get", "try_variant_get")
_EXACT = (*t.INTEGRAL_BITS, t.DATE)


class ExpressionTransform(Protocol):
    """A transform of a clustering column (features.clustering)."""

    @property
    def column(self) -> tuple[str, ...]:
        """Physical path of the column."""

    @property
    def signature(self) -> str:
        """Key of its bounds in the statistics of files."""

    def sql(self, column: str) -> str:
        """Return the expression over a column that is given as SQL."""


@dataclass(frozen=True, slots=True)
class BoundedExpression:
    """An expression over one column whose values have bounds.

    Attributes:
        node: The expression, bound.
        source: Its column.
        bounds: The values of the expression as statistics identify them.
    """

    node: n.Node
    source: n.FieldRef
    bounds: StatField

    @property
    def column(self) -> n.FieldRef:
        """A column of the values of the expression."""
        return n.FieldRef((self.bounds.signature,), self.bounds.physical, self.bounds.type)

    @property
    def is_cased(self) -> bool:
        """Whether the values beyond ASCII depend on the version of Unicode."""
        return isinstance(self.node, n.Call) and self.node.name in _CASED

    @property
    def is_midnight(self) -> bool:
        """Whether the values are midnights, which depend on the time zone of the writer."""
        return _of_midnight(self.node)

    def term(self, leaf: n.Node, time_zone: str) -> program.Term | None:
        """Return the condition of a leaf on the bounds; None if it does not read the expression, or nothing follows."""
        on_values = n.with_node_replaced(leaf, self.node, self.column)
        read = [part for part in n.walk(on_values) if isinstance(part, n.FieldRef)]
        if on_values == leaf or any(each != self.column for each in read):
            return None
        if self.is_cased and not _compares_ascii(on_values):
            return None
        found = leaf_values(on_values, time_zone)
        domain = domain_of(self.bounds.type)
        if found is None or domain is None or found[1].null:
            return None
        values = found[1]
        if self.is_midnight:
            moved = merged((low - BETWEEN_ZONES, stop + BETWEEN_ZONES) for low, stop in values.spans)
            values = replace(values, spans=intersect(moved, domain.all), cycles=())
        if values.spans == domain.all and not values.cycles:
            return None
        term = within(self.bounds, values)
        return None if isinstance(term, program.Keep) else term


def bounded_expressions(
    transforms: Sequence[ExpressionTransform],
    schema: t.StructType,
    mode: t.MappingMode,
    partition_columns: Sequence[str],
) -> tuple[BoundedExpression, ...]:
    """Return the expressions of transforms; those that no rule admits are left out."""
    columns = TableColumns(schema, mode)
    found = []
    for each in transforms:
        logical = next((leaf.logical for leaf in t.leaves(schema, mode) if leaf.physical == each.column), None)
        if logical is None:
            continue
        try:
            parsed = parse_sql(each.sql(t.display_name(logical)))
            found.append(_bounded(each, bind_expression(parsed, schema, partition_columns, mode), columns))
        except PredicateError:
            continue
    return tuple(each for each in found if each is not None)


def _bounded(transform: ExpressionTransform, bound: n.Node, columns: TableColumns) -> BoundedExpression | None:
    sources = {part for part in n.walk(bound) if isinstance(part, n.FieldRef)}
    type_ = type_of(bound)
    source = sources.pop() if len(sources) == 1 else None
    if source is None or source.physical != transform.column or type_ is None or bound_kind(type_) is None:
        return None
    if source.partition or source.collation is not None or columns.is_padded(source) or not _is_fixed(bound):
        return None
    statistics = columns.stat_field(source)
    if statistics is None or statistics.widened_from:
        # Values of the narrower type may have another text.
        return None
    field = StatField(source.physical, type_, to_sql(bound), signature=transform.signature)
    return BoundedExpression(bound, source, field)


def _is_fixed(node: n.Node) -> bool:
    """Whether an expression has the same value in every session, but for the exceptions of this module."""
    match node:
        case n.Call(name, (n.FieldRef(type=t.STRING), *rest)) if name in (*_CASED, *_TEXT_PARTS):
            return _are_literals(rest)
        case n.Call(name, (n.FieldRef(type=t.DATE), *rest)) if name in _DATE_PARTS:
            return _are_literals(rest)
        case n.Call(name, (n.FieldRef(), *rest), type_) if name in _VARIANT_READS:
            return _are_literals(rest) and (type_ in t.INTEGRAL_BITS or isinstance(type_, t.DecimalType))
        case n.Cast(n.FieldRef(type=t.STRING), type_):
            return type_ in _EXACT or type_ in t.FLOATING or isinstance(type_, t.DecimalType)
        case n.Cast(n.FieldRef(type=source), type_) if source in _EXACT and type_ == t.STRING:
            return True
    return _of_midnight(node)


def _of_midnight(node: n.Node) -> bool:
    """Whether the value is midnight of a day that only the value of a DATE decides."""
    match node:
        case n.Call("date_trunc", (n.Literal(), inner)):
            return _of_midnight(inner) and isinstance(inner, n.Cast)
        case n.Cast(n.FieldRef(type=t.DATE), t.TIMESTAMP):
            return True
    return False


def _are_literals(nodes: Sequence[n.Node]) -> bool:
    return all(isinstance(each, n.Literal) for each in nodes)


def _compares_ascii(leaf: n.Node) -> bool:
    """Whether a leaf compares a column of strings with literals of ASCII, in the order of bytes."""
    inner, *operands = n.walk(leaf.child if isinstance(leaf, n.Not) else leaf)
    literals = [each.value for each in operands if isinstance(each, n.Literal)]
    listed = literals_of(inner.values) if isinstance(inner, n.In) else ()
    return all(isinstance(each, n.FieldRef | n.Literal) for each in operands) and (
        listed is not None and all(str(each).isascii() for each in (*literals, *listed))
    )
