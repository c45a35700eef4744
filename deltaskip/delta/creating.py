"""Creation of tables from the description of a builder, and from Parquet files by convertToDelta.

A table has a location, and may have a name in the session's catalog.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal

from pyspark.sql import SparkSession
from pyspark.sql import types as spark_types

from deltaskip import errors
from deltaskip.delta.locations import path_in_name
from deltaskip.delta.spark_errors import parse_error, spark_error, spark_errors
from deltaskip.records import dataclass
from deltaskip.schema.user_schema import schema_of
from deltaskip.spark.catalog.session_tables import NamedTable, default_location, name_parts, named_table, register_table
from deltaskip.spark.session.active import time_zone_of
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.text.sql_text import quoted_name
from deltaskip.sparkexpr.types.ddl import parse_columns, timestamp_of
from deltaskip.storage import open_storage
from deltaskip.table.conversion import convert_to_delta
from deltaskip.table.table import DeltaTable

CreateMode = Literal["create", "createIfNotExists", "replace", "createOrReplace"]
_PARQUET = "parquet"


@dataclass(slots=True)
class NewTable:
    """The description of a table that a builder collects.

    Attributes:
        mode: The method that created the builder.
        name: Name in the catalog.
        location: Folder of the table.
        comment: Description of the table.
        columns: Columns of the table.
        partition_columns: Names of the partition columns.
        clustering_columns: Names of the clustering columns.
        properties: Table properties.
    """

    mode: CreateMode
    name: str | None = None
    location: str | None = None
    comment: str | None = None
    columns: list[t.StructField] = field(default_factory=list)
    partition_columns: tuple[str, ...] = ()
    clustering_columns: tuple[str, ...] = ()
    properties: dict[str, str] = field(default_factory=dict)


def new_column(spark: SparkSession, name: str, data_type: str | spark_types.DataType) -> t.StructField:
    """Return a column without options. Raises an error that is also a ParseException for text that is not a type."""
    if isinstance(data_type, str):
        try:
            timestamp = timestamp_of(spark, data_type)
            [found] = parse_columns(f"{quoted_name(name)} {data_type}", timestamp).fields
            if not found.nullable or set(found.metadata) - {t.CHAR_VARCHAR_KEY, t.COLLATIONS_KEY}:
                raise errors.SchemaError(f"{data_type!r} is not only the type of the column {name}.")
        except (errors.SchemaError, ValueError) as error:
            raise parse_error(errors.SchemaError(f"The type of the column {name} cannot be parsed: {error}")) from error
        return found
    with spark_errors():
        return schema_of(spark_types.StructType([spark_types.StructField(name, data_type)])).fields[0]


def identity_column(column: t.StructField, start: int, step: int, explicit: bool) -> Mapping[str, Any]:
    """Return the metadata of an identity column.

    Raises an error that is also an UnsupportedOperationException if the column is not BIGINT.
    """
    if column.type != t.LONG:
        raise spark_error(
            errors.UnsupportedFeature(
                f"[DELTA_IDENTITY_COLUMNS_UNSUPPORTED_DATA_TYPE] The identity column {column.name} is of type "
                f"{t.simple_string(column.type).upper()}; use BIGINT."
            )
        )
    return {
        f"{t.IDENTITY_PREFIX}start": start,
        f"{t.IDENTITY_PREFIX}step": step,
        f"{t.IDENTITY_PREFIX}allowExplicitInsert": explicit,
    }


def create_table(spark: SparkSession, new: NewTable) -> tuple[DeltaTable, str | None]:
    """Create or replace the table that `new` describes; return it with its name in the catalog."""
    with spark_errors():
        path = None if new.name is None else path_in_name(spark, new.name)
        if new.name is not None and path is None:
            return _named(spark, new, new.name)
        location = new.location if path is None else path
        if location is None:
            raise errors.SchemaError("Table name or location has to be specified: use tableName() or location().")
        return _at(new, location, f"delta.`{location}`"), None


def _named(spark: SparkSession, new: NewTable, name: str) -> tuple[DeltaTable, str | None]:
    known = named_table(spark, name)
    if known is None:
        if new.mode == "replace":
            raise errors.TableNotFound(f"The table {name} cannot be found: create it, or use createOrReplace().")
        location = new.location or default_location(spark, name)
        opened = _registrable(new, location, name) or _made(new, location, "create", name)
        register_table(spark, name, opened.uri, managed=new.location is None)
        found = named_table(spark, name)
        return opened, name if found is None else found.name
    if new.mode == "create":
        raise errors.TableAlreadyExists(
            f"The table {name} already exists: choose another name, or use createIfNotExists() or createOrReplace()."
        )
    location = _location_of(known, name)
    if new.mode == "createIfNotExists":
        return DeltaTable(location), known.name
    if new.location is not None and not _same_folder(new.location, location):
        raise errors.SchemaError(
            f"The table {name} is at {location}, not at {new.location}: replace it without location(), or choose "
            f"another name."
        )
    return _made(new, location, "replace", name), known.name


def _location_of(known: NamedTable, name: str) -> str:
    if known.location is None or not known.is_delta:
        raise errors.SchemaError(f"{name} is not a Delta table, so it cannot be replaced: choose another name.")
    return known.location


def _same_folder(one: str, other: str) -> bool:
    return open_storage(one)[1].rstrip("/") == open_storage(other)[1].rstrip("/")


def _registrable(new: NewTable, location: str, name: str) -> DeltaTable | None:
    """The table that exists at the location, if the description fits it; None if no table exists."""
    try:
        opened = DeltaTable(location)
    except errors.TableNotFound:
        return None
    if new.mode == "createOrReplace":
        return _made(new, location, "replace", name)
    described = [(each.name, each.type, each.nullable) for each in new.columns]
    if described and described != [(each.name, each.type, each.nullable) for each in opened.schema.fields]:
        raise errors.SchemaError(
            f"The columns of {name} are not those of the table at {opened.uri}: leave them out to register that table, "
            f"or choose another location."
        )
    if new.partition_columns and new.partition_columns != opened.partition_columns:
        raise errors.SchemaError(
            f"The partition columns of {name} are not those of the table at {opened.uri}: leave them out to register "
            f"that table, or choose another location."
        )
    return opened


def _at(new: NewTable, location: str, name: str) -> DeltaTable:
    """The table at a location, without a name in a catalog."""
    if new.mode == "replace" and not DeltaTable.exists(location):
        raise errors.TableNotFound(f"The table {name} cannot be found: create it, or use createOrReplace().")
    return _made(new, location, "replace" if new.mode in ("replace", "createOrReplace") else "create", name)


def _made(new: NewTable, location: str, act: Literal["create", "replace"], name: str) -> DeltaTable:
    modes: dict[str, Literal["error", "ignore", "replace"]] = {"createIfNotExists": "ignore"}
    try:
        return DeltaTable.create(
            location,
            t.StructType(tuple(new.columns)),
            new.partition_columns,
            new.clustering_columns,
            new.properties,
            new.comment,
            mode="replace" if act == "replace" else modes.get(new.mode, "error"),
        )
    except errors.TableAlreadyExists as error:
        raise errors.TableAlreadyExists(
            f"The table {name} already exists: choose another location, or use createIfNotExists() or "
            f"createOrReplace()."
        ) from error


def converted(
    spark: SparkSession, identifier: str, partition_schema: str | spark_types.StructType | None
) -> tuple[DeltaTable, str | None]:
    """Convert a Parquet table, and return the Delta table and its name in the session's catalog, if any.

    Raises TableNotFound if the folder has no Parquet files, and SchemaError if the files have another format or other
    partition columns.
    """
    if not isinstance(identifier, str):
        raise errors.InvalidArgumentType.of("identifier", "a str", identifier)
    location, name = _location(spark, identifier)
    zone = time_zone_of(spark)
    try:
        if isinstance(partition_schema, str):
            schema: object = parse_columns(partition_schema, timestamp_of(spark, partition_schema))
        else:
            schema = partition_schema
        return convert_to_delta(location, schema, time_zone=zone), name
    except errors.DataFileMissing as error:
        raise errors.TableNotFound(f"The table {identifier} cannot be found: {error}") from error


def _location(spark: SparkSession, identifier: str) -> tuple[str, str | None]:
    """The folder that an identifier names, and the name of the table in the catalog."""
    parts = name_parts(spark, identifier)
    if len(parts) == 2 and "/" in parts[1]:
        if parts[0].lower() != _PARQUET:
            raise errors.SchemaError(
                f"Only Parquet files can be converted to a Delta table, not {identifier}: write "
                f"{_PARQUET}.`{parts[1]}` if it contains Parquet files."
            )
        return parts[1], None
    known = named_table(spark, identifier)
    if known is None or known.location is None:
        raise errors.TableNotFound(
            f"The table {identifier} cannot be found: use parquet.`/path` or the name of a table."
        )
    if (known.provider or "").lower() != _PARQUET and not known.is_delta:
        raise errors.SchemaError(
            f"Only Parquet tables can be converted to Delta, and {identifier} is of {known.provider}."
        )
    return known.location, known.name
