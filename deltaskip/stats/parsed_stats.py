"""Statistics as the struct `add.stats_parsed` of a checkpoint: from the JSON text of `add.stats`, and back to it.

# PROTOCOL, Checkpoint Schema: stats_parsed; COLLATIONS RFC, Per-file Statistics: statsWithCollation
A value that the struct's type cannot represent exactly is null there, so the statistic is unknown. A bound whose JSON
says more than its value (a double that was once a float) is left out of the struct, so that readers fall back to the
JSON. Without the JSON, the struct has what the JSON says for certain.
"""

from __future__ import annotations

import json
import math
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.json_text import parse_json
from deltaskip.kernels.stats_json import BOOLEAN, INVALID, NUMBER, STRING, extract_double, extract_int64, extract_leaves
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.collations import CollationId
from deltaskip.sparkexpr.values import JSON_FLOATS
from deltaskip.sparkexpr.values.arrow_values import NOTHING, arrow_array, arrow_scalar, is_true
from deltaskip.stats import variant_bounds
from deltaskip.stats.believed_bounds import (
    BEFORE_1900,
    as_floats,
    in_our_calendar,
    in_range,
    is_long_decimal,
    of_either_type,
)
from deltaskip.stats.decode import date_texts, instant_texts, local_texts, nanos_texts, only
from deltaskip.stats.layout import COLLATED
from deltaskip.stats.stats_columns import StatColumn
from deltaskip.stats.tight_bounds import TIGHT_BOUNDS

Path = tuple[str, ...]
Instants = frozenset[Path]

_SIDES = ("minValues", "maxValues")
_MOST_NAMES = 64
# The characters that a JSON string must escape, except the quote and the backslash.
_CONTROL = r"[\x00-\x1f]"


class StatsStruct:
    """The struct type for some columns of a table; `parse` reads JSON strings into it.

    Args:
        columns: Columns with statistics.
        collated: Bounds below statsWithCollation: identifiers, as the JSON spells them, and paths of columns.
        widened: Physical paths of doubles that were once floats.
        alone: Whether the checkpoint keeps no JSON, so that the struct must contain all that the JSON says.
    """

    def __init__(
        self,
        columns: Sequence[StatColumn],
        collated: Iterable[tuple[str, Path]] = (),
        widened: Iterable[Path] = (),
        alone: bool = False,
    ) -> None:
        self._widened = frozenset(widened)
        leaves: dict[Path, t.DataType] = {("numRecords",): t.LONG}
        self._flags: list[Path] = [(TIGHT_BOUNDS,)]
        if alone:
            bounded = [column for column in columns if column.bounded or column.type in (t.BOOLEAN, t.VARIANT)]
        else:
            bounded = [column for column in columns if column.bounded and column.physical not in self._widened]
        for side in _SIDES:
            leaves.update({(side, *column.physical): column.type for column in bounded})
        leaves.update({("nullCount", *column.physical): t.LONG for column in columns})
        for identifier, path in sorted(collated):
            leaves.update({(COLLATED, identifier, side, *path): t.STRING for side in _SIDES})
        self._leaves = leaves
        nested = _nested({**{path: _arrow_type(type_) for path, type_ in leaves.items()}, (TIGHT_BOUNDS,): pa.bool_()})
        self.type: pa.StructType = _struct_type(nested)

    @property
    def definition(self) -> str:
        """A text that is equal for two objects only if they parse every JSON string into the same struct."""
        return repr(([*self._leaves.items()], sorted(self._widened), self._flags))

    def parse(self, texts: pa.Array) -> pa.StructArray:
        """Parse JSON strings into structs; null where a string is null or not a JSON object."""
        integers = [path for path, type_ in self._leaves.items() if type_ in t.INTEGRAL_BITS]
        doubles = [path for path, type_ in self._leaves.items() if type_ in t.FLOATING]
        others = [path for path in self._leaves if path not in {*integers, *doubles}]
        found: dict[Path, pa.Array] = {}
        for path, (values, _) in zip(integers, extract_int64(texts, integers), strict=True):
            found[path] = _in_width(values, t.arrow_type(self._leaves[path]))
        # Without paths the kernel would read the texts all the same.
        special = extract_leaves(texts, doubles) if doubles else []
        numbers = extract_double(texts, doubles) if doubles else []
        for path, (values, _), leaf in zip(doubles, numbers, special, strict=True):
            found[path] = _doubles(values, leaf.text, leaf.kind, t.arrow_type(self._leaves[path]))
            if path[1:] in self._widened:
                found[path] = of_either_type(found[path])
        flags = extract_leaves(texts, [*others, *self._flags])
        for path, leaf in zip(others, flags, strict=False):
            found[path] = _other(leaf.text, leaf.kind, self._leaves[path])
        tight = flags[-1]
        found[(TIGHT_BOUNDS,)] = _booleans(tight.text, tight.kind)
        missing = pc.or_(pc.is_null(texts), pc.equal(tight.kind, arrow_scalar(INVALID, pa.uint8())))
        return _struct_array(_nested(found), self.type, missing)


