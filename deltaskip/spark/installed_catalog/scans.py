"""Reads of a table for Spark: pushed-down columns and predicates, files that can match, and their rows.

Files without deletion vectors are read by Spark's own Parquet readers, with the partition values of the log. Everything
else is read by the Python data source. Spark evaluates all predicates again.
"""

from __future__ import annotations

import base64
import hmac
import pickle
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import pyarrow as pa
from pyspark.sql import types as spark_types
from pyspark.sql.datasource import DataSource, DataSourceReader

from deltaskip.actions.paths import spark_path
from deltaskip.errors import DeltaSkipError, InvalidArgument, UnsupportedFeature
from deltaskip.fork_safety import cached_property
from deltaskip.reading.arrow_rows import READ_COLUMNS, row_reads
from deltaskip.reading.estimates import estimated
from deltaskip.reading.located_rows import LOCATED_COLUMNS, LocatedReader
from deltaskip.reading.read_ahead import Reads
from deltaskip.reading.read_plan import METADATA, metadata_fields
from deltaskip.reading.session_scan import read_by
from deltaskip.reading.table_scan import TableScan
from deltaskip.records import dataclass
from deltaskip.schema.mapping import physical_schema
from deltaskip.skipping.read_options import ReadOptions
from deltaskip.spark.columns.column_parts import sequence
from deltaskip.spark.columns.spark_types import check_returned_by_python, logical_type, spark_schema
from deltaskip.spark.installed_catalog.catalyst_predicates import can_be_key, keys_of_rows, required_of_rows
from deltaskip.spark.installed_catalog.compiled_java import of_zone, v2_statistics
from deltaskip.spark.installed_catalog.definitions import read_order
from deltaskip.spark.installed_catalog.parquet_rows import ParquetRows, reads_exactly
from deltaskip.spark.read.file_paths import metadata_path, spark_paths
from deltaskip.spark.read.plan_statistics import catalog_statistics
from deltaskip.spark.read.reader_settings import misread
from deltaskip.spark.read.session_facts import session_facts, uses_estimates
from deltaskip.spark.session.active import time_zone_of
from deltaskip.spark.session.checks import running_interpreter
from deltaskip.spark.session.jvm import Jvm, Proxy, Unmeasured, answers
from deltaskip.spark.session.session_settings import java_state
from deltaskip.spark.source.batch_read import BatchReader, FilePartition, partitions_of
from deltaskip.sparkexpr import nodes as n
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.nodes import Node
from deltaskip.sparkexpr.text.sql_text import quoted_name
from deltaskip.sparkexpr.values.arrow_values import exact_sum
from deltaskip.statements.answers import visible_columns
from deltaskip.table.table import DeltaTable

_NARROW: tuple[t.DataType, ...] = (t.BOOLEAN, t.BYTE, t.SHORT, t.INTEGER, t.DATE, t.LONG, t.TIMESTAMP, t.STRING)
_READ = "org.apache.spark.sql.connector.read"


_PLANNED_ROWS, _PARTITIONS = "deltaskip_planned_rows", "partitions"
_ONLY_PLANNED = f"The format {_PLANNED_ROWS} reads only what deltaskip has planned: read the table by its name."
_KEY = secrets.token_bytes(32)


