"""Statistics as the struct `stats_parsed` of a checkpoint, out of their JSON text.

# PROTOCOL, Checkpoint Schema: stats_parsed; COLLATIONS RFC, Per-file Statistics: statsWithCollation
What the struct's types cannot hold exactly is null there: a statistic that is not known. A bound whose JSON text says
more than its value stays out of the struct, so that readers go on to the text: those of a double that was a float once.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.kernels.stats_json import BOOLEAN, INVALID, NUMBER, STRING, extract_double, extract_int64, extract_leaves
from deltaskip.schema import (
    BYTE,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    SHORT,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DataType,
    DecimalType,
    arrow_type,
)
from deltaskip.schema.arrow_values import FALSE, arrow_array, arrow_scalar
from deltaskip.stats.columns import StatColumn

__all__ = ["StatsStruct", "collations_of"]

Path = tuple[str, ...]

_INTEGERS = (BYTE, SHORT, INTEGER, LONG)
_COLLATED = "statsWithCollation"
_SPECIAL = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}
_1900 = "1900"


class StatsStruct:
    """The struct's type for some columns of a table, and how texts become values of it.

    collations: identifiers below statsWithCollation, as the texts spell them. widened: physical paths of columns whose
    bounds stay in the text.
    """

    def __init__(
        self, columns: Sequence[StatColumn], collations: Sequence[str] = (), widened: Iterable[Path] = ()
    ) -> None:
        kept = set(widened)
        leaves: dict[Path, DataType] = {("numRecords",): LONG}
        self._flags: list[Path] = [("tightBounds",)]
        bounded = [column for column in columns if column.bounded and column.physical not in kept]
        for side in ("minValues", "maxValues"):
            leaves.update({(side, *column.physical): column.type for column in bounded})
        leaves.update({("nullCount", *column.physical): LONG for column in columns})
        collated = [column for column in columns if column.collation is not None]
        for identifier in collations:
            for side in ("minValues", "maxValues"):
                leaves.update({(_COLLATED, identifier, side, *column.physical): column.type for column in collated})
        self._leaves = leaves
        nested = _nested({**{path: arrow_type(type_) for path, type_ in leaves.items()}, ("tightBounds",): pa.bool_()})
        self.type: pa.StructType = _struct_type(nested)

    def parse(self, texts: pa.Array) -> pa.StructArray:
        """The texts as structs; null where the text is null or no JSON object."""
        integers = [path for path, type_ in self._leaves.items() if type_ in _INTEGERS]
        doubles = [path for path, type_ in self._leaves.items() if type_ in (FLOAT, DOUBLE)]
        others = [path for path in self._leaves if path not in {*integers, *doubles}]
        found: dict[Path, pa.Array] = {}
        for path, (values, _) in zip(integers, extract_int64(texts, integers), strict=True):
            found[path] = _in_width(values, arrow_type(self._leaves[path]))
        special = extract_leaves(texts, doubles)
        for path, (values, _), leaf in zip(doubles, extract_double(texts, doubles), special, strict=True):
            found[path] = _doubles(values, leaf.text, leaf.kind, arrow_type(self._leaves[path]))
        flags = extract_leaves(texts, [*others, *self._flags])
        for path, leaf in zip(others, flags, strict=False):
            found[path] = _other(leaf.text, leaf.kind, self._leaves[path])
        tight = flags[-1]
        found[("tightBounds",)] = _booleans(tight.text, tight.kind)
        missing = pc.or_(pc.is_null(texts), pc.equal(tight.kind, arrow_scalar(INVALID, pa.uint8())))
        return _struct_array(_nested(found), self.type, missing)


def collations_of(texts: pa.Array) -> set[str]:
    """Identifiers below statsWithCollation in the texts."""
    found: set[str] = set()
    for text in texts.filter(pc.fill_null(pc.match_substring(texts, f'"{_COLLATED}"'), FALSE)).to_pylist():
        try:
            collated = json.loads(text).get(_COLLATED)
        except (ValueError, AttributeError, RecursionError):
            continue
        if isinstance(collated, dict):
            found.update(identifier for identifier, bounds in collated.items() if isinstance(bounds, dict))
    return found


def _other(text: pa.Array, kind: pa.Array, type_: DataType) -> pa.Array:
    arrow = arrow_type(type_)
    if isinstance(type_, DecimalType):
        return _cast(_only(text, kind, NUMBER), arrow)
    strings = _only(text, kind, STRING)
    if type_ == TIMESTAMP:
        # An offset in the text is cut to minutes, and those of local mean time had seconds.
        known = pc.or_(pc.ends_with(strings, "Z"), pc.greater_equal(strings, arrow_scalar(_1900, strings.type)))
        return _cast(pc.if_else(pc.fill_null(known, FALSE), strings, arrow_scalar(None, strings.type)), arrow)
    if type_ in (DATE, TIMESTAMP_NTZ):
        return _cast(strings, arrow)
    return strings.cast(arrow)


def _doubles(values: pa.Array, text: pa.Array, kind: pa.Array, arrow: pa.DataType) -> pa.Array:
    named = pc.equal(kind, arrow_scalar(STRING, pa.uint8()))
    if pc.any(named).as_py():
        specials = [_SPECIAL.get(value) for value in text.filter(named).to_pylist()]
        values = pc.replace_with_mask(values, named, arrow_array(specials, pa.float64()))
    return values if arrow == pa.float64() else pc.cast(values, arrow, safe=False)


def _booleans(text: pa.Array, kind: pa.Array) -> pa.Array:
    return pc.equal(_only(text, kind, BOOLEAN), arrow_scalar("true", text.type))


def _in_width(values: pa.Array, arrow: pa.DataType) -> pa.Array:
    if arrow == pa.int64():
        return values
    half = 1 << (arrow.bit_width - 1)
    fits = pc.and_(
        pc.greater_equal(values, arrow_scalar(-half, pa.int64())), pc.less(values, arrow_scalar(half, pa.int64()))
    )
    return pc.if_else(fits, values, arrow_scalar(None, pa.int64())).cast(arrow)


def _only(text: pa.Array, kind: pa.Array, wanted: int) -> pa.Array:
    same = pc.equal(kind, arrow_scalar(wanted, pa.uint8()))
    return text if pc.all(same, min_count=0).as_py() else pc.if_else(same, text, arrow_scalar(None, text.type))


def _cast(text: pa.Array, arrow: pa.DataType) -> pa.Array:
    """Each text as a value, null where it is none."""
    try:
        return text.cast(arrow)
    except pa.ArrowInvalid:
        pass  # some text does not fit; the distinct ones tell which
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
