"""Values at constant paths inside a variant column: what an expression reads, and bounds of what it reads.

# PROTOCOL, Statistics for Variant Columns; RFC 9535, Normalized Paths
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from deltaskip.records import dataclass
from deltaskip.sparkexpr.failures import EvaluationError, Undecided
from deltaskip.sparkexpr.functions.variants import by_type, items_of, path_steps
from deltaskip.sparkexpr.nodes import Call, FieldRef, Literal, Node
from deltaskip.sparkexpr.types import data_types as t
from deltaskip.sparkexpr.values.arrow_values import arrow_array
from deltaskip.sparkexpr.values.calendar import zone_of

_GETS = ("variant_get", "try_variant_get")
_CASTS = ("cast(variant)", "try_cast(variant)")
# Kinds of values in kernels.variant_items, and the types to which a cast from the kind keeps the order.
_LONG, _DOUBLE, _DECIMAL = 6, 7, 8
_BOOLEANS = (1, 2)
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
    """Return the bounds of the cast of the values at a path in the variants of each file.

    They are null where a path is on one side only, where the types of the two sides differ, where casts from the type
    do not keep the order, or where a bound cannot be cast, so that other values may not be, either.

    Args:
        low: Variants, objects with the least value at each normalized path.
        high: Variants with the greatest values.
        path: The normalized path.
        target: The type of the cast.

    Returns:
        The least and the greatest values, in the Arrow type of `target`, and whether the values are no doubles, so
        that none of them is NaN.
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
            usable &= ~np.isnan(np.asarray(values.fill_null(0)))
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
