"""delta-spark's convertToDelta: folders of Parquet files that become tables."""

from __future__ import annotations

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from deltaskip.errors import DataFileMissing, InvalidArgumentType, SchemaError, TableNotFound
from deltaskip.spark.catalog.session_tables import name_parts, named_table
from deltaskip.table.conversion import convert_to_delta
from deltaskip.table.table import DeltaTable

_PARQUET = "parquet"


def converted(
    spark: SparkSession, identifier: str, partition_schema: str | StructType | None
) -> tuple[DeltaTable, str | None]:
    """Return the table that a Parquet table becomes, and its name in the session's catalog if it has one.

    Raises TableNotFound if there are no Parquet files, and SchemaError if the files have another format or other
    partition columns.
    """
    if not isinstance(identifier, str):
        raise InvalidArgumentType.of("identifier", "a str", identifier)
    location, name = _location(spark, identifier)
    zone = spark.conf.get("spark.sql.session.timeZone")
    try:
        return convert_to_delta(location, partition_schema, time_zone=zone), name
    except DataFileMissing as error:
        raise TableNotFound(f"The table {identifier} cannot be found: {error}") from error


def _location(spark: SparkSession, identifier: str) -> tuple[str, str | None]:
    """The folder that an identifier names, and its name in the catalog."""
    parts = name_parts(spark, identifier)
    if len(parts) == 2 and "/" in parts[1]:
        if parts[0].lower() != _PARQUET:
            raise SchemaError(
                f"Only Parquet files can be converted to a Delta table, not {identifier}: write "
                f"{_PARQUET}.`{parts[1]}` if it contains Parquet files."
            )
        return parts[1], None
    known = named_table(spark, identifier)
    if known is None or known.location is None:
        raise TableNotFound(f"The table {identifier} cannot be found: use parquet.`/path` or the name of a table.")
    if (known.provider or "").lower() != _PARQUET and not known.is_delta:
        raise SchemaError(f"Only Parquet tables can be converted to Delta, and {identifier} is of {known.provider}.")
    return known.location, known.name
