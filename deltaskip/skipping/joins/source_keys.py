"""The files of the target that a MERGE may touch: a predicate over the target that every matching row satisfies.

The ON condition is weakened to a condition on target rows alone, by the values of the source's keys: `t.k = s.k`
matches only rows with `min(s.k) <= t.k <= max(s.k)`, and with `t.k IN (…)` while they are few.
Soundness: each step returns a predicate that is TRUE for every target row for which the condition is TRUE with some
row of the source. A comparison for which Spark would convert the operands in a way that may not preserve order or
equality is ignored.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.errors import PredicateError, PredicateWarning
from deltaskip.log import Snapshot
from deltaskip.records import dataclass
from deltaskip.recursion import deep
from deltaskip.skipping.joins.name_resolution import Names
from deltaskip.skipping.read_options import ReadOptions
from deltaskip.skipping.scan import Scan
from deltaskip.sparkexpr import nodes as n
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.bind import bind_expression
from deltaskip.sparkexpr.coerce import type_of
from deltaskip.sparkexpr.comparison_collation import comparison_collation, is_binary
from deltaskip.sparkexpr.literal_list import SHORTEST, integers, text_list
from deltaskip.sparkexpr.normalize import FALSE_LITERAL, TRUE_LITERAL
from deltaskip.sparkexpr.types.lengths import declares_char
from deltaskip.sparkexpr.values.arrow_values import domain_values

# The most integers and strings of a key, which stay in one array, and the most other values that pay off by pruning.
_MOST_VALUES, _MOST_LITERALS = 250_000, 1_000

_COMPARED = (*t.INTEGRAL_BITS, t.FLOAT, t.DOUBLE, t.STRING, t.BINARY, t.BOOLEAN, t.DATE, t.TIMESTAMP, t.TIMESTAMP_NTZ)
_WIDEST_DECIMAL = 38


@dataclass(frozen=True, slots=True)
class SourceKey:
    """An expression over the source that the ON condition compares with the target.

    Attributes:
        node: The expression, not bound; columns are named without the alias of the source.
        type: Its type.
        equal: Whether it is compared for equality, so that single values help.
        is_ordered: Whether the target is compared in the order in which the source finds the least and the greatest
            value of the key; otherwise only all values help.
    """

    node: n.Node
    type: t.DataType
    equal: bool
    is_ordered: bool = True


@dataclass(frozen=True, slots=True)
class KeyValues:
    """The values of a key in all rows of the source, in the value domain.

    Attributes:
        least: The least value; None if every value is NULL.
        greatest: The greatest value.
        has_null: Whether some value is NULL.
        values: All distinct values except NULL; None if they are not known or too many.
    """

    least: Any
    greatest: Any
    has_null: bool
    values: Sequence[n.Node] | None = None


@dataclass(frozen=True, slots=True)
class _KeyComparison:
    """A comparison of the target with a source key: a placeholder for the predicate that the key's values give."""

    op: str
    target: n.Node
    key: int


@dataclass(frozen=True, slots=True)
class _All:
    children: tuple[_Part, ...]


@dataclass(frozen=True, slots=True)
class _Any:
    children: tuple[_Part, ...]


_Part = _KeyComparison | _All | _Any | n.Node


@dataclass(frozen=True, slots=True)
class MatchTemplate:
    """The condition that ON imposes on target rows once the values of the source's keys are known.

    Attributes:
        keys: The keys.
        columns: The top-level columns of the target that the condition names.
    """

    keys: tuple[SourceKey, ...]
    columns: tuple[str, ...]
    _root: _Part

    def predicate(self, values: Sequence[KeyValues]) -> n.Node:
        """Return the predicate for the values of the keys, in their order; not bound."""
        return self._node(self._root, values)

    @deep
    def _node(self, part: _Part, values: Sequence[KeyValues]) -> n.Node:
        match part:
            case _KeyComparison(op, target, key):
                return compared(op, target, self.keys[key], values[key])
            case _All(children):
                return _joined(n.And, [self._node(child, values) for child in children], TRUE_LITERAL, FALSE_LITERAL)
            case _Any(children):
                return _joined(n.Or, [self._node(child, values) for child in children], FALSE_LITERAL, TRUE_LITERAL)
            case _:
                return part


def match_template(on: n.Node, snapshot: Snapshot, source: t.StructType, names: Names, time_zone: str) -> MatchTemplate:
    """Return the condition that an ON condition implies for target rows.

    Args:
        on: The condition, not bound.
        snapshot: The target.
        source: The schema of the source.
        names: The names of both sides.
        time_zone: The time zone in which the condition is evaluated.
    """
    return _Template(snapshot, source, names, time_zone).made(on)


def most_values(type_: t.DataType) -> int:
    """Return the maximum number of distinct values of a key that are worth comparing with files."""
    return _MOST_VALUES if _is_in_array(type_) else _MOST_LITERALS