def _arrow_type(type_: t.DataType) -> pa.DataType:
    if isinstance(type_, t.GEOSPATIAL):
        # The points of boxes are texts.
        return pa.string()
    return variant_bounds.STRUCT_TYPE if type_ == t.VARIANT else t.arrow_type(type_)


def bounded_columns(texts: pa.Array, columns: Sequence[StatColumn]) -> list[StatColumn]:
    """The columns for which some JSON string has a statistic."""
    groups = (*_SIDES, "nullCount")
    leaves = extract_leaves(texts, [(group, *column.physical) for column in columns for group in groups])
    used = [not pc.all(pc.is_null(leaf.text), min_count=0).as_py() for leaf in leaves]
    n = len(groups)
    return [column for i, column in enumerate(columns) if any(used[n * i : n * i + n])]


def collated_bounds(texts: pa.Array, strings: Container[Path]) -> set[tuple[str, Path]]:
    """Identifiers and columns that have a bound below statsWithCollation in some JSON string.

    Args:
        texts: Statistics as JSON.
        strings: Physical paths of the table's string columns; other columns have no collated bounds.
    """
    found: set[Path] = set()
    for text in texts.filter(is_true(pc.match_substring(texts, f'"{COLLATED}"'))).to_pylist():
        try:
            collated = parse_json(text).get(COLLATED)
        except (ValueError, AttributeError):
            continue
        found.update(path for path, value in _leaves(collated, ()) if isinstance(value, str))
    bounds = (path for path in found if len(path) > 2 and path[1] in _SIDES and path[2:] in strings)
    identifiers = {path: CollationId.parsed(path[0]) for path in bounds}
    return {(path[0], path[2:]) for path, found in identifiers.items() if found is not None and found.version}


def _leaves(tree: Any, above: Path) -> Iterator[tuple[Path, Any]]:
    if not isinstance(tree, dict):
        yield above, tree
    elif len(above) < _MOST_NAMES:
        for name, value in tree.items():
            yield from _leaves(value, (*above, name))


def stats_texts(stats: pa.StructArray, instants: Instants = frozenset(), hybrid: bool = False) -> pa.Array:
    """The JSON of each struct, in the form of `add.stats`; null where the struct is null.

    Keys whose value is null are left out, as writers do. Dates and timestamps are ISO 8601 with all their digits,
    decimals and doubles are JSON numbers, except the strings "NaN", "Infinity" and "-Infinity".

    Args:
        stats: Values of `stats_parsed`.
        instants: Paths in the struct, from instant_bounds, that hold instants even if their type has no time zone.
        hybrid: Whether old dates and timestamps may be in another calendar; they are left out then.

    Precision that the struct has lost is as doubtful in the text (`stats.believed_bounds`): decimals have no zeros that
    fill up their scale if a double may have printed them, and instants before 1900 an offset of +00:00.
    """
    return _text(_zoned(stats, instants, ()) if instants else stats, hybrid)


def instant_bounds(schema: t.StructType, mode: t.MappingMode) -> Instants:
    """Paths in the struct of the bounds of columns of type timestamp."""
    return frozenset((side, *path) for side in _SIDES for path in _instants(schema, mode))


def _other(text: pa.Array, kind: pa.Array, type_: t.DataType) -> pa.Array:
    arrow = _arrow_type(type_)
    if type_ == t.BOOLEAN:
        return _booleans(text, kind)
    if isinstance(type_, t.DecimalType):
        return _cast(only(text, kind, NUMBER), arrow)
    strings = only(text, kind, STRING)
    if type_ == t.VARIANT:
        return variant_bounds.of_texts(strings)
    if type_ in t.NANOSECONDS:
        return nanos_texts(strings, type_).view(arrow)
    if type_ == t.TIMESTAMP:
        # An offset is written in minutes, but offsets of local mean time had seconds.
        return instant_texts(strings, None).view(arrow)
    if type_ == t.TIMESTAMP_NTZ:
        return local_texts(strings, or_date=False).view(arrow)
    return date_texts(strings).cast(pa.int32()).view(arrow) if type_ == t.DATE else strings.cast(arrow)


def _doubles(values: pa.Array, text: pa.Array, kind: pa.Array, arrow: pa.DataType) -> pa.Array:
    named = pc.equal(kind, arrow_scalar(STRING, pa.uint8()))
    # Numbers beyond the range are not values of the type.
    beyond = is_true(pc.and_not(pc.is_inf(values), pc.ends_with(text, "Infinity")))
    if pc.any(beyond).as_py():
        values = pc.if_else(beyond, arrow_scalar(None, pa.float64()), values)
    if pc.any(named).as_py():
        specials = [JSON_FLOATS.get(value) for value in text.filter(named).to_pylist()]
        values = pc.replace_with_mask(values, named, arrow_array(specials, pa.float64()))
    return values if arrow == pa.float64() else as_floats(values).cast(arrow)


