"""Type coercion of Spark, with and without ANSI mode: the common type of two operands, and the casts to it.

# Spark 4.1, AnsiTypeCoercion, TypeCoercion, DecimalPrecisionTypeCoercion, DecimalType
"""

from __future__ import annotations

from collections.abc import Sequence

from deltaskip.sparkexpr.nodes import (
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
    Variable,
)
from deltaskip.sparkexpr.types.data_types import (
    BINARY,
    BOOLEAN,
    BYTE,
    DATE,
    DATETIMES,
    DOUBLE,
    FLOAT,
    FLOATING,
    INTEGER,
    INTEGRAL_BITS,
    LONG,
    SHORT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VARIANT,
    VOID,
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    StructField,
    StructType,
)
from deltaskip.sparkexpr.types.resolve import fold_name
from deltaskip.sparkexpr.values.interval_types import CALENDAR, INTERVALS, interval_castable, met_interval

ATOMIC = (*INTEGRAL_BITS, FLOAT, DOUBLE, BOOLEAN, STRING, BINARY, *DATETIMES)

_PRECEDENCE: tuple[DataType, ...] = (BYTE, SHORT, INTEGER, LONG, FLOAT, DOUBLE)
_INTEGRAL_DIGITS: dict[DataType, int] = {BYTE: 3, SHORT: 5, INTEGER: 10, LONG: 20}
_MAX_PRECISION = 38
_MIN_ADJUSTED_SCALE = 6


def type_of(node: Node) -> DataType | None:
    """The type of a bound node's value; None if it is not known."""
    match node:
        case Literal(_, type_) | FieldRef(_, _, type_) | Cast(_, type_) | Call(_, _, type_) | Variable(_, type_):
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


def is_nested(type_: DataType | None) -> bool:
    """Whether `type_` is an array, a map or a struct."""
    return isinstance(type_, (ArrayType, MapType, StructType))


def is_orderable(type_: DataType) -> bool:
    """Whether Spark orders values of a type: every type except maps, variants and types that contain one."""
    match type_:
        case ArrayType(element):
            return is_orderable(element)
        case StructType(fields):
            return all(is_orderable(field.type) for field in fields)
        case _:
            return type_ in (*ATOMIC, VOID) or isinstance(type_, DecimalType)


def same_type(left: DataType | None, right: DataType | None) -> bool:
    """Whether two types differ at most in nullability and the names of fields."""
    match left, right:
        case ArrayType(one), ArrayType(other):
            return same_type(one, other)
        case MapType(key, value), MapType(other_key, other_value):
            return same_type(key, other_key) and same_type(value, other_value)
        case StructType(fields), StructType(others):
            pairs = zip(fields, others, strict=False)
            return len(fields) == len(others) and all(same_type(one.type, other.type) for one, other in pairs)
        case _:
            return left is not None and left == right


def cast_to(node: Node, type_: DataType) -> Node:
    """`node` with type `type_`: itself, a NULL of that type, or a Cast."""
    if type_of(node) == type_:
        return node
    if isinstance(node, Literal) and node.value is None:
        return Literal(None, type_)
    return Cast(node, type_)


def castable(source: DataType, target: DataType) -> bool:
    """Whether Spark accepts CAST(source AS target) in ANSI mode."""
    match source, target:
        case ArrayType(one, has_null), ArrayType(other, may_be_null):
            return castable(one, other) and (may_be_null or not (has_null or may_give_null(one, other)))
        case MapType(key, value, has_null), MapType(other_key, other_value, may_be_null):
            keys = castable(key, other_key) and not may_give_null(key, other_key)
            return keys and castable(value, other_value) and (may_be_null or not has_null)
        case StructType(fields), StructType(others):
            return len(fields) == len(others) and all(
                castable(one.type, other.type)
                and (other.nullable or not (one.nullable or may_give_null(one.type, other.type)))
                for one, other in zip(fields, others, strict=True)
            )
    if source in (target, VOID):
        return True
    if source in INTERVALS:
        return interval_castable(source, target)
    if VARIANT in (source, target) or is_nested(target) or (is_nested(source) and target != STRING):
        return False
    if STRING in (source, target):
        return True
    if is_numeric(source):
        return is_numeric(target) or target in (BOOLEAN, TIMESTAMP)
    if source == BOOLEAN:
        return is_numeric(target)
    if source == TIMESTAMP:
        return is_numeric(target) or target in DATETIMES
    return source in DATETIMES and target in DATETIMES