def key_literals(
    values: pa.Array, type_: t.DataType, given: Callable[[pa.Array], Sequence[Any]]
) -> Sequence[n.Node] | None:
    """Return the distinct values of a key as literals; None if they are too many to prune.

    Args:
        values: The values, without NULL.
        type_: Their type.
        given: Returns values in the value domain; integers and strings that are many stay in one array.
    """
    if len(values) > most_values(type_):
        return None
    if _is_in_array(type_) and len(values) >= SHORTEST:
        return text_list(values.cast(pa.string())) if type_ == t.STRING else integers(values.cast(pa.int64()))
    return tuple(n.Literal(value, type_) for value in given(values))


def key_values(values: pa.Array, key: SourceKey, distinct: bool) -> KeyValues:
    """Return the values of a key.

    Args:
        values: The values of all rows, with NULL.
        key: The key.
        distinct: Whether to find the distinct values, if they are few enough to prune.
    """
    known = values.drop_null()
    if not len(known):
        return KeyValues(None, None, values.null_count > 0)
    least, greatest = _extremes(known)
    # If nearly all keys of a large source are distinct, its first rows show that.
    listed, most = distinct and key.equal, most_values(key.type)
    listed = listed and len(known.slice(0, 2 * most).unique()) <= most
    literals = key_literals(known.unique(), key.type, domain_values) if listed else None
    return KeyValues(least, greatest, values.null_count > 0, literals)


def compared(op: str, target: n.Node, key: SourceKey, found: KeyValues) -> n.Node:
    """Return the predicate that holds for every target row that compares as `op` with some value of a key.

    Args:
        op: The operator.
        target: The expression over the target, not bound.
        key: The key.
        found: Its values.
    """
    null = n.IsNull(target) if op == "<=>" and found.has_null else None
    if found.least is None:
        return FALSE_LITERAL if null is None else null
    bounds: list[n.Node] = []
    if not key.is_ordered:
        if key.equal and found.values is not None:
            bounds = [n.In(target, found.values)]
    elif op in ("=", "<=>"):
        if found.least == found.greatest:
            bounds = [n.Compare("=", target, n.Literal(found.least, key.type))]
        elif found.values is not None:
            bounds = [n.In(target, found.values)]
        else:
            bounds = [
                *_bound(">=", target, found.least, key.type),
                *_bound("<=", target, found.greatest, key.type),
            ]
    else:
        bounds = _bound(op, target, found.greatest if op in ("<", "<=") else found.least, key.type)
    within = _joined(n.And, bounds, TRUE_LITERAL, FALSE_LITERAL)
    return within if null is None else _joined(n.Or, [within, null], FALSE_LITERAL, TRUE_LITERAL)


def scan_of(snapshot: Snapshot, predicate: n.Node, time_zone: str) -> Scan:
    """Return the scan of the target's files that the predicate of a template keeps."""
    with warnings.catch_warnings():
        # The predicate is derived from the rows of the source; no user wrote it.
        warnings.simplefilter("ignore", PredicateWarning)
        return Scan(snapshot, ReadOptions(predicate, time_zone=time_zone))


