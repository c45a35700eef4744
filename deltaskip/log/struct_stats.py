"""Struct statistics of a checkpoint as the JSON text that `add.stats` would hold."""

import json
import math
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.schema import TIMESTAMP, MappingMode, StructType, physical_name
from deltaskip.schema.arrow_values import NOTHING, arrow_scalar

__all__ = ["Instants", "instant_bounds", "stats_json"]

Instants = frozenset[tuple[str, ...]]

# Every character that a JSON string must escape, but for the quote and the backslash.
_CONTROL = r"[\x00-\x1f]"


def stats_json(stats: pa.StructArray, instants: Instants = frozenset()) -> pa.Array:
    """One JSON text an element, null where the struct is null.

    Keys whose value is null are left out, as writers do. Dates and timestamps are ISO 8601 with every digit they have,
    decimals and doubles JSON numbers, doubles that JSON has no number for the strings "NaN", "Infinity", "-Infinity".
    instants: paths in the struct, as instant_bounds gives them, that hold instants even if their type lacks a zone.
    """
    return _text(_zoned(stats, instants, ()) if instants else stats)


def instant_bounds(schema: StructType, mode: MappingMode) -> Instants:
    """Paths of the bounds of columns of type timestamp."""
    return frozenset((side, *path) for side in ("minValues", "maxValues") for path in _instants(schema, mode))


def _instants(schema: StructType, mode: MappingMode) -> Iterator[tuple[str, ...]]:
    for field in schema.fields:
        name = physical_name(field, mode)
        if isinstance(field.type, StructType):
            yield from ((name, *path) for path in _instants(field.type, mode))
        elif field.type == TIMESTAMP:
            yield (name,)


def _zoned(values: pa.StructArray, instants: Instants, above: tuple[str, ...]) -> pa.StructArray:
    """Instants that stand without a zone, as INT96 does, with theirs, which is UTC."""
    arrays = []
    for field, child in zip(values.type, values.flatten(), strict=True):
        path = (*above, field.name)
        if pa.types.is_struct(field.type):
            child = _zoned(child, instants, path)
        elif path in instants and pa.types.is_timestamp(field.type) and field.type.tz is None:
            child = child.view(pa.timestamp(field.type.unit, "UTC"))
        arrays.append(child)
    fields = [pa.field(field.name, child.type) for field, child in zip(values.type, arrays, strict=True)]
    return pa.StructArray.from_arrays(arrays, fields=fields, mask=pc.is_null(values))


def _text(values: pa.Array) -> pa.Array:
    kind = values.type
    if pa.types.is_struct(kind):
        return _object(values)
    if pa.types.is_integer(kind) or pa.types.is_decimal(kind):
        return values.cast(pa.string())
    if pa.types.is_boolean(kind):
        return values.cast(pa.string())
    if pa.types.is_floating(kind):
        return pa.array([None if v is None else _double(v) for v in values.to_pylist()], pa.string())
    if pa.types.is_timestamp(kind):
        text = pc.strftime(values.cast(pa.timestamp("us", kind.tz)), "%Y-%m-%dT%H:%M:%S")
        return _wrapped('"', text, 'Z"' if kind.tz else '"')
    if pa.types.is_date(kind):
        return _wrapped('"', values.cast(pa.date32()).cast(pa.string()), '"')
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return _string(values.cast(pa.string()))
    # Binary and nested values have no statistics that anyone compares.
    return pa.nulls(len(values), pa.string())


def _object(values: pa.StructArray) -> pa.Array:
    """Each member with a comma before it, or nothing where it is null; then the first comma goes."""
    members = [
        pc.fill_null(_wrapped(f",{json.dumps(field.name, ensure_ascii=False)}:", _text(child), ""), NOTHING)
        for field, child in zip(values.type, values.flatten(), strict=True)
    ]
    empty = pa.repeat(NOTHING, len(values))
    inner = pc.utf8_slice_codeunits(pc.binary_join_element_wise(empty, *members, NOTHING), 1)
    return pc.if_else(pc.is_valid(values), _wrapped("{", inner, "}"), arrow_scalar(None, pa.string()))


def _wrapped(before: str, text: pa.Array, after: str) -> pa.Array:
    first, last = arrow_scalar(before, pa.string()), arrow_scalar(after, pa.string())
    return pc.binary_join_element_wise(first, text, last, NOTHING)


def _string(values: pa.Array) -> pa.Array:
    if pc.any(pc.match_substring_regex(values, _CONTROL)).as_py():
        return pa.array(
            [None if v is None else json.dumps(v, ensure_ascii=False) for v in values.to_pylist()], pa.string()
        )
    escaped = pc.replace_substring(pc.replace_substring(values, "\\", "\\\\"), '"', '\\"')
    return _wrapped('"', escaped, '"')


def _double(value: float) -> str:
    if math.isfinite(value):
        return repr(value)
    if math.isnan(value):
        return '"NaN"'
    return '"Infinity"' if value > 0 else '"-Infinity"'