def _booleans(text: pa.Array, kind: pa.Array) -> pa.Array:
    return pc.equal(only(text, kind, BOOLEAN), arrow_scalar("true", text.type))


def _in_width(values: pa.Array, arrow: pa.DataType) -> pa.Array:
    if arrow == pa.int64():
        return values
    return in_range(values, 1 << (arrow.bit_width - 1)).cast(arrow)


def _cast(text: pa.Array, arrow: pa.DataType) -> pa.Array:
    """Each string as a value of the type; null if it is invalid."""
    try:
        return text.cast(arrow)
    except pa.ArrowInvalid:
        pass  # a text is not valid for the type; the distinct texts are cast one by one
    coded = text.dictionary_encode()
    distinct = [_cast_one(coded.dictionary.slice(i, 1), arrow) for i in range(len(coded.dictionary))]
    return pa.concat_arrays(distinct).take(coded.indices)


def _cast_one(text: pa.Array, arrow: pa.DataType) -> pa.Array:
    try:
        return text.cast(arrow)
    except pa.ArrowInvalid:
        return pa.nulls(1, arrow)


def _nested(leaves: Mapping[Path, Any]) -> dict[str, Any]:
    """A tree of dictionaries with a leaf for each path."""
    root: dict[str, Any] = {}
    for path, leaf in leaves.items():
        level = root
        for name in path[:-1]:
            level = level.setdefault(name, {})
        level[path[-1]] = leaf
    return root


def _struct_type(nested: Mapping[str, Any]) -> pa.StructType:
    return pa.struct(
        [pa.field(name, _struct_type(inner) if isinstance(inner, dict) else inner) for name, inner in nested.items()]
    )


def _struct_array(nested: Mapping[str, Any], type_: pa.StructType, missing: pa.Array | None) -> pa.StructArray:
    arrays = []
    for field in type_:
        inner = nested[field.name]
        arrays.append(_struct_array(inner, field.type, None) if isinstance(inner, dict) else inner)
    return pa.StructArray.from_arrays(arrays, fields=list(type_), mask=missing)


def _instants(schema: t.StructType, mode: t.MappingMode) -> Iterator[tuple[str, ...]]:
    for field in schema.fields:
        name = t.physical_name(field, mode)
        if isinstance(field.type, t.StructType):
            yield from ((name, *path) for path in _instants(field.type, mode))
        elif field.type == t.TIMESTAMP:
            yield (name,)


def _zoned(values: pa.StructArray, instants: Instants, above: tuple[str, ...]) -> pa.StructArray:
    """The values with the zone UTC on instants whose type has no zone, as INT96."""
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


def _text(values: pa.Array, hybrid: bool) -> pa.Array:
    kind = values.type
    if variant_bounds.is_variant(kind):
        return _string(variant_bounds.texts_of(values))
    if pa.types.is_struct(kind):
        return _object(values, hybrid)
    if hybrid:
        values = in_our_calendar(values)
    if pa.types.is_decimal(kind):
        return _decimal(values)
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return values.cast(pa.string())
    if pa.types.is_floating(kind):
        return pa.array([None if v is None else _double(v) for v in values.to_pylist()], pa.string())
    if pa.types.is_timestamp(kind):
        if kind.unit != "ns":
            values = values.cast(pa.timestamp("us", kind.tz))
        text = _wrapped('"', pc.strftime(values, "%Y-%m-%dT%H:%M:%S"), 'Z"' if kind.tz else '"')
        old = pc.less(
            values.view(pa.int64()), arrow_scalar(BEFORE_1900 * (1000 if kind.unit == "ns" else 1), pa.int64())
        )
        doubtful = bool(kind.tz) and pc.any(old).as_py()
        return pc.if_else(old, pc.replace_substring(text, "Z", "+00:00"), text) if doubtful else text
    if pa.types.is_date(kind):
        return _wrapped('"', values.cast(pa.date32()).cast(pa.string()), '"')
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return _string(values.cast(pa.string()))
    # Statistics of binary and nested values are never compared.
    return pa.nulls(len(values), pa.string())


def _decimal(values: pa.Array) -> pa.Array:
    text = values.cast(pa.string())
    long = is_long_decimal(values)
    if not values.type.scale or not pc.any(long).as_py():
        return text
    # An exponent already shows that a double may have printed the text.
    plain = pc.and_not(long, pc.match_substring(text, "E"))
    return pc.if_else(plain, pc.replace_substring_regex(text, r"\.?0*$", ""), text)


def _object(values: pa.StructArray, hybrid: bool) -> pa.Array:
    """JSON objects. Each member that is not null follows a comma, and the first comma is cut off."""
    members = [
        pc.fill_null(_wrapped(f",{json.dumps(field.name, ensure_ascii=False)}:", _text(child, hybrid), ""), NOTHING)
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
    text = json.dumps(value)
    return text if math.isfinite(value) else f'"{text}"'
