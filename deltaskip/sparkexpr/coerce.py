"""Type coercion of Spark, with and without ANSI mode: the common type of two operands, and the casts to it.

# Spark 4.1, AnsiTypeCoercion, TypeCoercion, DecimalPrecisionTypeCoercion, DecimalType
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from deltaskip.sparkexpr import nodes as n
from deltaskip.sparkexpr.types import data_types as t
from deltaskip.sparkexpr.types.resolve import fold_name
from deltaskip.sparkexpr.values.interval_types import CALENDAR, INTERVALS, interval_castable, met_interval

ATOMIC = (*t.INTEGRAL_BITS, t.FLOAT, t.DOUBLE, t.BOOLEAN, t.STRING, t.BINARY, *t.DATETIMES)

_PRECEDENCE: tuple[t.DataType, ...] = (t.BYTE, t.SHORT, t.INTEGER, t.LONG, t.FLOAT, t.DOUBLE)
_INTEGRAL_DIGITS: dict[t.DataType, int] = {t.BYTE: 3, t.SHORT: 5, t.INTEGER: 10, t.LONG: 20}
_MAX_PRECISION = 38
_MIN_ADJUSTED_SCALE = 6


def type_of(node: n.Node) -> t.DataType | None:
    """The type of a bound node's value; None if it is not known."""
    match node:
        case (
            n.Literal(_, type_)
            | n.FieldRef(_, _, type_)
            | n.Cast(_, type_)
            | n.Call(_, _, type_)
            | n.Variable(_, type_)
        ):
            return type_
        case n.Compare() | n.And() | n.Or() | n.Not() | n.IsNull() | n.In() | n.Like() | n.StartsWith() | n.Among():
            return t.BOOLEAN
        case n.Case():
            return _type_of_case(node)
        case n.Collate():
            return t.STRING
        case _:
            return None


@n.kept
def _type_of_case(node: n.Case) -> t.DataType | None:
    values = [value for _, value in node.branches]
    types = set(map(type_of, values if node.otherwise is None else [*values, node.otherwise]))
    return types.pop() if len(types) == 1 else None


def is_numeric(type_: t.DataType | None) -> bool:
    """Whether `type_` is integral, floating or decimal."""
    return type_ in _PRECEDENCE or isinstance(type_, t.DecimalType)


def is_nested(type_: t.DataType | None) -> bool:
    """Whether `type_` is an array, a map or a struct."""
    return isinstance(type_, (t.ArrayType, t.MapType, t.StructType))


def is_orderable(type_: t.DataType) -> bool:
    """Whether Spark orders values of a type: every type except maps, variants and types that contain one."""
    match type_:
        case t.ArrayType(element):
            return is_orderable(element)
        case t.StructType(fields):
            return all(is_orderable(field.type) for field in fields)
        case _:
            return type_ in (*ATOMIC, t.VOID) or isinstance(type_, t.DecimalType)


def same_type(left: t.DataType | None, right: t.DataType | None) -> bool:
    """Whether two types differ at most in nullability and the names of fields."""
    match left, right:
        case t.ArrayType(one), t.ArrayType(other):
            return same_type(one, other)
        case t.MapType(key, value), t.MapType(other_key, other_value):
            return same_type(key, other_key) and same_type(value, other_value)
        case t.StructType(fields), t.StructType(others):
            pairs = zip(fields, others, strict=False)
            return len(fields) == len(others) and all(same_type(one.type, other.type) for one, other in pairs)
        case _:
            return left is not None and left == right


def cast_to(node: n.Node, type_: t.DataType) -> n.Node:
    """`node` with type `type_`: itself, a NULL of that type, or a Cast."""
    if type_of(node) == type_:
        return node
    if isinstance(node, n.Literal) and node.value is None:
        return n.Literal(None, type_)
    return n.Cast(node, type_)


def castable(source: t.DataType, target: t.DataType) -> bool:
    """Whether Spark accepts CAST(source AS target) in ANSI mode."""
    match source, target:
        case t.ArrayType(one, has_null), t.ArrayType(other, may_be_null):
            return castable(one, other) and (may_be_null or not (has_null or may_give_null(one, other)))
        case t.MapType(key, value, has_null), t.MapType(other_key, other_value, may_be_null):
            keys = castable(key, other_key) and not may_give_null(key, other_key)
            return keys and castable(value, other_value) and (may_be_null or not has_null)
        case t.StructType(fields), t.StructType(others):
            return len(fields) == len(others) and all(
                castable(one.type, other.type)
                and (other.nullable or not (one.nullable or may_give_null(one.type, other.type)))
                for one, other in zip(fields, others, strict=True)
            )
    if source in (target, t.VOID):
        return True
    if source in INTERVALS:
        return interval_castable(source, target)
    if isinstance(source, t.GEOSPATIAL) or isinstance(target, t.GEOSPATIAL):
        return False
    if t.VARIANT in (source, target) or is_nested(target) or (is_nested(source) and target != t.STRING):
        return False
    if t.STRING in (source, target):
        return True
    if is_numeric(source):
        return is_numeric(target) or target in (t.BOOLEAN, t.TIMESTAMP)
    if source == t.BOOLEAN:
        return is_numeric(target)
    if source == t.TIMESTAMP:
        return is_numeric(target) or target in t.DATETIMES
    return source in t.DATETIMES and target in t.DATETIMES


