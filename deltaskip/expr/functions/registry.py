"""Functions that deltaskip can evaluate: one entry each, with parameter and result types.

Only deterministic functions are listed. A call without an entry, or with unsupported types, stays untyped and proves
nothing.

# Spark 4.1, FunctionRegistry and the inputTypes of its expressions
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from deltaskip.expr import dates, strings
from deltaskip.expr.arithmetic import absolute, arithmetic, arithmetic_type, negated, rounded, whole
from deltaskip.expr.coerce import (
    INTEGRAL_BITS,
    adjusted_decimal,
    cast_to,
    common_type,
    decimal_of,
    implicit_cast,
    is_numeric,
    literal_decimal,
    type_of,
    wider_type,
)
from deltaskip.expr.collation import is_collated
from deltaskip.expr.failures import EvaluationError, Undecided
from deltaskip.expr.functions import numbers, text, times
from deltaskip.expr.hashes import SPARK_SEED, hashable, spark_hash, spark_xxhash64
from deltaskip.expr.nodes import ARITHMETIC, Call, Literal, Node
from deltaskip.expr.vectors import Partly, Values
from deltaskip.records import dataclass
from deltaskip.schema.calendar import Zone, local_of
from deltaskip.schema.floats import compare_floats
from deltaskip.schema.types import (
    BINARY,
    BOOLEAN,
    BYTE,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    SHORT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VOID,
    ArrayType,
    DataType,
    DecimalType,
    StructType,
)

__all__ = ["FUNCTIONS", "Function", "Signature"]

# Coerced arguments and the result type; None if Spark refuses them or no rule is known.
Signature = Callable[[tuple[Node, ...]], tuple[tuple[Node, ...], DataType] | None]
# Values of the arguments with the signature's types, the typed call, the session's time zone.
Compute = Callable[[tuple[Any, ...], Call, Zone], object]
# The same for whole columns.
ByColumn = Callable[[Sequence[Values], Call, Zone], Values | Partly]


@dataclass(frozen=True, slots=True)
class Function:
    """Typing and evaluation of a function.

    `null_in_null_out`: a NULL argument makes the result NULL; `compute` never receives one.
    `binary_only`: the result depends on the collation of the arguments, and `compute` supports UTF8_BINARY only.
    `widens`: the arguments are cast to a common type, which the signature finds as in ANSI mode.
    `by_column`: the same for whole columns, at least one of them no constant, and no constant NULL if a NULL gives
    NULL; values of all rows, or of those that have a form by column. It raises EvaluationError if one row fails, and
    NotByColumn for arguments without a form by column.
    """

    signature: Signature
    compute: Compute
    null_in_null_out: bool = True
    binary_only: bool = False
    widens: bool = False
    by_column: ByColumn | None = None


def _takes(result: DataType, *parameters: DataType) -> Signature:
    def signature(args: tuple[Node, ...]) -> tuple[tuple[Node, ...], DataType] | None:
        if len(args) != len(parameters):
            return None
        cast = [implicit_cast(arg, parameter) for arg, parameter in zip(args, parameters, strict=True)]
        found = tuple(arg for arg in cast if arg is not None)
        return (found, result) if len(found) == len(args) else None

    return signature


def _text_or_bytes(result: DataType | None, *rest: DataType) -> Signature:
    """A string or binary, then `rest`. The result has the first one's type if `result` is None."""

    def signature(args: tuple[Node, ...]) -> tuple[tuple[Node, ...], DataType] | None:
        first = BINARY if args and type_of(args[0]) == BINARY else STRING
        return _takes(result or first, first, *rest)(args)

    return signature


def _arithmetic_signature(op: str) -> Signature:
    def signature(args: tuple[Node, ...]) -> tuple[tuple[Node, ...], DataType] | None:
        if len(args) != 2:
            return None
        coerced = _arithmetic_operands(op, *args)
        if coerced is None:
            return None
        left, right = (type_of(operand) for operand in coerced)
        result = None if left is None or right is None else arithmetic_type(op, left, right)
        return None if result is None else (coerced, result)

    return signature


