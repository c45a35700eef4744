"""Listing of the files of a read: by a list that is passed to Spark, or by Spark with few tasks."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as spark_types

from deltaskip.actions.paths import is_local_path
from deltaskip.errors import DataFileMissing
from deltaskip.lazy_regex import regex
from deltaskip.spark.read.file_paths import metadata_path
from deltaskip.spark.session.jvm import Jvm, Proxy, answers
from deltaskip.spark.session.session_settings import java_class, java_frame, java_session, session_settings

_SOURCES = "org.apache.spark.sql.execution.datasources"
_STATUS = "org.apache.hadoop.fs.FileStatus"
_BLOCK_BYTES = 128 << 20
_ROW_INDEX_BYTES = 8
_OPEN_COST = "spark.sql.files.openCostInBytes"
_LOCAL_OPEN_COST = 1 << 20
_LOCAL = regex("^file:/(?!/)")
_NOT_FOUND = regex(r"\[PATH_NOT_FOUND\] Path does not exist: (.*?)\.?(?: SQLSTATE|\n|$)")
# The reverse of `escape_globs`.
_ESCAPED = regex(r"\\([{}\[\]*?\\])")

THRESHOLD = "spark.sql.sources.parallelPartitionDiscovery.threshold"
PARALLELISM = "spark.sql.sources.parallelPartitionDiscovery.parallelism"
TASKS = 32


def unlisted_scan(
    spark: SparkSession,
    schema: spark_types.StructType,
    root: str,
    paths: Sequence[str],
    sizes: Sequence[int],
    times: Sequence[int],
    options: dict[str, str],
    *,
    values: DataFrame | None = None,
    codes: Sequence[int] | None = None,
    own_bytes: int = 0,
    location_bytes: int = 0,
) -> DataFrame:
    """Return the rows of Parquet files that Spark does not list. A missing file fails when the DataFrame runs.

    # Spark 4.1, DataSource.resolveRelation: the relation that Spark creates from an index of listed files.

    Args:
        spark: A classic session.
        schema: Columns of the files.
        root: Location that Spark's plans show.
        paths: The spark_path of each file.
        sizes: Bytes of each file.
        times: Milliseconds since the epoch at which each file was written.
        options: Options of Spark's Parquet reader.
        values: Tuples of partition values, whose columns follow the files' columns; None for no such columns.
        codes: For each file the index of its row of `values`.
        own_bytes: Bytes of a row's columns that are not of the table, as Spark estimates them. They and its position
            are dropped later, so the size of the files is raised in proportion.
        location_bytes: Bytes of a row's position and of the facts of its file, if these are kept.
    """
    jvm = Jvm(spark)
    jvm.call_back()
    sources = jvm.view.org.apache.spark.sql.execution.datasources
    listed, size = _listed(paths, sizes, times, codes), sum(sizes)
    if own_bytes:
        columns = spark_types.StructType([*schema.fields, *([] if values is None else values.schema.fields)])
        row = jvm.row_bytes(columns)
        size = size * (row + (location_bytes or _ROW_INDEX_BYTES)) // (row - own_bytes + location_bytes)
    index = _Files(jvm, root, listed, paths, size, values)
    relation = jvm.filled(
        sources.HadoopFsRelation,
        index,
        index.partitionSchema(),
        jvm.schema(schema),
        jvm.none(),
        sources.parquet.ParquetFileFormat(),
        jvm.scala_map(options),
        _packing_session(spark, paths),
    )
    return DataFrame(java_session(spark).baseRelationToDataFrame(relation), spark)


def _packing_session(spark: SparkSession, paths: Sequence[str]) -> Any:
    """Return the Java session whose settings decide how many files a task reads.

    By default Spark counts the opening of a file as 4 MiB of reading, which makes more tasks for small local files than
    they need. Unless the session has a value of its own, a clone of it counts 1 MiB.
    # Spark 4.1, FilePartition.maxSplitBytes; a cached DataFrame has a cloned session, too
    """
    session = java_session(spark)
    if not session.sessionState().conf().contains(_OPEN_COST) and all(map(is_local_path, paths)):
        session = session.cloneSession()
        session.sessionState().conf().setConfString(_OPEN_COST, str(_LOCAL_OPEN_COST))
    return session


def _listed(paths: Sequence[str], sizes: Sequence[int], times: Sequence[int], codes: Sequence[int] | None) -> str:
    """Arrays of the fields of Hadoop's FileStatus as JSON, one array for each code."""
    groups: list[list[object]] = [[] for _ in range(1 if codes is None else max(codes) + 1)]
    for code, path, size, time in zip(codes or [0] * len(paths), paths, sizes, times, strict=True):
        # Local files as Spark lists them, which input_file_name() returns.
        name = _LOCAL.sub("file:///", path)
        status = {"path": name, "length": size, "modification_time": time, "blocksize": _BLOCK_BYTES}
        groups[code].append({**status, "block_replication": 1})
    return json.dumps(groups)


def _statuses(jvm: Jvm, listed: str) -> Any:
    """The arrays of `_listed` in the JVM. One call creates all: Jackson fills their fields."""
    jackson = jvm.view.com.fasterxml.jackson
    accessors, seen = jackson.annotation.PropertyAccessor, getattr(jackson.annotation, "JsonAutoDetect$Visibility")
    mapper = jackson.databind.ObjectMapper()
    mapper.setVisibility(accessors.ALL, seen.NONE)
    for accessor in (accessors.FIELD, accessors.CREATOR):
        mapper.setVisibility(accessor, seen.ANY)
    return mapper.readValue(listed, jvm.view.java.lang.Class.forName(f"[[L{_STATUS};"))


