"""The slow oracle: statistics of rows as plain Python values, by the rules of the protocol and of delta-spark."""

import json
import math
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import numpy as np

from deltaskip.sparkexpr import types as t

BOUNDED = (t.BYTE, t.SHORT, t.INTEGER, t.LONG, t.FLOAT, t.DOUBLE, t.DATE, t.TIMESTAMP, t.TIMESTAMP_NTZ, t.STRING)


def parsed(text: str) -> Any:
    """JSON with numbers as they are written."""
    return json.loads(text, parse_float=Decimal, parse_int=Decimal)


def statistics(
    rows: list[dict[str, Any]], schema: t.StructType, deleted: frozenset[int] = frozenset()
) -> dict[str, Any]:
    """numRecords, minValues, maxValues and nullCount of the rows; bounds and null counts without the deleted ones."""
    live = [row for i, row in enumerate(rows) if i not in deleted]
    trees: dict[str, dict[str, Any]] = {"minValues": {}, "maxValues": {}, "nullCount": {}}
    bounded = _walk(live, schema, trees)
    found: dict[str, Any] = {"numRecords": Decimal(len(rows)), **trees}
    if not bounded:
        del found["minValues"], found["maxValues"]
    return found


def _walk(rows: list[dict[str, Any] | None], struct: t.StructType, trees: dict[str, dict[str, Any]]) -> bool:
    any_bounded = False
    for field in struct.fields:
        values = [None if row is None else row[field.name] for row in rows]
        if isinstance(field.type, t.StructType):
            below: dict[str, dict[str, Any]] = {group: {} for group in trees}
            bounded = _walk(values, field.type, below)
            for group, tree in below.items():
                if bounded or group == "nullCount":
                    trees[group][field.name] = tree
            any_bounded |= bounded
            continue
        trees["nullCount"][field.name] = Decimal(sum(value is None for value in values))
        if field.type not in BOUNDED and not isinstance(field.type, t.DecimalType):
            continue
        any_bounded = True
        there = [value for value in values if value is not None]
        if there:
            low, high = min(there, key=_order), max(there, key=_order)
            bounds = {"minValues": _text(low, field.type, False), "maxValues": _text(high, field.type, True)}
            for group, bound in bounds.items():
                if bound is not None:
                    trees[group][field.name] = bound
    return any_bounded


def _order(value: Any) -> Any:
    match value:
        case float():
            return math.isnan(value), 0.0 if math.isnan(value) else value
        case str():
            return value.encode()
        case _:
            return value


def _text(value: Any, type_: t.DataType, is_max: bool) -> Any:
    match value:
        case float() if math.isnan(value):
            return "NaN"
        case float() if math.isinf(value):
            return "Infinity" if value > 0 else "-Infinity"
        case float():
            return _fewest_digits(value, np.float32 if type_ == t.FLOAT else np.float64)
        case str():
            return truncated_max(value) if is_max else value[:32]
        case datetime():
            in_utc = value.astimezone(UTC) if value.tzinfo else value
            return (
                in_utc.strftime("%Y").rjust(4, "0")
                + in_utc.strftime("-%m-%dT%H:%M:%S.")
                + (f"{in_utc.microsecond // 1000:03}" + ("Z" if value.tzinfo else ""))
            )
        case date():
            return value.isoformat()
        case _:
            return Decimal(value)


def _fewest_digits(value: float, width: Any) -> Decimal:
    """The fewest digits that are read back as the value; Java prints two at least, and then the nearest two."""
    shortest = Decimal(str(width(value)))
    nearest = f"{value:.1e}"
    single = len(shortest.normalize().as_tuple().digits) == 1
    return Decimal(nearest) if single and width(float(nearest)) == value else shortest


def truncated_max(value: str) -> str | None:
    """The maximum over UTF-16 units, as Java has them: 32 whole, then a character above the next, at most 64."""
    units = value.encode("utf-16-be")
    at = [units[i : i + 2] for i in range(0, len(units), 2)]
    if len(at) <= 32:
        return value
    end = 33 if b"\xd8" <= at[31][:1] < b"\xdc" else 32
    while end <= 64:
        if end >= len(at):
            return value
        if b"".join(at[end : end + 2]) == "\U0010ffff".encode("utf-16-be"):
            end += 2
            continue
        above = "\x7f" if at[end] < b"\0\x7f" else "\U0010ffff"
        return b"".join(at[:end]).decode("utf-16-be") + above
    return None