def may_give_null(source: DataType, target: DataType) -> bool:
    """Whether Spark declares the cast of a value that is not NULL as nullable (Cast.forceNullable)."""
    if source in (VOID, target):
        return False
    if source == STRING:
        return target != BINARY
    if target == STRING:
        return False
    if isinstance(target, DecimalType):
        wide = decimal_type_of(source)
        fits = (
            wide is not None
            and target.scale >= wide.scale
            and target.precision - target.scale >= (wide.precision - wide.scale)
        )
        return not fits
    if target == DATE:
        return source != TIMESTAMP
    if target == TIMESTAMP:
        return source in FLOATING
    if target in INTEGRAL_BITS:
        return source in FLOATING or isinstance(source, DecimalType) or (source == TIMESTAMP and target != LONG)
    return False


def wider_type(left: DataType, right: DataType, *, ansi: bool = True) -> DataType | None:
    """The common type of two types in IN, COALESCE, CASE and IF, and of numbers; None if they have no common type."""
    if left in INTERVALS and right in INTERVALS:
        return met_interval(left, right)
    tightest = _tightest(left, right, ansi)
    if tightest is not None:
        return tightest
    if is_nested(left) and is_nested(right):
        return _wider_nested(left, right, ansi)
    if isinstance(left, DecimalType) or isinstance(right, DecimalType):
        if left in FLOATING or right in FLOATING:
            return DOUBLE
        first, second = decimal_type_of(left), decimal_type_of(right)
        if first is not None and second is not None:
            return _wider_decimal(first, second)
    return _promoted_string(left, right, ansi)


def plain_wider_type(left: DataType, right: DataType) -> DataType | None:
    """Like `wider_type` in ANSI mode, but a string and a value of another type have no common type."""
    met = wider_type(left, right)
    return None if met is None or _promotes(left, met) or _promotes(right, met) else met


def _promotes(source: DataType, met: DataType) -> bool:
    """Whether a string is converted to another type, or another type to a string, at any depth."""
    match source, met:
        case ArrayType(one), ArrayType(other):
            return _promotes(one, other)
        case MapType(key, value), MapType(other_key, other_value):
            return _promotes(key, other_key) or _promotes(value, other_value)
        case StructType(fields), StructType(others):
            return any(_promotes(one.type, other.type) for one, other in zip(fields, others, strict=True))
    return source != VOID and (source == STRING) != (met == STRING)


def compared_type(left: DataType, right: DataType, *, ansi: bool = True) -> DataType | None:
    """The common type of two types in comparisons; None if they have no common type.

    Without ANSI mode, a comparison casts a string to the other type; IN, COALESCE, CASE and IF keep the string.
    """
    if ansi or (left == STRING) == (right == STRING) or VOID in (left, right):
        return wider_type(left, right, ansi=ansi)
    other = right if left == STRING else left
    if isinstance(other, DecimalType):
        return DOUBLE if other.scale else other
    return other if other in ATOMIC else None


def common_type(types: Sequence[DataType], *, ansi: bool = True) -> DataType | None:
    """`wider_type` of all `types`, from left to right; without ANSI mode, strings come first."""
    found: DataType | None = VOID
    for type_ in types if ansi else sorted(types, key=lambda type_: type_ != STRING):
        found = None if found is None else wider_type(found, type_, ansi=ansi)
    return found


