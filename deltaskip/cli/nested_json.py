"""Nested JSON values, in the form that `head` and `query` write and in Spark's form.

Numbers keep all their digits. A map is a list of pairs of key and value, or an object.
"""

from __future__ import annotations

import math
import re
from base64 import b64decode
from collections.abc import Collection, Sequence
from decimal import Decimal, Inexact, InvalidOperation
from json import JSONDecoder
from typing import Any

import pyarrow as pa

from deltaskip.cli.input_errors import WrongValue, value_text
from deltaskip.json_text import parse_json
from deltaskip.sparkexpr import types
from deltaskip.sparkexpr.coerce import is_nested
from deltaskip.sparkexpr.values import JSON_FLOATS, context, exactly, of_unscaled
from deltaskip.sparkexpr.values.arrow_values import typed_array
from deltaskip.sparkexpr.values.calendar import Zone, parse_date, parse_timestamp, parse_timestamp_ntz

# Smaller numbers are rounded to a FLOAT that is finite.
_BEYOND_FLOAT = float(2**128 - 2**103)
_DECODER = JSONDecoder(parse_float=exactly)


def is_read_here(data_type: types.DataType) -> bool:
    """Return whether pyarrow cannot read values of a nested type from JSON.

    It cannot read maps, times and bytes in it, and NaN and infinities in arrays of arrays.
    """
    inner = list(types.nested_types(data_type))
    floats = types.FLOAT in inner or types.DOUBLE in inner
    return is_nested(data_type) and any(
        isinstance(t, types.MapType)
        or t in (types.BINARY, *types.DATETIMES)
        or (floats and isinstance(t, types.ArrayType) and isinstance(t.element, types.ArrayType))
        for t in inner
    )


def from_texts(texts: Sequence[str | None], column: str, data_type: types.DataType, zone: Zone) -> pa.Array:
    """Return the values of JSON strings. Raises WrongValue for a string that is not a value of the type."""
    values = []
    for text in texts:
        try:
            values.append(None if text is None else parse_json(text, parse_float=exactly))
        except ValueError as error:
            raise WrongValue(column, text, "it is not JSON") from error
    return from_values(values, column, data_type, zone, texts)


def from_values(
    values: Sequence[Any], column: str, data_type: types.DataType, zone: Zone, texts: Sequence[Any] | None = None
) -> pa.Array:
    """Return JSON values as an array.

    Args:
        values: The values as `json` returns them, fractions as Decimal.
        column: The column, for messages.
        data_type: Its type.
        zone: Time zone of times without one.
        texts: The text in the file for each value. The default is the value.

    Raises WrongValue for a value of another type.
    """
    found = []
    for at, value in enumerate(values):
        try:
            found.append(_value(value, data_type, zone, ""))
        except (ValueError, LookupError) as error:
            raise WrongValue(column, (texts or values)[at], str(error)) from error
    return typed_array(found, types.arrow_type(data_type))


def without_columns(text: str, columns: Collection[str]) -> tuple[str, dict[str, list[Any]]]:
    """Return JSON lines without the members of some names, and the values of these members.

    A line that lacks a member has None. Everything else is unchanged. Raises ValueError for a line that is not an
    object.
    """
    lines = [_divided(line, columns) for line in text.split("\n") if line.strip()]
    names = {name for _, found in lines for name in found}
    return "".join(f"{rest}\n" for rest, _ in lines), {name: [found.get(name) for _, found in lines] for name in names}


def _divided(line: str, columns: Collection[str]) -> tuple[str, dict[str, Any]]:
    """The line without the members, and their values."""
    kept: list[str] = []
    found: dict[str, Any] = {}
    line = line.rstrip()
    start, last = _after("{", line, 0), len(line) - 1
    while start != last:
        name, end = _DECODER.raw_decode(line, start)
        value, end = _DECODER.raw_decode(line, _after(":", line, end))
        if name not in columns:
            kept.append(line[start:end])
        elif name in found:
            raise ValueError(f"it has the name {name} twice")
        else:
            found[name] = value
        start = _after("", line, end)
        if start != last and (start := _after(",", line, end)) == last:
            raise ValueError("nothing follows its last comma")
    if line[last] != "}":
        raise ValueError("it is not an object")
    return f"{{{', '.join(kept)}}}", found


