"""The methods of DeltaTable that write rows."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from deltaskip import arguments
from deltaskip.engine import SESSION_ZONE
from deltaskip.errors import InvalidArgument, InvalidArgumentType
from deltaskip.schema.properties import codec_argument
from deltaskip.table.methods import TableMethods
from deltaskip.txn.write_options import FileOptions, WriteOptions

if TYPE_CHECKING:
    from deltaskip.dml.overwrite import Matching, Overwrite
    from deltaskip.log import Snapshot
    from deltaskip.transforms import Transform
    from deltaskip.txn.result import WriteResult


class WritingMethods(TableMethods):
    """Writing rows to the latest version of a table."""

    def append(
        self,
        data: object,
        schema_mode: Literal["keep", "merge"] = "keep",
        *,
        txn: tuple[str, int] | None = None,
        user_metadata: str | None = None,
        time_zone: str = SESSION_ZONE,
        compression: str | None = None,
        max_records_per_file: int | None = None,
    ) -> WriteResult:
        """Append rows to the latest version of the table, and move to the version that contains them.

        Columns are matched by name, in any letter case, and stored as Spark's ANSI store assignment does. A missing
        column has its default, the value of its expression, an identity value or NULL. Every row must satisfy the
        table's constraints.

        Args:
            data: A PySpark DataFrame, classic or Connect, or Arrow data: an object with `__arrow_c_stream__`, such
                as pyarrow tables and readers, pandas and polars DataFrames, relations of DuckDB, tables and scans
                of deltaskip; a pyarrow dataset, or a LazyFrame of polars; or a list of dicts, or a dict of lists.
            schema_mode: "keep" refuses columns that the table lacks, "merge" adds them.
            txn: Application id and version, for exactly-once writes: nothing is written if the table contains this
                version of the application, or a later version.
            user_metadata: Text to record with the commit in the table's history.
            time_zone: Time zone of casts between instants and local times. A DataFrame uses its session's time zone.
                The default is the active Spark session's, and UTC without a session.
            compression: Codec of the new data files: snappy, zstd, gzip, lz4, lz4_raw, brotli, none or uncompressed.
                The default is the table's property `delta.parquet.compression.codec`, then the setting
                `spark.sql.parquet.compression.codec` of the DataFrame's session, then zstd.
            max_records_per_file: The most rows of a new data file. The default is no limit, or the setting
                `spark.sql.files.maxRecordsPerFile` of the DataFrame's session.

        Returns:
            The committed version and Delta's metrics; the version is None if nothing was committed.

        Raises:
            SchemaError: The columns of the rows do not fit the table.
            RowViolation: A row violates a constraint, or a value does not fit its column. Nothing was written.
            CommitConflict: Another writer changed data or metadata on which the write depends.
            UnsupportedFeature: The table needs a feature that deltaskip cannot write, or Spark for an expression.
            StorageError: Storage failed.
            InvalidArgument: The rows cannot be read or computed, or an argument has a wrong value.
            InvalidArgumentType: An argument has a wrong type.
        """
        from deltaskip.data_files.append import append

        arguments.choice("schema_mode", schema_mode, "keep", "merge")
        options = self._write_options(txn, user_metadata, time_zone)
        options = replace(options, files=file_options(compression, max_records_per_file))
        return self._written(append(self.snapshot, data, schema_mode, options))

    def append_batch(
        self,
        batch: object,
        batch_id: int,
        app_id: str,
        schema_mode: Literal["keep", "merge"] = "keep",
        *,
        user_metadata: str | None = None,
    ) -> WriteResult:
        """Append a micro-batch of Structured Streaming exactly once; for the function that foreachBatch calls.

        The table records the id of the batch with its rows, in one commit. A batch that the query repeats, after it was
        stopped or killed, is not written again if the table already has the batch.

        Args:
            batch: The DataFrame that foreachBatch passes, of a classic or a Connect session.
            batch_id: The id of the batch that foreachBatch passes.
            app_id: A name of the query that is unique among queries that write to this table. A query with a new
                checkpoint counts its batches from 0 again, so the query needs a new name.
            schema_mode: "keep" refuses columns that the table lacks, "merge" adds them.
            user_metadata: Text to record with the commit in the table's history.

        Returns:
            The committed version and Delta's metrics; the version is None if the table already has the batch.

        Raises:
            SchemaError: The columns of the rows do not fit the table.
            RowViolation: A row violates a constraint, or a value does not fit its column. Nothing was written.
            CommitConflict: Another writer changed data or metadata on which the write depends.
            UnsupportedFeature: The table needs a feature that deltaskip cannot write.
            StorageError: Storage failed.
            InvalidArgument: `batch_id` is negative.
            InvalidArgumentType: An argument has a wrong type.
        """
        from deltaskip.data_files.append import append

        arguments.choice("schema_mode", schema_mode, "keep", "merge")
        name, number = arguments.unicode_text("app_id", app_id), arguments.non_negative("batch_id", batch_id)
        if number is None:
            raise InvalidArgumentType.of("batch_id", "an int", batch_id)
        options = WriteOptions((name, number), arguments.text_or_none("user_metadata", user_metadata))
        operation = "STREAMING UPDATE", {"outputMode": "Append", "queryId": name, "epochId": str(number)}
        return self._written(append(self.snapshot, batch, schema_mode, options, operation))

    def overwrite(
        self,
        data: object,
        where: object = None,
        partitions: Literal["static", "dynamic"] = "static",
        schema_mode: Literal["keep", "merge", "replace"] = "keep",
        *,
        params: Mapping[str, object] | Sequence[object] | None = None,
        partition_by: str | Transform | Sequence[str | Transform] | None = None,
        txn: tuple[str, int] | None = None,
        on: object = None,
        source_alias: str | None = None,
        target_alias: str | None = None,
        data_change: bool = True,
        user_metadata: str | None = None,
        time_zone: str = SESSION_ZONE,
        compression: str | None = None,
        max_records_per_file: int | None = None,
    ) -> WriteResult:
        """Replace rows of the latest version of the table by new rows, and move to the version that contains them.

        Columns, defaults and constraints are as for `append`. Files that lose all their rows are removed without being
        read. In files that lose some rows, deletion vectors delete the rows if `delta.enableDeletionVectors` is true;
        otherwise these files are rewritten, and the remaining rows keep their row ids.

        Args:
            data: A PySpark DataFrame, or Arrow data, as for `append`.
            where: Predicate of the rows to replace, as in `scan`. Every new row must match it; a row for which it is
                NULL neither matches nor is replaced. The default replaces all rows.
            partitions: "static" replaces the rows that match `where`. "dynamic" replaces the partitions that have new
                rows, and is "static" for a table without partitions.
            schema_mode: "keep" refuses columns that the table lacks, "merge" adds them. "replace" replaces the
                table's columns by those of the new rows: id, properties and history of the table stay, and so does
                the partitioning unless `partition_by` is given.
            params: Values of the parameters of `where`, as in `scan`.
            partition_by: Partition columns of a replaced schema, and transforms; empty for no partition columns. The
                default keeps the table's partition columns: hidden columns are created again, and the rows must have
                the other columns.
            txn: Application id and version, for exactly-once writes: nothing is written if the table contains this
                version of the application, or a later version.
            on: Condition under which a new row replaces a row of the table, such as "target.id <=> source.id", or names
                of columns that are equal, such as ["id", "day"], as in `merge`. All new rows are inserted. NULL equals
                nothing, except by `<=>`. The rows of a DataFrame are computed once, and kept meanwhile.
            source_alias: The name of the new rows in `on`, as in `merge`.
            target_alias: The name of the table in `on`, as in `merge`.
            data_change: False if the new rows are those that they replace, in other files. Then streams and the change
                data feed do not read them. The numbers of rows must be equal.
            user_metadata: Text to record with the commit in the table's history.
            time_zone: Time zone of `where`, and of casts between instants and local times. For a DataFrame the
                session's applies.
                The default is the active Spark session's, and UTC without a session.
            compression: Codec of the data files of the new rows, as in `append`.
            max_records_per_file: The most rows of such a file, as in `append`.

        Returns:
            The committed version and Delta's metrics; the version is None if nothing was committed.

        Raises:
            PredicateError: The predicate is not valid, or fails for a row.
            SchemaError: The columns of the rows do not fit the table.
            RowViolation: A row violates a constraint or does not match `where`, or a value does not fit its column.
                Nothing was written.
            CommitConflict: Another writer changed data or metadata on which the write depends.
            UnsupportedFeature: The table is append-only, or needs a feature that deltaskip cannot write, or Spark for
                an expression.
            StorageError: Storage failed.
            InvalidArgument: Arguments exclude each other, or an argument has a wrong value.
            InvalidArgumentType: An argument has a wrong type.
        """
        from deltaskip.dml.overwrite import overwrite, predicate_text

        text = predicate_text(where, params, self.snapshot)
        replaced = overwrite_argument(text, partitions, schema_mode, partition_by)
        if on is not None:
            replaced = replace(replaced, matching=matching_argument(on, target_alias, source_alias, self.snapshot))
        files = file_options(compression, max_records_per_file)
        options = self._write_options(txn, user_metadata, time_zone)
        options = replace(options, files=files, data_change=arguments.flag("data_change", data_change))
        return self._written(overwrite(self.snapshot, data, replaced, options))

    def add_files(
        self,
        paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
        *,
        partition_values: Mapping[str, object] | None = None,
        txn: tuple[str, int] | None = None,
        user_metadata: str | None = None,
        time_zone: str = SESSION_ZONE,
    ) -> WriteResult:
        """Add Parquet files of other writers without moving them, and move to the version that contains them.

        The files are neither copied nor changed, and belong to the table from then on: VACUUM deletes files in its
        folder once they are removed from the table. Their columns must match the table's, by name or by field id
        according to the column mapping, with types that Spark reads as the table's; missing columns are NULL.
        Statistics prove constraints, and only undecided files are read. Values of identity columns must be in the
        files, and do not move the high-water mark of the column, like explicit values of an append.

        Args:
            paths: Files and folders: absolute paths, URIs, or paths relative to the table. A folder stands for all
                files below it that are not hidden. Files outside of the table's folder stay outside.
            partition_values: Values of partition columns that all files have. Other values come from directories
                `column=value` above each file.
            txn: Application id and version, as in `append`.
            user_metadata: Text to record with the commit in the table's history.
            time_zone: Time zone of timestamps in directory names, and of constraints.
                The default is the active Spark session's, and UTC without a session.

        Returns:
            The committed version and Delta's metrics; the version is None if nothing was committed.

        Raises:
            DataFileMissing: A file or folder does not exist, or a folder contains no files.
            SchemaError: The columns of a file do not fit the table.
            InvalidArgument: A file is already in the table, or its partition values are missing or malformed.
            RowViolation: A row violates a constraint. Nothing was committed.
            CommitConflict: Another writer changed data or metadata on which the write depends.
            UnsupportedFeature: A constraint needs a Spark session, or the table a feature that deltaskip cannot write.
            StorageError: Storage failed, or a file is not a Parquet file.
            InvalidArgumentType: An argument has a wrong type.
        """
        from deltaskip.data_files.add_files import add_files

        given = arguments.paths("paths", paths)
        values = None if partition_values is None else arguments.mapping("partition_values", partition_values)
        options = self._write_options(txn, user_metadata, time_zone)
        return self._written(add_files(self.snapshot, given, values, options))


def file_options(compression: str | None, max_records_per_file: int | None) -> FileOptions:
    """Return how the data files of new rows are made. Raises InvalidArgument for a value that does not exist."""
    codec = arguments.text_or_none("compression", compression)
    rows = arguments.non_negative("max_records_per_file", max_records_per_file)
    return FileOptions(None if codec is None else codec_argument(codec), rows)


def matching_argument(on: object, target_alias: str | None, source_alias: str | None, snapshot: Snapshot) -> Matching:
    """Return the condition under which a new row replaces a row of a table. Raises as `Matching.of` does."""
    from deltaskip.dml.overwrite import Matching

    target = arguments.text_or_none("target_alias", target_alias)
    return Matching.of(on, snapshot.schema, target, arguments.text_or_none("source_alias", source_alias))


def overwrite_argument(
    where: str | None,
    partitions: str,
    schema_mode: str,
    partition_by: str | Transform | Sequence[str | Transform] | None,
) -> Overwrite:
    """Return the rows that an overwrite replaces. Raises InvalidArgument for arguments that exclude each other."""
    from deltaskip.dml.overwrite import Overwrite
    from deltaskip.transforms.parse_transforms import transforms_of

    arguments.choice("partitions", partitions, "static", "dynamic")
    if isinstance(schema_mode, str) and schema_mode == "overwrite":
        raise InvalidArgument("schema_mode must be keep, merge or replace, not 'overwrite'. Did you mean 'replace'?")
    arguments.choice("schema_mode", schema_mode, "keep", "merge", "replace")
    columns = None if partition_by is None else transforms_of(partition_by)
    return Overwrite(where, partitions, schema_mode, columns)  # type: ignore[arg-type]
