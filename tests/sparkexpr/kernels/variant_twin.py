"""Variants in plain Python: their encoding, and their shredding into the columns of a file.

Values are None, bool, int, float, str, bytes, lists, dicts, and an Atom for each other type. A shredding schema is None
(only `value`), an Arrow type, a list of the elements' schema, or a dict of the fields' schemas.
"""

import struct
from collections.abc import Iterator, Mapping, Sequence
from decimal import Context, Decimal
from itertools import pairwise
from typing import Any, NamedTuple

import pyarrow as pa

CONTEXT = Context(prec=80)
DECIMAL = "decimal"
# Types of four or eight bytes that hold one integer, by their numbers.
COUNTED = {
    "date": (11, "<i"),
    "timestamp": (12, "<q"),
    "timestamp_ntz": (13, "<q"),
    "time": (17, "<q"),
    "timestamp_nanos": (18, "<q"),
    "timestamp_ntz_nanos": (19, "<q"),
}
ARROW = {
    pa.date32(): "date",
    pa.timestamp("us", "UTC"): "timestamp",
    pa.timestamp("us"): "timestamp_ntz",
    pa.time64("us"): "time",
    pa.timestamp("ns", "UTC"): "timestamp_nanos",
    pa.timestamp("ns"): "timestamp_ntz_nanos",
    pa.float32(): "float",
    pa.binary(16): "uuid",
}


class Atom(NamedTuple):
    """A value of a type that Python lacks: a decimal is a pair of unscaled integer and scale."""

    kind: str
    value: Any


def metadata_of(keys: Sequence[str], width: int = 1) -> bytes:
    """Metadata with these keys, whose offsets have `width` bytes or as many as they need."""
    texts = [key.encode() for key in keys]
    width = max(width, width_of(max(len(texts), sum(map(len, texts)))))
    ends = [sum(map(len, texts[:i])) for i in range(len(texts) + 1)]
    numbers = [len(texts), *ends]
    return bytes([(width - 1) << 6 | 1]) + b"".join(n.to_bytes(width, "little") for n in numbers) + b"".join(texts)


def keys_of(metadata: bytes) -> list[str]:
    width = (metadata[0] >> 6) + 1
    count = int.from_bytes(metadata[1 : 1 + width], "little")
    at = [int.from_bytes(metadata[1 + width * i : 1 + width * (i + 1)], "little") for i in range(1, count + 2)]
    texts = metadata[1 + width * (count + 2) :]
    return [texts[a:b].decode() for a, b in pairwise(at)]


