"""The join of a MERGE over Arrow columns: by hash on keys that are compared for equality, then by the other conditions.

Keys compare as in Spark: NULL equals only NULL, and only by `<=>`; NaN equals NaN, and 0.0 equals -0.0; strings are
equal as their collation says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.dml.merge.merge_expressions import MergeExpressions
from deltaskip.records import dataclass
from deltaskip.rows.schema_merge import all_nullable
from deltaskip.sparkexpr.coerce import type_of
from deltaskip.sparkexpr.comparison_collation import comparison_collation
from deltaskip.sparkexpr.nodes import And, Compare, Node, columns_of, top_level_columns
from deltaskip.sparkexpr.types import STRING, ArrayType, DataType, StructType
from deltaskip.sparkexpr.values import equal_form
from deltaskip.sparkexpr.values.arrow_values import arrow_array, numpy_values

Pairs = tuple[npt.NDArray[Any], npt.NDArray[Any]]
"""Rows that match: indexes of target rows and, at the same position, of source rows."""

# Pairs that are compared at once where no key narrows them.
_AT_ONCE = 1 << 20
_NO_STRINGS = arrow_array([], pa.string())
# Integer keys in a range of this size are looked up in an array.
_TABLE_SIZE = 1 << 24


@dataclass(frozen=True, slots=True)
class JoinKey:
    """Two expressions that are compared for equality.

    Attributes:
        target: The expression over the target.
        source: The expression over the source.
        null_safe: Whether NULL equals NULL.
        collation: The collation of strings; None for UTF8_BINARY.
    """

    target: Node
    source: Node
    null_safe: bool
    collation: str | None = None


def joined_rows(
    expressions: MergeExpressions, on: Node, source: Mapping[str, pa.Array], source_rows: int
) -> Callable[[Mapping[str, pa.Array], int], Pairs]:
    """Return a function that finds the pairs of rows of the source and of a batch of the target that match.

    Args:
        expressions: Evaluates conditions over both sides.
        on: The condition, not bound.
        source: The columns of the source.
        source_rows: Number of rows of the source.

    Raises as `MergeExpressions` does.
    """
    condition = expressions.condition(on)
    parts = condition.children if isinstance(condition, And) else (condition,)
    keys, rest = keys_and_rest(parts, expressions)
    residual = None if not rest else rest[0] if len(rest) == 1 else And(tuple(rest))
    given = expressions.columns({}, source)
    right = _table([key.source for key in keys], keys, expressions, given, source_rows)
    by_number = _by_number(right) if len(keys) == 1 else None

    def joined(target: Mapping[str, pa.Array], rows: int) -> Pairs:
        columns = expressions.columns(target, {})
        if not keys:
            found = list(_every_pair(rows, source_rows))
        else:
            left = _table([key.target for key in keys], keys, expressions, columns, rows)
            found = [_by_hash(left, right) if by_number is None else by_number(left)]
        chosen = [_filtered(pair, residual, columns, given, expressions) for pair in found]
        return np.concatenate([each[0] for each in chosen]), np.concatenate([each[1] for each in chosen])

    return joined


def keys_and_rest(parts: Sequence[Node], expressions: MergeExpressions) -> tuple[list[JoinKey], list[Node]]:
    """Return the keys among the parts of a bound condition, and the other parts."""
    keys: list[JoinKey] = []
    rest: list[Node] = []
    for part in parts:
        match part:
            case Compare("=" | "<=>" as op, left, right):
                collation = comparison_collation(left, right) if type_of(left) == STRING else None
                if collation is not None and expressions.sort_keys(collation, _NO_STRINGS) is None:
                    raise expressions.needs_session(part, f"it compares strings under the collation {collation}.")
                types = [_bare(type_of(node)) for node in (left, right)]
                nested = any(isinstance(each, StructType | ArrayType) for each in types)
                if nested and (types[0] != types[1] or expressions.is_collated_inside(part)):
                    raise expressions.needs_session(part, "it compares nested values of two types.")
                sides = [{path[0][:2] for path in columns_of(node)} for node in (left, right)]
                if sides == [{"t."}, {"s."}] and types[0] == types[1] is not None:
                    keys.append(JoinKey(left, right, op == "<=>", collation))
                    continue
                if sides == [{"s."}, {"t."}] and types[0] == types[1] is not None:
                    keys.append(JoinKey(right, left, op == "<=>", collation))
                    continue
                if nested:
                    raise expressions.needs_session(part, "it compares nested values.")
        rest.append(part)
    return keys, rest


def _table(
    nodes: Sequence[Node],
    keys: Sequence[JoinKey],
    expressions: MergeExpressions,
    columns: Mapping[str, pa.Array],
    rows: int,
) -> pa.Table:
    """The values of keys in the form that is hashed, with the index of each row, without rows that match nothing."""
    arrays: list[pa.Array] = []
    kept: npt.NDArray[Any] = np.ones(rows, np.bool_)
    for node, key in zip(nodes, keys, strict=True):
        values = expressions.array(node, columns, rows)
        valid = numpy_values(pc.is_valid(values))
        if key.null_safe:
            arrays.append(arrow_array(valid))
        else:
            kept &= valid
        if key.collation is not None:
            values = expressions.sort_keys(key.collation, values)
        arrays.append(equal_form(values, type_of(node)))
    names = [f"k{i}" for i in range(len(arrays))]
    table = pa.table([*arrays, arrow_array(np.arange(rows, dtype=np.int64))], names=[*names, "row"])
    return table if kept.all() else table.filter(arrow_array(kept))


def _bare(data_type: DataType | None) -> DataType | None:
    """The type without nullability, which does not matter to a comparison."""
    return None if data_type is None else all_nullable(data_type)


def _by_number(right: pa.Table) -> Callable[[pa.Table], Pairs] | None:
    """A join by a single integer key that is unique among the rows; None for other keys."""
    if right.num_columns != 2 or not pa.types.is_integer(right.schema.field(0).type) or not len(right):
        return None
    keys = numpy_values(right.column(0)).astype(np.int64)
    order = np.argsort(keys, kind="stable")
    keys, partners = keys[order], numpy_values(right["row"])[order]
    if (np.diff(keys) == 0).any():
        return None
    least, greatest = int(keys[0]), int(keys[-1])
    places: npt.NDArray[Any] | None = None
    if greatest - least < _TABLE_SIZE:
        places = np.full(greatest - least + 1, -1, np.int32)
        places[keys - least] = np.arange(len(keys), dtype=np.int32)

    def joined(left: pa.Table) -> Pairs:
        given = numpy_values(left.column(0)).astype(np.int64, copy=False)
        within = np.flatnonzero((given >= least) & (given <= greatest))
        some = given[within]
        found = np.searchsorted(keys, some) if places is None else places[some - least]
        met = (keys[found] == some) if places is None else found >= 0
        return numpy_values(left["row"])[within[met]], partners[found[met]]

    return joined


def _by_hash(left: pa.Table, right: pa.Table) -> Pairs:
    if not len(left) or not len(right):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    names = left.schema.names[:-1]
    right = right.rename_columns([*names, "partner"])
    found = left.join(right, keys=names, join_type="inner")
    return found["row"].to_numpy(), found["partner"].to_numpy()


def _every_pair(rows: int, source_rows: int) -> Iterator[Pairs]:
    """All pairs, in pieces."""
    none: npt.NDArray[Any] = np.zeros(0, np.int64)
    yield none, none
    step = max(1, _AT_ONCE // max(1, source_rows))
    for start in range(0, rows if source_rows else 0, step):
        some = np.arange(start, min(start + step, rows), dtype=np.int64)
        yield np.repeat(some, source_rows), np.tile(np.arange(source_rows, dtype=np.int64), len(some))


def _filtered(
    pairs: Pairs,
    residual: Node | None,
    target: Mapping[str, pa.Array],
    source: Mapping[str, pa.Array],
    expressions: MergeExpressions,
) -> Pairs:
    """The pairs for which the rest of the condition is also TRUE."""
    rows, partners = pairs
    if residual is None or not len(rows):
        return pairs
    used = top_level_columns(residual)
    columns = {name: column.take(arrow_array(rows)) for name, column in target.items() if name in used}
    columns |= {name: column.take(arrow_array(partners)) for name, column in source.items() if name in used}
    mask = expressions.mask(residual, columns, len(rows))
    return rows[mask], partners[mask]
