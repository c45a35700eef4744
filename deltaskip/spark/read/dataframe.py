"""Reading through Spark: a DataFrame of exactly the rows of a file list that match a predicate."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import and_
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from deltaskip.engine import ListedScan, is_column
from deltaskip.errors import InvalidArgumentType
from deltaskip.reading.read_plan import METADATA, ReadPlan, scan_plan
from deltaskip.reading.session_scan import SessionFacts
from deltaskip.skipping.joins.semi_join import KeyJoin, without_joins
from deltaskip.spark.columns.arrow_frame import arrow_frame
from deltaskip.spark.columns.spark_types import has_type
from deltaskip.spark.columns.to_column import to_column
from deltaskip.spark.read.file_paths import is_hidden
from deltaskip.spark.read.parquet_scans import scanned_rows, widened
from deltaskip.spark.read.session_facts import facts_in_flight, other_server, refuse_other_server
from deltaskip.spark.read.shape_predicates import with_shapes
from deltaskip.spark.session.active import time_zone_of
from deltaskip.spark.session.error_conversion import predicate_errors_named
from deltaskip.spark.session.own_texts import check_functions, selected
from deltaskip.sparkexpr import ColumnExpr, SortTerm, to_node
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.collations import spark_collation
from deltaskip.sparkexpr.comparison_collation import is_binary
from deltaskip.sparkexpr.meaning import SessionMeaning
from deltaskip.sparkexpr.nodes import Node
from deltaskip.sparkexpr.text.sql_text import quoted_name
from deltaskip.sparkexpr.types.lengths import char_length, holds_char, with_lengths

# Functions that pad strings of type char(n).
_PADDING = frozenset(
    ("isnotnull", "length", "rpad", "struct", "transform", "transform_keys", "transform_values", "when")
)


def scan_to_dataframe(
    spark: SparkSession, scan: ListedScan, metadata: bool = False, filtered: bool = True, listing: bool = True
) -> DataFrame:
    """Return a DataFrame of the rows that match `scan`, with its columns and its limit.

    filtered: If False, return all rows of the files that the scan keeps. listing: See Scan.to_spark.

    If the server is not Spark's, this process reads the rows and sends them to the server.

    Spark interprets timestamps without a zone in the session's time zone, and compares strings by its own version of
    their collations. If the scan has another time zone or version, the files are pruned again with the session's.
    Raises as scan_plan and plan_to_dataframe do.
    """
    if other_server(spark) is not None:
        if metadata:
            refuse_other_server(spark, f"Reading {scan.snapshot.table_root} with the positions of its rows")
        here: Any = scan.replanned(SessionMeaning(time_zone_of(spark)), scan.collation_version)
        return arrow_frame(spark, here.to_arrow())

    def frame(session: SessionFacts) -> DataFrame:
        return plan_to_dataframe(spark, scan_plan(scan, session, metadata, filtered))

    # The answer of a server takes as long as the rest, and is nearly always that its functions hide none of Spark's.
    usual, facts = facts_in_flight(spark, scan, listing)
    found, known = frame(usual), facts()
    return found if known.meaning == usual.meaning else frame(known)


def plan_to_dataframe(spark: SparkSession, plan: ReadPlan) -> DataFrame:
    """Return a DataFrame of the rows of a plan, in the table's columns; char(n) is padded as in Spark.

    Raises PredicateError for a column that does not exist, and as scanned_rows does.
    """
    schema, beside = plan.table.schema, [F.col(METADATA)] if plan.metadata else []
    frame = scanned_rows(spark, plan)
    if plan.metadata:
        members = ", ".join(f"{text} AS {name}" for name, text in plan.metadata.items())
        frame = selected(frame, *map(quoted_name, schema.names), f"struct({members}) AS {METADATA}")
    if plan.order:
        frame = matching(frame, plan.table.root, schema, plan.where, None, beside)
        frame = frame.orderBy(*map(_sorted_by, plan.order)).limit(plan.limit or 0)
        return _selected(frame, schema, plan.columns, beside)
    frame = matching(frame, plan.table.root, schema, plan.where, plan.columns, beside)
    return frame if plan.limit is None else frame.limit(plan.limit)


def matching(
    frame: DataFrame,
    table_root: str,
    schema: t.StructType,
    where: object,
    columns: Sequence[str] | None,
    beside: Sequence[Column] = (),
) -> DataFrame:
    """The rows of `frame`, which has the columns of the schema, that match a predicate, with the selected columns.

    Columns of type char(n) are padded, see `with_declared_lengths`.

    Args:
        frame: The rows.
        table_root: URI of the table, for messages.
        schema: The columns.
        where: SQL text, a pyspark Column, an expression of `deltaskip.col`, a node, or None for every row.
        columns: Top-level columns in their order; None for all, in the order of the schema.
        beside: Columns of `frame` to keep after the table's columns.

    Raises PredicateError for a column that does not exist.
    """
    frame = with_declared_lengths(frame, schema, beside)
    where, joins = _with_joins(where)
    if where is not None:
        where = with_shapes(frame.sparkSession, where, schema, table_root)
        with predicate_errors_named(table_root):
            frame = frame.where(_condition(where))
    for join in joins:
        frame = _semi_joined(frame, join, schema)
    return _selected(frame, schema, columns, beside)


def _selected(
    frame: DataFrame, schema: t.StructType, columns: Sequence[str] | None, beside: Sequence[Column]
) -> DataFrame:
    if columns is None:
        return frame
    names = (t.resolve(schema, [name]).logical[0] for name in columns)
    return frame.select(*(F.col(quoted_name(name)) for name in names), *beside)


def _sorted_by(term: SortTerm) -> Column:
    column = to_column(term.node)
    if term.descending:
        return column.desc_nulls_first() if term.nulls_first else column.desc_nulls_last()
    return column.asc_nulls_first() if term.nulls_first else column.asc_nulls_last()


def with_declared_lengths(frame: DataFrame, struct: t.StructType, beside: Sequence[Column] = ()) -> DataFrame:
    """`frame` with char(n) columns padded to length n, as Spark reads them, and the type in the column's metadata.

    Spark pads a literal that is compared with such a column only if the metadata has the type. A session may read
    strings as they are stored, or take all of them for STRING: # Spark 4.1, ApplyCharTypePadding
    beside: columns of `frame` to keep after the table's columns.
    """
    if not any(t.CHAR_VARCHAR_KEY in f.metadata for f in struct.fields):
        return frame
    spark = frame.sparkSession
    if str(spark.conf.get("spark.sql.legacy.charVarcharAsString", "false")).lower() == "true":
        return frame
    if str(spark.conf.get("spark.sql.readSideCharPadding", "true")).lower() == "false":
        return frame.select(*(_declared_column(f, F.col(quoted_name(f.name))) for f in struct.fields), *beside)
    check_functions(frame.sparkSession, _PADDING)
    return frame.select(*map(_with_length, struct.fields), *beside)


def can_read(spark: SparkSession, schema: t.StructType, uris: Iterable[str]) -> bool:
    """Return whether Spark reads all columns of files: it has their types, and skips no file because of its name.

    schema: The schema of the table. uris: The URIs of the files.
    """
    if not all(map(has_type, schema.fields)) or widened(spark, schema) is not None:
        return False
    return not any(map(is_hidden, uris))


def _with_joins(where: Any) -> tuple[Any, list[KeyJoin]]:
    """A predicate without its semi-joins, and these."""
    return without_joins(to_node(where)) if isinstance(where, ColumnExpr | Node) else (where, [])


def _semi_joined(frame: DataFrame, join: KeyJoin, schema: t.StructType) -> DataFrame:
    """The rows of a frame that have a key of a semi-join, which Spark compares by `=`."""
    names = [f"__deltaskip_key_{place}" for place in range(len(join.paths))]
    keys = arrow_frame(frame.sparkSession, join.rows.rename_columns(names))
    conditions = []
    for path, name in zip(join.paths, names, strict=True):
        key, collation = F.col(name), t.collation_of(t.resolve(schema, path))
        if collation is not None and not is_binary(collation):
            # As a literal, the key has the collation of the column.
            key = F.collate(key, spark_collation(collation) or collation)
        conditions.append(F.col(".".join(map(quoted_name, path))) == key)
    return frame.join(keys, reduce(and_, conditions), "left_semi")


def _condition(where: Any) -> str | Column:
    match where:
        case str():
            return where
        case ColumnExpr() | Node():
            return to_column(to_node(where))
        case _ if is_column(where):
            return where
        case _:
            raise InvalidArgumentType.of("where", "SQL text, an expression or a Column", where)


def _with_length(field: t.StructField) -> Column:
    column = F.col(quoted_name(field.name))
    return _declared_column(field, _padded(column, with_lengths(field).type))


def _declared_column(field: t.StructField, column: Column) -> Column:
    """The column with its declared type in the metadata, if that is CHAR or VARCHAR or contains one."""
    declaration = field.metadata.get(t.CHAR_VARCHAR_KEY)
    return column if declaration is None else column.alias(field.name, metadata={t.CHAR_VARCHAR_KEY: declaration})


def _padded(column: Column, data_type: t.DataType) -> Column:
    """`column` with strings of type char(n) padded, at every depth.

    # Spark 4.1, ApplyCharTypePadding, spark.sql.readSideCharPadding
    """
    match data_type:
        case t.UnknownType() if length := char_length(data_type):
            return F.when(F.length(column) < length, F.rpad(column, length, " ")).otherwise(column)
        case t.StructType(fields) if holds_char(data_type):
            parts = [_padded(column.getField(f.name), f.type).alias(f.name) for f in fields]
            return F.when(column.isNotNull(), F.struct(*parts))
        case t.ArrayType(element) if holds_char(element):
            return F.transform(column, lambda value: _padded(value, element))
        case t.MapType(key, value_type) if holds_char(data_type):
            keys = F.transform_keys(column, lambda each, _: _padded(each, key))
            return F.transform_values(keys, lambda _, value: _padded(value, value_type))
        case _:
            return column
