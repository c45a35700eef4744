"""Functions of JSON strings.

# Spark 4.1, jsonExpressions.scala, JacksonParser, JacksonGenerator
"""

from __future__ import annotations

import math
import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.errors import DeltaSkipError
from deltaskip.lazy_regex import regex
from deltaskip.sparkexpr.coerce import is_nested, type_of
from deltaskip.sparkexpr.comparison_collation import is_collated
from deltaskip.sparkexpr.failures import EvaluationError, Undecided
from deltaskip.sparkexpr.functions.elements import made_map
from deltaskip.sparkexpr.functions.function import Function, FunctionRow, Typed, by_row, uncast, value_function
from deltaskip.sparkexpr.kernels.json_paths import parts, texts_at
from deltaskip.sparkexpr.nodes import Call, Literal, Node
from deltaskip.sparkexpr.types import data_types as t
from deltaskip.sparkexpr.types.arrow import arrow_type
from deltaskip.sparkexpr.types.ddl import parse_columns, parse_type_text
from deltaskip.sparkexpr.values import arrow_values
from deltaskip.sparkexpr.values import json_reading as j
from deltaskip.sparkexpr.values import vectors as v
from deltaskip.sparkexpr.values.arithmetic import to_decimal
from deltaskip.sparkexpr.values.calendar import MICROS_PER_DAY, MICROS_PER_SECOND, Zone, format_date, local_of
from deltaskip.sparkexpr.values.casts import cast_value
from deltaskip.sparkexpr.values.column_casts import cast_column
from deltaskip.sparkexpr.values.floats import nearest_float
from deltaskip.sparkexpr.values.lists import coded, listed, lists_of, repeats
from deltaskip.sparkexpr.values.numerals import decimal_of, exactly
from deltaskip.sparkexpr.values.variant_reading import variant_json

_EACH = object()
"""The step of a path to every element of an array."""
JsonStep: TypeAlias = Any
"""A member name, an array index, or _EACH."""

_RAW, _QUOTED, _FLAT = range(3)
_STEP = regex(r"\.(?!\s)([^.\[]+)|\['(?!\s)([^'?]+)'\]|\[([0-9]{1,18})\]|\[(\*)\]")
_TIME = regex(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?)?")
_ZONE = regex(r"Z|[+-][0-9]{2}:[0-9]{2}")
_DATE = regex("[0-9]{4}-[0-9]{2}-[0-9]{2}")
_PLAIN_DECIMAL = regex(r"[+-]?[0-9]+(?:\.[0-9]+)?")
_NAMED_TIMES = ("epoch", "now", "today", "tomorrow", "yesterday")
_MOST_EXPONENT = 400
_SCALARS = (*t.INTEGRAL_BITS, t.FLOAT, t.DOUBLE, t.BOOLEAN, t.STRING, t.DATE, t.TIMESTAMP, t.TIMESTAMP_NTZ)
_CORRUPT = "_corrupt_record"
# Kinds of values in kernels.json_paths, and its output modes for objects and arrays.
_NOTHING, _STRING, _INTEGER, _REAL, _BOOLEAN, _OBJECT, _LIST, _NULL, _TWICE, _LEFT = 0, 1, 2, 3, 4, 5, 6, 7, 64, 255
_NO_CONTAINERS, _AS_THEY_STAND, _WRITTEN = range(3)
_COMMA = arrow_values.arrow_scalar(",", pa.string())


class _Mismatch(ValueError):
    """A JSON value does not have the expected type."""


def _path(text: str) -> list[JsonStep] | None:
    """The steps of a path; None if it is invalid."""
    if text[:1] != "$":
        return None
    steps: list[JsonStep] = []
    at = 1
    while at < len(text):
        found = _STEP.match(text, at)
        if found is None:
            if any(character.isspace() for character in text):
                raise Undecided("A path with blanks is left to Spark.")
            return None
        name, quoted_name, index, each = found.groups()
        if (name or quoted_name) == "*":
            raise Undecided("A path to every member of an object is left to Spark.")
        steps.append(_EACH if each else int(index) if index else name or quoted_name)
        at = found.end()
    return steps


