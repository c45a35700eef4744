"""Scans of files whose sizes and times Spark gets from the log, instead of asking storage for each of them."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as spark_types

from deltaskip.errors import UnsupportedFeature
from deltaskip.spark.jvm import Jvm, Proxy, answers
from deltaskip.spark.session_catalog import is_classic

__all__ = ["check_unlisted", "milliseconds", "unlisted_scan"]

_SOURCES = "org.apache.spark.sql.execution.datasources"
_BLOCK_BYTES = 128 << 20
_LOCAL = re.compile("^file:/(?!/)")


def milliseconds(times: pa.ChunkedArray) -> list[int]:
    """Return timestamps as milliseconds since the epoch."""
    found: list[int] = times.cast(pa.timestamp("ms", "UTC"), safe=False).cast(pa.int64()).to_pylist()
    return found


def check_unlisted(spark: SparkSession, table_root: str) -> None:
    """Raise UnsupportedFeature if the session is one of Spark Connect, whose JVM is out of reach."""
    if not is_classic(spark):
        raise UnsupportedFeature(
            f"A session of Spark Connect lists the files of {table_root} itself: leave out listing=False, or use a "
            "classic session."
        )


def unlisted_scan(
    spark: SparkSession,
    schema: spark_types.StructType,
    root: str,
    paths: Sequence[str],
    sizes: Sequence[int],
    times: Sequence[int],
    options: dict[str, str],
) -> DataFrame:
    """Return the rows of Parquet files that Spark does not list. A missing file fails when the DataFrame runs.

    # Spark 4.1, DataSource.resolveRelation: the relation that it makes of an index of listed files.

    Args:
        spark: A classic session.
        schema: Columns of the files.
        root: Location that plans show.
        paths: The spark_path of each file.
        sizes: Bytes of each file.
        times: Milliseconds since the epoch at which each file was written.
        options: Options of Spark's Parquet reader.
    """
    jvm = Jvm(spark)
    ensure_callback_server_started(spark.sparkContext._gateway)
    sources = jvm.view.org.apache.spark.sql.execution.datasources
    index = _Files(jvm, root, _statuses(jvm, paths, sizes, times), sum(sizes), f"{len(paths)} files of {root}")
    relation = jvm.filled(
        sources.HadoopFsRelation,
        index,
        index.partitionSchema(),
        jvm.schema(schema),
        jvm.none(),
        sources.parquet.ParquetFileFormat(),
        jvm.view.org.apache.spark.api.python.PythonUtils.toScalaMap(jvm.map(options)),
        spark._jsparkSession,
    )
    return DataFrame(spark._jsparkSession.baseRelationToDataFrame(relation), spark)


def _statuses(jvm: Jvm, paths: Sequence[str], sizes: Sequence[int], times: Sequence[int]) -> Any:
    """An array of Hadoop's FileStatus, by one call: Jackson fills the fields of the class from JSON."""
    rows = [
        {"path": path, "length": size, "modification_time": time, "blocksize": _BLOCK_BYTES, "block_replication": 1}
        for path, size, time in zip(paths, sizes, times, strict=True)
    ]
    jackson = jvm.view.com.fasterxml.jackson
    accessors, seen = jackson.annotation.PropertyAccessor, getattr(jackson.annotation, "JsonAutoDetect$Visibility")
    mapper = jackson.databind.ObjectMapper()
    mapper.setVisibility(accessors.ALL, seen.NONE)
    for accessor in (accessors.FIELD, accessors.CREATOR):
        mapper.setVisibility(accessor, seen.ANY)
    of = jvm.view.java.lang.Class.forName("[Lorg.apache.hadoop.fs.FileStatus;")
    return mapper.readValue(json.dumps(rows), of)


class _Files(Proxy):
    """An index of files without partition columns, so that it need not evaluate predicates of them."""

    def __init__(self, jvm: Jvm, root: str, statuses: Any, size: int, text: str) -> None:
        super().__init__(jvm, f"{text} {id(statuses)}")
        self._root = root
        self._size = size
        catalyst = jvm.view.org.apache.spark.sql.catalyst
        directories = jvm.companion(jvm.view.org.apache.spark.sql.execution.datasources, "PartitionDirectory")
        everything = directories.apply(jvm.companion(catalyst, "InternalRow").empty(), statuses)
        self._directories = jvm.sequence([everything])
        self._statuses = statuses

    @answers()
    def rootPaths(self) -> Any:
        """FileIndex: the location of the table."""
        return self.jvm.sequence([self.jvm.view.org.apache.hadoop.fs.Path(self._root)])

    @answers()
    def listFiles(self, partition_filters: Any, data_filters: Any) -> Any:
        """FileIndex: all files; there are no partitions to filter."""
        return self._directories

    @answers()
    def inputFiles(self) -> Any:
        """FileIndex: the encoded paths of the files, those of local ones as Spark lists them."""
        paths = self.jvm.view.org.apache.spark.paths.SparkPath
        names = (str(paths.fromPath(status.getPath()).urlEncoded()) for status in self._statuses)
        return self.jvm.strings(_LOCAL.sub("file:///", name) for name in names)

    @answers()
    def refresh(self) -> None:
        """FileIndex: nothing, as the files of a version do not change."""

    @answers()
    def sizeInBytes(self) -> Any:
        """FileIndex: bytes of all files."""
        return self._size

    @answers()
    def partitionSchema(self) -> Any:
        """FileIndex: no columns."""
        return self.jvm.schema(spark_types.StructType([]))

    @answers()
    def metadataOpsTimeNs(self) -> Any:
        """FileIndex: not measured."""
        return self.jvm.none()

    class Java:
        """The interfaces that Spark sees."""

        implements = (f"{_SOURCES}.FileIndex",)