class ScanBuilder(Proxy):
    """Takes the columns and predicates that Spark pushes down.

    Args:
        jvm: The session's JVM.
        table: The table at the version to read.
        fields: The columns that Spark knows.
        text: The table and version, for comparing plans.
    """

    def __init__(self, jvm: Jvm, table: DeltaTable, fields: Sequence[t.StructField], text: str) -> None:
        super().__init__(jvm, f"scan builder of {text}")
        self._table = table
        self._fields = list(fields)
        self._of = text
        self._members: tuple[t.StructField, ...] = ()
        self._required: list[Node] = []
        self._expressions: list[Any] = []
        self._zone = time_zone_of(jvm.spark)

    @answers()
    def pruneColumns(self, schema: Any) -> None:
        """SupportsPushDownRequiredColumns: keep the columns of a schema, whole, and the fields of `_metadata`."""
        wanted = {str(name) for name in schema.fieldNames()}
        members = metadata_fields(self._table.snapshot) if METADATA in wanted else ()
        if members:
            asked = {str(name) for name in schema.apply(METADATA).dataType().fieldNames()}
            self._members = tuple(field for field in members if field.name in asked)
        self._fields = [field for field in self._fields if field.name in wanted]

    @answers()
    def pushFilters(self, filters: Any) -> Any:
        """SupportsPushDownCatalystFilters: take predicates for skipping files, and leave all to Spark."""
        self._expressions = list(sequence(filters))
        self._required = required_of_rows(of_zone(self.jvm, self._expressions, self._zone))
        return filters

    @answers()
    def pushedFilters(self) -> Any:
        """SupportsPushDownCatalystFilters: no predicates, since Spark must evaluate all of them."""
        of = self.jvm.view.org.apache.spark.sql.connector.expressions.filter.Predicate
        return self.jvm.array(of, ())

    @answers()
    def build(self) -> Any:
        """ScanBuilder: the scan."""
        if not self._fields and not self._members and _has_deleted_rows(self._table):
            # Arrow batches without columns have no rows to count.
            self._fields = [min(visible_columns(self._table), key=_width)]
        self._fields = read_order(self._fields, self._table)
        scan = _scan(self.jvm, self._table, self._required, [field.name for field in self._fields], self._zone)
        pushed = Pushed(scan, tuple(self._fields), tuple(self._expressions), self._members)
        return InstalledScan(self.jvm, pushed, self._of)

    class Java:
        """The interfaces that Spark sees."""

        implements = (
            f"{_READ}.SupportsPushDownRequiredColumns",
            "org.apache.spark.sql.internal.connector.SupportsPushDownCatalystFilters",
        )


@dataclass(frozen=True, slots=True)
class Pushed:
    """The files, columns and rows that a scan reads.

    Attributes:
        scan: The scan, with the predicates that skip files.
        fields: The columns.
        expressions: The conditions that Spark requires of the rows, as Catalyst's expressions.
        members: The fields of the column `_metadata`; none for no such column.
    """

    scan: TableScan
    fields: tuple[t.StructField, ...]
    expressions: tuple[Any, ...]
    members: tuple[t.StructField, ...]


class ColumnsScan(Unmeasured, Proxy):
    """Base class of scans of some columns. `text` says what is scanned, for comparing plans and for EXPLAIN."""

    _schema: Any

    @answers()
    def readSchema(self) -> Any:
        """Scan: the columns of the rows."""
        return self._schema

    @answers()
    def description(self) -> str:
        """Scan: the text that EXPLAIN shows."""
        return f"deltaskip {self.text}"

    @answers()
    def columnarSupportMode(self) -> Any:
        """Scan: each partition decides whether its readers return columnar batches."""
        modes = getattr(self.jvm.view.org.apache.spark.sql.connector.read, "Scan$ColumnarSupportMode")
        return modes.PARTITION_DEFINED


