"""Queries of a session over relations that are read by scans."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from inspect import signature
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession

from deltaskip.change_feed.change_scan import ChangeScan
from deltaskip.engine import ListedScan
from deltaskip.errors import DeltaSkipError, PredicateError
from deltaskip.spark.columns.spark_types import with_declarations
from deltaskip.spark.read.change_feed import changes_to_dataframe
from deltaskip.spark.read.dataframe import scan_to_dataframe
from deltaskip.spark.session.error_conversion import first_reason, spark_errors_named
from deltaskip.sparkexpr import types as t

# What to write, by what Spark says. A name after the format without a slash is no path for `statements.reader.path_of`.
_CURES = (
    (
        "UNSUPPORTED_DATASOURCE_FOR_DIRECT_QUERY",
        " Write the whole path after the name of the format, such as deltaskip.`/data/orders`, or register a view.",
    ),
    (
        r"(?s)TABLE_OR_VIEW_NOT_FOUND.*`delta(?:skip)?`\.`",
        " A path needs a slash: write delta.`./orders` for a folder of the working directory.",
    ),
    (r"PARSE_SYNTAX_ERROR[^\n]*near ''", " In a session, write delta.`/data/orders` in place of a path in quotes."),
)


def query(
    spark: SparkSession,
    text: str,
    scans: Mapping[str, ListedScan | ChangeScan],
    conditions: Mapping[str, str],
    metadata: Collection[str],
) -> DataFrame:
    """Return the DataFrame of a query.

    The relations are passed to Spark under unique temporary names: on a classic session until the query is analyzed, on
    Spark Connect as a part of its plan.

    Args:
        spark: The session.
        text: The query as a template of `str.format`, with `{name}` for each relation.
        scans: By name, the scan of the rows of the relation, which may skip rows that the query does not need, or of
            its changes.
        conditions: By name, the predicate of the relation's rows as SQL text; no entry for all rows.
        metadata: Names of relations that have the column `_metadata`.

    Raises PredicateError if Spark refuses the query.
    """
    frames = {}
    for name, scan in scans.items():
        table = f"{scan.snapshot.table_root} (version {scan.snapshot.version})"
        with spark_errors_named(spark, table, "read"):
            if isinstance(scan, ChangeScan):
                frame = changes_to_dataframe(spark, scan)
            else:
                frame = _declared(scan_to_dataframe(spark, scan, name in metadata, filtered=False), scan)
            frames[name] = frame.where(conditions[name]) if name in conditions else frame
    try:
        found = _run(spark, text, frames)
        # Spark Connect analyzes the query at the first request.
        _ = found.schema
    except DeltaSkipError:
        raise
    except Exception as error:
        if type(error).__name__ not in ("AnalysisException", "ParseException"):
            raise
        reason = first_reason(error)
        cure = next((cure for said, cure in _CURES if re.search(said, str(error))), "")
        raise PredicateError(f"Spark cannot run the query: {reason}{cure}") from error
    return found


def _declared(frame: DataFrame, scan: ListedScan) -> DataFrame:
    """The rows with NOT NULL and comments of their columns in the schema."""
    fields = {field.name: field for field in scan.snapshot.schema.fields}
    own = [name for name in frame.columns if name in fields]
    beside = frame.columns[len(own) :]
    return with_declarations(frame, t.StructType(tuple(fields[name] for name in own)), beside)


def _run(spark: SparkSession, text: str, frames: Mapping[str, DataFrame]) -> DataFrame:
    if frames and "kwargs" in signature(spark.sql).parameters:
        return spark.sql(text, **frames)
    # The Connect client of Spark 3.5 takes no DataFrames, and reads views anew each time: they stay with the session.
    names = {name: f"deltaskip_{uuid4().hex}" for name in frames}
    for name, frame in frames.items():
        frame.createOrReplaceTempView(names[name])
    return spark.sql(text.format(**names))
