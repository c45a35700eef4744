"""Rows as Python values, for messages: the same for Arrow rows and for rows as Spark's JSON."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.values import EXACT, JSON_FLOATS, exactly, nearest_float, of_unscaled
from deltaskip.sparkexpr.values.calendar import parse_date, parse_timestamp, parse_timestamp_ntz, zone_of

_EPOCH = datetime(1970, 1, 1)


def python_value(value: object, data_type: t.DataType) -> object:
    """Return a value in the value domain of the type as a Python object: dates, times in UTC, decimals.

    A date or timestamp outside of the years 1 to 9999 stays a number.
    """
    match value:
        case int() if data_type == t.DATE:
            return _date(value)
        case int() if data_type == t.TIMESTAMP:
            return _timestamp(value, True)
        case int() if data_type == t.TIMESTAMP_NTZ:
            return _timestamp(value, False)
        case _:
            return value


def row_of_json(text: str, schema: t.StructType) -> dict[str, object] | None:
    """Return the row that Spark's to_json wrote, with values as python_value has them; None for other text."""
    try:
        found, _ = json.JSONDecoder(parse_float=exactly).raw_decode(text)
    except (ValueError, RecursionError):
        return None
    return _struct(found, schema) if isinstance(found, Mapping) else None


def _struct(found: Mapping[str, Any], schema: t.StructType) -> dict[str, object]:
    return {field.name: _value(found.get(field.name), field.type) for field in schema.fields}


def _value(found: Any, data_type: t.DataType) -> object:
    match data_type, found:
        case _, None:
            return None
        case t.StructType(), Mapping():
            return _struct(found, data_type)
        case t.ArrayType(element), list():
            return [_value(each, element) for each in found]
        case t.MapType(_, value), Mapping():
            return {key: _value(each, value) for key, each in found.items()}
        case t.DecimalType(_, scale), int() | Decimal():
            return exactly(found).quantize(of_unscaled(1, scale), context=EXACT)
        case _, int() | Decimal() if data_type == t.DOUBLE:
            return float(found)
        case _, int() | Decimal() if data_type == t.FLOAT:
            # The text has the digits of 32 bits, and the sign of -0.0.
            return math.copysign(nearest_float(found), -1.0 if str(found).startswith("-") else 1.0)
        case _, str():
            return _of_text(found, data_type)
        case _:
            return found


def _of_text(text: str, data_type: t.DataType) -> object:
    days_or_micros: int | None = None
    try:
        if data_type == t.DATE:
            days_or_micros = parse_date(text)
        elif data_type == t.TIMESTAMP:
            days_or_micros = parse_timestamp(text, zone_of("UTC"))
        elif data_type == t.TIMESTAMP_NTZ:
            days_or_micros = parse_timestamp_ntz(text)
        elif data_type == t.BINARY:
            return base64.b64decode(text)
        elif data_type in t.FLOATING:
            return JSON_FLOATS.get(text, text)
    except (LookupError, ValueError):
        return text
    return text if days_or_micros is None else python_value(days_or_micros, data_type)


def _date(days: int) -> object:
    try:
        return date(1970, 1, 1) + timedelta(days=days)
    except OverflowError:
        return days


def _timestamp(micros: int, with_zone: bool) -> object:
    try:
        local = _EPOCH + timedelta(microseconds=micros)
    except OverflowError:
        return micros
    return local.replace(tzinfo=UTC) if with_zone else local