def _after(mark: str, line: str, at: int) -> int:
    """The position after a mark and the blanks around it."""
    found = re.compile(rf"[ \t\r]*{re.escape(mark)}[ \t\r]*").match(line, at)
    if found is None:
        raise ValueError(f"it lacks {mark}")
    return found.end()


def _value(value: Any, data_type: types.DataType, zone: Zone, path: str) -> Any:
    """A JSON value for `typed_array`. Raises ValueError with what is wrong."""
    if value is None:
        return None
    match data_type:
        case types.StructType(fields) if isinstance(value, dict):
            given = {types.fold_name(name): each for name, each in value.items()}
            for name in value:
                if types.fold_name(name) not in {types.fold_name(each.name) for each in fields}:
                    raise ValueError(f"{path[1:] or 'it'} has the field {name}, which the column lacks")
            return tuple(_value(given.get(types.fold_name(f.name)), f.type, zone, f"{path}.{f.name}") for f in fields)
        case types.ArrayType(element) if isinstance(value, list):
            return tuple(_value(each, element, zone, f"{path}.element") for each in value)
        case types.MapType(key, item) if isinstance(value, dict) or _is_pairs(value):
            pairs = value
            if isinstance(value, dict):
                # Names of an object are strings.
                is_text = key in (types.STRING, types.BINARY, *types.DATETIMES) or isinstance(key, types.DecimalType)
                pairs = [(name if is_text else parse_json(name, parse_float=exactly), it) for name, it in value.items()]
            if any(k is None for k, _ in pairs):
                raise ValueError(f"{path[1:] or 'it'} has a key that is NULL")
            return tuple(
                (_value(k, key, zone, f"{path}.key"), _value(v, item, zone, f"{path}.value")) for k, v in pairs
            )
    found = _atom(value, data_type, zone)
    if found is None:
        raise ValueError(
            path and f"{path[1:]} is {value_text(value)}, which is not of type {types.simple_string(data_type)}"
        )
    return found


def _is_pairs(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, list) and len(each) == 2 for each in value)


def _atom(value: Any, data_type: types.DataType, zone: Zone) -> Any:
    """The value; None if the type has no such value."""
    is_number = isinstance(value, int | Decimal) and not isinstance(value, bool)
    match data_type:
        case _ if data_type in types.INTEGRAL_BITS:
            bits = types.INTEGRAL_BITS[data_type]
            return value if is_number and isinstance(value, int) and -(1 << bits - 1) <= value < 1 << bits - 1 else None
        case _ if data_type in types.FLOATING:
            if isinstance(value, float) or (isinstance(value, str) and value in JSON_FLOATS):
                return float(value)
            found = float(value) if is_number else math.inf
            return found if abs(found) < (_BEYOND_FLOAT if data_type == types.FLOAT else math.inf) else None
        case types.DecimalType(precision, scale):
            return _decimal(value, precision, scale) if is_number or isinstance(value, str) else None
        case _ if data_type == types.BOOLEAN:
            return value if isinstance(value, bool) else None
        case _ if not isinstance(value, str):
            return None
        case _ if data_type == types.STRING:
            return value
        case _ if data_type == types.DATE:
            return parse_date(value)
        case _ if data_type == types.TIMESTAMP:
            return parse_timestamp(value, zone)
        case _ if data_type == types.TIMESTAMP_NTZ:
            return parse_timestamp_ntz(value)
        case _ if data_type == types.BINARY:
            return b64decode(value, validate=True)
    return None


def _decimal(value: int | str | Decimal, precision: int, scale: int) -> Decimal | None:
    """The number if the type represents it exactly."""
    try:
        exact = context(precision, traps=(Inexact, InvalidOperation))
        return exactly(value).quantize(of_unscaled(1, scale), context=exact)
    except ArithmeticError:
        return None
