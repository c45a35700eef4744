"""Queries whose tables are DataFrames, and results as DataFrames."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import signature
from uuid import uuid4

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from deltaskip.engine import ListedScan
from deltaskip.errors import DeltaSkipError, PredicateError
from deltaskip.schema.types import StructType
from deltaskip.spark.columns.declarations import with_declarations
from deltaskip.spark.read.dataframe import scan_to_dataframe
from deltaskip.spark.session.error_conversion import first_reason, spark_errors_named
from deltaskip.spark.session.releases import broadcast_rows

# Names after the format that `statements.session.path_of` does not take for a path.
_BY_PATH = " Write the whole path after the name of the format, such as deltaskip.`/data/orders`, or register a view."


def query(spark: SparkSession, text: str, scans: Mapping[str, ListedScan], conditions: Mapping[str, str]) -> DataFrame:
    """Return the DataFrame of a query.

    The relations are passed to Spark with the query, under names of their own that it gives up again, on a classic
    session as soon as the query is analyzed, on Spark Connect as a part of its plan.

    Args:
        spark: The session.
        text: The query, with `{name}` for each relation and doubled braces for other ones.
        scans: By name, which rows of a table the relation may leave out.
        conditions: By name, the predicate of the rows of the relation, as SQL text, where it is not all rows.

    Raises PredicateError if Spark refuses the query.
    """
    frames = {}
    for name, scan in scans.items():
        table = f"{scan.snapshot.table_root} (version {scan.snapshot.version})"
        with spark_errors_named(spark, table, "read"):
            frame = _declared(scan_to_dataframe(spark, scan, filtered=False), scan)
            frames[name] = frame.where(conditions[name]) if name in conditions else frame
    try:
        found = _run(spark, text, frames)
        # Spark Connect analyzes the query at the first request.
        _ = found.schema
    except DeltaSkipError:
        raise
    except Exception as error:
        if not _is_refusal(error):
            raise
        reason = first_reason(error)
        cure = _BY_PATH if "UNSUPPORTED_DATASOURCE_FOR_DIRECT_QUERY" in str(error) else ""
        raise PredicateError(f"Spark cannot run the query: {reason}{cure}") from error
    return found


def arrow_to_dataframe(spark: SparkSession, rows: pa.Table) -> DataFrame:
    """Return the rows of an Arrow table as a DataFrame; it may have no columns."""
    return broadcast_rows(spark, rows) if rows.num_columns else spark.range(0).drop("id")


def _declared(frame: DataFrame, scan: ListedScan) -> DataFrame:
    """The rows with NOT NULL and comments of their columns in the schema."""
    fields = {field.name: field for field in scan.snapshot.schema.fields}
    return with_declarations(frame, StructType(tuple(fields[name] for name in frame.columns)))


def _run(spark: SparkSession, text: str, frames: Mapping[str, DataFrame]) -> DataFrame:
    if not frames or "kwargs" in signature(spark.sql).parameters:
        return spark.sql(text, **frames) if frames else spark.sql(text.replace("{{", "{").replace("}}", "}"))
    # The Connect client of Spark 3.5 takes no DataFrames, and reads views anew each time: they stay with the session.
    names = {name: f"deltaskip_{uuid4().hex}" for name in frames}
    for name, frame in frames.items():
        frame.createOrReplaceTempView(names[name])
    return spark.sql(text.format(**names))


def _is_refusal(error: Exception) -> bool:
    return type(error).__name__ in ("AnalysisException", "ParseException")