def _read_or_null(text: str) -> Any:
    """The JSON value of a text; None if it has none."""
    try:
        return j.read_json(text)
    except j.Malformed:
        return None


def _get(text: str, path: str) -> object:
    """`get_json_object(text, path)`."""
    steps, found = _path(path), list[str]()
    if steps is None:
        return None
    try:
        value = j.read_json(text)
    except j.Malformed:
        return None
    return "".join(found) if _selected(value, steps, _RAW, found) else None


def _get_column(args: Sequence[v.Values], call: Call, zone: Zone) -> v.Values | v.Partly:
    try:
        steps = _path(v.constant(args[1]))
    except Undecided as error:
        raise v.NotByColumn from error
    if steps is None:
        return v.none_of(pa.string())
    if _EACH in steps:
        raise v.NotByColumn
    found, kinds = _at_path(v.column(args[0]), steps, _WRITTEN)
    return v.Partly(found, kinds == _LEFT)


def _at_path(texts: pa.Array, steps: Sequence[JsonStep], containers: int) -> tuple[pa.Array, np.ndarray]:
    """The values at a path without _EACH, and their kinds (see kernels.json_paths)."""
    names = [b"" if isinstance(step, int) else step.encode() for step in steps]
    numbers = [step if isinstance(step, int) else -1 for step in steps]
    found, kinds = texts_at(
        texts, arrow_values.arrow_array(names, pa.binary()), arrow_values.arrow_array(numbers, pa.int64()), containers
    )
    return found, arrow_values.numpy_values(kinds)


def _selected(value: Any, steps: Sequence[JsonStep], style: int, out: list[str]) -> bool:
    """Append the text of each value at a path to `out`; return whether a value was found.

    style: _RAW writes a string without quotes. _FLAT, for the second of two _EACH steps, writes the elements of an
        array instead of the array.
    """
    if not steps:
        if style == _RAW and isinstance(value, str):
            out.append(value)
            return True
        if style == _FLAT and isinstance(value, list):
            return sum([_selected(each, (), _FLAT, out) for each in value]) > 0
        out.append(j.json_text(value))
        return True
    step, rest = steps[0], steps[1:]
    if isinstance(value, j.Object) and isinstance(step, str):
        # Members may share a name: the first member with a value at the path counts.
        members = (each for name, each in value.members if name == step and each is not None)
        return any(_selected(each, rest, style, out) for each in members)
    if not isinstance(value, list) or isinstance(step, str):
        return False
    if step is not _EACH:
        inner = _QUOTED if rest and rest[0] is _EACH else style
        return step < len(value) and _selected(value[step], rest, inner, out)
    found: list[str] = []
    if rest and rest[0] is _EACH:
        some = sum([_selected(each, rest[1:], _FLAT, found) for each in value]) > 0
    else:
        inner = _QUOTED if style == _RAW else style
        count = sum([_selected(each, rest, inner, found) for each in value])
        some = count > 0
        if style != _QUOTED and count < 2:
            # A single value is written without brackets.
            out += [",".join(found)] if some else []
            return some
    out.append(f"[{','.join(found)}]")
    return some


def _length(text: str) -> object:
    value = _read_or_null(text)
    return len(value) if isinstance(value, list) else None


def _keys(text: str) -> object:
    value = _read_or_null(text)
    return tuple([name for name, _ in value.members]) if isinstance(value, j.Object) else None


def _schema(text: str) -> t.DataType | None:
    """The type of a schema such as `a INT, b ARRAY<STRING>`; None for unsupported types."""
    for read in (parse_type_text, parse_columns):
        try:
            found = _nullable(read(text))
        except DeltaSkipError:
            continue
        return found if found is not None and is_nested(found) else None
    return None