def _arithmetic_operands(op: str, left: Node, right: Node) -> tuple[Node, Node] | None:
    types = (type_of(left), type_of(right))
    if types[0] is None or types[1] is None or types == (STRING, STRING) or types == (VOID, VOID):
        return None
    if STRING in types:
        met = wider_type(types[0], types[1])
    elif isinstance(types[0], DecimalType) or isinstance(types[1], DecimalType):
        return _decimal_operands(left, right)
    else:
        met = wider_type(types[0], types[1])
    if met is None or not is_numeric(met):
        return None
    if op == "/" and not isinstance(met, DecimalType):
        met = DOUBLE
    if op == "div" and met in INTEGRAL_BITS:
        met = LONG
    if STRING in types:
        # A string beside an integer is read as a bigint, also for a division.
        read = wider_type(types[0], types[1]) or met
        left, right = cast_to(left, read), cast_to(right, read)
    return cast_to(left, met), cast_to(right, met)


def _decimal_operands(left: Node, right: Node) -> tuple[Node, Node] | None:
    """Operands of which one is a decimal: each keeps its precision, or both become double."""
    types = (type_of(left), type_of(right))
    if FLOAT in types or DOUBLE in types:
        return cast_to(left, DOUBLE), cast_to(right, DOUBLE)
    operands = []
    for operand, type_, other in ((left, types[0], types[1]), (right, types[1], types[0])):
        if isinstance(operand, Literal) and isinstance(operand.value, int) and type_ in INTEGRAL_BITS:
            target: DataType | None = literal_decimal(operand.value)
        else:
            target = other if type_ == VOID else None if type_ is None else decimal_of(type_)
        if target is None:
            return None
        operands.append(cast_to(operand, target))
    return operands[0], operands[1]


def _additive_signature(op: str) -> Signature:
    """`+` and `-` of numbers, and of dates and days."""
    plain = _arithmetic_signature(op)

    def signature(args: tuple[Node, ...]) -> tuple[tuple[Node, ...], DataType] | None:
        types = [type_of(arg) for arg in args]
        small = (BYTE, SHORT, INTEGER)
        if types[0] == DATE and types[1] in small:
            return (args[0], cast_to(args[1], INTEGER)), DATE
        if op == "+" and types[1] == DATE and types[0] in small:
            return (cast_to(args[0], INTEGER), args[1]), DATE
        return plain(args)

    return signature


def _compute_arithmetic(op: str, args: tuple[Any, ...], call: Call, zone: Zone) -> object:
    if call.type == DATE:
        days, count = args if type_of(call.args[0]) == DATE else reversed(args)
        return dates.add_days(days, count if op == "+" else -count)
    return arithmetic(op, args[0], args[1], call.type)


def _same_number(args: tuple[Node, ...]) -> tuple[tuple[Node, ...], DataType] | None:
    """One number, with the result of its type. A string becomes a double."""
    if len(args) != 1:
        return None
    type_ = type_of(args[0])
    if type_ in (STRING, VOID):
        return (cast_to(args[0], DOUBLE),), DOUBLE
    return (args, type_) if type_ is not None and is_numeric(type_) else None


def _whole_signature(args: tuple[Node, ...]) -> tuple[tuple[Node, ...], DataType] | None:
    """`floor` and `ceil` of one argument: bigint, or a decimal of scale 0."""
    type_ = type_of(args[0]) if len(args) == 1 else None
    if type_ == LONG:
        return args, LONG
    if isinstance(type_, DecimalType):
        return args, adjusted_decimal(type_.precision - type_.scale + 1, 0)
    cast = None if type_ is None else implicit_cast(args[0], DOUBLE)
    return None if cast is None else ((cast,), LONG)


