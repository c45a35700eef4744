"""Store assignment: which types can be stored in which, and the SQL text that converts a value by its type.

# Spark 4.1, Cast.canANSIStoreAssign, TableOutputResolver, CheckOverflowInTableInsert
The text means the same with and without ANSI mode: a cast that can fail is a TRY_CAST, and if its result is NULL for a
value that is not NULL, an error with the column and the value is raised.
"""

from __future__ import annotations

from collections.abc import Mapping

from deltaskip.errors import SchemaError
from deltaskip.records import dataclass
from deltaskip.sparkexpr.coerce import castable, decimal_type_of, is_nested, is_numeric
from deltaskip.sparkexpr.text.sql_text import quoted_name, sql_string
from deltaskip.sparkexpr.types import (
    BINARY,
    BOOLEAN,
    BYTE,
    DATE,
    DATETIMES,
    DOUBLE,
    FLOAT,
    FLOATING,
    INTEGER,
    LONG,
    SHORT,
    STRING,
    VARIANT,
    VOID,
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    StructField,
    StructType,
    display_name,
    fold_name,
    simple_string,
)
from deltaskip.sparkexpr.types.ddl import exact_type_text, type_text

VIOLATION = "deltaskip: "
"""The beginning of the error message that the SQL text raises; JSON follows."""

_INTEGRAL: Mapping[DataType, int] = {BYTE: 3, SHORT: 5, INTEGER: 10, LONG: 19}
_PRECEDENCE = (BYTE, SHORT, INTEGER, LONG, FLOAT, DOUBLE)
_PATH = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NestedFields:
    """The fields of a struct to be stored, each with the given field.

    Attributes:
        pairs: Each target field, and the given field of its name in any letter case; None if there is none.
        unknown: Given fields that the target does not have.
    """

    pairs: tuple[tuple[StructField, StructField | None], ...]
    unknown: tuple[StructField, ...]


def assignable(source: DataType, target: DataType) -> bool:
    """Whether values of an atomic type can be stored in a column of another: Spark's policy ANSI."""
    if source in (target, VOID):
        return True
    if is_numeric(source) and is_numeric(target):
        return True
    if target == STRING:
        return is_numeric(source) or source in (BOOLEAN, BINARY, VARIANT, *DATETIMES)
    return source in DATETIMES and target in DATETIMES


def stores_every_value(source: DataType, target: DataType) -> bool:
    """Whether each value of a type is stored in another, or refused, without a cast to or from a string.

    Both are one type, up to nullability and the order of fields, integers or floats, or decimals.
    """
    match source, target:
        case StructType(given), StructType(fields):
            types = {fold_name(field.name): field.type for field in given}
            names = [fold_name(field.name) for field in fields]
            return types.keys() == set(names) and all(
                stores_every_value(types[name], field.type) for name, field in zip(names, fields, strict=True)
            )
        case ArrayType(given_element), ArrayType(element):
            return stores_every_value(given_element, element)
        case MapType(given_key, given_value), MapType(key, value):
            return stores_every_value(given_key, key) and stores_every_value(given_value, value)
    numbers = (*_INTEGRAL, *FLOATING)
    if isinstance(source, DecimalType) and isinstance(target, DecimalType):
        return True
    return source in (target, VOID) or (source in numbers and target in numbers)


def widens(source: DataType, target: DataType) -> bool:
    """Whether a column of an atomic type has all values of another, or their texts: Spark's policy STRICT.

    # Spark 4.1, UpCastRule.canUpCast
    """
    if source in (target, VOID) or (target == STRING and not is_nested(source)):
        return True
    if source in _PRECEDENCE and target in _PRECEDENCE:
        return _PRECEDENCE.index(source) <= _PRECEDENCE.index(target)
    if isinstance(target, DecimalType) and (given := decimal_type_of(source)) is not None:
        return given.scale <= target.scale and given.precision - given.scale <= target.precision - target.scale
    if isinstance(source, DecimalType) and (integral := decimal_type_of(target)) is not None:
        return source.scale == 0 and source.precision < integral.precision
    return source in DATETIMES and target in DATETIMES and target != DATE