def _nullable(type_: t.DataType) -> t.DataType | None:
    """The type with all fields and elements nullable; None for types that deltaskip does not read from JSON."""
    match type_:
        case t.ArrayType(element):
            inner = _nullable(element)
            return None if inner is None else t.ArrayType(inner)
        case t.MapType(key, value):
            inner = _nullable(value)
            return None if inner is None or key != t.STRING else t.MapType(t.STRING, inner)
        case t.StructType(fields):
            found: list[t.StructField] = []
            for field in fields:
                inner = _nullable(field.type)
                if inner is None or field.metadata or field.name == _CORRUPT:
                    return None
                found.append(t.StructField(field.name, inner))
            return t.StructType(tuple(found)) if found else None
    return type_ if type_ in _SCALARS or isinstance(type_, t.DecimalType) else None


def _from_signature(args: tuple[Node, ...]) -> Typed:
    """Accept a string and the literal of a schema. Options are left to Spark."""
    if len(args) != 2 or type_of(args[0]) != t.STRING or is_collated(*args) or not isinstance(args[1], Literal):
        return None
    type_ = _schema(args[1].value) if isinstance(args[1].value, str) else None
    return None if type_ is None else (args, type_)


def _from(args: tuple[Any, ...], call: Call, zone: Zone) -> object:
    text, type_ = args[0], call.type
    assert type_ is not None
    if not text.strip(" \t\n\r"):
        if text.strip():
            raise Undecided("White space that JSON does not allow is left to Spark.")
        return None
    value: Any = _read_or_null(text)
    if isinstance(type_, t.StructType) and not isinstance(value, j.Object):
        value = j.Object(())
    if isinstance(type_, t.ArrayType) and isinstance(type_.element, t.StructType) and isinstance(value, j.Object):
        value = [value]
    try:
        return _read(value, type_, zone)
    except _Mismatch:
        return None


def _read(value: Any, type_: t.DataType, zone: Zone) -> Any:
    """A JSON value as a value of a type. Raises _Mismatch if it does not have the type."""
    match type_, value:
        case _, None:
            return None
        case t.StructType(fields), j.Object(members):
            found: dict[str, Any] = dict.fromkeys(field.name for field in fields)
            types = {field.name: field.type for field in fields}
            for name, each in members:
                if name in types:
                    try:
                        found[name] = _read(each, types[name], zone)
                    except _Mismatch:
                        # The fields that are already read remain.
                        continue
            return tuple(found.values())
        case t.ArrayType(element), list():
            return tuple([_read(each, element, zone) for each in value])
        case t.MapType(_, inner), j.Object(members):
            if len({name for name, _ in members}) < len(members):
                raise Undecided("A JSON object that has a name twice is left to Spark.")
            return tuple([(name, _read(each, inner, zone)) for name, each in members])
    if is_nested(type_):
        raise _Mismatch
    return _scalar(value, type_, zone)


def _from_column(args: Sequence[v.Values], call: Call, zone: Zone) -> v.Partly:
    """Strings as values of the type; strings that only `compute` can read are left over."""
    texts = v.column(args[0])
    rest = np.zeros(len(texts), np.bool_)
    assert call.type is not None
    found = _member(texts, (), call.type, rest, zone)
    return v.Partly(found, rest | arrow_values.numpy_values(pc.and_not(texts.is_valid(), found.is_valid())))


def _member(texts: pa.Array, steps: Sequence[JsonStep], type_: t.DataType, rest: np.ndarray, zone: Zone) -> pa.Array:
    """The members at a path as a type, null if they do not have the type; `rest` marks the rows left over."""
    found, kinds = _at_path(texts, steps, _containers(type_))
    rest |= kinds >= _TWICE
    return _typed(found, kinds, type_, rest, zone)[0]


def _containers(type_: t.DataType) -> int:
    """The kernel's output mode of objects and arrays that are read as a type."""
    return _WRITTEN if type_ == t.STRING else _AS_THEY_STAND if is_nested(type_) else _NO_CONTAINERS


