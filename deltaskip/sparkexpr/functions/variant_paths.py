"""Values at constant paths inside a variant column: what an expression reads, and bounds of what it reads.

# PROTOCOL, Statistics for Variant Columns; RFC 9535, Normalized Paths
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.records import dataclass
from deltaskip.sparkexpr.failures import EvaluationError, Undecided
from deltaskip.sparkexpr.functions.variants import VariantItems, by_type, items_of, path_steps, types_of, values_of
from deltaskip.sparkexpr.nodes import Call, FieldRef, Literal, Node
from deltaskip.sparkexpr.types import data_types as t
from deltaskip.sparkexpr.values.arrow_values import arrow_array, filled
from deltaskip.sparkexpr.values.calendar import zone_of
from deltaskip.sparkexpr.values.variant_reading import VariantPrimitive, VariantTree, stored_item, tree_of, variant_of

_GETS = ("variant_get", "try_variant_get")
_CASTS = ("cast(variant)", "try_cast(variant)")
# Kinds of values in kernels.variant_items, and the types to which a cast from the kind keeps the order.
_LONG, _DOUBLE, _DECIMAL = 6, 7, 8
_BOOLEANS = (1, 2)
_MISSING = 254
_BOUNDED = {_LONG, _DOUBLE, _DECIMAL, 11, 12, 13, 16, _MISSING}
# Variants in which paths are looked for, the steps of a path, and the paths with bounds.
_SAMPLE, _DEPTH, _MOST_PATHS = 64, 8, 32
# Holds the decimals of kernels.variant_items of any scale.
_DECIMALS = pa.decimal128(36, 18)
_NUMBERS: tuple[t.DataType, ...] = (*t.INTEGRAL_BITS, *t.FLOATING)
_ORDERED: dict[int, tuple[t.DataType, ...]] = {
    **dict.fromkeys(_BOOLEANS, (t.BOOLEAN,)),
    _LONG: _NUMBERS,
    _DECIMAL: _NUMBERS,
    _DOUBLE: t.FLOATING,
    11: (t.DATE,),
    12: (t.TIMESTAMP,),
    13: (t.TIMESTAMP_NTZ,),
    16: (t.STRING,),
}


@dataclass(frozen=True, slots=True)
class VariantPath:
    """What an expression reads in a variant: the value at a path, cast to a type.

    Attributes:
        column: The column of variants.
        path: The normalized path, such as $['a'][0].
        type: The type of the cast, which is atomic.
    """

    column: FieldRef
    path: str
    type: t.DataType


def variant_path(node: Node) -> VariantPath | None:
    """Return what a node reads in a variant; None unless it is NULL or a cast of the value at a constant path."""
    match node:
        case Call(name, (FieldRef() as column, Literal(str() as path), *_), type_) if name in _GETS:
            steps = path
        case Call(name, (FieldRef() as column, _), type_) if name in _CASTS:
            steps = "$"
        case Call(name, (Call("variant_get", (FieldRef() as column, Literal(str() as path))), _), type_) if (
            name in _CASTS
        ):
            steps = path
        case _:
            return None
    atomic = isinstance(type_, t.DecimalType) or any(type_ in types for types in _ORDERED.values())
    if column.type != t.VARIANT or not atomic or type_ is None:
        return None
    try:
        normalized = _normalized(path_steps(steps))
    except (EvaluationError, Undecided):
        return None
    return None if normalized is None else VariantPath(column, normalized, type_)


def variant_path_bounds(
    low: pa.Array, high: pa.Array, path: str, target: t.DataType
) -> tuple[pa.Array, pa.Array, pa.BooleanArray]:
    """Return the least and the greatest cast of the values at a path in each file, and whether none can be NaN.

    They are null where a path is on one side only, where the types of the two sides differ, where casts from the type
    do not keep the order, or where a bound cannot be cast, so that other values may not be, either.

    low, high: Variants, objects with the least and the greatest value at each normalized path.
    """
    sides = [items_of(side, [path]) for side in (low, high)]
    kinds = [np.where(np.isin(side.kinds, _BOOLEANS), _BOOLEANS[0], side.kinds) for side in sides]
    ordered = [kind for kind, types in _ORDERED.items() if _is_ordered(types, target)]
    usable = (kinds[0] == kinds[1]) & np.isin(kinds[0], ordered)
    found = []
    for side in sides:
        values, left = by_type(side, target, zone_of("UTC"), tried=True)
        usable &= ~left & np.asarray(values.is_valid())
        if target in t.FLOATING:
            usable &= ~np.isnan(np.asarray(filled(values, 0)))
        found.append(values)
    rows = pa.array(np.arange(len(usable)), mask=~usable)
    least, greatest = (values.take(rows) for values in found)
    return least, greatest, arrow_array(kinds[0] != _DOUBLE)


def _is_ordered(types: Sequence[t.DataType], target: t.DataType) -> bool:
    return target in types or (isinstance(target, t.DecimalType) and t.LONG in types)


def _normalized(steps: Sequence[str | int]) -> str | None:
    """The normalized path; None for names that it would have to escape."""
    names = [step for step in steps if isinstance(step, str)]
    if any(character in "'\\" or character < " " for name in names for character in name):
        return None
    return "$" + "".join(f"[{step}]" if isinstance(step, int) else f"['{step}']" for step in steps)


def variant_path_extremes(variants: pa.Array) -> dict[str, tuple[t.DataType, object, object]]:
    """Return the type, the least and the greatest value by the path, for paths in variants with values of one type.

    Only names are steps of the paths. They are found in a few of the variants, and their values in all of them; of a
    path with a variant null, NaN, an object or an array, or a value of another type in one of the rows, nothing is
    known. Integers are of one type. The paths are normalized, and in the order of the names.
    """
    variants = variants.drop_null()
    found: dict[str, tuple[t.DataType, object, object]] = {}
    for steps in _paths_in(variants):
        path = _normalized(steps)
        extremes = None if path is None else _extremes(items_of(variants, steps))
        if path is not None and extremes is not None:
            found[path] = extremes
    return found


def variant_object(values: Mapping[str, tuple[t.DataType, object]]) -> tuple[bytes, bytes]:
    """Return the value and the metadata of an object of primitive values with types, by their names."""
    return variant_of({name: stored_item(type_, value) for name, (type_, value) in values.items()})


def _paths_in(variants: pa.Array) -> list[tuple[str, ...]]:
    """Paths to values other than objects and arrays, in some of the variants."""
    found: dict[tuple[str, ...], None] = {}
    step = max(1, len(variants) // _SAMPLE)
    members = [variants.field(name).take(pa.array(range(0, len(variants), step))) for name in ("value", "metadata")]

    def collect(tree: VariantTree, above: tuple[str, ...]) -> None:
        if isinstance(tree, dict):
            for name, inner in tree.items() if len(above) < _DEPTH else ():
                collect(inner, (*above, name))
        elif isinstance(tree, VariantPrimitive):
            found[above] = None

    for value, metadata in zip(*(member.to_pylist() for member in members), strict=True):
        try:
            collect(tree_of((value, metadata)), ())
        except Undecided:
            return []
    return list(found)[:_MOST_PATHS]


def _extremes(items: VariantItems) -> tuple[t.DataType, object, object] | None:
    kinds = set(np.unique(items.kinds).tolist()) - {_MISSING}
    if len(kinds) != 1 or not kinds < _BOUNDED:
        return None
    parts = []
    for type_, rows in types_of(items):
        values = values_of(items, type_, rows)
        parts.append(values.cast(_DECIMALS) if isinstance(type_, t.DecimalType) else values)
    values = pa.concat_arrays(parts)
    if type_ == t.DOUBLE and pc.any(pc.is_nan(values)).as_py():
        return None
    if pa.types.is_temporal(values.type):
        values = values.view(pa.int32() if type_ == t.DATE else pa.int64())
    extremes = pc.min_max(values)
    low, high = extremes["min"].as_py(), extremes["max"].as_py()
    return t.DecimalType(_DECIMALS.precision, _DECIMALS.scale) if isinstance(type_, t.DecimalType) else type_, low, high