def may_give_null(source: t.DataType, target: t.DataType) -> bool:
    """Whether Spark declares the cast of a value that is not NULL as nullable (Cast.forceNullable)."""
    if source in (t.VOID, target):
        return False
    if source == t.STRING:
        return target != t.BINARY
    if target == t.STRING:
        return False
    if isinstance(target, t.DecimalType):
        wide = decimal_type_of(source)
        fits = (
            wide is not None
            and target.scale >= wide.scale
            and target.precision - target.scale >= (wide.precision - wide.scale)
        )
        return not fits
    if target == t.DATE:
        return source != t.TIMESTAMP
    if target == t.TIMESTAMP:
        return source in t.FLOATING
    if target in t.INTEGRAL_BITS:
        return source in t.FLOATING or isinstance(source, t.DecimalType) or (source == t.TIMESTAMP and target != t.LONG)
    return False


def wider_type(left: t.DataType, right: t.DataType, *, ansi: bool = True) -> t.DataType | None:
    """The common type of two types in IN, COALESCE, CASE and IF, and of numbers; None if they have no common type."""
    if left in INTERVALS and right in INTERVALS:
        return met_interval(left, right)
    tightest = _tightest(left, right, ansi)
    if tightest is not None:
        return tightest
    if is_nested(left) and is_nested(right):
        return _wider_nested(left, right, ansi)
    if isinstance(left, t.DecimalType) or isinstance(right, t.DecimalType):
        if left in t.FLOATING or right in t.FLOATING:
            return t.DOUBLE
        first, second = decimal_type_of(left), decimal_type_of(right)
        if first is not None and second is not None:
            return _wider_decimal(first, second)
    return _promoted_string(left, right, ansi)


def plain_wider_type(left: t.DataType, right: t.DataType, *, ansi: bool = True) -> t.DataType | None:
    """Like `wider_type`, but a string and a value of another type have no common type."""
    met = wider_type(left, right, ansi=ansi)
    return None if met is None or _promotes(left, met) or _promotes(right, met) else met


def _promotes(source: t.DataType, met: t.DataType) -> bool:
    """Whether a string is converted to another type, or another type to a string, at any depth."""
    match source, met:
        case t.ArrayType(one), t.ArrayType(other):
            return _promotes(one, other)
        case t.MapType(key, value), t.MapType(other_key, other_value):
            return _promotes(key, other_key) or _promotes(value, other_value)
        case t.StructType(fields), t.StructType(others):
            return any(_promotes(one.type, other.type) for one, other in zip(fields, others, strict=True))
    return source != t.VOID and (source == t.STRING) != (met == t.STRING)


def compared_type(left: t.DataType, right: t.DataType, *, ansi: bool = True) -> t.DataType | None:
    """The common type of two types in comparisons; None if they have no common type.

    Without ANSI mode, a comparison casts a string to the other type; IN, COALESCE, CASE and IF keep the string.
    """
    if ansi or (left == t.STRING) == (right == t.STRING) or t.VOID in (left, right):
        return wider_type(left, right, ansi=ansi)
    other = right if left == t.STRING else left
    if isinstance(other, t.DecimalType):
        return t.DOUBLE if other.scale else other
    return other if other in ATOMIC else None


def common_type(types: Sequence[t.DataType], *, ansi: bool = True) -> t.DataType | None:
    """`wider_type` of all `types`, from left to right; without ANSI mode, strings come first."""
    found: t.DataType | None = t.VOID
    for type_ in types if ansi else sorted(types, key=lambda type_: type_ != t.STRING):
        found = None if found is None else wider_type(found, type_, ansi=ansi)
    return found


def decimal_type_of(type_: t.DataType) -> t.DecimalType | None:
    """The decimal type that contains every value of an integral or decimal type."""
    if isinstance(type_, t.DecimalType):
        return type_
    digits = _INTEGRAL_DIGITS.get(type_)
    return None if digits is None else t.DecimalType(digits, 0)


def literal_decimal(value: int, type_: t.DataType | None) -> t.DecimalType:
    """The decimal type that Spark gives an integral literal in arithmetic with decimals.

    It is the narrowest decimal type, except for a byte (DecimalType.fromLiteral).
    """
    return t.DecimalType(3 if type_ == t.BYTE else len(str(abs(value))), 0)