def _typed(
    found: pa.Array, kinds: np.ndarray, type_: t.DataType, rest: np.ndarray, zone: Zone
) -> tuple[pa.Array, np.ndarray]:
    """Values of the kernel as a type, and a mask of the values of other types; `rest` marks the rows left over."""
    there = (kinds != _NOTHING) & (kinds != _NULL)
    match type_:
        case t.StructType(fields):
            objects = kinds == _OBJECT
            texts = _where(objects, found)
            members = [_member(texts, (field.name,), field.type, rest, zone) for field in fields]
            shown = [pa.field(field.name, member.type) for field, member in zip(fields, members, strict=True)]
            return pa.StructArray.from_arrays(
                members, fields=shown, mask=arrow_values.arrow_array(~objects)
            ), there & ~objects
        case t.ArrayType(element):
            counts, _, values, unlike = _inside(found, kinds == _LIST, element, rest, zone)
            unlike |= there & (kinds != _LIST)
            return listed(counts, there & ~unlike, values), unlike
        case t.MapType(_, inner):
            counts, keys, values, unlike = _inside(found, kinds == _OBJECT, inner, rest, zone)
            unlike |= there & (kinds != _OBJECT)
            [codes], count = coded(keys)
            if repeats(counts, codes, count).any():
                raise v.NotByColumn
            return made_map(counts, there & ~unlike, keys, values), unlike
    if type_ == t.STRING:
        return _where(there, found), np.zeros(len(kinds), np.bool_)
    if type_ == t.BOOLEAN:
        fits = kinds == _BOOLEAN
        return _where(fits, pc.equal(found, arrow_values.arrow_scalar("true", pa.string()))), there & ~fits
    if type_ in t.INTEGRAL_BITS:
        fits = kinds == _INTEGER
        long = arrow_values.true_rows(pc.greater(pc.binary_length(found), 18)) & fits
        rest |= long
        integers = pc.cast(_where(fits & ~long, found), pa.int64())
        bits = t.INTEGRAL_BITS[type_]
        least, most = (arrow_values.arrow_scalar(limit, pa.int64()) for limit in _limits(bits))
        fits = arrow_values.true_rows(pc.and_(pc.less_equal(integers, most), pc.greater_equal(integers, least)))
        return _where(fits, integers).cast(arrow_type(type_), safe=False), there & ~fits
    is_number = (kinds == _INTEGER) | (kinds == _REAL)
    if type_ in t.FLOATING:
        rest |= kinds == _STRING
        texts = _where(is_number, found)
        doubles = pc.cast(texts, pa.float64())
        if type_ == t.DOUBLE:
            return doubles, there & ~is_number
        floats = pc.cast(texts, pa.float32())
        rest |= arrow_values.true_rows(pc.not_equal(floats, pc.cast(doubles, pa.float32(), safe=False)))
        return floats, there & ~is_number
    usual = _PLAIN_DECIMAL if isinstance(type_, t.DecimalType) else _DATE if type_ == t.DATE else _TIME
    fits = (kinds == _STRING) | (is_number if isinstance(type_, t.DecimalType) else False)
    read = fits & arrow_values.true_rows(pc.match_substring_regex(found, f"^(?:{usual.pattern})$"))
    cast = cast_column(_where(read, found), t.STRING, type_, zone)
    rest |= (fits & ~read) | ((kinds == _INTEGER) & (type_ == t.TIMESTAMP))
    for left in (cast.failed, cast.rest):
        if left is not None:
            rest |= left
    return cast.values, there & ~fits