def check_assignable(
    source: DataType, target: DataType, path: _PATH, table: str, casts: bool = False, strict: bool = False
) -> None:
    """Check, at every depth, that values of `source` can be stored in the column at `path`.

    Args:
        source: The given type.
        target: The column's type.
        path: The column.
        table: The table, for errors.
        casts: Whether values that store assignment refuses are cast as by CAST in ANSI mode, as UPDATE does.
        strict: Whether the policy is STRICT, see `widens`.

    Raises SchemaError, which names the column and both types, or the fields that are missing or unknown.
    """
    match source, target:
        case StructType(), StructType():
            found = matched_fields(source, target, path, table)
            if found.unknown:
                name = display_name((*path, found.unknown[0].name))
                raise SchemaError(
                    f"{table} has no field {name}: remove it from the rows, or add it with schema_mode='merge'."
                )
            for field, given in found.pairs:
                inner = (*path, field.name)
                if given is not None:
                    check_assignable(given.type, field.type, inner, table, casts, strict)
                elif not field.nullable:
                    raise SchemaError(f"The rows lack {display_name(inner)}, which is NOT NULL in {table}.")
        case ArrayType(given_element), ArrayType(element):
            check_assignable(given_element, element, (*path, "element"), table, casts, strict)
        case MapType(given_key, given_value), MapType(key, value):
            check_assignable(given_key, key, (*path, "key"), table, casts, strict)
            check_assignable(given_value, value, (*path, "value"), table, casts, strict)
        case _ if not (
            widens(source, target) if strict else assignable(source, target) or (casts and _is_cast(source, target))
        ):
            # 2026-01-31 without quotes is 2026 minus 1 minus 31.
            days = target == DATE and is_numeric(source)
            cure = "write a date as DATE'2026-01-31'" if days else "cast it explicitly"
            cure = f"{cure}, since spark.sql.storeAssignmentPolicy is STRICT" if strict else cure
            raise SchemaError(
                f"{simple_string(source).upper()} cannot be stored in the column {display_name(path)} of {table}, "
                f"which is {simple_string(target).upper()}: {cure}."
            )


def matched_fields(source: StructType, target: StructType, path: _PATH, table: str) -> NestedFields:
    """Match the fields of two structs by name, in any letter case.

    Raises SchemaError if a given name occurs twice.
    """
    given = by_name(source, path, table)
    pairs = tuple((field, given.pop(fold_name(field.name), None)) for field in target.fields)
    return NestedFields(pairs, tuple(given.values()))


def by_name(struct: StructType, path: _PATH, table: str) -> dict[str, StructField]:
    """The fields of a struct by the name that Spark compares. Raises SchemaError if one occurs twice."""
    found: dict[str, StructField] = {}
    for field in struct.fields:
        other = found.setdefault(fold_name(field.name), field)
        if other is not field:
            raise SchemaError(
                f"The rows for {table} have {display_name((*path, field.name))} twice, as {other.name} and "
                f"{field.name}: names that differ only in letter case are one column."
            )
    return found


def written_type(data_type: DataType, path: _PATH, table: str) -> DataType:
    """Return the type without the void fields of its structs, which files cannot contain.

    # PROTOCOL, Void Type
    Raises SchemaError for a struct without other fields, which Parquet cannot store, and for void in an array or map.
    """
    match data_type:
        case StructType(fields):
            kept = tuple(
                StructField(f.name, written_type(f.type, (*path, f.name), table), f.nullable, f.metadata)
                for f in fields
                if f.type != VOID
            )
            if kept:
                return StructType(kept)
            if not fields:
                raise SchemaError(
                    f"The column {display_name(path)} of {table} is a struct without fields, which has no form in "
                    f"files: give it fields first."
                )
        case ArrayType(element, contains_null):
            if element != VOID:
                return ArrayType(written_type(element, (*path, "element"), table), contains_null)
        case MapType(key, value, contains_null):
            if VOID not in (key, value):
                key = written_type(key, (*path, "key"), table)
                return MapType(key, written_type(value, (*path, "value"), table), contains_null)
        case _:
            return data_type
    raise SchemaError(
        f"The column {display_name(path)} of {table} is of type {simple_string(data_type)}, and files cannot contain "
        f"void: give it another type first."
    )


