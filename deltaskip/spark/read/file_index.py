"""Listing of the files of a read: by a list that Spark is given, or by Spark with few tasks."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as spark_types

from deltaskip.actions.paths import is_local_path
from deltaskip.errors import UnsupportedFeature
from deltaskip.reading.session_scan import Listing
from deltaskip.reading.stored_rows import missing_file
from deltaskip.spark.catalog.session_tables import is_classic
from deltaskip.spark.read.file_paths import metadata_path
from deltaskip.spark.session.jvm import Jvm, Proxy, answers
from deltaskip.spark.session.session_settings import session_settings

CODE = "__deltaskip_code"
"""Name of the column with the code of each file."""

_SOURCES = "org.apache.spark.sql.execution.datasources"
_EXPRESSIONS = "org.apache.spark.sql.catalyst.expressions"
_BLOCK_BYTES = 128 << 20
_LOCAL = re.compile("^file:/(?!/)")
_NUMBERS = count()
_NOT_FOUND = re.compile(r"\[PATH_NOT_FOUND\] Path does not exist: (.*?)\.?(?: SQLSTATE|\n|$)")
# The reverse of `escape_globs`.
_ESCAPED = re.compile(r"\\([{}\[\]*?\\])")

THRESHOLD = "spark.sql.sources.parallelPartitionDiscovery.threshold"
PARALLELISM = "spark.sql.sources.parallelPartitionDiscovery.parallelism"
TASKS = 32


def listing_of(spark: SparkSession, table_root: str, by_spark: bool = True) -> Listing:
    """The source of the sizes and times of files that a session reads. by_spark: if False, the log.

    Raises UnsupportedFeature for the log and a session of Spark Connect, whose JVM is out of reach.
    """
    if is_classic(spark):
        return "here" if by_spark else "log"
    if not by_spark:
        raise UnsupportedFeature(
            f"A session of Spark Connect lists the files of {table_root} itself: leave out listing=False, or use a "
            "classic session."
        )
    return "engine"


def unlisted_scan(
    spark: SparkSession,
    schema: spark_types.StructType,
    root: str,
    paths: Sequence[str],
    sizes: Sequence[int],
    times: Sequence[int],
    options: dict[str, str],
    codes: Sequence[int] | None = None,
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
        codes: A number of each file, from 0 on, which the column CODE returns; None for no such column. A large number
            costs as many requests to the JVM.
    """
    jvm = Jvm(spark)
    jvm.call_back()
    sources = jvm.view.org.apache.spark.sql.execution.datasources
    statuses = _statuses(jvm, paths, sizes, times, codes)
    index = _Files(jvm, root, statuses, paths, sum(sizes), codes is not None)
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


def _statuses(
    jvm: Jvm, paths: Sequence[str], sizes: Sequence[int], times: Sequence[int], codes: Sequence[int] | None
) -> Any:
    """Arrays of Hadoop's FileStatus, one for each code."""
    groups: list[list[object]] = [[] for _ in range(1 if codes is None else max(codes) + 1)]
    for code, path, size, time in zip(codes or [0] * len(paths), paths, sizes, times, strict=True):
        # Local files as Spark lists them, which input_file_name() returns.
        name = _LOCAL.sub("file:///", path)
        status = {"path": name, "length": size, "modification_time": time, "blocksize": _BLOCK_BYTES}
        groups[code].append({**status, "block_replication": 1})
    return _of_json(jvm, "[[Lorg.apache.hadoop.fs.FileStatus;", groups)


def _of_json(jvm: Jvm, of: str, values: object) -> Any:
    """An array of objects of Java by one call: Jackson fills the fields of their class. of: its name in the JVM."""
    jackson = jvm.view.com.fasterxml.jackson
    accessors, seen = jackson.annotation.PropertyAccessor, getattr(jackson.annotation, "JsonAutoDetect$Visibility")
    mapper = jackson.databind.ObjectMapper()
    mapper.setVisibility(accessors.ALL, seen.NONE)
    for accessor in (accessors.FIELD, accessors.CREATOR):
        mapper.setVisibility(accessor, seen.ANY)
    return mapper.readValue(json.dumps(values), jvm.view.java.lang.Class.forName(of))