def _inside(
    found: pa.Array, there: np.ndarray, type_: t.DataType, rest: np.ndarray, zone: Zone
) -> tuple[np.ndarray, pa.Array, pa.Array, np.ndarray]:
    """Read the members of objects or arrays as a type.

    Returns their counts, names and values, and a mask of the rows with a member of another type; `rest` marks the rows
    left to `compute`.
    """
    numbers, names, texts, inner_kinds, kinds = parts(_where(there, found), _containers(type_))
    counts = arrow_values.numpy_values(arrow_values.filled(numbers, 0)).astype(np.int64)
    rest |= arrow_values.numpy_values(kinds) == _LEFT
    left = np.zeros(len(texts), np.bool_)
    values, unlike = _typed(texts, arrow_values.numpy_values(inner_kinds), type_, left, zone)
    owners = np.repeat(np.arange(len(counts)), counts)
    rest[owners[left]] = True
    others = np.zeros(len(counts), np.bool_)
    others[owners[unlike]] = True
    return counts, names, values, others


def _where(there: np.ndarray, values: pa.Array) -> pa.Array:
    """The values, null where `there` is False."""
    return pc.if_else(arrow_values.arrow_array(there), values, v.none_of(values.type))


def _scalar(value: Any, type_: t.DataType, zone: Zone) -> Any:
    if type_ == t.STRING:
        return value if isinstance(value, str) else j.json_text(value)
    if type_ == t.BOOLEAN and isinstance(value, bool):
        return value
    if type_ in t.INTEGRAL_BITS and type(value) is int:
        return _integer(value, t.INTEGRAL_BITS[type_])
    if type_ in t.FLOATING:
        return _floating(value, type_)
    if isinstance(type_, t.DecimalType):
        return _decimal(value, type_)
    if type_ == t.TIMESTAMP and type(value) is int:
        if abs(value) >= 2**63 // MICROS_PER_SECOND:
            raise Undecided("A time out of range is left to Spark.")
        return value * MICROS_PER_SECOND
    if type_ in t.DATETIMES and isinstance(value, str):
        return _time(value, type_, zone)
    raise _Mismatch


def _limits(bits: int) -> tuple[int, int]:
    # Jackson reads bytes from -128 to 255.
    return -(1 << (bits - 1)), (1 << (bits - 1)) - 1 if bits > 8 else 255


def _integer(value: int, bits: int) -> int:
    least, most = _limits(bits)
    if not least <= value <= most:
        raise _Mismatch
    return value - 256 if bits == 8 and value > 127 else value


def _floating(value: Any, type_: t.DataType) -> float:
    match value:
        case bool():
            raise _Mismatch
        case int() | j.Real():
            text = value.text if isinstance(value, j.Real) else str(value)
            found = float(text)
            if type_ == t.DOUBLE:
                return found
            nearest = nearest_float(decimal_of(text))
            if nearest != nearest_float(exactly(found) if math.isfinite(found) else decimal_of(text)):
                raise Undecided("A float that rounds differently through a double is left to Spark.")
            return math.copysign(nearest, -1.0 if text.startswith("-") else 1.0)
        case "NaN" | "Infinity" | "-Infinity":
            return float(value)
        case str() if "inf" in value.lower() or "nan" in value.lower():
            raise Undecided("Other names of infinity are left to Spark.")
    raise _Mismatch


def _decimal(value: Any, type_: t.DecimalType) -> Decimal:
    match value:
        case bool() | list() | j.Object():
            raise _Mismatch
        case int():
            exact = exactly(value)
        case j.Real(text):
            if abs(int(text.lower().partition("e")[2] or 0)) > _MOST_EXPONENT:
                raise Undecided("Such an exponent is left to Spark.")
            exact = exactly(text)
        case _:
            if not _PLAIN_DECIMAL.fullmatch(value):
                if any(character.isdigit() for character in value):
                    raise Undecided("Such a text of a number is left to Spark.")
                raise _Mismatch
            exact = exactly(value)
    try:
        return to_decimal(exact, type_)
    except Undecided:
        raise
    except EvaluationError as error:
        raise _Mismatch from error


