"""Type widening: the earlier, narrower types of a column, and the supported type changes.

# PROTOCOL, Type Widening: a field's metadata lists its changes, and files keep the type with which they were written.
"""

from __future__ import annotations

from typing import Any

from deltaskip.errors import SchemaError
from deltaskip.records import dataclass
from deltaskip.sparkexpr import types

TYPE_CHANGES_KEY = "delta.typeChanges"

_WIDER: dict[types.DataType, tuple[types.DataType, ...]] = {
    types.BYTE: (types.SHORT, types.INTEGER, types.LONG, types.DOUBLE),
    types.SHORT: (types.INTEGER, types.LONG, types.DOUBLE),
    types.INTEGER: (types.LONG, types.DOUBLE),
    types.FLOAT: (types.DOUBLE,),
    types.DATE: (types.TIMESTAMP_NTZ,),
}
# The digits before the decimal point that every value of an integer type needs.
_INTEGER_DIGITS: dict[types.DataType, int] = {types.BYTE: 10, types.SHORT: 10, types.INTEGER: 10, types.LONG: 20}


@dataclass(frozen=True, slots=True)
class TypeChange:
    """An entry of `delta.typeChanges`: type names, and the path through element, key and value ("" for the field)."""

    from_type: str
    to_type: str
    field_path: str


def is_widening(old: types.DataType, new: types.DataType) -> bool:
    """Whether a column of type `old` may become `new`.

    # PROTOCOL, Type Widening: byte → short → int → long, float → double, byte, short, int → double, date →
    # timestamp_ntz, decimal(p, s) → decimal(p + k1, s + k2) with k1 ≥ k2 ≥ 0, integers → decimal
    """
    match old, new:
        case types.DecimalType(p, s), types.DecimalType(q, t):
            return (p, s) != (q, t) and t >= s and q - p >= t - s
        case _, types.DecimalType(q, t) if old in _INTEGER_DIGITS:
            return q - t >= _INTEGER_DIGITS[old]
        case _:
            return new in _WIDER.get(old, ())


def type_changes(metadata: Any) -> tuple[TypeChange, ...]:
    """Return the entries of `delta.typeChanges` of a field's metadata. Raises SchemaError if they are malformed."""
    changes = metadata.get(TYPE_CHANGES_KEY) if metadata else None
    if changes is None:
        return ()
    found = []
    for change in changes if isinstance(changes, list) else (None,):
        members = change if isinstance(change, dict) else {}
        texts = (members.get("fromType"), members.get("toType"), members.get("fieldPath", ""))
        if not all(isinstance(text, str) for text in texts):
            what = f"{TYPE_CHANGES_KEY} must be a list of objects with fromType and toType"
            raise SchemaError(f"{what}, but is {changes!r}")
        found.append(TypeChange(*map(str, texts)))
    return tuple(found)


def widened_types(metadata: Any) -> frozenset[str]:
    """Return the names of the narrower types in `delta.typeChanges` of a field's metadata."""
    changes = metadata.get(TYPE_CHANGES_KEY) if metadata else None
    if not isinstance(changes, list):
        return frozenset()
    return frozenset(str(change.get("fromType")) for change in changes if isinstance(change, dict))
