"""DeltaTable: a table at one version, and the operations on it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from copy import copy
from datetime import date
from typing import TYPE_CHECKING, Any, Literal, NoReturn, overload

from deltaskip import arguments, hints
from deltaskip.actions import Metadata, Protocol
from deltaskip.doors import door
from deltaskip.engine import SESSION_ZONE
from deltaskip.errors import DeltaSkipError, StorageError, TableAlreadyExists, TableNotFound
from deltaskip.features.registry import has_tree
from deltaskip.log import Snapshot, check_same_table, is_cleaned_up, load_snapshot, refresh
from deltaskip.log.history import chosen_version
from deltaskip.log.history import history as log_history
from deltaskip.log.new_table import check_no_files
from deltaskip.log.one_table import of_one_table
from deltaskip.log.reopening import Reopened, SnapshotReference
from deltaskip.reading.table_scan import OF_FRAMES, TableScan
from deltaskip.schema.properties import FLOAT_BOUNDS, FloatBounds
from deltaskip.shown import html_table
from deltaskip.skipping.log_scan import LogScan
from deltaskip.skipping.read_options import ReadOptions
from deltaskip.sparkexpr.types import StructType, simple_string
from deltaskip.storage import Storage, open_storage
from deltaskip.table.alter_methods import AlteringMethods
from deltaskip.table.change_methods import ChangingMethods
from deltaskip.table.maintain_methods import MaintainingMethods
from deltaskip.table.methods import time_zone_argument
from deltaskip.table.optimize_methods import OptimizingMethods
from deltaskip.table.read_methods import ReadingMethods
from deltaskip.table.recompute_methods import RecomputingMethods
from deltaskip.table.write_methods import WritingMethods
from deltaskip.txn.latest import opening_after

if TYPE_CHECKING:
    import pyarrow as pa

    from deltaskip.data_files.sort_order import SortOrder
    from deltaskip.log.checkpoint.written_checkpoint import WrittenCheckpoint
    from deltaskip.log.history import History
    from deltaskip.reading.distributed_scan import DistributedScan
    from deltaskip.stats.coverage import TableCoverage
    from deltaskip.table.collated_columns import CollatedColumn
    from deltaskip.table.compatibility import Incompatibility
    from deltaskip.table.detail import TableDetail
    from deltaskip.table.table_transaction import TableTransaction
    from deltaskip.transforms import Transform

_SHOWN_COLUMNS = 20


@door
@of_one_table
class DeltaTable(
    AlteringMethods,
    ChangingMethods,
    MaintainingMethods,
    OptimizingMethods,
    ReadingMethods,
    RecomputingMethods,
    WritingMethods,
    Reopened,
    metaclass=hints.OfTables,
):
    """A Delta table at one version.

    Args:
        table: A local path, or a URI (`file:`, `s3://`, `gs://`, `abfss://`, `hdfs://`, …).
        version: Version to open. The default is the latest version.
        timestamp: Open the latest version that was committed at or before this time: a datetime, a date
            or ISO 8601 text. A time without a time zone is in UTC.
        storage_options: Credentials and endpoints of object stores, named as in obstore (`aws_region`,
            `azure_storage_account_key`, …).
        float_bounds: "exact" promises that every writer of the table includes NaN in the minimum and maximum of `float`
            and `double` columns, as Spark does, or that these columns contain no NaN. Predicates such as `price > 10`
            then also skip files whose writer is unknown. "auto" relies on the writers that the log names. The default
            is the table property `deltaskip.floatBounds`, otherwise "auto".
        allow_reflection: Whether generated columns, defaults and CHECK constraints of the table may call any function
            of the Spark session that writes to it. By default they may only call Spark's built-in functions, without
            those that run other code, such as `java_method`: anyone who can write to a table can set its expressions.
            The setting `spark.deltaskip.allowReflection` of a session applies to all tables.

    Raises:
        TableNotFound: There is no Delta log at the path.
        VersionNotFound: The version does not exist, its log files were deleted, or no version existed at the time.
        CorruptLog: The log violates the Delta protocol.
        UnsupportedFeature: The table requires a reader feature that deltaskip does not support.
        StorageError: Storage cannot be accessed.
        InvalidArgument: An argument has a wrong value, or both version and timestamp are given.
        InvalidArgumentType: An argument has a wrong type.
    """

    def __init__(
        self,
        table: str | os.PathLike[str],
        version: int | None = None,
        timestamp: date | str | None = None,
        storage_options: Mapping[str, str] | None = None,
        *,
        float_bounds: FloatBounds | None = None,
        allow_reflection: bool = False,
    ) -> None:
        storage, root = open_storage(arguments.path("table", table), arguments.storage_settings(storage_options))
        version = arguments.non_negative("version", version, f"(table {root})")
        bounds = arguments.one_of("float_bounds", float_bounds, FLOAT_BOUNDS)
        milliseconds = None if timestamp is None else arguments.milliseconds(timestamp, root)
        chosen = chosen_version(storage, root, version, milliseconds)
        self.snapshot: Snapshot = load_snapshot(storage, root, chosen)
        self.snapshot.float_bounds = bounds
        self.snapshot.allow_reflection = arguments.flag("allow_reflection", allow_reflection)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            try:
                return super().__getattr__(name)
            except AttributeError as error:
                if name in OF_FRAMES:
                    raise AttributeError(f"A DeltaTable has no {name}: write {OF_FRAMES[name]}.") from error
                if name.startswith("_") or not hasattr(TableScan, name):
                    raise
                called = f"{name}()" if callable(getattr(TableScan, name)) else name
                raise AttributeError(f"A DeltaTable has no {name}, its scans do: write scan().{called}.") from error

    def __getitem__(self, key: object) -> NoReturn:
        """Raise InvalidArgumentType: columns and rows are read by a scan."""
        raise hints.no_elements(self, key, "scan(")

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return all rows as a stream of the Arrow PyCapsule interface, as its `scan` does.

        Args:
            requested_schema: The schema that the consumer prefers, as a capsule.
        """
        return self.scan().__arrow_c_stream__(requested_schema)

    def _pickled(self) -> tuple[Callable[..., dict[str, Any]], tuple[Any, ...]]:
        return _restored, (SnapshotReference.of(self.snapshot),)

    def with_secrets(self) -> DeltaTable:
        """Return the table with its secrets included in its pickles, and in pickles of its scans.

        Other pickles contain no storage options that may be secrets, such as keys, tokens and signatures, and no token
        of a catalog; the process that opens them finds credentials in its environment.
        """
        made = copy(self)
        made.snapshot = copy(self.snapshot)
        made.snapshot.pickles_secrets = True
        return made

    @classmethod
    def create(
        cls,
        table: str | os.PathLike[str],
        schema: object,
        partition_by: str | Transform | Sequence[str | Transform] | None = (),
        cluster_by: str | Sequence[str] | None = (),
        properties: Mapping[str, str] | None = None,
        comment: str | None = None,
        name: str | None = None,
        mode: Literal["error", "ignore", "replace"] = "error",
        storage_options: Mapping[str, str] | None = None,
        *,
        time_zone: str = SESSION_ZONE,
    ) -> DeltaTable:
        """Create a table, without rows or with given rows in the same commit, and return it.

        The table has the features that its columns and properties use, and no other features. A table that is replaced
        keeps its id, history and features, and loses its rows, columns and properties in one commit.

        Args:
            table: A local path or a URI, as for DeltaTable.
            schema: Column definitions as SQL text, such as "id BIGINT GENERATED ALWAYS AS IDENTITY, ts TIMESTAMP NOT
                NULL, day DATE GENERATED ALWAYS AS (CAST(ts AS DATE))", or a schema of PySpark, Arrow or deltaskip. Or
                rows, as for `append`: the table then has their columns, which accept NULL, and their rows.
            partition_by: Names of the partition columns, and transforms such as `transforms.date("ts")` or
                `transforms.bucket("id", 16)`, for which generated columns are added. Every Delta writer fills them, and
                predicates on `ts` and `id` skip partitions.
            cluster_by: Names of at most four clustering columns, with dots before nested fields.
            properties: Table properties by name. `delta.feature.NAME` with the value "supported" adds a table feature.
            comment: Description of the table.
            name: Name of the table in its metadata.
            mode: What happens if a table already exists: "error" raises TableAlreadyExists, "ignore" returns it,
                "replace" replaces it.
            storage_options: Options of object stores, as for DeltaTable.
            time_zone: Time zone of casts between instants and local times, if there are rows. For a DataFrame the
                session's applies. The default is the active Spark session's, and UTC without a session.

        Raises:
            TableAlreadyExists: A table exists, and the mode is "error".
            SchemaError: The schema cannot be parsed, or a column is not allowed.
            RowViolation: A value does not fit its column. Nothing was written.
            InvalidCommit: A rule of the protocol forbids the table.
            InvalidArgument: An argument has a wrong value.
            StorageError: Storage cannot be accessed.
        """
        from deltaskip.data_files.data import rows_or_none
        from deltaskip.schema.user_schema import schema_of
        from deltaskip.table import creation as new
        from deltaskip.transforms.parse_transforms import transforms_of

        arguments.choice("mode", mode, "error", "ignore", "replace")
        options = arguments.storage_settings(storage_options)
        storage, root = open_storage(arguments.path("table", table), options)
        rows = rows_or_none(schema, "schema")
        # A session is asked only if there are rows.
        zone = time_zone if rows is None and time_zone is SESSION_ZONE else time_zone_argument(time_zone, root)
        definition = new.TableDefinition(
            schema_of(schema) if rows is None else new.columns_of_rows(rows, root),
            transforms_of(partition_by),
            arguments.names("cluster_by", cluster_by),
            {} if properties is None else arguments.texts_by_name("properties", properties),
            None if comment is None else arguments.unicode_text("comment", comment),
            None if name is None else arguments.unicode_text("name", name),
        )
        is_new = True
        try:
            transaction = new.creation(storage, root, definition)
            check_no_files(storage, root)
            if rows is None:
                transaction.commit()
            else:
                transaction.set_operation("CREATE TABLE AS SELECT")
                new.commit_with_rows(transaction, rows, zone)
        except TableAlreadyExists:
            if mode == "error":
                raise
            is_new = False
        with opening_after(f"The table {root} was created") if is_new else nullcontext():
            created = cls(table, storage_options=storage_options)
        if mode == "replace" and not is_new:
            if rows is None:
                new.replace_table(created.snapshot, definition)
            else:
                transaction = new.replacement(created.snapshot, definition)
                transaction.set_operation("CREATE OR REPLACE TABLE AS SELECT")
                new.commit_with_rows(transaction, rows, zone)
            with opening_after(f"The table {root} was replaced"):
                created.refresh()
        return created

    @staticmethod
    def exists(table: str | os.PathLike[str], storage_options: Mapping[str, str] | None = None) -> bool:
        """Return whether a Delta table exists, even a table that deltaskip cannot read.

        Args:
            table: A local path or a URI, as for DeltaTable.
            storage_options: Options of object stores, as for DeltaTable.

        Raises:
            StorageError: Storage cannot be accessed.
        """
        storage, root = open_storage(arguments.path("table", table), arguments.storage_settings(storage_options))
        try:
            load_snapshot(storage, root)
        except TableNotFound:
            return False
        except StorageError:
            raise
        except DeltaSkipError:
            return True
        return True

    @property
    def version(self) -> int:
        """Version of the snapshot."""
        return hints.VersionNumber(self.snapshot.version)

    @property
    def schema(self) -> StructType:
        """Schema of the table, in Delta's data types."""
        return self.snapshot.schema

    @property
    def protocol(self) -> Protocol:
        """Protocol action of the snapshot."""
        return self.snapshot.protocol

    @property
    def metadata(self) -> Metadata:
        """Metadata action (`metaData`) of the snapshot."""
        return self.snapshot.metadata

    @property
    def partition_columns(self) -> tuple[str, ...]:
        """Names of the partition columns."""
        return tuple(self.snapshot.partition_columns)

    @property
    def sort_order(self) -> tuple[SortOrder, ...]:
        """Order of the rows in each data file that `append` and `overwrite` write; () if the table has no sort order.

        A staged table sets the order, in the property `deltaskip.sortOrder`.
        """
        from deltaskip.data_files.sort_order import table_sort_order

        return table_sort_order(self.metadata.configuration, self.uri)

    @property
    def partitioning(self) -> tuple[Transform, ...]:
        """Transforms by which the table is partitioned, one for each partition column.

        Generated columns that another writer has created are also recognized. A column with any other expression is a
        `transforms.Expression`.
        """
        from deltaskip.transforms.generated_columns import transform_of

        fields = {field.name: field for field in self.schema.fields}
        return tuple(transform_of(self.schema, fields[name]) for name in self.partition_columns)

    @property
    def hidden_columns(self) -> tuple[str, ...]:
        """Partition columns that a transform has added. They are in `schema`, and rows are read without them.

        Every writer fills them. `scan(hidden=True)` reads them, as does `scan(columns=…)` that names them.
        """
        from deltaskip.transforms.partitioning_property import hidden_columns

        return hidden_columns(self.schema, self.partition_columns, self.properties)

    @property
    def properties(self) -> Mapping[str, str]:
        """Table properties (`metaData.configuration`)."""
        return self.snapshot.properties

    @property
    def app_versions(self) -> Mapping[str, int]:
        """Last committed version of each application by its id (`txn` actions)."""
        return {app_id: txn.version for app_id, txn in self.snapshot.txns.items()}

    @property
    def domains(self) -> Mapping[str, str]:
        """Configuration of each metadata domain by its name, as logged."""
        return {name: domain.configuration for name, domain in self.snapshot.domains.items()}

    @property
    def in_commit_timestamp(self) -> int | None:
        """In-commit timestamp of the version in milliseconds since the epoch; None without in-commit timestamps."""
        return self.snapshot.in_commit_timestamp

    @overload
    def scan(
        self,
        where: object = None,
        columns: Sequence[str] | None = None,
        limit: int | None = None,
        time_zone: str | None = SESSION_ZONE,
        collation_version: str | None = None,
        *,
        params: Mapping[str, object] | Sequence[object] | None = None,
        strict: bool = False,
        ansi: bool | None = None,
        hidden: bool = False,
        engine: Literal["local"] = "local",
    ) -> TableScan: ...

    @overload
    def scan(
        self,
        where: object = None,
        columns: Sequence[str] | None = None,
        limit: None = None,
        time_zone: str | None = SESSION_ZONE,
        collation_version: str | None = None,
        *,
        params: Mapping[str, object] | Sequence[object] | None = None,
        strict: bool = False,
        ansi: bool | None = None,
        hidden: bool = False,
        engine: Literal["spark"],
    ) -> DistributedScan: ...

    def scan(
        self,
        where: object = None,
        columns: Sequence[str] | None = None,
        limit: int | None = None,
        time_zone: str | None = SESSION_ZONE,
        collation_version: str | None = None,
        *,
        params: Mapping[str, object] | Sequence[object] | None = None,
        strict: bool = False,
        ansi: bool | None = None,
        hidden: bool = False,
        engine: Literal["local", "spark"] = "local",
    ) -> TableScan | DistributedScan:
        """Return a scan: the files that can contain rows matching a predicate, and the matching rows.

        Args:
            where: Predicate as Spark SQL text, an expression of `deltaskip.col`, a PySpark Column, or a list of tuples
                such as `[("id", ">", 5)]`, all of which must be TRUE, or of such lists, one of which must be. Or an
                expression of Polars or pyarrow, where Spark has a predicate with the same answer for every row. The
                default matches every row.
            columns: Columns to read. `user.city` is the field `city` of the struct `user`, returned as the column
                `city`. The default is all columns except hidden columns.
            limit: Maximum number of rows to read; which rows is not defined.
            time_zone: Session time zone for timestamps without a zone in literals and partition values. None means
                that the time zone of partition values is not known; files for which it matters are kept.
                The default is the active Spark session's, and UTC without a session. The rules of a region are those
                of the session's Java, and those of the package tzdata if this process has asked no session.
            collation_version: Version of the collations that the rows will be compared with. The default is the
                version of the running Spark session, else of the installed Spark, else of Spark 4.1. Statistics of
                other versions are not used.
            params: Values of the parameters of SQL text: a mapping for `:name`, a list for `?`, as in
                `scan("id = :x AND day IN (:days)", params={"x": 5, "days": [date(2026, 1, 1)]})`.
            strict: Whether to raise NotProvable if no part of the predicate can skip a file; the message has the reason
                for each part. Reads the statistics.
            ansi: Whether Spark evaluates the predicate in ANSI mode, as Spark 4 does by default. In ANSI mode,
                constants that fail, such as `id = 'abc'`, are refused; otherwise they keep every file. The default is
                the mode of the active Spark session, and ANSI mode without a session.
            hidden: Whether to read partition columns that a transform has added (`hidden_columns`) if `columns` is not
                given. Predicates can always use them.
            engine: The engine that finds files: "local" for this process, or "spark" for the executors of a session,
                for logs that are too long for one process. The result is then a `DistributedScan`.

        Raises:
            PredicateError: The predicate does not parse or does not match the schema, a column does not exist, or Spark
                fails to evaluate a constant of the predicate.
            NotProvable: `strict` is true, and no part of the predicate can skip a file.
            InvalidArgument: `limit` is negative, `time_zone` is not a time zone, `params` does not fit `where`,
                `engine` is not one of its values, or it is "spark" and there is a limit.
            InvalidArgumentType: An argument has the wrong type.
            SparkUnavailable: `where` is a PySpark Column, and PySpark cannot be loaded.
        """
        chosen = (where, columns, limit, time_zone, collation_version)
        options = ReadOptions(*chosen, params=params, strict=strict, ansi=ansi, hidden=hidden)
        if arguments.one_of("engine", engine, ("local", "spark")) == "spark":
            # Only a distributed scan needs this import.
            from deltaskip.reading.distributed_scan import DistributedScan

            return DistributedScan(self.snapshot, options)
        return TableScan(self.snapshot, options)

    def partitions(
        self,
        where: object = None,
        *,
        time_zone: str | None = SESSION_ZONE,
        params: Mapping[str, object] | Sequence[object] | None = None,
    ) -> pa.Table:
        """Return the partitions with their numbers of files, rows and bytes, from the log alone.

        The columns are `partition_values` (a struct of all partition columns, including hidden ones), `num_files`,
        `num_rows` (null if a file has no row count; rows that a deletion vector deletes are not counted) and
        `size_in_bytes`, in the order of the values. A table without partition columns has one partition.

        Args:
            where: Predicate, as for `scan`: only files that can contain matching rows count. The default is all files.
            time_zone: Session time zone, as for `scan`.
            params: Values of the parameters of SQL text, as for `scan`.

        Raises:
            CorruptLog: A partition value in the log cannot be read.
            PredicateError: The predicate does not parse or does not match the schema, or a column does not exist.
        """
        return LogScan(self.snapshot, ReadOptions(where, time_zone=time_zone, params=params)).partitions()

    def detail(self) -> TableDetail:
        """Return facts about the table as Delta's DESCRIBE DETAIL does, with row counts and the state of the log.

        Lists the log, and reads sizes, row counts and deletion vectors of all active files.
        """
        from deltaskip.table.detail import table_detail

        check_same_table(self.snapshot)
        return table_detail(self.snapshot)

    def history(self, limit: int | None = None) -> History:
        """Return the commits up to this version that the log still contains, newest first.

        Args:
            limit: Maximum number of commits. The default is all.
        """
        most = arguments.non_negative("limit", limit, f"(table {self.uri})")
        check_same_table(self.snapshot)
        return log_history(self.snapshot.storage, self.snapshot.root, most, self.version)

    def stats(self, overlap: bool = True) -> TableCoverage:
        """Return how many files and rows have statistics, how far their bounds overlap, and recommendations.

        Reads the statistics of all active files.

        Args:
            overlap: If False, do not measure overlap and make no recommendations, which is faster.
        """
        from deltaskip.skipping.table_coverage import table_coverage

        return table_coverage(self.snapshot, depth=arguments.flag("overlap", overlap))

    def collations(self) -> tuple[CollatedColumn, ...]:
        """Return the collated columns, and the collation versions that this process can evaluate for each column."""
        from deltaskip.table.collated_columns import collated_columns

        return collated_columns(self.snapshot)

    def compatibility(self, engines: Sequence[str] | None = None) -> tuple[Incompatibility, ...]:
        """Return what other engines refuse or get wrong in this table, with the release in which that was run.

        The answer follows from the log; files are not opened, so types of times in files are not considered.

        Args:
            engines: Of "polars", "duckdb", "deltalake", "pyarrow", "daft", "chdb" and "sail". The default is all.

        Raises:
            InvalidArgument: An engine is not known.
        """
        from deltaskip.table.compatibility import incompatibilities

        return incompatibilities(self.snapshot, engines)

    def clone(
        self,
        table: str | os.PathLike[str],
        version: int | None = None,
        timestamp: date | str | None = None,
        *,
        replace: bool = False,
        properties: Mapping[str, str] | None = None,
        storage_options: Mapping[str, str] | None = None,
        user_metadata: str | None = None,
    ) -> DeltaTable:
        """Create a table with the rows, columns and properties of a version, without copying files, and return it.

        The clone refers to the files of this table by their absolute paths: a VACUUM of this table can delete them.
        New files of the clone are in its own folder, and no operation on the clone changes this table.
        The clone has its own id, history and row ids.

        Args:
            table: Location of the clone, as for DeltaTable.
            version: The version to clone. The default is the version of this object.
            timestamp: Instead, the latest version that was committed at or before this time.
            replace: Whether to replace an existing table in one commit; it keeps its id and history. Otherwise
                TableAlreadyExists is raised.
            properties: Table properties that are added to the source's properties or replace them.
            storage_options: Options of object stores for the location of the clone.
            user_metadata: Text to record with the commit in the table's history.

        Raises:
            TableAlreadyExists: A table already exists.
            VersionNotFound: The version does not exist.
            InvalidArgument: A property is not possible, or the location is this table's.
            UnsupportedFeature: The table has a feature that deltaskip cannot write.
            CommitConflict: Another writer changed the table that is replaced.
            StorageError: Storage failed.
            InvalidArgumentType: An argument has a wrong type.
        """
        from deltaskip.maintenance.clone import clone

        storage, root = open_storage(arguments.path("table", table), arguments.storage_settings(storage_options))
        given = None if properties is None else arguments.texts_by_name("properties", properties)
        replaced, options = arguments.flag("replace", replace), self._write_options(None, user_metadata, "UTC")
        chosen = self._chosen_version(version, timestamp)
        source = self.snapshot
        if chosen is not None and chosen != source.version:
            check_same_table(source)
            source = load_snapshot(source.storage, source.root, chosen)
        clone(source, storage, root, replace_table=replaced, properties=given, options=options)
        with opening_after(f"{source.root} was cloned to {root}"):
            return DeltaTable(table, storage_options=storage_options)

    def transaction(
        self,
        read: object = None,
        operation: str = "WRITE",
        parameters: Mapping[str, object] | None = None,
        *,
        params: Mapping[str, object] | Sequence[object] | None = None,
        look_up_files: bool = True,
        user_metadata: str | None = None,
    ) -> TableTransaction:
        """Begin a transaction on this version: add rows and files, change metadata, then `commit()`.

        Args:
            read: Predicate of the rows on which the transaction depends, `"true"` for all rows. By default, it depends
                on no row.
            operation: Name of the operation in the table's history.
            parameters: Parameters of the operation in the table's history.
            params: Values of the parameters of `read`, as in `scan`.
            look_up_files: Whether the commit checks in storage that added files exist with their sizes, and that new
                deletion vectors can be read. False saves a request per file.
            user_metadata: Text to record with the commit in the table's history.
        """
        # Reading a table must not import the code that writes.
        from deltaskip.table.table_transaction import TableTransaction

        if parameters is not None:
            arguments.mapping("parameters", parameters)
        name, metadata = arguments.text("operation", operation), arguments.text_or_none("user_metadata", user_metadata)
        transaction = TableTransaction(self, name, parameters, look_up_files, metadata)
        if read is not None or params is not None:
            transaction.read(read, params=params)
        return transaction

    def checkpoint(self) -> WrittenCheckpoint:
        """Write a checkpoint of this version, unless it exists, with `_last_checkpoint` and the version checksum.

        The checkpoint is classic, or V2 with sidecars if `delta.checkpointPolicy` is `v2`. A table with an adaptive
        metadata tree gets a version with a new tree of its latest version, to which it moves. Files that the key index
        does not know are added to it, if the table has one.

        Raises:
            UnsupportedFeature: The table requires a writer feature that deltaskip does not support.
            TableNotFound: The table was dropped, or replaced by another table.
        """
        from deltaskip.log.checkpoint.write import write_checkpoint
        from deltaskip.maintenance.key_index import index_new_files
        from deltaskip.txn.tree_commit import commit_tree

        if has_tree(self.snapshot.protocol):
            written = commit_tree(self.snapshot)
            self.refresh()
        else:
            written = write_checkpoint(self.snapshot)
        index_new_files(self.snapshot)
        return written

    def clean_up_log(self) -> list[str]:
        """Delete log files older than `delta.logRetentionDuration` that no retained version needs.

        If the version of this table was read from a checkpoint that is deleted, the table moves to the latest version.

        Returns:
            Names of the deleted files.

        Raises:
            UnsupportedFeature: The table requires a writer feature that deltaskip does not support.
        """
        from deltaskip.log.cleanup import clean_up_log

        deleted = clean_up_log(refresh(self.snapshot))
        if deleted and is_cleaned_up(self.snapshot):
            self.snapshot = refresh(self.snapshot)
        return deleted

    def refresh(self) -> DeltaTable:
        """Move to the latest version; reads only log files that are newer than the snapshot.

        Returns:
            The table itself.
        """
        self.snapshot = refresh(self.snapshot)
        return self

    def __repr__(self) -> str:
        return f"DeltaTable({self.uri!r}, version={self.version})"

    def _repr_html_(self) -> str:
        fields = [f"{field.name} {simple_string(field.type, field)}" for field in self.schema.fields]
        more = [f"… {len(fields) - _SHOWN_COLUMNS} more"] if len(fields) > _SHOWN_COLUMNS else []
        return html_table(
            [
                ("location", self.uri),
                ("version", str(self.version)),
                ("files", f"{self.snapshot.num_files:,}"),
                ("partition columns", ", ".join(self.partition_columns)),
                ("columns", ", ".join([*fields[:_SHOWN_COLUMNS], *more])),
            ]
        )


if not TYPE_CHECKING:
    DeltaTable.optimize = hints.HintedMethod(DeltaTable.optimize, hints.OF_OPTIMIZE)
    DeltaTable.alter = hints.HintedMethod(DeltaTable.alter, hints.OF_ALTER)


def _restored(reference: SnapshotReference) -> dict[str, Any]:
    """The attributes of a pickled table."""
    return {"snapshot": reference.opened()}


def table_in(
    storage: Storage, root: str, version: int | None = None, timestamp: date | str | None = None
) -> DeltaTable:
    """Return the table at a location of a storage; arguments and errors as for DeltaTable."""
    number = arguments.non_negative("version", version, f"(table {root})")
    milliseconds = None if timestamp is None else arguments.milliseconds(timestamp, root)
    table = DeltaTable.__new__(DeltaTable)
    table.snapshot = load_snapshot(storage, root, chosen_version(storage, root, number, milliseconds))
    return table
