"""Type coercion of Spark, with and without ANSI mode: the common type of two operands, and the casts to it.

# Spark 4.1, AnsiTypeCoercion, TypeCoercion, DecimalPrecisionTypeCoercion, DecimalType
"""

from __future__ import annotations

from collections.abc import Sequence

from deltaskip.expr.nodes import (
    And,
    Call,
    Case,
    Cast,
    Collate,
    Compare,
    FieldRef,
    In,
    IsNull,
    Like,
    Literal,
    Node,
    Not,
    Or,
    StartsWith,
)
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
    DataType,
    DecimalType,
)

__all__ = [
    "ATOMIC",
    "DATETIMES",
    "INTEGRAL_BITS",
    "adjusted_decimal",
    "cast_to",
    "castable",
    "common_type",
    "compared_type",
    "decimal_of",
    "implicit_cast",
    "is_numeric",
    "literal_decimal",
    "type_of",
    "wider_type",
]

INTEGRAL_BITS: dict[DataType, int] = {BYTE: 8, SHORT: 16, INTEGER: 32, LONG: 64}
DATETIMES = (DATE, TIMESTAMP, TIMESTAMP_NTZ)
ATOMIC = (*INTEGRAL_BITS, FLOAT, DOUBLE, BOOLEAN, STRING, BINARY, *DATETIMES)

_PRECEDENCE: tuple[DataType, ...] = (BYTE, SHORT, INTEGER, LONG, FLOAT, DOUBLE)
_INTEGRAL_DIGITS: dict[DataType, int] = {BYTE: 3, SHORT: 5, INTEGER: 10, LONG: 20}
_MAX_PRECISION = 38
_MIN_ADJUSTED_SCALE = 6


def type_of(node: Node) -> DataType | None:
    """The type of a bound node's value; None if it is not known."""
    match node:
        case Literal(_, type_) | FieldRef(_, _, type_) | Cast(_, type_) | Call(_, _, type_):
            return type_
        case Compare() | And() | Or() | Not() | IsNull() | In() | Like() | StartsWith():
            return BOOLEAN
        case Case(branches, otherwise):
            types = {type_of(value) for _, value in branches} | ({type_of(otherwise)} if otherwise else set())
            return types.pop() if len(types) == 1 else None
        case Collate():
            return STRING
        case _:
            return None


def is_numeric(type_: DataType | None) -> bool:
    """Whether `type_` is integral, floating or decimal."""
    return type_ in _PRECEDENCE or isinstance(type_, DecimalType)


def cast_to(node: Node, type_: DataType) -> Node:
    """`node` with type `type_`: itself, a NULL of that type, or a Cast."""
    if type_of(node) == type_:
        return node
    if isinstance(node, Literal) and node.value is None:
        return Literal(None, type_)
    return Cast(node, type_)


def castable(source: DataType, target: DataType) -> bool:
    """Whether Spark accepts CAST(source AS target) in ANSI mode."""
    if target == STRING or source in (target, VOID, STRING):
        return True
    if is_numeric(source):
        return is_numeric(target) or target in (BOOLEAN, TIMESTAMP)
    if source == BOOLEAN:
        return is_numeric(target) or target == TIMESTAMP
    if source == TIMESTAMP:
        return is_numeric(target) or target in DATETIMES
    return source in DATETIMES and target in DATETIMES


def wider_type(left: DataType, right: DataType, *, ansi: bool = True) -> DataType | None:
    """The common type of two types in IN, COALESCE, CASE and IF, and of numbers; None if there is none."""
    tightest = _tightest(left, right, ansi)
    if tightest is not None:
        return tightest
    if isinstance(left, DecimalType) or isinstance(right, DecimalType):
        if left in (FLOAT, DOUBLE) or right in (FLOAT, DOUBLE):
            return DOUBLE
        first, second = decimal_of(left), decimal_of(right)
        if first is not None and second is not None:
            return _wider_decimal(first, second)
    return _promoted_string(left, right, ansi)


