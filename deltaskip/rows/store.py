"""Store assignment: which types can be stored in which, and the SQL text that converts a value by its type.

# Spark 4.1, Cast.canANSIStoreAssign, TableOutputResolver, CheckOverflowInTableInsert
The text means the same with and without ANSI mode: a cast that can fail is a TRY_CAST, and if its result is NULL for a
value that is not NULL, an error with the column and the value is raised.
"""

from __future__ import annotations

from collections.abc import Mapping

from deltaskip.errors import OptionAdvice, SchemaError
from deltaskip.records import dataclass
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.coerce import castable, decimal_type_of, is_nested, is_numeric
from deltaskip.sparkexpr.text.sql_text import quoted_name, sql_string
from deltaskip.sparkexpr.types.ddl import exact_type_text, type_text
from deltaskip.sparkexpr.values import INTERVALS

MERGE_SCHEMA = OptionAdvice("schema_mode", "merge", "with schema_mode='merge'")
"""The advice for columns or fields that the table does not have."""

VIOLATION = "deltaskip: "
"""The beginning of the error message that the SQL text raises; JSON follows."""

_INTEGRAL: Mapping[t.DataType, int] = {t.BYTE: 3, t.SHORT: 5, t.INTEGER: 10, t.LONG: 19}
_PRECEDENCE = (t.BYTE, t.SHORT, t.INTEGER, t.LONG, t.FLOAT, t.DOUBLE)
_PATH = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NestedFields:
    """The fields of a struct to be stored, each with the given field.

    Attributes:
        pairs: Each target field, and the given field of its name in any letter case; None if there is none.
        unknown: Given fields that the target does not have.
    """

    pairs: tuple[tuple[t.StructField, t.StructField | None], ...]
    unknown: tuple[t.StructField, ...]


def assignable(source: t.DataType, target: t.DataType) -> bool:
    """Whether values of an atomic type can be stored in a column of another: Spark's policy ANSI."""
    if source in (target, t.VOID):
        return True
    if is_numeric(source) and is_numeric(target):
        return True
    if source in INTERVALS and target in t.COLUMN_INTERVALS:
        # Both are counts of the same unit, whatever the name shows of it.
        return t.parse_type(t.type_to_json(source)) == target
    if target == t.STRING:
        return is_numeric(source) or source in (t.BOOLEAN, t.BINARY, t.VARIANT, *t.DATETIMES)
    return source in t.DATETIMES and target in t.DATETIMES


def stores_every_value(source: t.DataType, target: t.DataType) -> bool:
    """Whether each value of a type is stored in another, or refused, without a cast to or from a string.

    Both are one type, up to nullability and the order of fields, integers or floats, or decimals.
    """
    match source, target:
        case t.StructType(given), t.StructType(fields):
            types = {t.fold_name(field.name): field.type for field in given}
            names = [t.fold_name(field.name) for field in fields]
            return types.keys() == set(names) and all(
                stores_every_value(types[name], field.type) for name, field in zip(names, fields, strict=True)
            )
        case t.ArrayType(given_element), t.ArrayType(element):
            return stores_every_value(given_element, element)
        case t.MapType(given_key, given_value), t.MapType(key, value):
            return stores_every_value(given_key, key) and stores_every_value(given_value, value)
    numbers = (*_INTEGRAL, *t.FLOATING)
    if isinstance(source, t.DecimalType) and isinstance(target, t.DecimalType):
        return True
    return source in (target, t.VOID) or (source in numbers and target in numbers)


def widens(source: t.DataType, target: t.DataType) -> bool:
    """Whether a column of an atomic type has all values of another, or their texts: Spark's policy STRICT.

    # Spark 4.1, UpCastRule.canUpCast
    """
    if source in (target, t.VOID) or (target == t.STRING and not is_nested(source)):
        return True
    if source in _PRECEDENCE and target in _PRECEDENCE:
        return _PRECEDENCE.index(source) <= _PRECEDENCE.index(target)
    if isinstance(target, t.DecimalType) and (given := decimal_type_of(source)) is not None:
        return given.scale <= target.scale and given.precision - given.scale <= target.precision - target.scale
    if isinstance(source, t.DecimalType) and (integral := decimal_type_of(target)) is not None:
        return source.scale == 0 and source.precision < integral.precision
    return source in t.DATETIMES and target in t.DATETIMES and target != t.DATE


