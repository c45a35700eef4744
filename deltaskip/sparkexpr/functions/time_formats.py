"""Functions that format and parse times by a pattern.

# Spark 4.1, datetimeExpressions.scala: DateFormatClass, FromUnixTime, ToTimestamp
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.sparkexpr.coerce import cast_to, implicit_cast, is_numeric, type_of
from deltaskip.sparkexpr.failures import value_or_null
from deltaskip.sparkexpr.functions import function
from deltaskip.sparkexpr.nodes import Call, Cast, Literal, Node
from deltaskip.sparkexpr.preimages import time_steps as preimages
from deltaskip.sparkexpr.types import data_types as t
from deltaskip.sparkexpr.types.arrow import arrow_type
from deltaskip.sparkexpr.values import time_patterns as p
from deltaskip.sparkexpr.values import vectors as v
from deltaskip.sparkexpr.values.arrow_values import NOTHING
from deltaskip.sparkexpr.values.calendar import (
    MICROS_PER_DAY,
    MICROS_PER_MINUTE,
    MICROS_PER_SECOND,
    Zone,
    days_from_civil,
)
from deltaskip.sparkexpr.values.casts import cast_value
from deltaskip.sparkexpr.values.dates import DAY_NAMES, MONTH_NAMES, date_field, whole_seconds
from deltaskip.sparkexpr.values.time_parsing import parsed_time
from deltaskip.sparkexpr.values.zones import civil, first_of_month, instants, local_times, within_limits

_DEFAULT = Literal("yyyy-MM-dd HH:mm:ss", t.STRING)
# The letter counts for which a field has a fixed width.
_FIXED = {"y": (4,), "M": (2,), "L": (2,), "d": (2,), "H": (2,), "m": (2,), "s": (2,), "S": tuple(range(1, 7))}
_MOST_CELLS = 1 << 22
_YEAR_1000 = days_from_civil(1000, 1, 2) * MICROS_PER_DAY


def _written(micros: int, pattern: str, zone: Zone) -> str:
    local, offset = p.local_and_offset(micros, zone)
    return p.formatted(local, pattern, offset, zone)


def _written_column(micros: np.ndarray, pattern: str, zone: Zone, given: v.Values) -> pa.Array:
    """Instants as strings. Each part of the pattern is formatted once for each distinct value."""
    local = local_times(micros, zone)
    day, time = local // MICROS_PER_DAY, local % MICROS_PER_DAY
    parts: list[v.Values] = []
    for kind, items in _groups(p.pattern_items(pattern)):
        match kind if items else None:
            case "day":
                parts.append(_of_cells(day, items, lambda cell: p.DateText(cell).text, given, _dates_in))
            case "minute":
                minutes = time // MICROS_PER_MINUTE
                parts.append(
                    _of_cells(
                        minutes, items, lambda cell: p.TimeText(cell * MICROS_PER_MINUTE).text, given, _minutes_in
                    )
                )
            case "second":
                seconds = time % MICROS_PER_MINUTE // MICROS_PER_SECOND
                parts.append(_of_cells(seconds, items, lambda cell: p.TimeText(cell * MICROS_PER_SECOND).text, given))
            case "fraction":
                parts += [_fraction(time % MICROS_PER_SECOND, item, given) for item in items]
            case "offset":
                offsets = (local - micros) // MICROS_PER_SECOND
                parts.append(_of_cells(offsets, items, lambda cell: lambda field: p.offset_text(field, cell), given))
            case "zone" | "":
                parts.append(v.constant_of(_joined(items, lambda field: p.zone_text(field, zone)), pa.string()))
    if all(isinstance(part, pa.Scalar) for part in parts):
        # The pattern has no fields; only NULL depends on the time.
        parts.append(_of_cells(np.zeros(len(local), np.int64), [], lambda cell: p.DateText(cell).text, given))
    return parts[0] if len(parts) == 1 else pc.binary_join_element_wise(*parts, NOTHING)


def _groups(items: Sequence[p.PatternItem]) -> Iterator[tuple[str, list[str | p.PatternField]]]:
    """Group adjacent items of a pattern that depend on the same part of a time, together with adjacent literals."""
    kind, group = "", list[str | p.PatternField]()
    for item in _flat(items):
        if isinstance(item, p.PatternField):
            found = _kind(item)
            if kind not in ("", found) or found == "fraction":
                yield kind, group
                group = []
            kind = found
        elif kind == "fraction":
            yield kind, group
            kind, group = "", []
        group.append(item)
    yield kind, group


def _flat(items: Sequence[p.PatternItem]) -> Iterator[str | p.PatternField]:
    for item in items:
        if isinstance(item, p.Section):
            yield from _flat(item.items)
        else:
            yield item


def _kind(field: p.PatternField) -> str:
    if field.letter in p.DAY_LETTERS:
        return "day"
    if field.letter in p.OFFSET_LETTERS:
        return "offset"
    return {"V": "zone", "z": "zone", "s": "second", "S": "fraction"}.get(field.letter, "minute")


def _joined(items: Sequence[str | p.PatternField], text: Callable[[p.PatternField], str]) -> str:
    return "".join([item if isinstance(item, str) else text(item) for item in items])


def _of_cells(
    cells: np.ndarray,
    items: Sequence[str | p.PatternField],
    text: Callable[[int], Callable[[p.PatternField], str]],
    given: v.Values,
    fields: Callable[[np.ndarray], Mapping[str, np.ndarray]] | None = None,
) -> pa.Array:
    """The string of each row. All rows of a cell have the same string.

    fields: Returns the numbers of cells by the letter of their field.
    """
    low, high = (int(cells.min()), int(cells.max())) if len(cells) else (0, 0)
    if high - low < _MOST_CELLS:
        seen = np.zeros(high - low + 1, np.bool_)
        seen[cells - low] = True
        distinct = np.flatnonzero(seen) + low
        places = np.cumsum(seen, dtype=np.int32) - 1
        of_row = places[cells - low].astype(np.int32)
    else:
        distinct, of_row = np.unique(cells, return_inverse=True)
    found = None if fields is None else _digits(items, fields(distinct), len(distinct))
    if found is None:
        found = v.text_array([_joined(items, text(cell)) for cell in distinct.tolist()])
    return found.take(v.made(of_row.reshape(-1).astype(np.int64), pa.int64(), given))


def _dates_in(days: np.ndarray) -> Mapping[str, np.ndarray]:
    return dict(zip("yMd", civil(days), strict=True))


def _minutes_in(minutes: np.ndarray) -> Mapping[str, np.ndarray]:
    return {"H": minutes // 60, "m": minutes % 60}


def _digits(items: Sequence[str | p.PatternField], fields: Mapping[str, np.ndarray], count: int) -> pa.Array | None:
    """Strings in which each number has as many digits as its field has letters; None for other fields and years."""
    columns: list[int | np.ndarray] = []
    for item in items:
        if isinstance(item, str):
            columns += item.encode()
            continue
        value = fields.get(item.letter.replace("L", "M"))
        if value is None or item.era or item.count not in _FIXED[item.letter]:
            return None
        if len(value) and not 0 <= value.min() <= value.max() < 10**item.count:
            return None
        columns += [value // 10**place % 10 + ord("0") for place in reversed(range(item.count))]
    cells = np.empty((count, len(columns)), np.uint8)
    for place, each in enumerate(columns):
        cells[:, place] = each
    ends = np.arange(count + 1, dtype=np.int32) * len(columns)
    return pa.Array.from_buffers(pa.string(), count, [None, pa.py_buffer(ends), pa.py_buffer(cells)])


def _fraction(micros: np.ndarray, field: str | p.PatternField, given: v.Values) -> pa.Array:
    """The digits of the fraction of a second."""
    assert isinstance(field, p.PatternField)
    count = min(field.count, 6)
    cut = v.made(micros // 10 ** (6 - count), pa.int64(), given)
    digits = pc.utf8_lpad(pc.cast(cut, pa.string()), count, "0")
    if field.count == count:
        return digits
    return pc.binary_join_element_wise(digits, v.constant_of("0" * (field.count - count), pa.string()), NOTHING)


def _date_format_column(args: Sequence[v.Values], call: Call, zone: Zone) -> v.Values | v.Partly:
    """`date_format(timestamp, pattern)` with a constant pattern."""
    found = _written_column(v.filled(v.column(args[0])), v.constant(args[1]), zone, args[0])
    return within_limits(found, args[0])


def _from_unixtime_column(args: Sequence[v.Values], call: Call, zone: Zone) -> v.Values | v.Partly:
    """`from_unixtime(seconds, pattern)` with a constant pattern."""
    with np.errstate(over="ignore"):
        micros = v.filled(v.column(args[0])) * np.int64(MICROS_PER_SECOND)
    return within_limits(
        _written_column(micros, v.constant(args[1]), zone, args[0]), v.made(micros, pa.int64(), args[0])
    )


def _from_unixtime(args: tuple[Any, ...], call: Call, zone: Zone) -> object:
    """`from_unixtime(seconds, pattern)`. The seconds in microseconds wrap around in 64 bits."""
    return _written((args[0] * MICROS_PER_SECOND + 2**63) % 2**64 - 2**63, args[1], zone)


def _read(args: tuple[Any, ...], call: Call, zone: Zone, local: bool = False) -> int:
    """Parse a string by a pattern; a timestamp is returned unchanged."""
    return int(args[0]) if len(args) == 1 else parsed_time(args[0], args[1], None if local else zone)


def _read_or_null(args: tuple[Any, ...], call: Call, zone: Zone) -> object:
    if len(args) == 2:
        # A pattern that Spark refuses still fails.
        p.pattern_items(args[1], parsing=True)
        return value_or_null(_read, args, call, zone)
    return value_or_null(cast_value, args[0], t.STRING, call.type or t.DATE, zone)


def _read_column(args: Sequence[v.Values], call: Call, zone: Zone) -> v.Values | v.Partly:
    """Parse strings by a constant pattern whose fields have fixed positions; other strings are left over."""
    if len(args) == 1:
        return args[0]
    pattern = v.constant(args[1])
    micros, unlike = _micros_read(v.column(args[0]), pattern, None if call.type == t.TIMESTAMP_NTZ else zone)
    return v.partly(v.made(micros, arrow_type(call.type or t.TIMESTAMP), args[0]), unlike)


def _seconds_column(args: Sequence[v.Values], call: Call, zone: Zone) -> v.Values | v.Partly:
    """`unix_timestamp(time)`, rounded towards zero."""
    given = v.column(args[0])
    micros, unlike = _micros_read(given, v.constant(args[1]), zone) if len(args) > 1 else (v.numbers(given), None)
    found = v.made(whole_seconds(micros), pa.int64(), given)
    return within_limits(found, given) if unlike is None else v.partly(found, unlike)


def _micros_read(given: pa.Array, pattern: str, zone: Zone | None) -> tuple[np.ndarray, np.ndarray]:
    """The instants, or local microseconds, of strings, and a mask of the strings that are left over."""
    layout = _layout(pattern)
    offsets = np.frombuffer(given.buffers()[1], np.int32)[given.offset : given.offset + len(given) + 1]
    width = sum(each for _, each in layout)
    known = np.diff(offsets) == width
    rows = v.valid(given)
    if rows is not None:
        known &= rows
    data = np.frombuffer(given.buffers()[2] or b"", np.uint8)
    starts = offsets[:-1][known].astype(np.int64)
    fields: dict[str, Any] = {"y": 1970, "M": 1, "d": 1}
    like = np.ones(len(starts), np.bool_)
    at = 0
    for part, count in layout:
        if isinstance(part, str):
            for byte in part.encode():
                like &= data[starts + at] == byte
                at += 1
            continue
        value = np.zeros(len(starts), np.int64)
        for _ in range(count):
            digit = data[starts + at] - np.uint8(48)
            like &= digit < 10
            value = value * 10 + digit
            at += 1
        fields[part.letter.replace("L", "M")] = value * 10 ** (6 - count) if part.letter == "S" else value
    year, month, day = (np.broadcast_to(np.asarray(fields[name], np.int64), like.shape) for name in "yMd")
    hour, minute, second, fraction = (fields.get(name, 0) for name in "HmsS")
    like &= (month >= 1) & (month <= 12) & (day >= 1)
    month = np.where(like, month, 1)
    first = first_of_month(year, month)
    like &= day <= first_of_month(year, month + 1) - first
    like &= (np.asarray(hour) < 24) & (np.asarray(minute) < 60) & (np.asarray(second) < 60)
    clock = (hour * 60 + minute) * 60 + second
    local = np.where(like, (first + day - 1) * MICROS_PER_DAY + clock * MICROS_PER_SECOND + fraction, 0)
    found = np.zeros(len(given), np.int64)
    found[known] = local if zone is None else instants(local, zone)
    known[known] = like
    return found, ~known if rows is None else rows & ~known


def _layout(pattern: str) -> list[tuple[str | p.PatternField, int]]:
    """The parts of a pattern with their widths in bytes. Raises NotByColumn if a width is not fixed."""
    found: list[tuple[str | p.PatternField, int]] = []
    seen: set[str] = set()
    digits = False
    for item in p.pattern_items(pattern, parsing=True):
        if isinstance(item, str):
            found.append((item, len(item.encode())))
            digits = digits and not item
            continue
        letter = item.letter.replace("L", "M") if isinstance(item, p.PatternField) else ""
        if (
            not isinstance(item, p.PatternField)
            or item.era
            or item.count not in _FIXED.get(item.letter, ())
            or letter in seen
        ):
            raise v.NotByColumn
        if letter == "S" and digits:
            # A fraction does not share digits with the numbers before it.
            raise v.NotByColumn
        found.append((item, item.count))
        seen.add(letter)
        digits = True
    if not found:
        raise v.NotByColumn
    return found


def _reading(result: t.DataType, other: tuple[t.DataType, ...] = ()) -> function.Signature:
    """Accept a string or a type of `other`, and a pattern; a date becomes its midnight."""

    def signature(args: tuple[Node, ...]) -> function.Typed:
        pattern = implicit_cast(args[1], t.STRING) if len(args) == 2 else None
        if pattern is None:
            return None
        if type_of(args[0]) == t.STRING:
            return (args[0], pattern), result
        return _without_pattern(args, result) if type_of(args[0]) in other else None

    return signature


def _seconds_signature(args: tuple[Node, ...]) -> function.Typed:
    """Accept a string or a time, and an optional pattern."""
    if len(args) not in (1, 2) or any(type_of(arg) not in (t.STRING, t.VOID) for arg in args[1:]):
        return None
    return _reading(t.LONG, t.DATETIMES)((*args, _DEFAULT)[:2])


def _without_pattern(args: tuple[Node, ...], result: t.DataType) -> function.Typed:
    """Accept a time and a pattern. Spark does not evaluate the pattern: it may be NULL or invalid."""
    if not function.is_plain(args[1]):
        # Spark may fold a constant pattern, which may fail.
        return None
    return (cast_to(args[0], t.TIMESTAMP) if type_of(args[0]) == t.DATE else args[0],), result


def _tried(result: t.DataType) -> function.Signature:
    """Accept a string, and an optional pattern."""

    def signature(args: tuple[Node, ...]) -> function.Typed:
        if len(args) == 1:
            source = type_of(args[0])
            kept = source in t.DATETIMES or source == t.VOID or (result == t.TIMESTAMP and is_numeric(source))
            text = None if kept else implicit_cast(args[0], t.STRING)
            return None if text is None else ((text,), result)
        return _reading(result)(args)

    return signature


def _tried_column(args: Sequence[v.Values], call: Call, zone: Zone) -> v.Values | v.Partly:
    if len(args) == 2:
        return _read_column(args, call, zone)
    # Other strings that a cast accepts are left over.
    pattern = "yyyy-MM-dd" if call.type == t.DATE else "yyyy-MM-dd HH:mm:ss"
    micros, unlike = _micros_read(v.column(args[0]), pattern, None if call.type == t.DATE else zone)
    early = micros < _YEAR_1000
    rows = v.valid(args[0])
    unlike |= early if rows is None else early & rows
    found = (micros // MICROS_PER_DAY).astype(np.int32) if call.type == t.DATE else micros
    return v.Partly(v.made(found, arrow_type(call.type or t.TIMESTAMP), args[0]), unlike)


def _text_by_place(names: Sequence[str], field: Callable[[np.ndarray], np.ndarray], name: str) -> function.Function:
    """A function that returns the name of a field of a date."""

    def by_column(args: Sequence[v.Values], call: Call, zone: Zone) -> v.Values:
        places = field(v.numbers(v.column(args[0])).astype(np.int64))
        return v.text_array(names).take(v.made(places, pa.int64(), args[0]))

    return function.Function(
        function.takes(t.STRING, t.DATE),
        function.by_row(lambda date: names[date_field(name, date) - (name == "month")]),
        by_column=by_column,
        preimage=preimages.of_field_text(name, names, int(name == "month")),
    )


READ_BY_CAST: Mapping[str, t.DataType] = {
    "to_date": t.DATE,
    "to_timestamp": t.TIMESTAMP,
    "to_timestamp_ntz": t.TIMESTAMP_NTZ,
}
"""Functions that are a cast of their only argument, and the type to which they cast it."""


def _date_read(reader: str, *args: Node) -> Node | None:
    return Cast(Call(reader, args), t.DATE) if len(args) == 2 else None


TIME_FORMATS: Mapping[str, function.FunctionRow] = {
    "date_format": function.Function(
        function.takes(t.STRING, t.TIMESTAMP, t.STRING),
        lambda args, call, zone: _written(args[0], args[1], zone),
        by_column=_date_format_column,
        zoned=True,
        preimage=preimages.time_written,
        directions=(1, 0),
    ),
    "from_unixtime": function.Function(
        lambda args: function.takes(t.STRING, t.LONG, t.STRING)((*args, _DEFAULT) if len(args) == 1 else args),
        _from_unixtime,
        by_column=_from_unixtime_column,
        zoned=True,
        preimage=preimages.seconds_written,
    ),
    "to_timestamp": function.Function(
        _reading(t.TIMESTAMP, t.DATETIMES), _read, by_column=_read_column, zoned=True, aliases=("to_timestamp_ltz",)
    ),
    "to_timestamp_ntz": function.Function(
        _reading(t.TIMESTAMP_NTZ), lambda args, call, zone: _read(args, call, zone, local=True), by_column=_read_column
    ),
    "to_date": function.Replaced(partial(_date_read, "to_timestamp"), 1, 2),
    "try_to_date": function.Function(
        _tried(t.DATE), _read_or_null, by_column=_tried_column, instead=partial(_date_read, "try_to_timestamp")
    ),
    "try_to_timestamp": function.Function(_tried(t.TIMESTAMP), _read_or_null, by_column=_tried_column, zoned=True),
    **{
        name: function.Function(
            _seconds_signature,
            lambda args, call, zone: whole_seconds(_read(args, call, zone)),
            by_column=_seconds_column,
            zoned=True,
            preimage=preimages.whole_seconds_steps,
            directions=(1,),
        )
        for name in ("unix_timestamp", "to_unix_timestamp")
    },
    "dayname": _text_by_place(DAY_NAMES, lambda days: (days + 3) % 7, "weekday"),
    "monthname": _text_by_place(MONTH_NAMES, lambda days: civil(days)[1] - 1, "month"),
}
