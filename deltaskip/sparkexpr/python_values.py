"""Constants of Python, numpy, pandas and pyarrow as literals, with the types that PySpark gives them."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from deltaskip.errors import InvalidArgumentType, PredicateError, SchemaError
from deltaskip.recursion import deep
from deltaskip.sparkexpr.literal_list import SHORTEST, LiteralList, integers, text_list
from deltaskip.sparkexpr.nodes import Call, Cast, Literal, Node, kept
from deltaskip.sparkexpr.text.render import to_sql
from deltaskip.sparkexpr.types import data_types as t
from deltaskip.sparkexpr.types.resolve import fold_name
from deltaskip.sparkexpr.values.arrow_values import arrow_array
from deltaskip.sparkexpr.values.calendar import EPOCH, format_timestamp
from deltaskip.sparkexpr.values.interval_types import DAY_TIME
from deltaskip.sparkexpr.values.numerals import exactly

_MOST = 10**38
_EPOCH = datetime(1970, 1, 1)
_EXPECTED = (
    "None, a bool, int, float, str, bytes, Decimal, date, datetime or timedelta, or a scalar of numpy, pandas or "
    "pyarrow with such a value; or an array, map or struct of them as a list, a dict or a Row"
)
_NO_NANOSECONDS = "Spark's times have microseconds"
# numpy types for times. Spark has no unit below a microsecond.
_NUMPY_TIMES = (np.datetime64, np.timedelta64)
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def literal_node(value: object, what: str = "A literal in a predicate") -> Node:
    """Return the literal of a constant. A datetime without tzinfo becomes a cast: its time zone is known to `bind`.

    Raises PredicateError for a value that Spark lacks, such as a Decimal with too many digits, or NaT, and
    InvalidArgumentType for a value of another type; they name it as `what`.
    """
    nested = _nested_node(value, what)
    if nested is not None:
        return nested
    value = _plain(value, what)
    match value:
        case Literal():
            return value
        case None:
            return Literal(None, t.VOID)
        case bool():
            return Literal(value, t.BOOLEAN)
        case int() if abs(value) < _MOST:
            return _integer(int(value))
        case int():
            raise PredicateError(f"{what} has more than the 38 digits of a decimal in Spark SQL.")
        case float():
            return Literal(float(value), t.DOUBLE)
        case str():
            return Literal(str.__str__(value), t.STRING)
        case bytes() | bytearray() | memoryview():
            return Literal(bytes(value), t.BINARY)
        case Decimal():
            # Of a class of its own, it may be written in another way.
            return _decimal(exactly(value))
        case datetime():
            return _timestamp(value)
        case date():
            return Literal((value - date(1970, 1, 1)).days, t.DATE)
        case timedelta():
            return _interval(value, what)
    error = InvalidArgumentType.of(what, _EXPECTED, value)
    if is_listed(value):
        raise InvalidArgumentType(
            f"{error} Write an array as a list, a struct as a Row or a dict, and several values as isin."
        )
    if type(value).__module__.partition(".")[0] in ("polars", "pyarrow"):
        raise InvalidArgumentType(f"{error} Write an expression as SQL text, or with deltaskip.col.")
    raise error


@deep
def shaped(node: Node, type_: t.DataType | None) -> Node:
    """Return a constant in which each dict is a struct or a map, by the type that it is compared with or stored as.

    A dict is a struct by the names of its keys where the type is a struct, and otherwise a map, as in PySpark. Another
    expression stays as it is. Raises PredicateError if a dict has a key that is no field of the struct.
    """
    match node, type_:
        case Call("array", ()), t.ArrayType():
            return Literal((), type_)
        case Call("dict()" | "map", ()), t.MapType():
            return Literal((), type_)
        case Call("dict()", pairs), t.StructType(fields):
            members = zip(pairs[::2], pairs[1::2], strict=True)
            given = {fold_name(str(k.value)): v for k, v in members if type(k) is Literal}
            unknown = given.keys() - {fold_name(field.name) for field in fields}
            if unknown or len(given) * 2 < len(pairs):
                raise PredicateError(
                    f"The dict has the keys {to_sql(Call('array', pairs[::2]))}, but the struct has the fields "
                    f"{', '.join(field.name for field in fields)}: give a value by the name of each field."
                )
            found: list[Node] = []
            for field in fields:
                value = shaped(given.get(fold_name(field.name), Literal(None, t.VOID)), field.type)
                found += [Literal(field.name, t.STRING), value]
            return Call("named_struct", tuple(found))
        case Call("dict()", pairs), _:
            key, item = (type_.key, type_.value) if isinstance(type_, t.MapType) else (None, None)
            return Call("map", tuple(shaped(each, item if at % 2 else key) for at, each in enumerate(pairs)))
        case Call("array", args), _:
            element = type_.element if isinstance(type_, t.ArrayType) else None
            return Call("array", tuple(shaped(each, element) for each in args))
        case Call("map", args), t.MapType(key, item):
            return Call("map", tuple(shaped(each, item if at % 2 else key) for at, each in enumerate(args)))
        case Call("named_struct", args), t.StructType(fields) if len(args) == 2 * len(fields):
            types = [None if at % 2 == 0 else fields[at // 2].type for at in range(len(args))]
            return Call("named_struct", tuple(shaped(each, one) for each, one in zip(args, types, strict=True)))
    return node


@kept
def holds_dict(node: Node) -> bool:
    """Whether a constant has a dict that `shaped` must decide."""
    return isinstance(node, Call) and (node.name == "dict()" or any(map(holds_dict, node.args)))


def _nested_node(value: object, what: str) -> Node | None:
    """The call that makes an array, a map or a struct; None for other values."""
    while isinstance(value, pa.Scalar) and isinstance(inner := getattr(value, "value", None), pa.Scalar):
        value = inner
    if isinstance(value, pa.Scalar) and pa.types.is_nested(value.type):
        return _nested_scalar(value, what)
    if isinstance(value, Mapping):
        return Call("dict()", tuple(literal_node(each, what) for pair in value.items() for each in pair))
    names = getattr(value, "__fields__", None) or getattr(value, "_fields", None)
    if isinstance(value, tuple) and names:
        # A Row of PySpark, or a named tuple.
        return _struct(list(names), value, what)
    if isinstance(value, list) or (isinstance(value, np.ndarray) and value.ndim) or isinstance(value, pa.Array):
        return Call("array", tuple(literal_node(each, what) for each in value))
    return None


def _nested_scalar(value: Any, what: str) -> Node | None:
    if not value.is_valid:
        return Literal(None, t.VOID)
    if pa.types.is_map(value.type):
        entries = [value.values[at] for at in range(len(value.values))]
        return Call("map", tuple(literal_node(entry[name], what) for entry in entries for name in ("key", "value")))
    if pa.types.is_struct(value.type):
        return _struct([field.name for field in value.type], [value[at] for at in range(len(value.type))], what)
    return Call("array", tuple(literal_node(each, what) for each in value.values)) if hasattr(value, "values") else None


def _struct(names: Sequence[str], values: Sequence[object], what: str) -> Node:
    members = zip(names, values, strict=True)
    return Call(
        "named_struct", tuple(each for k, v in members for each in (Literal(k, t.STRING), literal_node(v, what)))
    )


def is_listed(value: object) -> bool:
    """Whether the value is a list of constants: a collection other than text, bytes and a mapping."""
    # An IntFlag has its flags as elements.
    of_one = isinstance(value, str | bytes | bytearray | memoryview | Mapping | int)
    scalar = of_one or getattr(value, "shape", None) == ()
    return not scalar and (isinstance(value, Collection | range) or hasattr(value, "to_pylist"))


def list_of(values: Any) -> list[object]:
    """Return the elements of a list of constants. Elements of numpy, pandas and pyarrow arrays are their scalars."""
    return list(values)


def long_list(values: Any) -> LiteralList | None:
    """Return a long list of integers or strings as one array; None for any other list.

    numpy, pandas and pyarrow arrays without NULL are converted without an object for each value.
    """
    if not hasattr(values, "__len__") or len(values) < SHORTEST:
        return None
    array = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    if isinstance(array, pa.Array):
        return None if array.null_count else _of_array(array)
    if type(array).__module__.partition(".")[0] == "pandas" and isinstance(getattr(array, "dtype", None), np.dtype):
        array = np.asarray(array)
    if isinstance(array, np.ndarray):
        signed = array.ndim == 1 and array.dtype.kind == "i"
        return integers(np.ascontiguousarray(array, np.int64)) if signed else None
    kinds = set(map(type, array)) if isinstance(array, list | tuple | set | frozenset | range) else set()
    try:
        if kinds == {int}:
            return integers(np.array(list(array), np.int64))
        if kinds == {str}:
            return text_list(arrow_array(list(array), pa.string()))
    except (OverflowError, UnicodeEncodeError):
        # An integer beyond 64 bits is a decimal in Spark, and a string with a surrogate is refused later.
        return None
    return None


def _of_array(array: pa.Array) -> LiteralList | None:
    if pa.types.is_signed_integer(array.type):
        return integers(array.cast(pa.int64()))
    if pa.types.is_string(array.type) or pa.types.is_large_string(array.type):
        return text_list(array.cast(pa.string()))
    return None


def _plain(value: object, what: str) -> object:
    """The Python value of a numpy, pandas or pyarrow scalar; other values unchanged."""
    if isinstance(value, np.ndarray) and not value.ndim:
        value = value[()]
    if isinstance(value, _NUMPY_TIMES):
        return _numpy_time(value, what)
    # The items of numpy's strings lack null characters at the end.
    if isinstance(value, np.generic) and not isinstance(value, str | bytes):
        return value.item()
    if "pandas" in sys.modules and type(value).__module__.partition(".")[0] == "pandas":
        return _pandas_scalar(value, what)
    return _arrow_scalar(value, what) if isinstance(value, pa.Scalar) else value


def _arrow_scalar(given: Any, what: str) -> object:
    """The Python value that equals an Arrow scalar: `as_py` cuts nanoseconds, and the time of a date64."""
    value = given
    while isinstance(inner := getattr(value, "value", None), pa.Scalar):
        # An entry of a dictionary, or a value of an extension type, of a run or of a union.
        value = inner
    type_ = value.type
    is_time = pa.types.is_timestamp(type_) or pa.types.is_duration(type_)
    try:
        if not value.is_valid or not (is_time or type_ == pa.date64()):
            return given.as_py()
        per_second = _PER_SECOND[type_.unit] if is_time else 1000
        micros, rest = divmod(value.cast(pa.int64()).as_py() * 10**6, per_second)
        since = timedelta(microseconds=micros)
        found: Any = since if pa.types.is_duration(type_) else (EPOCH if is_time and type_.tz else _EPOCH) + since
    except UnicodeDecodeError as error:
        raise PredicateError(f"{what} is text that is not UTF-8: pass it as bytes.") from error
    except (OverflowError, ValueError) as error:
        raise PredicateError(f"{what} is a {type_} outside of the years 1 to 9999.") from error
    _check_cut(value, rest, _NO_NANOSECONDS, what)
    if is_time:
        return found
    _check_cut(value, micros % (86_400 * 10**6), "Spark's dates have no time of day", what)
    return found.date()


def _numpy_time(value: Any, what: str) -> object:
    if np.isnat(value):
        raise PredicateError(f"{what} is NaT, which is not a time in Spark SQL: use None for NULL.")
    unit = np.datetime_data(value.dtype)[0]
    if isinstance(value, np.timedelta64) and unit in ("Y", "M", "generic"):
        raise PredicateError(f"{what} is {value!r}, which is no number of microseconds: use an INTERVAL in SQL text.")
    if isinstance(value, np.datetime64) and unit in ("Y", "M", "W", "D"):
        found = value.astype("datetime64[D]").item()
    else:
        kind = "datetime64[us]" if isinstance(value, np.datetime64) else "timedelta64[us]"
        micros = value.astype(kind)
        _check_cut(value, micros.astype(value.dtype) != value, _NO_NANOSECONDS, what)
        found = micros.item()
    if isinstance(found, int):
        raise PredicateError(f"{what} is {value!r}, which is outside of the years 1 to 9999.")
    return found


def _pandas_scalar(value: Any, what: str) -> object:
    match type(value).__name__:
        case "NaTType" | "NAType":
            raise PredicateError(f"{what} is {value!r}, which is no value in Spark SQL: use None for NULL.")
        case "Timestamp":
            _check_cut(value, value.nanosecond, _NO_NANOSECONDS, what)
            try:
                return value.to_pydatetime()
            except ValueError as error:
                raise PredicateError(f"{what} is {value!r}, which is outside of the years 1 to 9999.") from error
        case "Timedelta":
            _check_cut(value, value.nanoseconds, _NO_NANOSECONDS, what)
            return value.to_pytimedelta()
    return value


def _check_cut(value: object, rest: object, because: str, what: str) -> None:
    if rest:
        raise PredicateError(f"{what} is {value!r}, but {because}: round it first.")


def _interval(value: timedelta, what: str) -> Literal:
    micros = _micros(value)
    if not -(2**63) <= micros < 2**63:
        raise PredicateError(f"{what} is {value}, which is longer than an interval in Spark SQL.")
    return Literal(micros, DAY_TIME)


def _integer(value: int) -> Literal:
    if -(2**31) <= value < 2**31:
        return Literal(value, t.INTEGER)
    return Literal(value, t.LONG) if -(2**63) <= value < 2**63 else _decimal(exactly(value))


def _decimal(value: Decimal) -> Literal:
    if not value.is_finite():
        raise PredicateError(f"The literal {value} is not a decimal in Spark SQL: use a float.")
    _, digits, exponent = value.as_tuple()
    scale = max(0, -int(exponent))
    try:
        type_ = t.DecimalType(max(len(digits) + max(0, int(exponent)), scale, 1), scale)
    except SchemaError as error:
        raise PredicateError(f"The literal {value:.38} has more than 38 digits, the most of a decimal.") from error
    return Literal(value if int(exponent) <= 0 else exactly(int(value)), type_)


def _timestamp(value: datetime) -> Node:
    if value.utcoffset() is not None:
        return Literal(_micros(value - EPOCH), t.TIMESTAMP)
    # The instant depends on the session's time zone, which `bind` receives.
    return Cast(Literal(format_timestamp(_micros(value.replace(tzinfo=None) - _EPOCH)), t.STRING), t.TIMESTAMP)


def _micros(since_epoch: timedelta) -> int:
    return (since_epoch.days * 86_400 + since_epoch.seconds) * 1_000_000 + since_epoch.microseconds
