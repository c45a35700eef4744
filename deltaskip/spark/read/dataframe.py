"""Reading through Spark: a DataFrame of exactly the rows of a file list that match a predicate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from inspect import signature
from typing import Any, TypeVar
from uuid import uuid4

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as spark_types

from deltaskip.engine import ListedScan, PlannedScan, is_column
from deltaskip.errors import (
    DeltaSkipError,
    InvalidArgument,
    InvalidArgumentType,
    PredicateError,
    SchemaError,
    UnsupportedFeature,
)
from deltaskip.expr import ColumnExpr, Node, to_node
from deltaskip.expr.comparison_collation import compared_collations
from deltaskip.expr.nodes import columns_of
from deltaskip.features.row_tracking import row_id_columns
from deltaskip.log import Snapshot
from deltaskip.log.deleted_rows import read_deleted_rows
from deltaskip.reading.stored_rows import listed_twice
from deltaskip.records import dataclass
from deltaskip.schema.arrow_values import arrow_array, one_chunk
from deltaskip.schema.properties import MappingMode
from deltaskip.schema.resolve import fold_name, resolve
from deltaskip.schema.sql_text import quoted_name
from deltaskip.schema.type_widening import TYPE_CHANGES_KEY
from deltaskip.schema.types import StructField, StructType
from deltaskip.settings import options
from deltaskip.spark.columns.spark_collations import check_compared, warn_of_unknown
from deltaskip.spark.columns.spark_types import data_schema, logical_type, spark_schema, with_declarations
from deltaskip.spark.columns.to_column import to_column
from deltaskip.spark.read.file_index import check_unlisted, listed_here, milliseconds
from deltaskip.spark.read.file_paths import check_not_hidden, is_hidden, spark_paths
from deltaskip.spark.read.parquet_scans import DeletionVectorReader, PositionalRows, ScanSettings, live_rows, rows_at
from deltaskip.spark.read.partitions import partition_table
from deltaskip.spark.read.projection import check_has_columns, with_declared_lengths
from deltaskip.spark.session.active import check_base64, in_ansi
from deltaskip.spark.session.error_conversion import first_reason, predicate_errors_named, spark_errors_named
from deltaskip.spark.session.releases import broadcast_rows
from deltaskip.spark.session.session_collation import session_collation_version, warn_if_unused

Planned = TypeVar("Planned", bound=PlannedScan)

FIELD_ID_READ = "spark.sql.parquet.fieldId.read.enabled"


_METADATA = "_metadata"
"""Name of the column, which is that of Spark's and Delta's hidden one."""
_PATH = "__deltaskip_file_path"
_POSITION = "__deltaskip_row_index"
_BASE = "__deltaskip_base_row_id"
_VERSION = "__deltaskip_default_version"
# Names after the format that `statements.statement.path_of` does not take for a path.
_BY_PATH = " Write the whole path after the name of the format, such as deltaskip.`/data/orders`, or register a view."


@dataclass(frozen=True, slots=True)
class StoredTable:
    """The facts of a table that a read of its files needs.

    Attributes:
        root: URI of the table.
        schema: The columns to read.
        mapping_mode: The column mapping mode of the files.
        partition_columns: Names of the partition columns among them.
        storage_options: Options of the table's object store, for the account of an Azure container.
    """

    root: str
    schema: StructType
    mapping_mode: MappingMode
    partition_columns: Sequence[str]
    storage_options: Mapping[str, str] | None = None

    @classmethod
    def of(cls, snapshot: Snapshot, schema: StructType) -> StoredTable:
        """Return that of a snapshot, for these columns of it."""
        names = frozenset(schema.names)
        partitions = tuple(name for name in snapshot.partition_columns if name in names)
        options = getattr(snapshot.storage, "options", None)
        return cls(snapshot.table_root, schema, snapshot.mapping_mode, partitions, options)


def scan_to_dataframe(
    spark: SparkSession, scan: ListedScan, metadata: bool = False, filtered: bool = True, listing: bool = True
) -> DataFrame:
    """Return a DataFrame of the rows that match `scan`, with its columns and its limit.

    filtered: if False, all rows of the files that the scan keeps. listing: as of Scan.to_spark.

    Spark interprets timestamps without a zone in the session's time zone, and compares strings by its own version of
    their collations. If these differ from the scan's, the files are pruned again with the session's. Raises as
    to_dataframe does.
    """
    scan = planned_for(spark, scan)
    snapshot = scan.snapshot
    if metadata:
        return _limited(_with_metadata(spark, scan, listing), scan)

    def deleted(files: pa.Table) -> list[pa.Int64Array | None]:
        return read_deleted_rows(snapshot.storage, snapshot.table_root, files)

    table, where = StoredTable.of(snapshot, read_schema(scan)), scan.where if filtered else None
    return _limited(to_dataframe(spark, table, scan.files(), deleted, where, scan.columns, listing), scan)


def read_schema(scan: ListedScan) -> StructType:
    """Return the columns that a scan reads, without unrequested columns of types that this Spark lacks."""
    fields = scan.snapshot.schema.fields
    if scan.columns is None:
        return scan.snapshot.schema
    predicate = scan.predicate
    if not columns_of(predicate) and scan.where is not None:
        # A predicate that cannot be parsed here may use any column.
        return scan.snapshot.schema
    paths = [*columns_of(predicate), *([name] for name in scan.columns)]
    asked = {fold_name(part) for path in paths for part in path}
    return StructType(tuple(field for field in fields if fold_name(field.name) in asked or _is_known(field)))


def _is_known(field: StructField) -> bool:
    """Whether this version of PySpark has the type of a column."""
    try:
        logical_type(field)
    except (SchemaError, UnsupportedFeature):
        return False
    return True


def _limited(frame: DataFrame, scan: ListedScan) -> DataFrame:
    return frame if scan.limit is None else frame.limit(scan.limit)


def planned_for(spark: SparkSession, scan: Planned) -> Planned:
    """Return the scan in the session's time zone and mode, and for its version of the collations that it compares."""
    zone = spark.conf.get("spark.sql.session.timeZone")
    check_base64(spark, scan.snapshot, scan.predicate)
    check_compared(scan.snapshot, scan.predicate, spark.version)
    warn_of_unknown(scan.snapshot, spark.version)
    collations = compared_collations(scan.predicate)
    version = session_collation_version(spark) if collations else scan.collation_version
    scan = scan.replanned(zone, version, in_ansi(spark))
    warn_if_unused(scan, collations, version)
    return scan