def decimal_type_of(type_: DataType) -> DecimalType | None:
    """The decimal type that contains every value of an integral or decimal type."""
    if isinstance(type_, DecimalType):
        return type_
    digits = _INTEGRAL_DIGITS.get(type_)
    return None if digits is None else DecimalType(digits, 0)


def literal_decimal(value: int, type_: DataType | None) -> DecimalType:
    """The decimal type that Spark gives an integral literal in arithmetic with decimals.

    It is the narrowest decimal type, except for a byte (DecimalType.fromLiteral).
    """
    return DecimalType(3 if type_ == BYTE else len(str(abs(value))), 0)


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
        (target == STRING and (source in ATOMIC or isinstance(source, DecimalType) or source in INTERVALS - {CALENDAR}))
        or (target in DATETIMES and source in (STRING, *DATETIMES))
        or (target == DOUBLE and (is_numeric(source) or source == STRING))
        or (target in INTEGRAL_BITS and (source in INTEGRAL_BITS or source == STRING))
        or (target == BOOLEAN and source == STRING)
    ) and not is_nested(source)
    return cast_to(node, target) if allowed else None


def _tightest(left: DataType, right: DataType, ansi: bool) -> DataType | None:
    if left == right or right == VOID:
        return left
    if left == VOID:
        return right
    if left in _PRECEDENCE and right in _PRECEDENCE:
        widest = _PRECEDENCE[max(_PRECEDENCE.index(left), _PRECEDENCE.index(right))]
        # A float cannot represent every integer.
        return DOUBLE if ansi and widest == FLOAT else widest
    if left in DATETIMES and right in DATETIMES:
        return TIMESTAMP if TIMESTAMP in (left, right) else TIMESTAMP_NTZ
    return None


def _wider_nested(left: DataType, right: DataType, ansi: bool) -> DataType | None:
    """The type whose elements, keys, values and fields have the wider types of both (findTypeForComplex)."""

    def met(one: DataType, other: DataType, nullable: bool) -> tuple[DataType, bool] | None:
        found = wider_type(one, other, ansi=ansi)
        if found is None:
            return None
        return found, nullable or may_give_null(one, found) or may_give_null(other, found)

    match left, right:
        case ArrayType(one, first), ArrayType(other, second):
            element = met(one, other, first or second)
            return None if element is None else ArrayType(*element)
        case MapType(one, value, first), MapType(other, other_value, second):
            key, item = met(one, other, False), met(value, other_value, first or second)
            return None if key is None or key[1] or item is None else MapType(key[0], *item)
        case StructType(fields), StructType(others) if len(fields) == len(others):
            pairs = list(zip(fields, others, strict=True))
            found = [met(one.type, other.type, one.nullable or other.nullable) for one, other in pairs]
            if any(fold_name(one.name) != fold_name(other.name) for one, other in pairs):
                return None
            known = [each for each in found if each is not None]
            if len(known) < len(found):
                return None
            return StructType(tuple(StructField(field.name, *each) for field, each in zip(fields, known, strict=True)))
    return None


def _promoted_string(left: DataType, right: DataType, ansi: bool) -> DataType | None:
    if STRING not in (left, right):
        return None
    other = right if left == STRING else left
    if not ansi:
        return STRING if _is_written(other) else None
    if other in INTEGRAL_BITS:
        return LONG
    if other in FLOATING or isinstance(other, DecimalType):
        return DOUBLE
    return other if other in ATOMIC else None


def _is_written(type_: DataType) -> bool:
    """Whether Spark casts a value of the type to a string beside a string, without ANSI mode."""
    return is_numeric(type_) or type_ in DATETIMES


def _wider_decimal(left: DecimalType, right: DecimalType) -> DecimalType:
    """The decimal type that contains both types; beyond 38 digits, the integral digits: boundedPreferIntegralDigits."""
    scale = max(left.scale, right.scale)
    whole = max(left.precision - left.scale, right.precision - right.scale)
    excess = max(0, whole + scale - _MAX_PRECISION)
    return DecimalType(min(whole + scale, _MAX_PRECISION), max(0, scale - excess))