def compared_type(left: DataType, right: DataType, *, ansi: bool = True) -> DataType | None:
    """The common type of two types in comparisons; None if there is none.

    Without ANSI mode a string is compared as a value of the other type, although it remains a string elsewhere.
    """
    if ansi or (left == STRING) == (right == STRING) or VOID in (left, right):
        return wider_type(left, right, ansi=ansi)
    other = right if left == STRING else left
    if isinstance(other, DecimalType):
        return DOUBLE
    return other if other in ATOMIC else None


def common_type(types: Sequence[DataType], *, ansi: bool = True) -> DataType | None:
    """`wider_type` of all `types`, from the left; without ANSI mode, strings are the first."""
    found: DataType | None = VOID
    for type_ in types if ansi else sorted(types, key=lambda type_: type_ != STRING):
        found = None if found is None else wider_type(found, type_, ansi=ansi)
    return found


def decimal_of(type_: DataType) -> DecimalType | None:
    """The decimal type that contains every value of an integral or decimal type."""
    if isinstance(type_, DecimalType):
        return type_
    digits = _INTEGRAL_DIGITS.get(type_)
    return None if digits is None else DecimalType(digits, 0)


def literal_decimal(value: int) -> DecimalType:
    """The narrowest decimal type of an integral literal, as Spark uses it in arithmetic with decimals."""
    return DecimalType(len(str(abs(value))), 0)


def adjusted_decimal(precision: int, scale: int) -> DecimalType:
    """The result type of decimal arithmetic: beyond 38 digits the scale is reduced, down to 6."""
    if precision <= _MAX_PRECISION:
        return DecimalType(precision, scale)
    whole = precision - scale
    return DecimalType(_MAX_PRECISION, max(_MAX_PRECISION - whole, min(scale, _MIN_ADJUSTED_SCALE)))


def implicit_cast(node: Node, target: DataType) -> Node | None:
    """`node` cast to a function's parameter type `target`; None if Spark does not cast implicitly."""
    source = type_of(node)
    if source is None:
        return None
    if source in (target, VOID):
        return cast_to(node, target)
    allowed = (
        (target == STRING and (source in ATOMIC or isinstance(source, DecimalType)))
        or (target in DATETIMES and source in (STRING, *DATETIMES))
        or (target == DOUBLE and (is_numeric(source) or source == STRING))
        or (target in INTEGRAL_BITS and (source in INTEGRAL_BITS or source == STRING))
        or (target == BOOLEAN and source == STRING)
    )
    return cast_to(node, target) if allowed else None


def _tightest(left: DataType, right: DataType, ansi: bool) -> DataType | None:
    if left == right or right == VOID:
        return left
    if left == VOID:
        return right
    if left in _PRECEDENCE and right in _PRECEDENCE:
        widest = _PRECEDENCE[max(_PRECEDENCE.index(left), _PRECEDENCE.index(right))]
        # An integer with a float, which cannot represent every integer.
        return DOUBLE if ansi and widest == FLOAT else widest
    if left in DATETIMES and right in DATETIMES:
        return TIMESTAMP if TIMESTAMP in (left, right) else TIMESTAMP_NTZ
    return None


def _promoted_string(left: DataType, right: DataType, ansi: bool) -> DataType | None:
    if STRING not in (left, right):
        return None
    other = right if left == STRING else left
    if not ansi:
        return STRING if _is_written(other) else None
    if other in INTEGRAL_BITS:
        return LONG
    if other in (FLOAT, DOUBLE) or isinstance(other, DecimalType):
        return DOUBLE
    return other if other in ATOMIC else None


def _is_written(type_: DataType) -> bool:
    """Whether values of the type become strings beside a string without ANSI mode."""
    return is_numeric(type_) or type_ in DATETIMES


def _wider_decimal(left: DecimalType, right: DecimalType) -> DecimalType:
    """The type that contains both; beyond 38 digits those before the point are kept (`boundedPreferIntegralDigits`)."""
    scale = max(left.scale, right.scale)
    whole = max(left.precision - left.scale, right.precision - right.scale)
    excess = max(0, whole + scale - _MAX_PRECISION)
    return DecimalType(min(whole + scale, _MAX_PRECISION), max(0, scale - excess))
