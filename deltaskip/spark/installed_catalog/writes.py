"""Writing rows for Spark: appends, and overwrites of all rows, of rows that match a predicate, or of partitions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Literal, cast

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as spark_types

from deltaskip.catalogs.staged import StagedTable, changed_since_read
from deltaskip.errors import InvalidArgument, UnsupportedFeature
from deltaskip.features.identity_columns import identity_of
from deltaskip.fork_safety import cached_property
from deltaskip.json_text import parse_json
from deltaskip.records import dataclass
from deltaskip.schema.user_schema import schema_of
from deltaskip.spark.columns.column_parts import sequence
from deltaskip.spark.installed_catalog.catalyst_predicates import exact_predicate
from deltaskip.spark.read.file_paths import spark_paths
from deltaskip.spark.read.parquet_scans import READER_OPTIONS
from deltaskip.spark.session.jvm import Jvm, Proxy, Unmeasured, answers
from deltaskip.spark.session.session_settings import java_frame, java_session, session_settings
from deltaskip.spark.source.options import SourceOptions, option_words
from deltaskip.spark.source.source_write_options import SourceWriteOptions
from deltaskip.spark.write.checked_rows import check_stored_text
from deltaskip.spark.write.parquet_writes import WRITE_SETTINGS, WRITER_OPTIONS, new_folder
from deltaskip.sparkexpr.nodes import Node
from deltaskip.sparkexpr.text.sql_text import quoted_name
from deltaskip.sparkexpr.types import GENERATION_KEY
from deltaskip.storage import Storage, join, uri_of
from deltaskip.storage.gate import delete_folder
from deltaskip.table.table import DeltaTable
from deltaskip.txn.operation import record_version

_WRITE = "org.apache.spark.sql.connector.write"


@dataclass(frozen=True, slots=True)
class ReplacedRows:
    """The rows that a write replaces.

    Attributes:
        where: Predicate of the rows; None for all.
        partitions: "dynamic" for the rows in the partitions of the new rows.
    """

    where: Node | None = None
    partitions: Literal["static", "dynamic"] = "static"


@dataclass(frozen=True, slots=True)
class Target:
    """The target of a write.

    Attributes:
        jvm: The session's JVM.
        name: Name of the table, with the catalog's name.
        table: The table at the version that the statement has resolved, or a staged table.
        latest: For a staged table, returns the latest version of the table that it replaces.
    """

    jvm: Jvm
    name: str
    table: DeltaTable | StagedTable
    latest: Callable[[], int] | None = None

    def write(self, rows: Any, replaced: ReplacedRows | None, options: SourceWriteOptions, plan: Any = None) -> None:
        """Write rows.

        Args:
            rows: A DataFrame of the JVM with the columns of the table.
            replaced: The rows of the table that they replace; None for an append.
            options: The options of the write.
            plan: The logical plan that the rows come from; None for the plan of the DataFrame.
        """
        read = set(_versions_read(rows.queryExecution().logical() if plan is None else plan, self.uri))
        frame = DataFrame(rows, self.jvm.spark)
        if isinstance(self.table, StagedTable):
            if read and self.latest is not None and read != {self.latest()}:
                raise changed_since_read(self.name)
            options.refuse_for_new_table()
            self.table.append(frame, **options.of_files)
            return
        frame = _computed(frame, self.table, self.name)
        chosen = None if replaced is None else _replacement(replaced, options, self.table, frame)
        if read:
            _write_what_was_read(self.table, frame, chosen, options, min(read))
        elif chosen is None:
            self.table.append(frame, **options.of_files, **options.of_commit)
        else:
            more = {**options.of_files, **options.of_commit, "data_change": options.data_change}
            self.table.overwrite(frame, **chosen, **more)

    def new_folder(self) -> tuple[Storage, str, str]:
        """Return the storage and location of the table, and the name of a new folder for files in it."""
        table = cast(DeltaTable, self.table)
        return table.snapshot.storage, table.snapshot.root, new_folder()

    @property
    def uri(self) -> str:
        """The location of the table."""
        return self.table.location if isinstance(self.table, StagedTable) else self.table.uri


class WriteBuilder(Proxy):
    """Takes the predicate of the rows that a write replaces.

    Args:
        jvm: The session's JVM.
        target: The target of the write.
        info: The columns and options of the write, a LogicalWriteInfo of Spark.
        text: The table.
    """

    def __init__(self, jvm: Jvm, target: Target, info: Any, text: str) -> None:
        super().__init__(jvm, f"write builder #{id(self)} of {text}")
        self._target = target
        self._info = info
        self._replaced: ReplacedRows | None = None

    @answers()
    def truncate(self) -> Any:
        """SupportsTruncate: replace all rows."""
        self._replaced = ReplacedRows()
        return self

    @answers()
    def canOverwrite(self, predicates: Any) -> bool:
        """SupportsOverwriteV2: whether the predicates are known exactly."""
        return exact_predicate(predicates) is not None

    @answers()
    def overwrite(self, predicates: Any) -> Any:
        """SupportsOverwriteV2: replace the rows for which all predicates are TRUE."""
        self._replaced = ReplacedRows(exact_predicate(predicates))
        return self

    @answers()
    def overwriteDynamicPartitions(self) -> Any:
        """SupportsDynamicOverwrite: replace the partitions of the new rows."""
        self._replaced = ReplacedRows(partitions="dynamic")
        return self

    @answers()
    def build(self) -> Any:
        """WriteBuilder: the write."""
        given = {str(name): str(value) for name, value in self._info.options().asCaseSensitiveMap().items()}
        with option_words():
            source = SourceOptions.of({**given, "path": self._target.uri})
            is_new = isinstance(self._target.table, StagedTable)
            options = SourceWriteOptions(source, is_new or self._replaced is not None)
        if self._replaced is not None and self._replaced.partitions == "dynamic":
            return StagedWrite(self.jvm, self._target, self._replaced, options, self._info)
        return Write(self.jvm, self._target, self._replaced, options)

    class Java:
        """The interfaces that Spark sees."""

        implements = tuple(f"{_WRITE}.{name}" for name in ("SupportsOverwriteV2", "SupportsDynamicOverwrite"))


class _TargetWrite(Unmeasured, Proxy):
    """The description of a write that Spark asks for."""

    _target: Target

    @answers()
    def description(self) -> str:
        """Write: the text that EXPLAIN shows."""
        return f"deltaskip {self._target.name}"


class Write(_TargetWrite):
    """A write of a DataFrame by this package.

    Args:
        jvm: The session's JVM.
        target: The target of the write.
        replaced: The rows that they replace; None for an append.
        options: The options of the write.
    """

    def __init__(self, jvm: Jvm, target: Target, replaced: ReplacedRows | None, options: SourceWriteOptions) -> None:
        super().__init__(jvm, f"write #{id(self)} to {target.name}")
        self._target = target
        self._replaced = replaced
        self._options = options

    @answers()
    def toInsertableRelation(self) -> Any:
        """V1Write: the relation that takes the DataFrame."""
        return self

    @answers()
    def insert(self, rows: Any, _overwrite: bool) -> None:
        """InsertableRelation: write the rows."""
        with option_words():
            self._target.write(rows, self._replaced, self._options)

    class Java:
        """The interfaces that Spark sees."""

        implements = (f"{_WRITE}.V1Write", "org.apache.spark.sql.sources.InsertableRelation")


class StagedWrite(_TargetWrite):
    """A write for which Spark gives no DataFrame: its tasks write Parquet files, whose rows are then written.

    Args:
        jvm: The session's JVM.
        target: The target of the write.
        replaced: The rows that they replace.
        options: The options of the write.
        info: The columns and options of the write, a LogicalWriteInfo of Spark.
    """

    # Spark 4.1, OverwritePartitionsDynamicExec: Spark has no such node for V1Write.

    def __init__(
        self, jvm: Jvm, target: Target, replaced: ReplacedRows, options: SourceWriteOptions, info: Any
    ) -> None:
        super().__init__(jvm, f"staged write #{id(self)} to {target.name}")
        self._target = target
        self._replaced = replaced
        self._options = options
        self._info = info

    @answers()
    def toBatch(self) -> Any:
        """Write: the BatchWrite of the files."""
        return self

    @cached_property
    def _files(self) -> Any:
        """Spark's own write of Parquet files into the folder."""
        jvm, sources = self.jvm, self.jvm.view.org.apache.spark.sql.execution.datasources
        options = jvm.options(WRITER_OPTIONS)
        table = sources.v2.parquet.ParquetTable(
            self._target.name, java_session(jvm.spark), options, jvm.sequence([self._path]), jvm.none(),
            sources.parquet.ParquetFileFormat().getClass(),
        )  # fmt: skip
        with session_settings(jvm.spark, WRITE_SETTINGS):
            return table.newWriteBuilder(self._info).build().toBatch()

    @cached_property
    def _folder(self) -> tuple[Storage, str, str]:
        return self._target.new_folder()

    @property
    def _path(self) -> str:
        storage, root, folder = self._folder
        [path] = spark_paths(self.jvm.spark, [uri_of(join(root, folder))], getattr(storage, "options", None))
        return path

    @answers()
    def createBatchWriterFactory(self, info: Any) -> Any:
        """BatchWrite: the factory of writers for the rows of a task."""
        # Spark 4.1, SQLExecution.withSQLConfPropagated: tasks have the settings that the session had before, as
        # properties of the thread, which Spark puts back.
        context = self.jvm.spark.sparkContext
        for key, value in WRITE_SETTINGS.items():
            if context.getLocalProperty(key) is not None:
                context.setLocalProperty(key, value)
        return self._files.createBatchWriterFactory(info)

    @answers()
    def useCommitCoordinator(self) -> bool:
        """BatchWrite: whether at most one attempt of a task commits."""
        return bool(self._files.useCommitCoordinator())

    def onDataWriterCommit(self, _message: Any) -> None:
        """BatchWrite: do nothing when a task has committed."""

    @answers()
    def commit(self, messages: Any, _summary: Any = None) -> None:
        """BatchWrite: write the rows of the files to the table, and delete the files."""
        spark = self.jvm.spark
        self._files.commit(messages)
        try:
            schema = spark_types.StructType.fromJson(parse_json(self._info.schema().json()))
            rows = spark.read.schema(schema).options(**READER_OPTIONS).parquet(self._path)
            with option_words():
                self._target.write(java_frame(rows), self._replaced, self._options, self._plan())
        finally:
            delete_folder(*self._folder)

    @answers()
    def abort(self, messages: Any) -> None:
        """BatchWrite: delete the files."""
        self._files.abort(messages)
        delete_folder(*self._folder)

    def _plan(self) -> Any:
        """The logical plan of the running statement."""
        number = self.jvm.spark.sparkContext.getLocalProperty("spark.sql.execution.id")
        return self.jvm.view.org.apache.spark.sql.execution.SQLExecution.getQueryExecution(int(number)).analyzed()

    class Java:
        """The interfaces that Spark sees."""

        implements = tuple(f"{_WRITE}.{name}" for name in ("Write", "BatchWrite"))


