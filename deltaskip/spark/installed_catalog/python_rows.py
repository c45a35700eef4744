"""Rows of files through Spark's Python data source: those with deletion vectors, and columns that readers lack."""

from __future__ import annotations

import base64
import pickle
from typing import Any

from pyspark.sql import types as spark_types
from pyspark.sql.datasource import DataSource, DataSourceReader

from deltaskip.errors import UnsupportedFeature
from deltaskip.reading.arrow_rows import FILE_COLUMNS, row_reads
from deltaskip.reading.table_scan import TableScan
from deltaskip.skipping.read_options import ReadOptions
from deltaskip.spark.session.checks import running_interpreter
from deltaskip.spark.session.jvm import Jvm
from deltaskip.spark.source.batch_read import BatchReader, FilePartition, partitions_of

__all__ = ["PlannedRows", "python_batch"]

_PARTITIONS = "partitions"


def python_batch(jvm: Jvm, scan: TableScan, schema: Any) -> Any:
    """Return the batch of Spark's Python data source that reads the rows of all files of a scan.

    Args:
        jvm: The session's JVM.
        scan: The scan; rows that do not match its predicate are returned, too.
        schema: Its columns, as a schema of the JVM.

    Raises UnsupportedFeature for files that pyarrow cannot read as Spark would.
    """
    spark, most = jvm.spark, int(jvm.spark._jsparkSession.sessionState().conf().filesMaxPartitionBytes())
    every = TableScan(scan.snapshot, ReadOptions(columns=scan.columns, time_zone=scan.time_zone))
    try:
        parts = partitions_of(row_reads(every, most, scan.files(columns=FILE_COLUMNS)), most)
    except UnsupportedFeature as error:
        raise UnsupportedFeature(
            f"{error} Through Spark's own SQL the table cannot be read: use sql() of the catalog."
        ) from error
    with running_interpreter(spark):
        spark.dataSource.register(PlannedRows)
    jvm.activate()
    packed = base64.b85encode(pickle.dumps(parts)).decode()
    options = jvm.options({_PARTITIONS: packed})
    source = jvm.view.org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceV2()
    source.setShortName(PlannedRows.name())
    of = jvm.view.org.apache.spark.sql.connector.expressions.Transform
    table = source.getTable(schema, jvm.array(of, ()), jvm.map({}))
    return table.newScanBuilder(options).build().toBatch()


class PlannedRows(DataSource):  # type: ignore[misc]
    """Reads partitions that have been planned on the driver."""

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return "deltaskip_planned_rows"

    def reader(self, schema: spark_types.StructType) -> DataSourceReader:
        """What reads the rows."""
        return PlannedReader(self.options[_PARTITIONS])


class PlannedReader(BatchReader):
    """Reads the rows of partitions."""

    def __init__(self, packed: str) -> None:
        self._packed = packed

    def partitions(self) -> list[FilePartition]:
        """Return the files of each task."""
        found: list[FilePartition] = pickle.loads(base64.b85decode(self._packed))
        return found