class _Files(Proxy):
    """An index of files and their partition values.

    Args:
        jvm: The session's JVM.
        root: Location that plans show.
        listed: The files of each tuple of partition values, see `_listed`.
        paths: The spark_path of each file.
        size: The size that Spark plans with, in bytes.
        values: The tuples; None for no partition columns.
    """

    def __init__(
        self, jvm: Jvm, root: str, listed: str, paths: Sequence[str], size: int, values: DataFrame | None
    ) -> None:
        self._root = root
        self._size = size
        self._paths = paths
        self._schema = spark_types.StructType() if values is None else values.schema
        catalyst, elements = jvm.view.org.apache.spark.sql.catalyst, jvm.view.scala.Predef.genericWrapArray
        identity = hashlib.blake2b(listed.encode(), digest_size=16)
        if values is None:
            rows = jvm.sequence([jvm.companion(catalyst, "InternalRow").empty()])
        else:
            plan = java_frame(values).queryExecution().executedPlan()
            self._columns = [plan.output().apply(number) for number in range(len(self._schema))]
            rows = elements(plan.executeCollect())
            # The text of a row of Spark is its bytes.
            identity.update(f"{self._schema.json()} {rows.mkString(' ')}".encode())
        super().__init__(jvm, f"{len(paths)} files of {root}, list {identity.hexdigest()}")
        self._row = java_class(catalyst.InternalRow)
        self._directory = java_class(jvm.view.org.apache.spark.sql.execution.datasources.PartitionDirectory)
        files = jvm.view.java.lang.Class.forName(f"[L{_STATUS};")
        make = jvm.function("scala.Function2", self._directory, "apply", self._row, files)
        self._directories = rows.iterator().zip(elements(_statuses(jvm, listed)).iterator()).map(make.tupled()).toList()

    @answers()
    def rootPaths(self) -> Any:
        """FileIndex: the location of the table."""
        return self.jvm.sequence([self.jvm.view.org.apache.hadoop.fs.Path(self._root)])

    @answers()
    def isTimeTravel(self) -> bool:
        """FileIndex, Spark 4.3: whether the files are those of an earlier time, so that Spark does not cache them."""
        return False

    @answers()
    def listFiles(self, partition_filters: Any, data_filters: Any) -> Any:
        """FileIndex: the files whose partition values satisfy the filters. Spark does not apply the filters again."""
        if partition_filters.isEmpty():
            return self._directories
        predicate = self._predicate(partition_filters)
        keeps = self.jvm.function("scala.Function2", predicate.getClass(), "eval", self._row).curried().apply(predicate)
        values = self.jvm.function("scala.Function1", self._directory, "values")
        return self._directories.iterator().filter(values.andThen(keeps)).toList()

    def _predicate(self, filters: Any) -> Any:
        """A predicate of rows of partition values. filters: Expressions over partition columns only."""
        expressions = self.jvm.view.org.apache.spark.sql.catalyst.expressions
        joint = filters.head()
        for number in range(1, filters.size()):
            joint = expressions.And(joint, filters.apply(number))
        columns, used = list(self._columns), joint.references().toSeq()
        for number in range(used.size()):
            columns[self._schema.names.index(used.apply(number).name())] = used.apply(number)
        attributes = getattr(expressions, "package$AttributeSeq")(self.jvm.sequence(columns))
        bound = expressions.BindReferences.bindReference(joint, attributes, False)
        return self.jvm.companion(expressions, "Predicate").createInterpreted(bound)

    @answers()
    def inputFiles(self) -> Any:
        """FileIndex: the encoded paths of the files."""
        return self.jvm.strings(_LOCAL.sub("file:///", metadata_path(path)) for path in self._paths)

    @answers()
    def refresh(self) -> None:
        """FileIndex: do nothing, since the files of a version do not change."""

    @answers()
    def sizeInBytes(self) -> Any:
        """FileIndex: the size that Spark plans with."""
        return self._size

    @answers()
    def partitionSchema(self) -> Any:
        """FileIndex: the partition columns."""
        return self.jvm.schema(self._schema)

    @answers()
    def metadataOpsTimeNs(self) -> Any:
        """FileIndex: not measured."""
        return self.jvm.none()

    class Java:
        """The interfaces that Spark sees."""

        implements = (f"{_SOURCES}.FileIndex",)


@contextmanager
def listing_by_spark(spark: SparkSession, paths: Sequence[str], table_root: str) -> Iterator[None]:
    """Within the block, Spark lists many files with few tasks, and local files without any.

    By default it starts a task for each file if there are more than 32. Both settings are restored at the end.

    Raises DataFileMissing, which names the table and the file, for Spark's PATH_NOT_FOUND.
    """
    local = all(map(is_local_path, paths))
    settings = {THRESHOLD: str(len(paths) + 1)} if local else {PARALLELISM: str(TASKS)}
    try:
        with session_settings(spark, settings):
            yield
    except AnalysisException as error:
        # An error of the client of Spark Connect 3.5 has the condition and the path only in its text.
        found = _NOT_FOUND.search(str(error))
        if found is None:
            raise
        path = _ESCAPED.sub(r"\1", (error.getMessageParameters() or {}).get("path") or found[1])
        raise DataFileMissing.of("The log", table_root, path) from None