def _time(text: str, type_: t.DataType, zone: Zone) -> Any:
    found = _TIME.match(text)
    rest = text[found.end() :] if found else text
    usual = found is not None and (not rest or (type_ == t.TIMESTAMP and bool(_ZONE.fullmatch(rest))))
    if not usual:
        if any(character.isdigit() for character in text) or text.strip().lower() in _NAMED_TIMES:
            raise Undecided("Times of other forms are left to Spark.")
        raise _Mismatch
    if type_ == t.DATE and len(text) > 10:
        raise Undecided("Times as dates are left to Spark.")
    try:
        return cast_value(text, t.STRING, type_, zone)
    except Undecided:
        raise
    except EvaluationError as error:
        raise Undecided("Days that do not exist are left to Spark.") from error


def _to_signature(args: tuple[Node, ...]) -> Typed:
    """Accept a nested value or a variant. Options are left to Spark."""
    type_ = type_of(args[0]) if len(args) == 1 else None
    if type_ is None or is_collated(*args) or not (is_nested(type_) or type_ == t.VARIANT) or not _writable(type_):
        return None
    return args, t.STRING


def _writable(type_: t.DataType) -> bool:
    match type_:
        case t.ArrayType(element):
            return _writable(element)
        case t.MapType(key, value):
            return (key == t.STRING or key in t.INTEGRAL_BITS) and _writable(value)
        case t.StructType(fields):
            return all(_writable(field.type) for field in fields)
    return type_ in (*_SCALARS, t.BINARY, t.VARIANT, t.VOID) or isinstance(type_, t.DecimalType)


def _to(args: tuple[Any, ...], call: Call, zone: Zone) -> object:
    type_ = type_of(call.args[0])
    assert type_ is not None
    return _written(args[0], type_, zone)


def _to_column(args: Sequence[v.Values], call: Call, zone: Zone) -> v.Values:
    type_ = type_of(call.args[0])
    assert type_ is not None
    return _texts(v.column(args[0]), type_)


def _texts(values: pa.Array, type_: t.DataType) -> pa.Array:
    """The values of a column as JSON strings; nulls stay null."""
    match type_:
        case t.ArrayType(element):
            lists = lists_of(values)
            inner = _or_null(
                _texts(arrow_values.one_chunk(values.values.take(arrow_values.arrow_array(lists.places()))), element)
            )
            return _around("[", pc.binary_join(listed(lists.lengths, lists.valid, inner), _COMMA), "]")
        case t.MapType(key, inner_type) if key == t.STRING or key in t.INTEGRAL_BITS:
            lists = lists_of(values)
            places = arrow_values.arrow_array(lists.places())
            keys = _texts(arrow_values.one_chunk(values.keys.take(places)), key)
            keys = keys if key == t.STRING else _around('"', keys, '"')
            inner = _or_null(_texts(arrow_values.one_chunk(values.items.take(places)), inner_type))
            pairs = pc.binary_join_element_wise(keys, inner, arrow_values.arrow_scalar(":", pa.string()))
            return _around("{", pc.binary_join(listed(lists.lengths, lists.valid, pairs), _COMMA), "}")
        case t.StructType(fields):
            shown = [
                _around(
                    f"{j.quoted(field.name)}:",
                    _texts(arrow_values.one_chunk(pc.struct_field(values, at)), field.type),
                    "",
                )
                for at, field in enumerate(fields)
            ]
            joined = pc.binary_join_element_wise(*shown, _COMMA, null_handling="skip")
            return _where(arrow_values.numpy_values(values.is_valid()), _around("{", joined, "}"))
    if type_ == t.STRING:
        return _around('"', _escaped(values), '"')
    if type_ == t.BOOLEAN or type_ in t.INTEGRAL_BITS:
        return pc.cast(values, pa.string())
    if type_ == t.VOID:
        return pa.nulls(len(values), pa.string())
    raise v.NotByColumn