def _round_signature(args: tuple[Node, ...]) -> tuple[tuple[Node, ...], DataType] | None:
    scale = args[1].value if len(args) == 2 and isinstance(args[1], Literal) else 0
    if len(args) not in (1, 2) or not isinstance(scale, int) or (len(args) == 2 and not isinstance(args[1], Literal)):
        return None
    places = Literal(scale, INTEGER)
    match type_of(args[0]):
        case DecimalType(precision, own):
            digits = precision - own + 1
            if scale < 0:
                return (args[0], places), DecimalType(min(max(digits, -scale + 1), 38), 0)
            return (args[0], places), DecimalType(min(digits + min(own, scale), 38), min(own, scale))
        case type_ if type_ in INTEGRAL_BITS and type_ is not None:
            return (args[0], places), type_
    return None


def _coalesce_signature(args: tuple[Node, ...]) -> tuple[tuple[Node, ...], DataType] | None:
    types = [type_of(arg) for arg in args]
    known = [type_ for type_ in types if type_ is not None]
    met = common_type(known) if known and len(known) == len(types) else None
    return None if met is None else (tuple(cast_to(arg, met) for arg in args), met)


def _concat_signature(args: tuple[Node, ...]) -> tuple[tuple[Node, ...], DataType] | None:
    target = BINARY if args and all(type_of(arg) == BINARY for arg in args) else STRING
    return _takes(target, *[target] * len(args))(args)


def _time_signature(args: tuple[Node, ...]) -> tuple[tuple[Node, ...], DataType] | None:
    """A timestamp of either type, not cast; other types become timestamp."""
    if len(args) == 1 and type_of(args[0]) == TIMESTAMP_NTZ:
        return args, INTEGER
    return _takes(INTEGER, TIMESTAMP)(args)


def _days_signature(args: tuple[Node, ...]) -> tuple[tuple[Node, ...], DataType] | None:
    if len(args) == 2 and type_of(args[1]) == LONG:
        return None
    return _takes(DATE, DATE, INTEGER)(args)


def _seconds_signature(args: tuple[Node, ...]) -> tuple[tuple[Node, ...], DataType] | None:
    if len(args) == 1 and type_of(args[0]) in (DATE, TIMESTAMP):
        return _takes(LONG, TIMESTAMP)(args)
    return None


def _pmod_signature(args: tuple[Node, ...]) -> tuple[tuple[Node, ...], DataType] | None:
    found = _arithmetic_signature("%")(args)
    return found if found is not None and found[1] in INTEGRAL_BITS else None


def _pmod(args: tuple[Any, ...], call: Call, zone: Zone) -> object:
    if args[1] == 0:
        raise EvaluationError("Division by zero.")
    remainder: Any = arithmetic("%", args[0], args[1], call.type)
    if remainder >= 0:
        return remainder
    # Java adds bytes and shorts as ints; ints and longs wrap around.
    bits = max(32, INTEGRAL_BITS[call.type] if call.type is not None else 64)
    moved = (remainder + args[1] + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))
    return arithmetic("%", moved, args[1], call.type)


def _hash_signature(result: DataType) -> Signature:
    """Any number of values, each of its own type. Spark hashes a collated string by its collation's key."""

    def signature(args: tuple[Node, ...]) -> tuple[tuple[Node, ...], DataType] | None:
        types = [type_of(arg) for arg in args]
        known = all(type_ is not None and hashable(type_) for type_ in types)
        return (args, result) if args and known and not any(map(is_collated, args)) else None

    return signature


def _hash(one: Callable[[Any, DataType, int], int | None], args: tuple[Any, ...], call: Call, zone: Zone) -> object:
    """The hash of one value is the seed of the next."""
    hashed: int | None = SPARK_SEED
    for value, node in zip(args, call.args, strict=True):
        type_ = type_of(node)
        if type_ is None or hashed is None or isinstance(type_, ArrayType | StructType):
            raise Undecided("Hashes of nested values are left to Spark.")
        hashed = one(value, type_, hashed)
    return hashed


