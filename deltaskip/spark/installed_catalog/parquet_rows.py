"""Rows of files through Spark's own Parquet readers, each file with the partition values that the log has for it.

# Spark 4.1, ParquetScan and ParquetPartitionReaderFactory: the columns of the files, by position, then those of the
# partition. Both are made here: the readers need no listing, and file names do not matter.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from deltaskip.fork_safety import cached_property
from deltaskip.log import Snapshot
from deltaskip.reading.partition_tuples import PartitionTuples
from deltaskip.reading.read_plan import data_columns, epoch_milliseconds
from deltaskip.schema.mapping import physical_schema
from deltaskip.spark.columns.spark_types import data_schema, spark_schema
from deltaskip.spark.read.file_paths import spark_paths
from deltaskip.spark.read.parquet_scans import FIELD_ID_READ, READER_OPTIONS, UNPUSHED, tuples_of
from deltaskip.spark.session.jvm import Jvm, Proxy, answers
from deltaskip.spark.session.session_settings import java_frame, java_session, java_state
from deltaskip.sparkexpr.types import VOID, StructField, StructType, nested_types
from deltaskip.sparkexpr.values.arrow_values import exact_sum


def reads_exactly(fields: Sequence[StructField], files: pa.Table) -> bool:
    """Return whether these readers return exactly the rows of the files: no row is deleted, and no column is void."""
    if files["deletion_vector"].null_count < len(files):
        return False
    return not any(each == VOID for field in fields for each in nested_types(field.type))


class ParquetRows(Proxy):
    """The batch of a scan.

    Args:
        jvm: The session's JVM.
        snapshot: The snapshot of the table.
        fields: The columns to read; partition columns come last in the rows.
        files: The files, rows of Scan.files().
        expressions: The conditions that Spark requires of the rows, by which readers may leave out row groups.
        text: A description of the scan, for comparing plans.
    """

    def __init__(
        self,
        jvm: Jvm,
        snapshot: Snapshot,
        fields: Sequence[StructField],
        files: pa.Table,
        expressions: Sequence[Any],
        text: str,
    ) -> None:
        super().__init__(jvm, f"rows of {text}")
        self._snapshot = snapshot
        self._fields = list(fields)
        self._files = files
        self._expressions = list(expressions)

    @answers()
    def planInputPartitions(self) -> Any:
        """Batch: the files of each task."""
        return self._partitions

    @answers()
    def createReaderFactory(self) -> Any:
        """Batch: the factory of readers for the files of a task."""
        return self._factory

    @cached_property
    def _partition_fields(self) -> list[StructField]:
        names = self._snapshot.partition_columns
        return [field for field in self._fields if field.name in names]

    @cached_property
    def _partitions(self) -> Any:
        jvm, sources = self.jvm, self.jvm.view.org.apache.spark.sql.execution.datasources
        files = jvm.sequence(self._pieces())
        found = sources.FilePartition.getFilePartitions(java_session(jvm.spark), files, self._most_bytes)
        of = jvm.view.org.apache.spark.sql.connector.read.InputPartition
        return jvm.array(of, (found.apply(i) for i in range(found.size())))

    @cached_property
    def _most_bytes(self) -> int:
        """Bytes of a task. # Spark 4.1, FilePartition.maxSplitBytes"""
        conf = java_state(self.jvm.spark).conf()
        opening = int(conf.filesOpenCostInBytes())
        cores = int(self.jvm.spark.sparkContext.defaultParallelism)
        total = exact_sum(self._files["size"]) + opening * len(self._files)
        return min(int(conf.filesMaxPartitionBytes()), max(opening, int(total) // max(1, cores)))

    def _pieces(self) -> Iterator[Any]:
        """The files, the largest first; large files are divided into pieces."""
        jvm, sources = self.jvm, self.jvm.view.org.apache.spark.sql.execution.datasources
        options = getattr(self._snapshot.storage, "options", None)
        paths = spark_paths(jvm.spark, self._files["uri"].to_pylist(), options)
        hadoop_path = jvm.view.org.apache.spark.paths.SparkPath.fromPathString
        names = [each.name for each in self._partition_fields]
        table = PartitionTuples.of(self._files, self._snapshot.schema, names)
        values = _partition_rows(jvm, table)
        hosts, metadata = jvm.strings(()), getattr(sources.PartitionedFile, "apply$default$8")()
        sizes, times = self._files["size"].to_pylist(), epoch_milliseconds(self._files["modification_time"])
        pieces = []
        for row, (name, size, time) in enumerate(zip(paths, sizes, times, strict=True)):
            of, path = values[int(table.codes[row])], hadoop_path(name)
            for start in range(0, max(size, 1), self._most_bytes):
                length = min(self._most_bytes, size - start)
                pieces.append((length, sources.PartitionedFile(of, path, start, length, hosts, time, size, metadata)))
        pieces.sort(key=lambda piece: -piece[0])
        return (piece for _, piece in pieces)

    @cached_property
    def _factory(self) -> Any:
        jvm, snapshot = self.jvm, self._snapshot
        mode, partitions = snapshot.mapping_mode, self._partition_fields
        jvm.activate()
        if mode == "id":
            jvm.spark.conf.set(FIELD_ID_READ, "true")
        data, whole = map(self._data_schema, (StructType(tuple(self._fields)), snapshot.schema))
        options = jvm.options(READER_OPTIONS)
        state = java_state(jvm.spark)
        hadoop = state.newHadoopConfWithOptions(jvm.view.scala.Predef.Map().empty())
        parquet = jvm.view.org.apache.spark.sql.execution.datasources.v2.parquet
        scan = jvm.filled(
            parquet.ParquetScan,
            java_session(jvm.spark),
            hadoop,
            None,
            whole,
            data,
            jvm.schema(spark_schema(StructType(tuple(partitions)))),
            jvm.array(jvm.view.org.apache.spark.sql.sources.Filter, self._filters()),
            options,
        )
        return scan.createReaderFactory()

    def _data_schema(self, schema: StructType) -> Any:
        """The columns of files that contain the columns of a schema."""
        mode = self._snapshot.mapping_mode
        stored = data_columns(schema, physical_schema(schema, mode), self._snapshot.partition_columns)
        return self.jvm.schema(data_schema(stored, mode))

    def _filters(self) -> Iterator[Any]:
        """The predicates for row groups, in tables without column mapping."""
        if self._snapshot.mapping_mode != "none":
            return
        sources = self.jvm.view.org.apache.spark.sql.execution.datasources
        strategy = self.jvm.companion(sources, "DataSourceStrategy")
        stored = {field.name for field in self._snapshot.schema.fields if field.type not in UNPUSHED}
        stored -= set(self._snapshot.partition_columns)
        for expression in self._expressions:
            found = strategy.translateFilter(expression, True)
            if found.isDefined() and all(str(each) in stored for each in found.get().references()):
                yield found.get()

    class Java:
        """The interfaces that Spark sees."""

        implements = ("org.apache.spark.sql.connector.read.Batch",)


def _partition_rows(jvm: Jvm, table: PartitionTuples) -> list[Any]:
    """Spark's rows with the partition values, one for each code of the table."""
    if not table.fields:
        return [jvm.companion(jvm.view.org.apache.spark.sql.catalyst, "InternalRow").empty()]
    return list(java_frame(tuples_of(jvm.spark, table)).queryExecution().executedPlan().executeCollect())
