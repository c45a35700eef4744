"""Converts variants to trees of values, and back.

A variant in the value domain is the pair of binaries `value` and `metadata`. In the tree, an object is a dict whose
names are in stored order, an array is a list, and every other value is a VariantPrimitive with Spark's type.

# Parquet, Variant Binary Encoding; Spark 4.1, Variant.java, VariantBuilder.java
"""

from __future__ import annotations

import base64
import math
import struct
from collections.abc import Sequence
from decimal import Decimal
from itertools import pairwise
from typing import Any, TypeAlias

from deltaskip.records import dataclass
from deltaskip.sparkexpr.failures import Undecided
from deltaskip.sparkexpr.types import data_types as t
from deltaskip.sparkexpr.values.calendar import format_date
from deltaskip.sparkexpr.values.json_reading import Object, Real, double_text, quoted
from deltaskip.sparkexpr.values.numerals import EXACT, exactly, of_unscaled

_DEEPEST = 100
_DIGITS = 38


class DuplicateName(ValueError):
    """An object has the same name twice."""


@dataclass(frozen=True, slots=True)
class VariantPrimitive:
    """A value other than an object or an array, in the domain of its type."""

    type: t.DataType
    value: Any


VariantTree: TypeAlias = VariantPrimitive | list[Any] | dict[str, Any]

_NUMBERS: dict[int, tuple[str, t.DataType]] = {
    3: ("<b", t.LONG),
    4: ("<h", t.LONG),
    5: ("<i", t.LONG),
    6: ("<q", t.LONG),
    7: ("<d", t.DOUBLE),
    11: ("<i", t.DATE),
    12: ("<q", t.TIMESTAMP),
    13: ("<q", t.TIMESTAMP_NTZ),
    14: ("<f", t.FLOAT),
}
_DECIMAL_SIZES = {8: 4, 9: 8, 10: 16}


def tree_of(variant: tuple[bytes, bytes]) -> VariantTree:
    """Return the tree of a variant. Raises Undecided for bytes that are not a variant, and for unknown types."""
    value, metadata = variant
    try:
        return _read(value, 0, _names(metadata), _DEEPEST)
    except (IndexError, struct.error, UnicodeDecodeError) as error:
        raise Undecided("A variant that is not valid is left to Spark.") from error


def variant_of(tree: VariantTree | bytes) -> tuple[bytes, bytes]:
    """Return the variant of a tree. Names of objects are sorted as Spark sorts them. Bytes are values as stored."""
    names: dict[str, int] = {}
    value = _written(tree, names)
    encoded = [name.encode() for name in names]
    size = _width(max(sum(map(len, encoded)), len(encoded)))
    offsets = [0]
    for name in encoded:
        offsets.append(offsets[-1] + len(name))
    head = bytes([1 | (size - 1) << 6]) + len(encoded).to_bytes(size, "little")
    return value, head + b"".join(each.to_bytes(size, "little") for each in offsets) + b"".join(encoded)


def of_json(value: Any) -> VariantTree:
    """Return the tree of a JSON value of `json_reading`. Raises DuplicateName."""
    match value:
        case None:
            return VariantPrimitive(t.VOID, None)
        case bool():
            return VariantPrimitive(t.BOOLEAN, value)
        case int():
            if -(2**63) <= value < 2**63:
                return VariantPrimitive(t.LONG, value)
            return _number(str(value))
        case Real(text):
            return _number(text)
        case str():
            return VariantPrimitive(t.STRING, value)
        case Object(members):
            if len({name for name, _ in members}) < len(members):
                raise DuplicateName
            return {name: of_json(each) for name, each in members}
        case _:
            return [of_json(each) for each in value]


def decimal_item(value: Decimal) -> VariantPrimitive:
    """Return a decimal without trailing zeros, as Spark reads it from a variant."""
    stripped = value.normalize(EXACT)
    _, digits, exponent = stripped.as_tuple()
    if int(exponent) > 0:
        stripped, scale = stripped.quantize(Decimal(1), context=EXACT), 0
        precision = len(digits) + int(exponent)
    else:
        scale = -int(exponent)
        precision = max(len(digits), scale)
    return VariantPrimitive(t.DecimalType(max(precision, 1), scale), stripped)