class _Files(Proxy):
    """An index of files whose only partition column, if any, is their code."""

    def __init__(self, jvm: Jvm, root: str, statuses: Any, paths: Sequence[str], size: int, coded: bool) -> None:
        super().__init__(jvm, f"{len(paths)} files of {root}, list {next(_NUMBERS)}")
        self._root = root
        self._size = size
        self._columns = [spark_types.StructField(CODE, spark_types.IntegerType(), False)] if coded else []
        directories = jvm.companion(jvm.view.org.apache.spark.sql.execution.datasources, "PartitionDirectory")
        values = [{"values": [code] if coded else []} for code in range(len(statuses))]
        self._values = list(_of_json(jvm, f"[L{_EXPRESSIONS}.GenericInternalRow;", values))
        self._directories = [directories.apply(*each) for each in zip(self._values, statuses, strict=True)]
        self._paths = paths

    @answers()
    def rootPaths(self) -> Any:
        """FileIndex: the location of the table."""
        return self.jvm.sequence([self.jvm.view.org.apache.hadoop.fs.Path(self._root)])

    @answers()
    def listFiles(self, partition_filters: Any, data_filters: Any) -> Any:
        """FileIndex: the files whose codes satisfy the filters, which Spark does not apply again."""
        if partition_filters.isEmpty():
            return self.jvm.sequence(self._directories)
        keeps = self._predicate(partition_filters)
        found = zip(self._values, self._directories, strict=True)
        return self.jvm.sequence(directory for values, directory in found if keeps.eval(values))

    def _predicate(self, filters: Any) -> Any:
        """A predicate of rows of the code. filters: expressions of which each reads the code."""
        expressions = self.jvm.view.org.apache.spark.sql.catalyst.expressions
        joint = filters.head()
        for number in range(1, filters.size()):
            joint = expressions.And(joint, filters.apply(number))
        code = getattr(expressions, "package$AttributeSeq")(joint.references().toSeq())
        bound = expressions.BindReferences.bindReference(joint, code, False)
        return self.jvm.companion(expressions, "Predicate").createInterpreted(bound)

    @answers()
    def inputFiles(self) -> Any:
        """FileIndex: the encoded paths of the files."""
        return self.jvm.strings(_LOCAL.sub("file:///", metadata_path(path)) for path in self._paths)

    @answers()
    def refresh(self) -> None:
        """FileIndex: nothing, as the files of a version do not change."""

    @answers()
    def sizeInBytes(self) -> Any:
        """FileIndex: bytes of all files."""
        return self._size

    @answers()
    def partitionSchema(self) -> Any:
        """FileIndex: the code of a file, or no columns."""
        return self.jvm.schema(spark_types.StructType(self._columns))

    @answers()
    def metadataOpsTimeNs(self) -> Any:
        """FileIndex: not measured."""
        return self.jvm.none()

    class Java:
        """The interfaces that Spark sees."""

        implements = (f"{_SOURCES}.FileIndex",)


@contextmanager
def tuned_listing(spark: SparkSession, paths: Sequence[str]) -> Iterator[None]:
    """Within the block, let Spark list many files with few tasks, and local files without any.

    By default Spark starts a task for each file if there are more than 32. Both settings are restored at the end.
    """
    local = all(map(is_local_path, paths))
    settings = {THRESHOLD: str(len(paths) + 1)} if local else {PARALLELISM: str(TASKS)}
    with session_settings(spark, settings):
        yield


@contextmanager
def missing_files_named(table_root: str) -> Iterator[None]:
    """Within the block, convert Spark's PATH_NOT_FOUND to DataFileMissing, which names the table and the file."""
    try:
        yield
    except AnalysisException as error:
        # The client of Spark Connect 3.5 has the condition and the path in its text only.
        found = _NOT_FOUND.search(str(error))
        if found is None:
            raise
        path = _ESCAPED.sub(r"\1", (error.getMessageParameters() or {}).get("path") or found[1])
        raise missing_file("The log", table_root, path) from None