def to_dataframe(
    spark: SparkSession,
    table: StoredTable,
    files: pa.Table,
    read_deletion_vectors: DeletionVectorReader,
    where: object = None,
    columns: Sequence[str] | None = None,
    listing: bool = True,
) -> DataFrame:
    """Return a DataFrame of the rows of `files` that are not deleted and match `where`, in the table's columns.

    Columns that a file lacks are null in its rows. All columns are nullable; strings have their collation; char(n) is
    padded as in Spark. With mapping_mode "id" the session's spark.sql.parquet.fieldId.read.enabled is set to true
    permanently: Spark reads it when the DataFrame runs, and it affects only schemas with field ids.

    Args:
        spark: A session, classic or Connect.
        table: The table.
        files: Rows of Scan.files(), with uri, partition_values and deletion_vector, and without listing size and
            modification_time.
        read_deletion_vectors: Returns the deleted row numbers of files that have a deletion vector.
        where: SQL text, a pyspark Column, an expression of `deltaskip.col`, a node, or None for every row.
        columns: Top-level columns in their order; None for all, in the order of the schema.
        listing: Whether Spark lists the files, instead of taking their sizes and times from `files`.

    Raises:
        DataFileMissing: A file is not in storage.
        SchemaError: The table has no columns, or a type that Spark cannot read.
        PredicateError: A column does not exist.
        UnsupportedFeature: This version of Spark cannot read the table.
        CorruptLog: A file is listed twice.
        Exception: What read_deletion_vectors raises. If files disappear or are damaged later, Spark raises an error
            when the DataFrame runs.
    """
    frame = live_rows(source_of(spark, table, files, listing=listing), files, read_deletion_vectors)
    return matching(with_declared_lengths(frame, table.schema), table.root, table.schema, where, columns)


def matching(
    frame: DataFrame, table_root: str, schema: StructType, where: object, columns: Sequence[str] | None
) -> DataFrame:
    """The rows of `frame`, which has the columns of the schema, that match a predicate, in the columns that are wanted.

    Arguments and errors are those of to_dataframe.
    """
    if where is not None:
        with predicate_errors_named(table_root):
            frame = frame.where(_condition(where))
    return frame if columns is None else frame.select(*_selected(schema, columns))


def source_of(
    spark: SparkSession,
    table: StoredTable,
    files: pa.Table,
    stored: Sequence[str] = (),
    listing: bool = True,
    repeated: bool = False,
) -> ScanSettings:
    """Return the settings that the scans of a read share. Arguments, errors and settings are those of to_dataframe.

    stored: columns of the schema that files have under their own names, whatever the column mapping mode.
    repeated: whether a file may be listed more than once.
    """
    schema = table.schema
    _check_readable(spark, table.root, schema)
    if not listing:
        check_unlisted(spark, table.root)
    if table.mapping_mode == "id":
        spark.conf.set(FIELD_ID_READ, "true")
    data = data_schema(schema, table.mapping_mode, (*table.partition_columns, *stored))
    for field in schema.fields:
        if field.name in stored:
            data.add(field.name, logical_type(field))
    paths = spark_paths(spark, files["uri"].to_pylist(), table.storage_options)
    sizes = files["size"].to_pylist() if "size" in files.column_names else None
    times = None if listing else milliseconds(files["modification_time"])
    partitions = partition_table(files, schema, table.partition_columns)
    if listing and len(paths) >= options.listed_files and len(partitions.tuples) <= options.listed_partitions:
        sizes, times = listed_here(spark, paths) or (sizes, None)
    source = ScanSettings(
        spark,
        table.root,
        schema,
        mode=table.mapping_mode,
        partitions=partitions,
        paths=paths,
        data=data,
        sizes=sizes,
        times=times,
    )
    _check_paths(source, repeated)
    return source