def _escaped(texts: pa.Array) -> pa.Array:
    """Strings with JSON escapes, without quotes. Raises NotByColumn for rare control characters."""
    if not pc.any(pc.match_substring_regex(texts, r'["\\\x00-\x1f]')).as_py():
        return texts
    for character, escape in j.SHORT_ESCAPES.items():
        texts = pc.replace_substring(texts, character, escape)
    if pc.any(pc.match_substring_regex(texts, r"[\x00-\x1f]")).as_py():
        raise v.NotByColumn
    return texts


def _or_null(texts: pa.Array) -> pa.Array:
    return pc.fill_null(texts, arrow_values.arrow_scalar("null", pa.string()))


def _around(before: str, texts: pa.Array, after: str) -> pa.Array:
    parts = [arrow_values.arrow_scalar(before, pa.string()), texts, arrow_values.arrow_scalar(after, pa.string())]
    return pc.binary_join_element_wise(*parts, arrow_values.NOTHING)


def _written(value: Any, type_: t.DataType, zone: Zone) -> str:
    """A value as JSON text. NULL fields of structs are left out."""
    if value is None:
        return "null"
    match type_:
        case t.ArrayType(element):
            return f"[{','.join([_written(each, element, zone) for each in value])}]"
        case t.MapType(_, inner):
            return f"{{{','.join([f'{j.quoted(str(key))}:{_written(each, inner, zone)}' for key, each in value])}}}"
        case t.StructType(fields):
            pairs = zip(fields, value, strict=True)
            shown = [f"{j.quoted(f.name)}:{_written(each, f.type, zone)}" for f, each in pairs if each is not None]
            return f"{{{','.join(shown)}}}"
        case t.DecimalType():
            if value.adjusted() < -6:
                raise Undecided("Decimals with an exponent are left to Spark.")
            return f"{value:f}"
    if type_ == t.VARIANT:
        return variant_json(value)
    if type_ == t.BOOLEAN:
        return "true" if value else "false"
    if type_ in t.INTEGRAL_BITS:
        return str(value)
    if type_ in t.FLOATING:
        return j.double_text(value, type_ == t.FLOAT)
    if type_ == t.STRING:
        return j.quoted(value)
    if type_ == t.BINARY:
        return j.quoted(b64encode(value).decode())
    if type_ == t.DATE:
        return j.quoted(_day(value))
    if type_ in (t.TIMESTAMP, t.TIMESTAMP_NTZ):
        return j.quoted(_instant(value, type_, zone))
    raise Undecided("Such values in JSON are left to Spark.")


def _day(days: int) -> str:
    text = format_date(days)
    if not re.fullmatch("[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        raise Undecided("Years of more than four digits are left to Spark.")
    return text


def _instant(micros: int, type_: t.DataType, zone: Zone) -> str:
    """A time as text with milliseconds and an offset from UTC in hours and minutes."""
    local = local_of(micros, zone) if type_ == t.TIMESTAMP else micros
    day, time = divmod(local, MICROS_PER_DAY)
    seconds, fraction = divmod(time, MICROS_PER_SECOND)
    text = f"{_day(day)}T{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{fraction // 1000:03}"
    if type_ == t.TIMESTAMP_NTZ:
        return text
    offset, odd = divmod(local - micros, 60 * MICROS_PER_SECOND)
    if odd:
        raise Undecided("Offsets with seconds are left to Spark.")
    if not offset:
        return text + "Z"
    return f"{text}{'+' if offset > 0 else '-'}{abs(offset) // 60:02}:{abs(offset) % 60:02}"


JSONS: Mapping[str, FunctionRow] = {
    "get_json_object": Function(uncast(2), by_row(_get), binary_only=True, by_column=_get_column, decisive=()),
    "json_array_length": value_function(uncast(1, result=t.INTEGER), _length, binary_only=True),
    "json_object_keys": value_function(uncast(1, result=t.ArrayType(t.STRING)), _keys, binary_only=True),
    "from_json": Function(_from_signature, _from, zoned=True, by_column=_from_column),
    "to_json": Function(_to_signature, _to, zoned=True, by_column=_to_column),
}