def check_assignable(
    source: t.DataType, target: t.DataType, path: _PATH, table: str, casts: bool = False, strict: bool = False
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
        case t.StructType(), t.StructType():
            found = matched_fields(source, target, path, table)
            if found.unknown:
                name = t.display_name((*path, found.unknown[0].name))
                raise SchemaError(
                    f"{table} has no field {name}: remove it from the rows, or add it {MERGE_SCHEMA}."
                ).advising(MERGE_SCHEMA)
            for field, given in found.pairs:
                inner = (*path, field.name)
                if given is not None:
                    check_assignable(given.type, field.type, inner, table, casts, strict)
                elif not field.nullable:
                    raise SchemaError(f"The rows lack {t.display_name(inner)}, which is NOT NULL in {table}.")
        case t.ArrayType(given_element), t.ArrayType(element):
            check_assignable(given_element, element, (*path, "element"), table, casts, strict)
        case t.MapType(given_key, given_value), t.MapType(key, value):
            check_assignable(given_key, key, (*path, "key"), table, casts, strict)
            check_assignable(given_value, value, (*path, "value"), table, casts, strict)
        case _ if not (
            widens(source, target) if strict else assignable(source, target) or (casts and _is_cast(source, target))
        ):
            # 2026-01-31 without quotes is 2026 minus 1 minus 31.
            days = target == t.DATE and is_numeric(source)
            cure = "write a date as DATE'2026-01-31'" if days else "cast it explicitly"
            if isinstance(target, t.GEOSPATIAL):
                srid = t.srid_of(target.crs)
                cure = f"write shapes as ST_GeomFromWKB(…, {srid}), or append WKB as binary"
            cure = f"{cure}, since spark.sql.storeAssignmentPolicy is STRICT" if strict else cure
            raise SchemaError(
                f"{t.simple_string(source).upper()} cannot be stored in the column {t.display_name(path)} of {table}, "
                f"which is {t.simple_string(target).upper()}: {cure}."
            )


def matched_fields(source: t.StructType, target: t.StructType, path: _PATH, table: str) -> NestedFields:
    """Match the fields of two structs by name, in any letter case.

    Raises SchemaError if a given name occurs twice.
    """
    given = by_name(source, path, table)
    pairs = tuple((field, given.pop(t.fold_name(field.name), None)) for field in target.fields)
    return NestedFields(pairs, tuple(given.values()))


def by_name(struct: t.StructType, path: _PATH, table: str) -> dict[str, t.StructField]:
    """The fields of a struct by the name that Spark compares. Raises SchemaError if one occurs twice."""
    found: dict[str, t.StructField] = {}
    for field in struct.fields:
        other = found.setdefault(t.fold_name(field.name), field)
        if other is not field:
            raise SchemaError(
                f"The rows for {table} have {t.display_name((*path, field.name))} twice, as {other.name} and "
                f"{field.name}: names that differ only in letter case are one column."
            )
    return found


def written_type(data_type: t.DataType, path: _PATH, table: str) -> t.DataType:
    """Return the type without the void fields of its structs, which files cannot contain.

    # PROTOCOL, Void Type
    Raises SchemaError for a struct without other fields, which Parquet cannot store, and for void in an array or map.
    """
    match data_type:
        case t.StructType(fields):
            kept = tuple(
                t.StructField(f.name, written_type(f.type, (*path, f.name), table), f.nullable, f.metadata)
                for f in fields
                if f.type != t.VOID
            )
            if kept:
                return t.StructType(kept)
            if not fields:
                raise SchemaError(
                    f"The column {t.display_name(path)} of {table} is a struct without fields, which has no form in "
                    f"files: give it fields first."
                )
        case t.ArrayType(element, contains_null):
            if element != t.VOID:
                return t.ArrayType(written_type(element, (*path, "element"), table), contains_null)
        case t.MapType(key, value, contains_null):
            if t.VOID not in (key, value):
                key = written_type(key, (*path, "key"), table)
                return t.MapType(key, written_type(value, (*path, "value"), table), contains_null)
        case _:
            return data_type
    raise SchemaError(
        f"The column {t.display_name(path)} of {table} is of type {t.simple_string(data_type)}, and files cannot "
        f"contain void: give it another type first."
    )


def same_values(source: t.DataType, target: t.DataType) -> bool:
    """Whether values need no conversion: the types are equal up to nullability and metadata."""
    match source, target:
        case t.StructType(given), t.StructType(fields):
            return len(given) == len(fields) and all(
                g.name == f.name and same_values(g.type, f.type) for g, f in zip(given, fields, strict=True)
            )
        case t.ArrayType(given_element), t.ArrayType(element):
            return same_values(given_element, element)
        case t.MapType(given_key, given_value), t.MapType(key, value):
            return same_values(given_key, key) and same_values(given_value, value)
        case _:
            return source == target


def stored(expression: str, source: t.DataType, target: t.DataType, path: _PATH, depth: int = 0) -> str:
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
        case t.StructType(), t.StructType():
            return _stored_struct(expression, source, target, path, depth)
        case t.ArrayType(given), t.ArrayType(element):
            inner = stored(f"x{depth}", given, element, (*path, "element"), depth + 1)
            return f"transform({expression}, x{depth} -> {inner})"
        case t.MapType(given_key, given_value), t.MapType(key, value):
            new_key = stored(f"x{depth}.`key`", given_key, key, (*path, "key"), depth + 1)
            new_value = stored(f"x{depth}.`value`", given_value, value, (*path, "value"), depth + 1)
            entry = f"struct({new_key} AS `key`, {new_value} AS `value`)"
            return f"map_from_entries(transform(map_entries({expression}), x{depth} -> {entry}))"
        case _:
            return _stored_atom(expression, source, target, path)


def _stored_struct(expression: str, source: t.StructType, target: t.StructType, path: _PATH, depth: int) -> str:
    members = []
    for field, given in matched_fields(source, target, path, "the table").pairs:
        if given is None:
            value = f"CAST(NULL AS {exact_type_text(field.type)})"
        else:
            inner = f"{expression}.{quoted_name(given.name)}"
            value = stored(inner, given.type, field.type, (*path, field.name), depth)
        members.append(f"{value} AS {quoted_name(field.name)}")
    return f"IF({expression} IS NULL, NULL, struct({', '.join(members)}))"


def _stored_atom(expression: str, source: t.DataType, target: t.DataType, path: _PATH) -> str:
    to = exact_type_text(target)
    if _always_fits(source, target):
        return f"CAST({expression} AS {to})"
    fits = f"{expression} IS NULL OR try_cast({expression} AS {to}) IS NOT NULL"
    if source in t.FLOATING and isinstance(target, t.DecimalType):
        # Spark stores NULL for NaN and the infinities.
        fits += f" OR isnan({expression}) OR abs({expression}) = CAST('Infinity' AS DOUBLE)"
    members = f"{sql_string(t.display_name(path))} AS `column`, {sql_string(type_text(target).upper())} AS `type`"
    payload = f"to_json(struct({members}, CAST({expression} AS STRING) AS `value`))"
    return (
        f"CASE WHEN {fits} THEN try_cast({expression} AS {to}) ELSE raise_error(concat('{VIOLATION}', {payload})) END"
    )


def _is_cast(source: t.DataType, target: t.DataType) -> bool:
    """Whether values of an atomic type are cast to numbers, times, booleans or bytes in ANSI mode."""
    if isinstance(source, t.StructType | t.ArrayType | t.MapType):
        return False
    return (is_numeric(target) or target in (t.BOOLEAN, t.BINARY, *t.DATETIMES)) and castable(source, target)


def _always_fits(source: t.DataType, target: t.DataType) -> bool:
    """Whether no value of `source` is out of the range of `target`."""
    if source == t.VOID or target == t.STRING:
        return True
    if target in t.FLOATING:
        return source != t.STRING
    if isinstance(target, t.DecimalType):
        whole = target.precision - target.scale
        if isinstance(source, t.DecimalType):
            return source.scale <= target.scale and source.precision - source.scale <= whole
        return source in _INTEGRAL and _INTEGRAL[source] <= whole
    if source in _INTEGRAL and target in _INTEGRAL:
        return _INTEGRAL[source] <= _INTEGRAL[target]
    return target == t.DATE and source in t.DATETIMES