def _replacement(
    replaced: ReplacedRows, options: SourceWriteOptions, table: DeltaTable, frame: DataFrame
) -> dict[str, Any]:
    """The arguments of `overwrite`: the rows that Spark names, or else those that the options name.

    Raises InvalidArgument if both name rows. # delta-spark 4.4, DeltaTableV2, WriteIntoDeltaBuilder
    """
    found = options.replacement(table, schema_of(frame.schema))
    assert found is not None
    if not found.replaces_some:
        return {"where": replaced.where, "partitions": replaced.partitions}
    if replaced.where is not None or replaced.partitions == "dynamic":
        raise InvalidArgument(
            f"The statement and its options name rows of {table.uri} to replace: leave out {options.names_rows}, or "
            f"write with insertInto and the mode overwrite."
        )
    arguments: dict[str, Any] = {"where": found.where, "partitions": found.partitions}
    matching = found.matching
    if matching is not None:
        aliases = {"target_alias": matching.target, "source_alias": matching.source}
        arguments |= {"on": list(matching.columns) or matching.on, **aliases}
    return arguments


def _write_what_was_read(
    table: DeltaTable, frame: DataFrame, chosen: dict[str, Any] | None, options: SourceWriteOptions, version: int
) -> None:
    """Write rows that come from the table itself, in a transaction on the version that the query reads.

    The transaction conflicts with commits that change the rows which the query reads. Otherwise an overwrite would
    remove rows that the query has not read.
    """
    storage = getattr(table.snapshot.storage, "options", None)
    read = DeltaTable(table.uri, version, storage_options=storage)
    parameters = {"mode": "Append", "partitionBy": list(table.partition_columns)}
    transaction = read.transaction("true", parameters=parameters, user_metadata=options.user_metadata)
    if record_version(transaction, options.app_version):
        transaction.discard()
        return
    with transaction:
        if chosen is None:
            transaction.append(frame, **options.of_files)
            return
        transaction.overwrite(frame, **chosen, **options.of_files)
        if not options.data_change:
            transaction.changes.rearrange()