def variant_json(variant: tuple[bytes, bytes]) -> str:
    """Return the JSON text that to_json writes for a variant."""
    return _json(tree_of(variant))


def _json(tree: VariantTree) -> str:
    match tree:
        case dict():
            return f"{{{','.join([f'{quoted(name)}:{_json(each)}' for name, each in tree.items()])}}}"
        case list():
            return f"[{','.join(map(_json, tree))}]"
        case VariantPrimitive(type_, value) if type_ in t.FLOATING:
            return double_text(value, type_ == t.FLOAT)
        case VariantPrimitive(type_, value) if type_ == t.STRING:
            return quoted(value)
        case VariantPrimitive(type_, value) if type_ == t.BINARY:
            return quoted(base64.b64encode(value).decode())
        case VariantPrimitive(type_, value) if type_ == t.DATE and 0 <= value < 2_932_897:
            return quoted(format_date(value))
        case VariantPrimitive(t.DecimalType(), value):
            return f"{value:f}"
        case VariantPrimitive(type_, value) if type_ in (t.LONG, t.BOOLEAN, t.VOID):
            return "null" if value is None else str(value).lower()
    raise Undecided("The text of such a variant is left to Spark.")


def _number(text: str) -> VariantPrimitive:
    """A decimal if the number has no exponent and few enough digits, else a double."""
    if "e" not in text.lower():
        found = exactly(text)
        _, digits, exponent = found.as_tuple()
        if max(len(digits), -int(exponent)) <= _DIGITS:
            return decimal_item(found)
        if abs(len(digits) - _DIGITS) < 2 or text.lstrip("-").startswith("0"):
            raise Undecided("A number of so many digits is left to Spark.")
    return VariantPrimitive(t.DOUBLE, float(text))


def _unsigned(data: bytes, at: int, size: int) -> int:
    return int.from_bytes(_part(data, at, size), "little")


def _part(data: bytes, at: int, size: int) -> bytes:
    if at < 0 or at + size > len(data):
        raise IndexError
    return data[at : at + size]


def _names(metadata: bytes) -> list[str]:
    if metadata[0] & 0x0F != 1:
        raise Undecided("A variant of another version is left to Spark.")
    size = (metadata[0] >> 6) + 1
    count = _unsigned(metadata, 1, size)
    first = 1 + size * (count + 2)
    if first > len(metadata):
        raise IndexError
    offsets = [_unsigned(metadata, 1 + size * (at + 1), size) for at in range(count + 1)]
    return [_part(metadata, first + one, other - one).decode() for one, other in pairwise(offsets)]


def _read(data: bytes, at: int, names: Sequence[str], left: int) -> VariantTree:
    if not left:
        raise Undecided("A deeply nested variant is left to Spark.")
    kind, header = data[at] & 3, data[at] >> 2
    if kind == 1:
        return VariantPrimitive(t.STRING, _part(data, at + 1, header).decode())
    if kind == 0:
        return _primitive(data, at + 1, header)
    width = (header & 3) + 1
    wide = 4 if header & (16 if kind == 2 else 4) else 1
    count = _unsigned(data, at + 1, wide)
    at += 1 + wide
    ids: list[int] = []
    if kind == 2:
        id_width = (header >> 2 & 3) + 1
        ids = [_unsigned(data, at + id_width * place, id_width) for place in range(count)]
        at += id_width * count
    offsets = [_unsigned(data, at + width * place, width) for place in range(count + 1)]
    at += width * (count + 1)
    members = [_read(data, at + offset, names, left - 1) for offset in offsets[:-1]]
    return {names[key]: member for key, member in zip(ids, members, strict=True)} if kind == 2 else members