class InstalledScan(ColumnsScan):
    """A scan of some columns of the files that can match.

    Args:
        jvm: The session's JVM.
        pushed: The files, columns and rows to read.
        text: The table and version, for comparing plans.
    """

    def __init__(self, jvm: Jvm, pushed: Pushed, text: str) -> None:
        members = (f"{METADATA}.{field.name}" for field in pushed.members)
        names = ", ".join([*(field.name for field in pushed.fields), *members])
        filters = "; ".join(str(each.sql()) for each in pushed.expressions)
        super().__init__(jvm, f"{text} [{names}] [{filters}]")
        self._pushed = pushed

    @answers()
    def toBatch(self) -> Any:
        """Scan: the files and their readers."""
        return self._batch

    @answers()
    def estimateStatistics(self) -> Any:
        """SupportsReportStatistics: the bytes of the files, in proportion to the columns that are read, and rows."""
        return self._estimate

    @cached_property
    def _estimate(self) -> Any:
        known = None
        if uses_estimates(self.jvm.spark):
            known = estimated(self._pushed.scan.compiled, [field.name for field in self._pushed.fields])
        if known is None:
            found = catalog_statistics(self.jvm, self._size_bytes)
        else:
            # Spark 4.1, CatalogStatistics.toPlanStats: rows have a size, which is that of no file.
            size = max(1, known.rows * (8 + self._schema.defaultSize()))
            found = catalog_statistics(self.jvm, size, known.rows, known.columns)
        return v2_statistics(self.jvm, found, self._schema)

    @answers()
    def estimateSizeInBytes(self) -> Any:
        """SupportsReportStatistics: the bytes, as in `estimateStatistics`."""
        return self.jvm.size(self._size_bytes)

    def reflectsFullyPushedDownFilters(self) -> bool:
        """SupportsReportStatistics: whether the estimate counts rows that match, rather than files."""
        return False

    @answers()
    def filterAttributes(self) -> Any:
        """SupportsRuntimeV2Filtering: the columns whose values in a join Spark may give while a query runs."""
        connector = self.jvm.view.org.apache.spark.sql.connector.expressions
        fields = [field for field in self._pushed.fields if can_be_key(field)]
        columns = [connector.Expressions.column(quoted_name(field.name)) for field in fields]
        return self.jvm.array(connector.NamedReference, columns)

    @answers()
    def filter(self, predicates: Any) -> None:
        """SupportsRuntimeV2Filtering: leave out the files without the values that Spark found, from the next batch on.

        # Spark 4.1, BatchScanExec.filteredPartitions: filter, and then toBatch again
        """
        pushed, found = self._pushed, keys_of_rows(predicates, self._pushed.fields)
        narrowed = None if found is None else _narrowed(pushed.scan, found)
        self._batch = self._made(pushed if narrowed is None else replace(pushed, scan=narrowed))

    @answers()
    def pushedPredicates(self) -> Any:
        """SupportsRuntimeV2Filtering of Spark 4.2: no predicates, since Spark must evaluate all of them."""
        return self.jvm.array(self.jvm.view.org.apache.spark.sql.connector.expressions.filter.Predicate, ())

    def supportsIterativePushdown(self) -> bool:
        """SupportsRuntimeV2Filtering of Spark 4.2: all predicates come at once."""
        return False

    @cached_property
    def _size_bytes(self) -> int:
        total = exact_sum(self._pushed.scan.files(columns=["size"])["size"])
        row = self.jvm.row_bytes(spark_schema(self._pushed.scan.snapshot.schema))
        return max(1, int(total * (8 + self._schema.defaultSize()) / row))

    @cached_property
    def _schema(self) -> Any:
        schema = spark_schema(t.StructType(self._pushed.fields))
        if self._pushed.members:
            schema.add(METADATA, metadata_schema(self._pushed.members), nullable=False)
        return self.jvm.schema(schema)

    @cached_property
    def _batch(self) -> Any:
        return self._made(self._pushed)

    def _made(self, pushed: Pushed) -> Any:
        """The batch of the files of a scan."""
        files = pushed.scan.files()
        if not pushed.members and reads_exactly(pushed.fields, files) and not self._is_misread(pushed, files):
            return ParquetRows(self.jvm, pushed.scan.snapshot, pushed.fields, files, pushed.expressions, self.text)
        months = [field for field in pushed.fields if t.YEAR_MONTH in t.nested_types(field.type)]
        check_returned_by_python(months, pushed.scan.snapshot.table_root, "read the column without _metadata.")
        return _python_batch(self.jvm, pushed.scan, self._schema, pushed.members)

    def _is_misread(self, pushed: Pushed, files: pa.Table) -> bool:
        snapshot = pushed.scan.snapshot
        mode, options = snapshot.mapping_mode, getattr(snapshot.storage, "options", None)
        stored = physical_schema(t.StructType(pushed.fields), mode)

        def paths() -> Iterator[str]:
            return map(spark_path, files["uri"].to_pylist())

        return misread(self.jvm.spark, stored, mode == "id", paths, options) is not None

    class Java:
        """The interfaces that Spark sees."""

        implements = (f"{_READ}.SupportsReportStatistics", f"{_READ}.SupportsRuntimeV2Filtering")


def metadata_schema(fields: Sequence[t.StructField]) -> spark_types.StructType:
    """Return the type of `_metadata` with these fields."""
    return spark_types.StructType(
        [spark_types.StructField(field.name, logical_type(field), field.nullable) for field in fields]
    )


def _has_deleted_rows(table: DeltaTable) -> bool:
    found = table.scan().files(columns=["deletion_vector"])
    return bool(found["deletion_vector"].null_count < len(found))


def _width(field: t.StructField) -> int:
    """The rank of a column by the cost of reading it."""
    return _NARROW.index(field.type) if field.type in _NARROW else len(_NARROW)


def _scan(jvm: Jvm, table: DeltaTable, required: Sequence[Node], columns: Sequence[str], zone: str) -> TableScan:
    """The scan of a table in a time zone, by the predicates that can be bound."""
    bound = []
    for node in required:
        try:
            table.scan(node, time_zone=zone)
        except DeltaSkipError:
            continue
        bound.append(node)
    where = None if not bound else bound[0] if len(bound) == 1 else n.And(tuple(bound))
    scan = table.scan(where, columns, time_zone=zone)
    return read_by(scan, session_facts(jvm.spark, scan))