def same_values(source: DataType, target: DataType) -> bool:
    """Whether values need no conversion: the types are equal up to nullability and metadata."""
    match source, target:
        case StructType(given), StructType(fields):
            return len(given) == len(fields) and all(
                g.name == f.name and same_values(g.type, f.type) for g, f in zip(given, fields, strict=True)
            )
        case ArrayType(given_element), ArrayType(element):
            return same_values(given_element, element)
        case MapType(given_key, given_value), MapType(key, value):
            return same_values(given_key, key) and same_values(given_value, value)
        case _:
            return source == target


def stored(expression: str, source: DataType, target: DataType, path: _PATH, depth: int = 0) -> str:
    """Return SQL text for the value of `expression` as it is stored in the column at `path`.

    Args:
        expression: SQL text of type `source`.
        source: The given type; `check_assignable` has accepted it.
        target: The column's type, without void fields.
        path: The column, with `element`, `key` and `value` for the contents of arrays and maps.
        depth: Number of lambda functions around the text.
    """
    if same_values(source, target):
        return expression
    match source, target:
        case StructType(), StructType():
            return _stored_struct(expression, source, target, path, depth)
        case ArrayType(given), ArrayType(element):
            inner = stored(f"x{depth}", given, element, (*path, "element"), depth + 1)
            return f"transform({expression}, x{depth} -> {inner})"
        case MapType(given_key, given_value), MapType(key, value):
            new_key = stored(f"x{depth}.`key`", given_key, key, (*path, "key"), depth + 1)
            new_value = stored(f"x{depth}.`value`", given_value, value, (*path, "value"), depth + 1)
            entry = f"struct({new_key} AS `key`, {new_value} AS `value`)"
            return f"map_from_entries(transform(map_entries({expression}), x{depth} -> {entry}))"
        case _:
            return _stored_atom(expression, source, target, path)


def _stored_struct(expression: str, source: StructType, target: StructType, path: _PATH, depth: int) -> str:
    members = []
    for field, given in matched_fields(source, target, path, "the table").pairs:
        if given is None:
            value = f"CAST(NULL AS {exact_type_text(field.type)})"
        else:
            inner = f"{expression}.{quoted_name(given.name)}"
            value = stored(inner, given.type, field.type, (*path, field.name), depth)
        members.append(f"{value} AS {quoted_name(field.name)}")
    return f"IF({expression} IS NULL, NULL, struct({', '.join(members)}))"


def _stored_atom(expression: str, source: DataType, target: DataType, path: _PATH) -> str:
    to = exact_type_text(target)
    if _always_fits(source, target):
        return f"CAST({expression} AS {to})"
    fits = f"{expression} IS NULL OR try_cast({expression} AS {to}) IS NOT NULL"
    if source in FLOATING and isinstance(target, DecimalType):
        # Spark stores NULL for NaN and the infinities.
        fits += f" OR isnan({expression}) OR abs({expression}) = CAST('Infinity' AS DOUBLE)"
    members = f"{sql_string(display_name(path))} AS `column`, {sql_string(type_text(target).upper())} AS `type`"
    payload = f"to_json(struct({members}, CAST({expression} AS STRING) AS `value`))"
    return (
        f"CASE WHEN {fits} THEN try_cast({expression} AS {to}) ELSE raise_error(concat('{VIOLATION}', {payload})) END"
    )


def _is_cast(source: DataType, target: DataType) -> bool:
    """Whether values of an atomic type are cast to numbers, times, booleans or bytes in ANSI mode."""
    if isinstance(source, StructType | ArrayType | MapType):
        return False
    return (is_numeric(target) or target in (BOOLEAN, BINARY, *DATETIMES)) and castable(source, target)


def _always_fits(source: DataType, target: DataType) -> bool:
    """Whether no value of `source` is out of the range of `target`."""
    if source == VOID or target == STRING:
        return True
    if target in FLOATING:
        return source != STRING
    if isinstance(target, DecimalType):
        whole = target.precision - target.scale
        if isinstance(source, DecimalType):
            return source.scale <= target.scale and source.precision - source.scale <= whole
        return source in _INTEGRAL and _INTEGRAL[source] <= whole
    if source in _INTEGRAL and target in _INTEGRAL:
        return _INTEGRAL[source] <= _INTEGRAL[target]
    return target == DATE and source in DATETIMES