def width_of(most: int) -> int:
    return max(1, (most.bit_length() + 7) // 8)


def keys_in(value: Any) -> Iterator[str]:
    """Every key of the objects in a value."""
    if isinstance(value, dict):
        yield from value
    if isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from keys_in(each)


def encode(value: Any, keys: Sequence[str]) -> bytes:
    """The bytes of a value; the values of an object lie in the order of the dict."""
    match value:
        case None:
            return b"\0"
        case bool():
            return bytes([4 if value else 8])
        case int():
            size = next(n for n in (1, 2, 4, 8) if -(1 << 8 * n - 1) <= value < 1 << 8 * n - 1)
            return bytes([{1: 3, 2: 4, 4: 5, 8: 6}[size] << 2]) + value.to_bytes(size, "little", signed=True)
        case float():
            return bytes([7 << 2]) + struct.pack("<d", value)
        case str():
            text = value.encode()
            return (bytes([len(text) << 2 | 1]) if len(text) < 64 else _sized(16, text)) + text * (len(text) < 64)
        case Atom():
            return _atom(value)
        case bytes():
            return _sized(15, value)
        case list():
            items = [encode(each, keys) for each in value]
            ends = [sum(map(len, items[:i])) for i in range(len(items) + 1)]
            width = width_of(ends[-1])
            head = bytes([((len(items) > 255) << 2 | width - 1) << 2 | 3]) + _count(len(items))
            return head + b"".join(end.to_bytes(width, "little") for end in ends) + b"".join(items)
    return _object(value, keys)


def _atom(atom: Atom) -> bytes:
    if atom.kind in COUNTED:
        number, form = COUNTED[atom.kind]
        return bytes([number << 2]) + struct.pack(form, atom.value)
    if atom.kind == "float":
        return bytes([14 << 2]) + struct.pack("<f", atom.value)
    if atom.kind == "uuid":
        return bytes([20 << 2]) + atom.value
    unscaled, scale = atom.value
    digits = max(scale, len(str(abs(unscaled))))
    number, size = (8, 4) if digits <= 9 else (9, 8) if digits <= 18 else (10, 16)
    return bytes([number << 2, scale]) + unscaled.to_bytes(size, "little", signed=True)


def _object(value: Mapping[str, Any], keys: Sequence[str]) -> bytes:
    items = {key: encode(each, keys) for key, each in value.items()}
    starts, total = {}, 0
    for key, item in items.items():
        starts[key] = total
        total += len(item)
    ordered = sorted(items, key=str.encode)
    ids = [keys.index(key) for key in ordered]
    id_width, width = width_of(max(ids, default=0)), width_of(total)
    head = bytes([((len(items) > 255) << 4 | id_width - 1 << 2 | width - 1) << 2 | 2]) + _count(len(items))
    numbers = [starts[key] for key in ordered] + [total]
    lists = [each.to_bytes(id_width, "little") for each in ids] + [each.to_bytes(width, "little") for each in numbers]
    return head + b"".join(lists) + b"".join(items.values())


def _count(count: int) -> bytes:
    return count.to_bytes(4 if count > 255 else 1, "little")


def _sized(number: int, data: bytes) -> bytes:
    return bytes([number << 2]) + len(data).to_bytes(4, "little") + data


def decode(data: bytes, keys: Sequence[str]) -> Any:
    """The value of some bytes. Checks that the keys of objects are ordered."""
    basic, header = data[0] & 3, data[0] >> 2
    if basic == 1:
        return data[1 : 1 + header].decode()
    if basic >= 2:
        return _decoded_items(data, basic, header, keys)
    if header <= 2:
        return [None, True, False][header]
    if header <= 6:
        return int.from_bytes(data[1 : 1 + (1, 2, 4, 8)[header - 3]], "little", signed=True)
    if header <= 10 and header > 7:
        return Atom(DECIMAL, (int.from_bytes(data[2 : 2 + (4, 8, 16)[header - 8]], "little", signed=True), data[1]))
    if header in (15, 16):
        text = data[5 : 5 + int.from_bytes(data[1:5], "little")]
        return text if header == 15 else text.decode()
    if header == 20:
        return Atom("uuid", data[1:17])
    if header in (7, 14):
        [number] = struct.unpack_from("<d" if header == 7 else "<f", data, 1)
        return number if header == 7 else Atom("float", number)
    kind, form = next((kind, form) for kind, (number, form) in COUNTED.items() if number == header)
    return Atom(kind, struct.unpack_from(form, data, 1)[0])


def _decoded_items(data: bytes, basic: int, header: int, keys: Sequence[str]) -> Any:
    width = (header & 3) + 1
    id_width = (header >> 2 & 3) + 1 if basic == 2 else 0
    large = header >> 4 & 1 if basic == 2 else header >> 2 & 1
    at = 5 if large else 2
    count = int.from_bytes(data[1:at], "little")
    ids = [int.from_bytes(data[at + id_width * i : at + id_width * (i + 1)], "little") for i in range(count)]
    at += id_width * count
    starts = [int.from_bytes(data[at + width * i : at + width * (i + 1)], "little") for i in range(count + 1)]
    at += width * (count + 1)
    items = [decode(data[at + start :], keys) for start in starts[:-1]]
    assert len(data) >= at + starts[-1]
    if basic == 3:
        return items
    names = [keys[each] for each in ids]
    assert names == sorted(set(names), key=str.encode)
    return dict(zip(names, items, strict=True))


def shredded_type(schema: Any) -> pa.DataType:
    """The Arrow type of a pair of value and typed_value."""
    fields = [pa.field("value", pa.binary())]
    match schema:
        case None:
            pass
        case list():
            fields.append(pa.field("typed_value", pa.list_(pa.field("element", shredded_type(schema[0]), False))))
        case dict():
            inner = [pa.field(name, shredded_type(each), False) for name, each in schema.items()]
            fields.append(pa.field("typed_value", pa.struct(inner)))
        case _:
            fields.append(pa.field("typed_value", schema))
    return pa.struct(fields)


def variant_type(schema: Any) -> pa.DataType:
    """The Arrow type of a shredded variant."""
    return pa.struct([pa.field("metadata", pa.binary(), False), *shredded_type(schema)])


def shredded(value: Any, schema: Any, keys: Sequence[str]) -> dict[str, Any]:
    """The pair of value and typed_value of a value that is there."""
    match schema:
        case list() if isinstance(value, list):
            return {"value": None, "typed_value": [shredded(each, schema[0], keys) for each in value]}
        case dict() if isinstance(value, dict):
            rest = {key: each for key, each in value.items() if key not in schema}
            typed = {
                name: shredded(value[name], each, keys) if name in value else dict.fromkeys(("value", "typed_value"))
                for name, each in schema.items()
            }
            return {"value": encode(rest, keys) if rest else None, "typed_value": typed}
        case pa.DataType():
            typed = as_type(value, schema)
            return {"value": encode(value, keys) if typed is None else None, "typed_value": typed}
        case _:
            return {"value": encode(value, keys), "typed_value": None}


def as_type(value: Any, kind: pa.DataType) -> Any:
    """What a column of the type has for the value; None if it cannot have it."""
    if isinstance(value, Atom):
        if pa.types.is_decimal(kind) and value.kind == DECIMAL:
            unscaled, scale = value.value
            fits = scale == kind.scale and len(str(abs(unscaled))) <= kind.precision
            return Decimal(unscaled).scaleb(-scale, CONTEXT) if fits else None
        return value.value if ARROW.get(kind) == value.kind else None
    if pa.types.is_integer(kind):
        fits = type(value) is int and -(1 << kind.bit_width - 1) <= value < 1 << kind.bit_width - 1
        return value if fits else None
    kinds = {pa.bool_(): bool, pa.float64(): float, pa.string(): str, pa.binary(): bytes}
    return value if kind in kinds and type(value) is kinds[kind] else None