def _narrowed(scan: TableScan, keys: Node) -> TableScan | None:
    """The scan with a further predicate; None if that cannot be bound."""
    try:
        return scan.narrowed(None, keys)
    except DeltaSkipError:
        return None


def _python_batch(jvm: Jvm, scan: TableScan, schema: Any, members: Sequence[t.StructField]) -> Any:
    """Return the batch of Spark's Python data source that reads the rows of all files of a scan.

    Args:
        jvm: The session's JVM.
        scan: The scan; rows that do not match its predicate are also returned.
        schema: Its columns, as a schema of the JVM.
        members: The fields of its column `_metadata`; none for no such column.

    Raises UnsupportedFeature for files that pyarrow cannot read as Spark would.
    """
    most = int(java_state(jvm.spark).conf().filesMaxPartitionBytes())
    every = TableScan(scan.snapshot, ReadOptions(columns=scan.columns, time_zone=scan.time_zone))
    try:
        parts = partitions_of(_reads(jvm, every, scan, members, most), most)
    except UnsupportedFeature as error:
        raise UnsupportedFeature(
            f"{error} Through Spark's own SQL the table cannot be read: use sql() of the catalog."
        ) from error
    return planned_batch(jvm, parts, schema)


def planned_batch(jvm: Jvm, parts: Sequence[FilePartition], schema: Any) -> Any:
    """Return the batch of Spark's Python data source that reads partitions.

    Args:
        jvm: The session's JVM.
        parts: The partitions.
        schema: The columns, as a schema of the JVM.
    """
    spark = jvm.spark
    with running_interpreter(spark):
        spark.dataSource.register(_planned_rows(_KEY))
    jvm.activate()
    packed = pickle.dumps(parts)
    options = jvm.options({_PARTITIONS: base64.b85encode(_signature(packed, _KEY) + packed).decode()})
    source = jvm.view.org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceV2()
    source.setShortName(_PLANNED_ROWS)
    of = jvm.view.org.apache.spark.sql.connector.expressions.Transform
    table = source.getTable(schema, jvm.array(of, ()), jvm.map({}))
    return table.newScanBuilder(options).build().toBatch()


def _reads(jvm: Jvm, every: TableScan, scan: TableScan, members: Sequence[t.StructField], most: int) -> Reads:
    """The functions that read all rows of the files of a scan; see `row_reads`."""
    if not members:
        return row_reads(every, most, scan.files(columns=READ_COLUMNS))
    files = scan.files(columns=LOCATED_COLUMNS)
    options = getattr(scan.snapshot.storage, "options", None)
    paths = map(metadata_path, spark_paths(jvm.spark, files["uri"].to_pylist(), options))
    files = files.append_column("file_path", pa.array(paths, pa.string()))
    return row_reads(every, most, files, LocatedReader.with_members(every, len(files), members))


def _signature(packed: bytes, key: bytes) -> bytes:
    return hmac.digest(key, packed, "sha256")


@cache
def _planned_rows(key: bytes) -> type[DataSource]:
    """The data source that reads partitions which this process has planned, and has signed with the key.

    Spark plans a read in another process, to which it sends this class, with the key, by value. SQL can name the format
    with options of its own, and unpickling these would run what they say.
    """

    class PlannedRows(DataSource):  # type: ignore[misc]
        """Reads partitions that have been planned on the driver."""

        @classmethod
        def name(cls) -> str:
            """The name of the format."""
            return _PLANNED_ROWS

        def reader(self, schema: spark_types.StructType) -> DataSourceReader:
            """The reader of the rows."""
            return _PlannedReader(_signed(self.options.get(_PARTITIONS), key))

    return PlannedRows


def _signed(text: str | None, key: bytes) -> bytes:
    """The partitions in an option. Raises InvalidArgument if they are not signed with the key."""
    try:
        given = base64.b85decode(text or "")
    except ValueError:
        given = b""
    size = len(_signature(b"", key))
    if not hmac.compare_digest(given[:size], _signature(given[size:], key)):
        raise InvalidArgument(_ONLY_PLANNED)
    return given[size:]


class _PlannedReader(BatchReader):
    """Reads the rows of partitions."""

    def __init__(self, packed: bytes) -> None:
        self._packed = packed

    def partitions(self) -> list[FilePartition]:
        """Return the files of each task."""
        found: list[FilePartition] = pickle.loads(self._packed)
        return found