def _sign(args: tuple[Any, ...], call: Call, zone: Zone) -> object:
    return args[0] if args[0] != args[0] or args[0] == 0 else float(compare_floats(args[0], 0.0))


def _no_binary(signature: Signature) -> Signature:
    """Refuses binary operands, whose variants of these functions are not implemented."""

    def checked(args: tuple[Node, ...]) -> tuple[tuple[Node, ...], DataType] | None:
        return None if any(type_of(arg) == BINARY for arg in args) else signature(args)

    return checked


def _text(result: DataType, count: int, compute: Callable[..., object], by_column: ByColumn) -> Function:
    """A function of `count` strings whose result may depend on the collation."""
    signature = _no_binary(_takes(result, *[STRING] * count))
    return Function(signature, lambda args, call, zone: compute(*args), binary_only=True, by_column=by_column)


def _trim(at_start: bool, at_end: bool, by_column: ByColumn) -> Function:
    return _text(STRING, 1, lambda string: strings.trimmed(string, " ", at_start, at_end), by_column)


def _date_field(name: str) -> Function:
    return Function(
        _takes(INTEGER, DATE),
        lambda args, call, zone: dates.date_field(name, args[0]),
        by_column=times.date_field_column,
    )


def _compute_time_field(name: str, args: tuple[Any, ...], call: Call, zone: Zone) -> object:
    local = args[0] if type_of(call.args[0]) == TIMESTAMP_NTZ else local_of(args[0], zone)
    return dates.time_field(name, local)