class _Template:
    """Weakens a condition, and collects the keys of the source that it compares."""

    def __init__(self, snapshot: Snapshot, source: t.StructType, names: Names, time_zone: str) -> None:
        self._snapshot = snapshot
        self._source = source
        self._names = names
        self._time_zone = time_zone
        self.keys: list[SourceKey] = []

    def made(self, on: n.Node) -> MatchTemplate:
        """The template of a condition."""
        root = self._part(on)
        sides = [self._names.side(parts) for parts in n.columns_of(on)]
        names = [found[1][0] for found in sides if found is not None and found[0] == "target"]
        return MatchTemplate(tuple(self.keys), tuple(dict.fromkeys(names)), root)

    @deep
    def _part(self, node: n.Node) -> _Part:
        match node:
            case n.And(children):
                return _All(tuple(map(self._part, children)))
            case n.Or(children):
                return _Any(tuple(map(self._part, children)))
            case n.Compare(op, left, right) if op in n.MIRRORED and op != "!=":
                found = self._comparison(op, left, right)
                if found is not None:
                    return found
        return self._of_target(node)

    def _of_target(self, node: n.Node) -> n.Node:
        """The condition itself if it is only about the target; TRUE otherwise."""
        if not n.columns_of(node):
            return TRUE_LITERAL
        found = self._on_side(node, "target")
        return TRUE_LITERAL if found is None or self._bound(found, "target") is None else found

    def _comparison(self, op: str, left: n.Node, right: n.Node) -> _Part | None:
        for one, other, operator in ((left, right, op), (right, left, n.MIRRORED[op])):
            target, key = self._on_side(one, "target"), self._on_side(other, "source")
            if target is None or key is None or not n.columns_of(one) or not n.columns_of(other):
                continue
            bound, bound_key = self._bound(target, "target"), self._bound(key, "source")
            if bound is None or bound_key is None or not _is_comparable(bound, bound_key):
                return None
            equal = operator in ("=", "<=>")
            type_ = type_of(bound_key)
            assert type_ is not None
            ordered = type_ != t.STRING or is_binary(comparison_collation(bound)) or not self._names.is_plain
            self.keys.append(SourceKey(key, type_, equal, ordered))
            return _KeyComparison(operator, target, len(self.keys) - 1)
        return None

    def _bound(self, node: n.Node, side: str) -> n.Node | None:
        """The bound expression; None if not all of it is understood."""
        snapshot = self._snapshot
        try:
            if side == "target":
                bound = bind_expression(
                    node, snapshot.schema, snapshot.partition_columns, snapshot.mapping_mode, self._time_zone
                )
            else:
                bound = bind_expression(node, self._source, time_zone=self._time_zone)
        except PredicateError:
            return None
        parts = list(n.walk(bound))
        if type_of(bound) is None or any(isinstance(part, n.Opaque) or type_of(part) is None for part in parts):
            return None
        if side == "target" and any(self._is_padded(part) for part in parts):
            return None
        return bound

    def _is_padded(self, node: n.Node) -> bool:
        """Whether a node is a column of type char(n), which Spark compares padded, or not, as both sides declare."""
        if not isinstance(node, n.FieldRef):
            return False
        field = next(field for field in self._snapshot.schema.fields if field.name == node.logical[0])
        return declares_char(field)

    def _on_side(self, node: n.Node, side: str) -> n.Node | None:
        """The expression with columns named without alias; None if a column may not belong to this side."""
        failed = False

        @deep
        def renamed(part: n.Node) -> n.Node:
            nonlocal failed
            match part:
                case n.Column(parts):
                    found = self._names.side(parts)
                    if found is None or found[0] != side:
                        failed = True
                        return part
                    return n.Column(found[1]) if side == "target" else self._names.source_column(found[1])
                case n.Opaque():
                    failed = True
                    return part
                case _:
                    return n.transform(part, renamed)

        found = renamed(node)
        return None if failed else found


def _is_in_array(type_: t.DataType) -> bool:
    return type_ in t.INTEGRAL_BITS or type_ == t.STRING


def _is_comparable(target: n.Node, key: n.Node) -> bool:
    """Whether values of the key as literals compare with the target as Spark compares the two."""
    one, other = type_of(target), type_of(key)
    if one is None or other is None:
        return False
    if isinstance(one, t.DecimalType) and isinstance(other, t.DecimalType):
        whole = max(one.precision - one.scale, other.precision - other.scale)
        return whole + max(one.scale, other.scale) <= _WIDEST_DECIMAL
    if one in t.INTEGRAL_BITS and other in t.INTEGRAL_BITS:
        return True
    if one != other or one not in _COMPARED:
        return False
    if one != t.STRING:
        return True
    # Literals are compared under the target's collation, which the comparison must also use.
    if any(isinstance(part, n.Collate) for side in (target, key) for part in n.walk(side)):
        return False
    try:
        collations = [comparison_collation(target), comparison_collation(target, key)]
    except PredicateError:
        return False
    return collations[0] == collations[1] or all(map(is_binary, collations))


def _bound(op: str, target: n.Node, value: Any, type_: t.DataType) -> list[n.Node]:
    # NaN is greater than every number, and bounds of files do not include it.
    if isinstance(value, float) and math.isnan(value):
        return []
    return [n.Compare(op, target, n.Literal(value, type_))]


def _joined(kind: type[n.And] | type[n.Or], nodes: Sequence[n.Node], neutral: n.Node, decides: n.Node) -> n.Node:
    kept = [node for node in nodes if node != neutral]
    if decides in kept:
        return decides
    if not kept:
        return neutral
    return kept[0] if len(kept) == 1 else kind(tuple(kept))


def _extremes(values: pa.Array) -> tuple[Any, Any]:
    """The least and the greatest value in the value domain. NaN is greater than every number."""
    if pa.types.is_floating(values.type):
        numbers = pc.drop_null(values.filter(pc.invert(pc.is_nan(values))))
        nan = len(numbers) < len(values)
        least, greatest = _extremes_of(numbers) if len(numbers) else (math.nan, math.nan)
        return least, math.nan if nan else greatest
    return _extremes_of(values)


def _extremes_of(values: pa.Array) -> tuple[Any, Any]:
    found = pc.min_max(values)
    least, greatest = domain_values(pa.concat_arrays([pa.repeat(found[end], 1) for end in ("min", "max")]))
    return least, greatest