def adjusted_decimal(precision: int, scale: int) -> t.DecimalType:
    """The result type of decimal arithmetic: beyond 38 digits the scale is reduced, down to 6."""
    if precision <= _MAX_PRECISION:
        return t.DecimalType(precision, scale)
    whole = precision - scale
    return t.DecimalType(_MAX_PRECISION, max(_MAX_PRECISION - whole, min(scale, _MIN_ADJUSTED_SCALE)))


def implicit_cast(node: n.Node, target: t.DataType) -> n.Node | None:
    """`node` cast to a function's parameter type `target`; None if Spark does not cast implicitly."""
    source = type_of(node)
    if source is None:
        return None
    if source in (target, t.VOID):
        return cast_to(node, target)
    allowed = (
        (
            target == t.STRING
            and (source in ATOMIC or isinstance(source, t.DecimalType) or source in INTERVALS - {CALENDAR})
        )
        or (target in t.DATETIMES and source in (t.STRING, *t.DATETIMES))
        or (target == t.DOUBLE and (is_numeric(source) or source == t.STRING))
        or (target in t.INTEGRAL_BITS and (source in t.INTEGRAL_BITS or source == t.STRING))
        or (target == t.BOOLEAN and source == t.STRING)
    ) and not is_nested(source)
    return cast_to(node, target) if allowed else None


def implicit_casts(args: Iterable[n.Node], targets: Iterable[t.DataType]) -> tuple[n.Node, ...] | None:
    """The arguments cast to one parameter type each, as `implicit_cast` does; None if one is not cast."""
    found = tuple(map(implicit_cast, args, targets))
    return None if None in found else tuple(arg for arg in found if arg is not None)


def _tightest(left: t.DataType, right: t.DataType, ansi: bool) -> t.DataType | None:
    if left == right or right == t.VOID:
        return left
    if left == t.VOID:
        return right
    if left in _PRECEDENCE and right in _PRECEDENCE:
        widest = _PRECEDENCE[max(_PRECEDENCE.index(left), _PRECEDENCE.index(right))]
        # A float cannot represent every integer.
        return t.DOUBLE if ansi and widest == t.FLOAT else widest
    if left in t.DATETIMES and right in t.DATETIMES:
        return t.TIMESTAMP if t.TIMESTAMP in (left, right) else t.TIMESTAMP_NTZ
    return None


def _wider_nested(left: t.DataType, right: t.DataType, ansi: bool) -> t.DataType | None:
    """The type whose elements, keys, values and fields have the wider types of both (findTypeForComplex)."""

    def met(one: t.DataType, other: t.DataType, nullable: bool) -> tuple[t.DataType, bool] | None:
        found = wider_type(one, other, ansi=ansi)
        if found is None:
            return None
        return found, nullable or may_give_null(one, found) or may_give_null(other, found)

    match left, right:
        case t.ArrayType(one, first), t.ArrayType(other, second):
            element = met(one, other, first or second)
            return None if element is None else t.ArrayType(*element)
        case t.MapType(one, value, first), t.MapType(other, other_value, second):
            key, item = met(one, other, False), met(value, other_value, first or second)
            return None if key is None or key[1] or item is None else t.MapType(key[0], *item)
        case t.StructType(fields), t.StructType(others) if len(fields) == len(others):
            pairs = list(zip(fields, others, strict=True))
            found = [met(one.type, other.type, one.nullable or other.nullable) for one, other in pairs]
            if any(fold_name(one.name) != fold_name(other.name) for one, other in pairs):
                return None
            known = [each for each in found if each is not None]
            if len(known) < len(found):
                return None
            return t.StructType(
                tuple(t.StructField(field.name, *each) for field, each in zip(fields, known, strict=True))
            )
    return None


def _promoted_string(left: t.DataType, right: t.DataType, ansi: bool) -> t.DataType | None:
    if t.STRING not in (left, right):
        return None
    other = right if left == t.STRING else left
    if not ansi:
        return t.STRING if _is_written(other) else None
    if other in t.INTEGRAL_BITS:
        return t.LONG
    if other in t.FLOATING or isinstance(other, t.DecimalType):
        return t.DOUBLE
    return other if other in ATOMIC else None


def _is_written(type_: t.DataType) -> bool:
    """Whether Spark casts a value of the type to a string beside a string, without ANSI mode."""
    return is_numeric(type_) or type_ in t.DATETIMES


def _wider_decimal(left: t.DecimalType, right: t.DecimalType) -> t.DecimalType:
    """The decimal type that contains both types; beyond 38 digits, the integral digits: boundedPreferIntegralDigits."""
    scale = max(left.scale, right.scale)
    whole = max(left.precision - left.scale, right.precision - right.scale)
    excess = max(0, whole + scale - _MAX_PRECISION)
    return t.DecimalType(min(whole + scale, _MAX_PRECISION), max(0, scale - excess))
