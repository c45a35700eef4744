"""How a generated column is computed from its source: a generation expression or a transform of hidden partitioning.

`delta.generationExpression` of a field binds every writer (PROTOCOL, Generated Columns). The table property
`deltaskip.partitioning` declares transforms with Iceberg's meaning for fields without an expression; for a field with
one, it is ignored here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from deltaskip.errors import PredicateError
from deltaskip.records import dataclass
from deltaskip.recursion import deep
from deltaskip.schema.properties import PARTITIONING_KEY
from deltaskip.skipping.proofs.preimage.preimage import steps_of
from deltaskip.skipping.proofs.preimage.pull_back import single_direction
from deltaskip.sparkexpr import EvaluationError, parse_sql
from deltaskip.sparkexpr import nodes as n
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.bind import bind_expression
from deltaskip.sparkexpr.coerce import type_of
from deltaskip.sparkexpr.evaluation import deterministic, evaluate
from deltaskip.sparkexpr.preimages import Monotone, Step, ZoneShift, ordinal_of, value_at
from deltaskip.sparkexpr.values import iceberg_bucket, spark_hash
from deltaskip.sparkexpr.values.calendar import MICROS_PER_DAY, MICROS_PER_HOUR, civil_from_days
from deltaskip.transforms.partitioning_property import declared

_FIELDS = (
    *("year", "month", "quarter", "dayofmonth", "dayofyear", "dayofweek", "weekday", "weekofyear"),
    *("hour", "minute", "second"),
)
_TEXTS_OF_TEXTS = frozenset(
    (
        "concat",
        "initcap",
        "left",
        "lower",
        "ltrim",
        "replace",
        "reverse",
        "right",
        "rtrim",
        "substring",
        "trim",
        "upper",
    )
)


@dataclass(frozen=True, slots=True)
class ColumnTransform:
    """A function of one column: identity, year, month, day, hour, truncate, bucket, `hash_bucket` (Spark's hash)."""

    name: str
    width: int = 0


@dataclass(frozen=True, slots=True)
class Derived:
    """In every row, `column` contains `rule` applied to `source`, or NULL.

    binding: The rule is a generation expression, so that NULL is only in rows for which it was evaluated to NULL.
    """

    column: n.FieldRef
    source: n.FieldRef
    rule: n.Node | ColumnTransform
    binding: bool = False


def derived_columns(
    schema: t.StructType, mode: t.MappingMode, partition_columns: Sequence[str], properties: Mapping[str, str]
) -> tuple[Derived, ...]:
    """Return the generated columns that have a single source; those with unsupported rules are left out."""
    generated = {f.name: f.metadata[t.GENERATION_KEY] for f in schema.fields if t.GENERATION_KEY in (f.metadata or {})}
    entries = declared(properties.get(PARTITIONING_KEY))
    if not generated and not entries:
        return ()

    def bound(node: n.Node) -> n.Node | None:
        try:
            return bind_expression(node, schema, partition_columns, mode)
        except PredicateError:
            return None

    def nested(source: tuple[str, ...]) -> n.Node | None:
        """A source that is written with dots and backticks, as in SQL."""
        try:
            return bound(parse_sql(source[0])) if len(source) == 1 else None
        except PredicateError:
            return None

    found: list[Derived | None] = []
    for name, text in generated.items():
        try:
            found.append(_generated(bound(n.Column((name,))), bound(parse_sql(str(text)))))
        except PredicateError:
            continue
    for entry in entries:
        if entry.field not in generated:
            source = bound(n.Column(entry.source)) or nested(entry.source)
            found.append(
                _transformed(bound(n.Column((entry.field,))), source, ColumnTransform(entry.name, entry.width))
            )
    return tuple(derived for derived in found if derived is not None)


def value_of(derived: Derived, value: Any) -> Any:
    """Return the generated column's value for a source value, as a writer in UTC computes it.

    Raises:
        EvaluationError: A writer may fail, wrap around or return NULL.
    """
    rule, source = derived.rule, derived.source
    if isinstance(rule, ColumnTransform):
        return _applied(derived, rule, value)
    return evaluate(rule, {source.logical: value})


def wrapping_values(derived: Derived) -> tuple[int, int] | None:
    """Return the least source value that can be truncated, and the result for lower ones without ANSI mode.

    None if the rule is not a truncation of whole numbers, or truncates every value of the source.
    """
    rule, type_ = derived.rule, derived.column.type
    if not isinstance(rule, ColumnTransform) or rule.name != "truncate" or type_ not in t.INTEGRAL_BITS:
        return None
    if t.INTEGRAL_BITS[derived.source.type] < t.INTEGRAL_BITS[type_]:
        return None
    numbers = 1 << t.INTEGRAL_BITS[type_]
    least = -(numbers // 2 // rule.width) * rule.width
    return None if least == -(numbers // 2) else (least, least - rule.width + numbers)


def written_as_null(derived: Derived) -> tuple[str | bytes, ...] | None:
    """Return the values of the rule that a partition column stores as NULL, apart from NULL for a NULL source.

    The log has NULL for the empty string. Whole numbers, dates, parts of times, and strings derived from a string are
    never NULL for a value, in any session.

    Returns:
        None if a writer may have written NULL for any value of the source.
    """
    column, source, rule = derived.column, derived.source, derived.rule
    if not (derived.binding and column.partition):
        return None
    empty: tuple[str | bytes, ...] = ("",) if column.type == t.STRING else (b"",) if column.type == t.BINARY else ()
    if isinstance(rule, ColumnTransform):
        return () if rule.name in ("truncate", "hash_bucket") else None
    match rule:
        case n.FieldRef():
            return empty
        case n.Cast(n.FieldRef(), type_) if type_ == t.DATE and source.type in t.DATETIMES:
            return ()
        case n.Call(name, (arg,)) if name in _FIELDS and (
            source.type in t.DATETIMES and (arg == source or _is_date_of(arg, source))
        ):
            return ()
        case n.Call("date_format", (arg, n.Literal(str() as pattern))) if (
            source.type in t.DATETIMES and (arg == source or _is_date_of(arg, source)) and pattern.strip("'") != ""
        ):
            return ()
        case n.Call("trunc" | "date_trunc", args) if source.type in t.DATETIMES and any(
            arg == source or _is_date_of(arg, source) for arg in args
        ):
            # NULL for an unknown unit, which every value then has.
            return () if _has_value(derived, 0) else None
        case n.Call("substring", (n.Cast(n.FieldRef(), type_), n.Literal(0 | 1), n.Literal(int() as length))) if (
            type_ == t.STRING and source.type in t.DATETIMES and length > 0
        ):
            return ()
        case n.Call("length", (n.FieldRef(type=type_),)) if type_ in (t.STRING, t.BINARY):
            return ()
    if _is_number_of_numbers(rule):
        return ()
    return empty if _is_text_of_text(rule) else None


def null_sources(derived: Derived) -> tuple[str | bytes | None, ...] | None:
    """Return the source values for which a partition column stores NULL; None if others may have it."""
    match written_as_null(derived), derived.rule:
        case (), _:
            return (None,)
        case (empty,), n.FieldRef() | n.Call("lower" | "upper" | "reverse", (n.FieldRef(),)):
            return (None, empty)
        case (empty,), (
            n.Call("left", (n.FieldRef(), n.Literal(int() as length)))
            | n.Call("substring", (n.FieldRef(), n.Literal(0 | 1), n.Literal(int() as length)))
        ) if length > 0:
            return (None, empty)
    return None


def _has_value(derived: Derived, value: int) -> bool:
    try:
        return value_of(derived, value) is not None
    except EvaluationError:
        return False


@deep
def _is_number_of_numbers(node: n.Node) -> bool:
    """Whether a whole number is derived from whole numbers by arithmetic that gives no NULL, in every session."""
    match node:
        case n.FieldRef(type=type_) | n.Literal(int(), type_):
            return type_ in t.INTEGRAL_BITS
        case n.Cast(child, type_, False):
            before = type_of(child)
            wider = (
                before in t.INTEGRAL_BITS
                and type_ in t.INTEGRAL_BITS
                and t.INTEGRAL_BITS[type_] >= t.INTEGRAL_BITS[before]
            )
            return wider and _is_number_of_numbers(child)
        case n.Call("+" | "-" | "*", (left, right), type_):
            return type_ in t.INTEGRAL_BITS and _is_number_of_numbers(left) and _is_number_of_numbers(right)
        case n.Call("%" | "pmod" | "div", (left, n.Literal(int() as divisor)), type_):
            return type_ in t.INTEGRAL_BITS and divisor != 0 and _is_number_of_numbers(left)
    return False


@deep
def _is_text_of_text(node: n.Node) -> bool:
    """Whether a string is derived from the source by functions that are defined for all strings, in every session."""
    match node:
        case n.FieldRef(type=type_) | n.Literal(str(), type_) | n.Literal(int(), type_):
            return type_ in (t.STRING, t.INTEGER)
        case n.Call(name, args):
            return name in _TEXTS_OF_TEXTS and all(map(_is_text_of_text, args))
    return False


def _is_date_of(node: n.Node, source: n.FieldRef) -> bool:
    return isinstance(node, n.Cast) and node.child == source and node.type in t.DATETIMES and not node.safe


def direction(derived: Derived) -> bool | None:
    """Return True if the rule is non-decreasing in the source, False if non-increasing, None if neither."""
    if isinstance(derived.rule, ColumnTransform):
        return None if derived.rule.name in ("bucket", "hash_bucket") else True
    rises = True
    node: n.Node = derived.rule
    while not isinstance(node, n.FieldRef):
        found = steps_of(node, "UTC")
        if found is None or (isinstance(node, n.Cast) and node.safe):
            return None
        node, steps = found
        for step in steps:
            one = _direction(step)
            if one is None:
                return None
            rises = rises is one
    return rises


def reads_zone(derived: Derived) -> bool:
    """Return whether the value depends on the time zone of the writer's session."""
    rule = derived.rule
    if isinstance(rule, ColumnTransform | n.FieldRef):
        return False
    return any(type_of(part) == t.TIMESTAMP for part in n.walk(rule))


def expression_of(derived: Derived) -> n.Node | None:
    """Return the generation expression if its value depends only on the source, else None."""
    rule = derived.rule
    if isinstance(rule, ColumnTransform) or reads_zone(derived) or not deterministic(rule):
        return None
    return rule


def _direction(step: Step) -> bool | None:
    match step:
        case ZoneShift(_, low, high) if low == high:
            return True
        case Monotone(_, _, (piece,)) if step.unsure and not step.nulls:
            return piece.rising
    return single_direction(step)


def _generated(column: n.Node | None, rule: n.Node | None) -> Derived | None:
    if not isinstance(column, n.FieldRef) or rule is None or column.collation is not None:
        return None
    sources = list(dict.fromkeys(part for part in n.walk(rule) if isinstance(part, n.FieldRef)))
    if len(sources) != 1 or sources[0].collation is not None or sources[0] == column:
        return None
    match rule:
        case n.Call("pmod", (n.Call("hash", (n.FieldRef() as source,)), n.Literal(int() as width))) if width > 0:
            return Derived(column, source, ColumnTransform("hash_bucket", width), True)
        case n.Call("-", (source, n.Call("pmod", (same, n.Literal(int() as width))))) if width > 0 and source == same:
            number = source.child if isinstance(source, n.Cast) else source
            if isinstance(number, n.FieldRef) and number.type in t.INTEGRAL_BITS and type_of(rule) == column.type:
                return Derived(column, number, ColumnTransform("truncate", width), True)
    if type_of(rule) != column.type or not deterministic(rule):
        return None
    return Derived(column, sources[0], rule, True)


def _transformed(column: n.Node | None, source: n.Node | None, transform: ColumnTransform) -> Derived | None:
    if not isinstance(column, n.FieldRef) or not isinstance(source, n.FieldRef) or column == source:
        return None
    if column.collation is not None or source.collation is not None:
        return None
    of_time = source.type in t.DATETIMES
    match transform.name:
        case "identity":
            fits = column.type == source.type
        case "truncate":
            known = source.type in t.INTEGRAL_BITS or source.type == t.STRING or isinstance(source.type, t.DecimalType)
            fits = column.type == source.type and known and transform.width > 0
        case "bucket":
            fits = column.type in (t.INTEGER, t.LONG) and transform.width > 0
        case "day":
            fits = column.type in (t.INTEGER, t.LONG, t.DATE) and of_time
        case "hour":
            fits = column.type in (t.INTEGER, t.LONG) and of_time and source.type != t.DATE
        case _:
            fits = column.type in (t.INTEGER, t.LONG) and of_time
    return Derived(column, source, transform) if fits else None


def _applied(derived: Derived, rule: ColumnTransform, value: Any) -> Any:
    type_ = derived.source.type
    if rule.name == "hash_bucket":
        hashed = spark_hash(value, type_)
        if hashed is None:
            raise EvaluationError(f"No hash of {value!r}.")
        return hashed % rule.width
    if value is None:
        return None
    match rule.name:
        case "identity":
            return value
        case "bucket":
            bucket = iceberg_bucket(value, type_, rule.width)
            if bucket is None:
                raise EvaluationError(f"No bucket of {value!r}.")
            return bucket
        case "truncate":
            least = wrapping_values(derived)
            if least is not None and value < least[0]:
                raise EvaluationError(f"{value} cannot be truncated.")
            return _truncated(value, type_, rule.width)
    micros = value * MICROS_PER_DAY if type_ == t.DATE else value
    if rule.name == "hour":
        return micros // MICROS_PER_HOUR
    days = micros // MICROS_PER_DAY
    year, month, _ = civil_from_days(days)
    return {"day": days, "year": year - 1970, "month": (year - 1970) * 12 + month - 1}[rule.name]


def _truncated(value: Any, type_: t.DataType, width: int) -> Any:
    if isinstance(value, str):
        return value[:width]
    if isinstance(type_, t.DecimalType):
        unscaled = ordinal_of(type_, value)
        return value_at(type_, unscaled - unscaled % width)
    return value - value % width