FUNCTIONS: Mapping[str, Function] = {
    **{
        op: Function(
            (_additive_signature if op in "+-" else _arithmetic_signature)(op),
            partial(_compute_arithmetic, op),
            widens=True,
            by_column=numbers.arithmetic_column,
        )
        for op in ARITHMETIC
    },
    "negative": Function(
        _same_number, lambda args, call, zone: negated(args[0], call.type), by_column=numbers.negative_column
    ),
    "positive": Function(_same_number, lambda args, call, zone: args[0], by_column=numbers.same_column),
    "abs": Function(
        _same_number, lambda args, call, zone: absolute(args[0], call.type), by_column=numbers.absolute_column
    ),
    "floor": Function(
        _whole_signature, lambda args, call, zone: whole(args[0], False, call.type), by_column=numbers.floor_column
    ),
    "ceil": Function(
        _whole_signature, lambda args, call, zone: whole(args[0], True, call.type), by_column=numbers.ceil_column
    ),
    "round": Function(
        _round_signature, lambda args, call, zone: rounded(args[0], args[1], call.type), by_column=numbers.round_column
    ),
    "pmod": Function(_pmod_signature, _pmod, widens=True, by_column=numbers.pmod_column),
    "hash": Function(_hash_signature(INTEGER), partial(_hash, spark_hash), False),
    "xxhash64": Function(_hash_signature(LONG), partial(_hash, spark_xxhash64), False),
    "sign": Function(_takes(DOUBLE, DOUBLE), _sign, by_column=numbers.sign_column),
    "signum": Function(_takes(DOUBLE, DOUBLE), _sign, by_column=numbers.sign_column),
    "isnan": Function(
        _takes(BOOLEAN, DOUBLE),
        lambda args, call, zone: args[0] is not None and args[0] != args[0],
        False,
        by_column=numbers.is_nan_column,
    ),
    # The first argument that is not NULL; evaluated lazily by the caller.
    "coalesce": Function(
        _coalesce_signature,
        lambda args, call, zone: next((a for a in args if a is not None), None),
        False,
        widens=True,
    ),
    "upper": _text(STRING, 1, lambda string: strings.cased(string, True), text.upper_column),
    "lower": _text(STRING, 1, lambda string: strings.cased(string, False), text.lower_column),
    "trim": _trim(True, True, text.btrim_column),
    "btrim": _trim(True, True, text.btrim_column),
    "ltrim": _trim(True, False, text.ltrim_column),
    "rtrim": _trim(False, True, text.rtrim_column),
    "contains": _text(BOOLEAN, 2, lambda text, part: part in text, text.contains_column),
    "endswith": _text(BOOLEAN, 2, lambda text, part: text.endswith(part), text.ends_with_column),
    "instr": _text(INTEGER, 2, lambda text, part: strings.locate(part, text), text.locate_column),
    "locate": _text(INTEGER, 2, strings.locate, text.locate_column),
    "position": _text(INTEGER, 2, strings.locate, text.locate_column),
    "replace": Function(
        _no_binary(_takes(STRING, STRING, STRING, STRING)),
        lambda args, call, zone: strings.replaced(*args),
        binary_only=True,
        by_column=text.replace_column,
    ),
    "reverse": Function(
        _no_binary(_takes(STRING, STRING)), lambda args, call, zone: args[0][::-1], by_column=text.reverse_column
    ),
    "length": Function(_text_or_bytes(INTEGER), lambda args, call, zone: len(args[0]), by_column=text.length_column),
    "octet_length": Function(
        _text_or_bytes(INTEGER),
        lambda args, call, zone: len(args[0].encode() if isinstance(args[0], str) else args[0]),
        by_column=text.octet_length_column,
    ),
    "substring": Function(
        lambda args: _text_or_bytes(None, *[INTEGER] * (len(args) - 1))(args) if len(args) in (2, 3) else None,
        lambda args, call, zone: strings.substring(args[0], args[1], args[2] if len(args) == 3 else 2**31 - 1),
        by_column=text.substring_column,
    ),
    "left": Function(
        _text_or_bytes(None, INTEGER),
        lambda args, call, zone: strings.left(args[0], args[1]),
        by_column=text.left_column,
    ),
    "right": Function(
        _takes(STRING, STRING, INTEGER),
        lambda args, call, zone: strings.right(args[0], args[1]),
        by_column=text.right_column,
    ),
    "concat": Function(
        _concat_signature,
        lambda args, call, zone: strings.joined(args, b"" if call.type == BINARY else ""),
        by_column=text.concat_column,
    ),
    **{name: _date_field(name) for name in dates.DATE_FIELDS},
    **{
        name: Function(_time_signature, partial(_compute_time_field, name), by_column=times.time_field_column)
        for name in dates.TIME_FIELDS
    },
    "last_day": Function(
        _takes(DATE, DATE),
        lambda args, call, zone: dates.checked_date(dates.last_day(args[0])),
        by_column=times.last_day_column,
    ),
    "date_add": Function(
        _days_signature, lambda args, call, zone: dates.add_days(args[0], args[1]), by_column=times.add_days_column
    ),
    "date_sub": Function(
        _days_signature, lambda args, call, zone: dates.add_days(args[0], -args[1]), by_column=times.add_days_column
    ),
    "add_months": Function(
        _takes(DATE, DATE, INTEGER),
        lambda args, call, zone: dates.add_months(args[0], args[1]),
        by_column=times.add_months_column,
    ),
    "datediff": Function(
        _takes(INTEGER, DATE, DATE), lambda args, call, zone: dates.days_between(*args), by_column=times.datediff_column
    ),
    "trunc": Function(
        _takes(DATE, DATE, STRING),
        lambda args, call, zone: dates.checked_date(dates.truncated_date(args[0], args[1])),
        by_column=times.trunc_column,
    ),
    "date_trunc": Function(
        _takes(TIMESTAMP, STRING, TIMESTAMP),
        lambda args, call, zone: dates.checked_micros(dates.truncated_timestamp(args[0], args[1], zone)),
        by_column=times.date_trunc_column,
    ),
    "date_format": Function(
        _takes(STRING, TIMESTAMP, STRING),
        lambda args, call, zone: dates.formatted(local_of(args[0], zone), args[1]),
        by_column=times.date_format_column,
    ),
    "unix_timestamp": Function(
        _seconds_signature, lambda args, call, zone: dates.whole_seconds(args[0]), by_column=times.unix_timestamp_column
    ),
}