def can_read(spark: SparkSession, schema: StructType, uris: Iterable[str]) -> bool:
    """Return whether Spark reads all columns of files: it has their types, and skips no file because of its name.

    schema: The table's. uris: Of the files.
    """
    if not all(map(_is_known, schema.fields)) or _widened(spark, schema) is not None:
        return False
    return not any(map(is_hidden, uris))


def _check_readable(spark: SparkSession, table_root: str, schema: StructType) -> None:
    check_has_columns(schema, table_root)
    widened = _widened(spark, schema)
    if widened is not None:
        raise UnsupportedFeature(
            f"The type of column {widened!r} of {table_root} was widened, which the Parquet reader of Spark "
            f"{spark.version} does not support; read it with Spark 4.0 or newer."
        )


def _widened(spark: SparkSession, schema: StructType) -> str | None:
    """The first column whose type was widened, if this version of Spark does not read such."""
    if not spark.version.startswith("3."):
        return None
    return next((field.name for field in schema.fields if TYPE_CHANGES_KEY in field.metadata), None)


def _check_paths(source: ScanSettings, repeated: bool) -> None:
    if not repeated and len(set(source.paths)) != len(source.paths):
        twice = Counter(source.paths).most_common(1)[0][0]
        raise listed_twice(source.table_root, twice)
    check_not_hidden(source.paths, source.table_root)


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


def _selected(schema: StructType, columns: Sequence[str]) -> list[Column]:
    return [F.col(quoted_name(resolve(schema, [name]).logical[0])) for name in columns]


def _with_metadata(spark: SparkSession, scan: ListedScan, listing: bool = True) -> DataFrame:
    """Return the rows that match the scan, planned for the session, with the column `_metadata` behind its columns.

    listing: as of Scan.to_spark.
    Raises InvalidArgument if the table has a column of this name.
    """
    snapshot = scan.snapshot
    schema = read_schema(scan)
    taken = next((field.name for field in snapshot.schema.fields if field.name.lower() == _METADATA), None)
    if taken is not None:
        raise InvalidArgument(
            f"metadata=True adds the column {_METADATA}, but version {snapshot.version} of {snapshot.root} has the "
            f"column {taken!r}: rename it, or read the table without metadata."
        )
    files = scan.files()
    ids = row_id_columns(snapshot.table_properties)
    names = ["file_path", "row_index", *(("row_id", "row_commit_version") if ids is not None else ())]
    if not len(files):
        return _empty(spark, scan, names)
    source = source_of(spark, StoredTable.of(snapshot, schema), files, listing=listing)
    stored = [] if ids is None else [ids.row_id, ids.commit_version]
    for name in stored:
        source.data.add(name, spark_types.LongType())
    values = {}
    if ids is not None:
        values = {_BASE: one_chunk(files["base_row_id"]), _VERSION: one_chunk(files["default_row_commit_version"])}
    deleted = _deleted(scan, files)
    frame = rows_at(source, PositionalRows(deleted, False, _POSITION, _PATH, values, stored))
    fields = [F.col(_PATH), F.col(_POSITION)]
    if ids is not None:
        fields += [F.expr(ids.row_id_sql(_BASE, _POSITION)), F.expr(ids.commit_version_sql(_VERSION))]
    struct = F.struct(*(column.alias(name) for column, name in zip(fields, names, strict=True))).alias(_METADATA)
    frame = frame.select(*(F.col(quoted_name(field.name)) for field in schema.fields), struct)
    return _selected_columns(scan, with_declared_lengths(frame, schema, [F.col(_METADATA)]))


def _selected_columns(scan: ListedScan, frame: DataFrame) -> DataFrame:
    snapshot = scan.snapshot
    frame = matching(frame, snapshot.table_root, snapshot.schema, scan.where, None)
    if scan.columns is None:
        return frame
    columns: list[Column] = [F.col(quoted_name(name)) for name in scan.columns]
    return frame.select(*columns, F.col(_METADATA))


def _empty(spark: SparkSession, scan: ListedScan, names: list[str]) -> DataFrame:
    types = [spark_types.StringType(), *(spark_types.LongType() for _ in names[1:])]
    members = [spark_types.StructField(name, kind) for name, kind in zip(names, types, strict=True)]
    schema = spark_schema(read_schema(scan)).add(_METADATA, spark_types.StructType(members))
    return _selected_columns(scan, spark.createDataFrame([], schema))


def _deleted(scan: ListedScan, files: pa.Table) -> list[pa.Int64Array] | None:
    """The deleted rows of each file; None if there are none."""
    vectors = files["deletion_vector"]
    if vectors.null_count == len(vectors):
        return None
    snapshot = scan.snapshot
    found = read_deleted_rows(snapshot.storage, snapshot.table_root, files)
    return [arrow_array([], pa.int64()) if rows is None else rows for rows in found]


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
        if type(error).__name__ not in ("AnalysisException", "ParseException"):
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