def _computed(frame: DataFrame, table: DeltaTable, name: str) -> DataFrame:
    """The rows with generated values for the columns that a statement omits. Spark passes NULL for these columns."""
    identity = next((field.name for field in table.schema.fields if identity_of(field) is not None), None)
    if identity is not None:
        raise UnsupportedFeature(
            f"Rows of the table {name} cannot be inserted through Spark's own SQL, which has no values of the identity "
            f"column {identity}: use sql() of the catalog, or append of the table."
        )
    generated = {
        field.name: field.metadata[GENERATION_KEY] for field in table.schema.fields
        if GENERATION_KEY in field.metadata and field.name in frame.columns
    }  # fmt: skip
    if not generated:
        return frame
    texts = [(f"The generated value of the column {column}", text) for column, text in generated.items()]
    check_stored_text(frame.sparkSession, texts, table.uri, table.snapshot.allow_reflection)
    return frame.select(*(
        F.coalesce(F.col(quoted_name(column)), F.expr(generated[column])).alias(column) if column in generated
        else F.col(quoted_name(column)) for column in frame.columns
    ))  # fmt: skip


def _versions_read(plan: Any, uri: str) -> Iterator[int]:
    """The versions of the table with this URI that a logical plan reads through a catalog."""
    for each in (plan, *sequence(plan.subqueriesAll())):
        for leaf in sequence(each.collectLeaves()):
            if leaf.getClass().getSimpleName() == "DataSourceV2ScanRelation":
                leaf = leaf.relation()
            elif leaf.getClass().getSimpleName() != "DataSourceV2Relation":
                continue
            text = str(leaf.table().toString())
            place, _, version = text.partition(f" at {uri} version ")
            if place.startswith("deltaskip table ") and version.isdecimal():
                yield int(version)