def _primitive(data: bytes, at: int, kind: int) -> VariantPrimitive:
    if kind == 0:
        return VariantPrimitive(t.VOID, None)
    if kind in (1, 2):
        return VariantPrimitive(t.BOOLEAN, kind == 1)
    if kind in _NUMBERS:
        form, type_ = _NUMBERS[kind]
        return VariantPrimitive(type_, struct.unpack_from(form, data, at)[0])
    if kind in _DECIMAL_SIZES:
        scale, part = data[at], _part(data, at + 1, _DECIMAL_SIZES[kind])
        unscaled = int.from_bytes(part, "little", signed=True)
        if scale > _DIGITS or abs(unscaled) >= 10**_DIGITS:
            raise IndexError
        return decimal_item(of_unscaled(unscaled, scale))
    if kind in (15, 16):
        part = _part(data, at + 4, _unsigned(data, at, 4))
        return VariantPrimitive(t.BINARY, part) if kind == 15 else VariantPrimitive(t.STRING, part.decode())
    raise Undecided("A variant of such a type is left to Spark.")


def stored_item(type_: t.DataType, value: Any) -> bytes:
    """Return the bytes of a value, which have the same size for all numbers of a type that fit in 64 bits."""
    if type_ == t.LONG:
        return bytes([6 << 2]) + struct.pack("<q", value)
    if isinstance(type_, t.DecimalType):
        unscaled = int(value.scaleb(type_.scale, EXACT))
        return bytes([9 << 2, type_.scale]) + unscaled.to_bytes(8, "little", signed=True)
    return _item(type_, value)


def _written(tree: VariantTree | bytes, names: dict[str, int]) -> bytes:
    match tree:
        case bytes():
            return tree
        case dict():
            # Java compares strings by UTF-16 code units.
            keys = sorted(tree, key=lambda name: name.encode("utf-16-be", "surrogatepass"))
            ids = [names.setdefault(key, len(names)) for key in tree]
            by_key = dict(zip(tree, ids, strict=True))
            return _container([_written(tree[key], names) for key in keys], [by_key[key] for key in keys])
        case list():
            return _container([_written(each, names) for each in tree], None)
        case VariantPrimitive(type_, value):
            return _item(type_, value)


def _container(members: Sequence[bytes], ids: Sequence[int] | None) -> bytes:
    offsets = [0]
    for member in members:
        offsets.append(offsets[-1] + len(member))
    width, large = _width(offsets[-1]), len(members) > 255
    header = width - 1
    body = len(members).to_bytes(4 if large else 1, "little")
    if ids is None:
        header |= large << 2
        kind = 3
    else:
        id_width = _width(max(ids, default=0))
        header |= (id_width - 1) << 2 | large << 4
        body += b"".join(each.to_bytes(id_width, "little") for each in ids)
        kind = 2
    body += b"".join(offset.to_bytes(width, "little") for offset in offsets)
    return bytes([header << 2 | kind]) + body + b"".join(members)


def _item(type_: t.DataType, value: Any) -> bytes:
    if value is None:
        return b"\0"
    if type_ == t.BOOLEAN:
        return bytes([(1 if value else 2) << 2])
    if type_ == t.LONG:
        kind = next(kind for kind, bits in ((3, 7), (4, 15), (5, 31), (6, 63)) if -(1 << bits) <= value < 1 << bits)
        return bytes([kind << 2]) + struct.pack(_NUMBERS[kind][0], value)
    if type_ == t.STRING:
        text = value.encode()
        return bytes([len(text) << 2 | 1]) + text if len(text) < 64 else _long(16, text)
    if type_ == t.BINARY:
        return _long(15, value)
    if isinstance(type_, t.DecimalType):
        unscaled = int(value.scaleb(type_.scale, EXACT))
        kind = 8 if abs(unscaled) < 10**9 else 9 if abs(unscaled) < 10**18 else 10
        return bytes([kind << 2, type_.scale]) + unscaled.to_bytes(_DECIMAL_SIZES[kind], "little", signed=True)
    kind = next(kind for kind, (_, of) in _NUMBERS.items() if of == type_ and of != t.LONG)
    number = math.nan if isinstance(value, float) and math.isnan(value) else value
    return bytes([kind << 2]) + struct.pack(_NUMBERS[kind][0], number)


def _long(kind: int, data: bytes) -> bytes:
    return bytes([kind << 2]) + len(data).to_bytes(4, "little") + data


def _width(most: int) -> int:
    return max(1, (most.bit_length() + 7) // 8)
