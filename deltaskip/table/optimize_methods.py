"""The method of DeltaTable that rewrites files without changing rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from deltaskip import arguments
from deltaskip.engine import SESSION_ZONE
from deltaskip.errors import InvalidArgument, InvalidArgumentType, OptionAdvice
from deltaskip.log import refresh
from deltaskip.table.methods import TableMethods
from deltaskip.txn.write_options import WriteOptions

if TYPE_CHECKING:
    from deltaskip.maintenance.optimize.optimize_result import OptimizeResult
    from deltaskip.maintenance.results import PartitioningResult
    from deltaskip.table.advice.advice import TableAdvice
    from deltaskip.transforms import Transform


class OptimizingMethods(TableMethods):
    """Rewriting files of the latest version of a table into larger files, or files that more predicates skip."""

    def advise(self, queries: Sequence[object] | None = None, *, target_file_bytes: int | None = None) -> TableAdvice:
        """Return which changes of the table would let its queries read fewer bytes, without changing anything.

        Orders of rows by up to three columns, partitions, bounds that files lack and the key index are tried: at most
        256 files are read for a sample of the columns that the queries use, its rows are written as small tables in
        a temporary folder, and the queries are planned on these. Of more than 500 queries, 500 stand for all.

        Args:
            queries: Predicates, as `scan` takes them. The default is what scans of this table have noted in the file
                `deltaskip.options.journal`, with the orders whose first rows were asked for.
            target_file_bytes: Size of new files in bytes. The default is the table property `delta.targetFileSize`,
                otherwise the average size of the files, but at least 64 MiB and at most 1 GiB.

        Returns:
            The suggestions, the best one first; false if no change would save a fifth of the bytes.

        Raises:
            PredicateError: A predicate is malformed, or names an unknown column.
            InvalidArgument: There are no queries, or an argument has a wrong value.
            InvalidArgumentType: An argument has a wrong type.
            StorageError: A data file cannot be read.
            DataFileMissing: A data file does not exist.
        """
        from deltaskip.table.advice.advise import advise

        size = arguments.non_negative("target_file_bytes", target_file_bytes, f"(table {self.uri})")
        if queries is not None and not isinstance(queries, list | tuple):
            raise InvalidArgumentType.of("queries", "a list of predicates", queries)
        if queries is not None and not queries:
            raise InvalidArgument(f"queries is empty: pass the predicates that are asked (table {self.uri}).")
        return advise(self.snapshot, queries, size)

    def optimize(
        self,
        where: object = None,
        target_file_bytes: int | None = None,
        zorder_by: str | Sequence[str] | None = (),
        *,
        spark: object = None,
        full: bool = False,
        purge: bool = False,
        bloom: str | Sequence[str] | None = (),
        params: Mapping[str, object] | Sequence[object] | None = None,
        txn: tuple[str, int] | None = None,
        user_metadata: str | None = None,
        time_zone: str = SESSION_ZONE,
        dry_run: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> OptimizeResult:
        """Rewrite files of the latest version of the table without changing a row, and move to the new version.

        Without `zorder_by`, small files of each partition are joined, and files in which more than 5 % of the rows are
        deleted. With `zorder_by`, all rows of each partition are ordered along a curve through these columns, so that
        filters on any of the columns skip files. In a clustered table, files that are not clustered yet are ordered by
        the clustering columns, together with small clustered files.

        Rows keep their row ids, deleted rows and their deletion vectors are dropped, and the change data feed shows
        nothing. Large tables take several commits, one after the other. Appends of other writers do not disturb them;
        files that another writer changes meanwhile are rewritten again in their new state, or not rewritten.

        Args:
            where: Predicate of the partitions to optimize, as in `scan`; it can only use partition columns.
            target_file_bytes: Size of new files, and the size below which files are small. The default is the table
                property `delta.targetFileSize`, otherwise 1 GiB.
            zorder_by: Names of the columns to order rows by, with dots before nested fields.
            spark: A session, classic or Connect, that rewrites files of more than 1 GiB in total. This process rewrites
                smaller amounts, for which it is faster, and all files without a session.
            full: Whether files of a clustered table that are already clustered are clustered again, for example after
                its clustering columns have changed.
            purge: Whether to rewrite exactly the files with deleted rows, however few, each into separate files; only
                `where` can be combined with it. VACUUM removes the rows from the storage after its retention.
            bloom: Names of columns: exactly the files are rewritten that lack a Bloom filter of one of them, whatever
                their size, each into a separate file; only `where` can be combined with it. All new files of a table
                have the filters that its property `deltaskip.bloomColumns` names.
            params: Values of the parameters of `where`, as in `scan`.
            txn: Application id and version, as in `append`: nothing is done if the table has this version of the
                application or a later version. If the operation takes several commits, the last commit has it.
            user_metadata: Text to record with each commit in the table's history.
            time_zone: Time zone of `where`.
                The default is the active Spark session's, and UTC without a session.
            dry_run: Whether only the plan is returned, and nothing is written.
            progress: Called after each group of files with the bytes of the files that were rewritten so far, and of
                all files to rewrite, instead of a progress bar.

        Returns:
            The committed versions and Delta's metrics; the version is None if nothing was rewritten.

        Raises:
            PredicateError: The predicate is not valid, or uses columns other than partition columns.
            SchemaError: A Z-order column does not exist, is a partition column, or has no statistics; a column cannot
                have a Bloom filter; or the table is clustered.
            UnsupportedFeature: The table needs a feature that deltaskip cannot write, or Spark to read a file; or it is
                clustered, and there is a predicate.
            CommitConflict: Other writers committed first in every attempt.
            StorageError: Storage failed. Earlier commits stay.
            InvalidArgument: `full` is true, and the table is not clustered; `purge` or `bloom` is combined with other
                options; or an argument has a wrong value.
            InvalidArgumentType: An argument has a wrong type.
        """
        from deltaskip.dml.overwrite import predicate_text
        from deltaskip.maintenance.key_index import index_new_files
        from deltaskip.maintenance.optimize.optimize import optimize
        from deltaskip.maintenance.optimize.strategy import OptimizeRequest

        target_bytes = arguments.non_negative("target_file_bytes", target_file_bytes, f"(table {self.uri})")
        if target_bytes == 0:
            raise InvalidArgument(f"target_file_bytes must be 1 or greater, not 0 (table {self.uri}).")
        names = arguments.names("zorder_by", zorder_by)
        options = self._write_options(txn, user_metadata, time_zone)
        text = predicate_text(where, params, self.snapshot)
        full, purge = arguments.flag("full", full), arguments.flag("purge", purge)
        filters = arguments.names("bloom", bloom)
        if filters and (purge or full or names or target_bytes is not None):
            raise InvalidArgument(
                f"bloom rewrites the files that lack a Bloom filter and nothing else: leave out target_file_bytes, "
                f"zorder_by, full and purge (table {self.uri})."
            )
        if purge and (full or names or target_bytes is not None):
            purging = OptionAdvice("purge", True)
            raise InvalidArgument(
                f"{purging} rewrites the files that have deleted rows and nothing else: leave out target_file_bytes, "
                f"zorder_by and full (table {self.uri})."
            ).advising(purging)
        request = OptimizeRequest(text, target_bytes, names, full, options.time_zone, purge, bloom=filters)
        dry = arguments.flag("dry_run", dry_run)
        progress = arguments.function_or_none("progress", progress)
        done = self._moved(optimize(self.snapshot, request, spark, options, dry_run=dry, progress=progress))
        if not dry:
            index_new_files(self.snapshot)
        return done

    def replace_partitioning(
        self,
        *transforms: str | Transform,
        new_data_only: bool = False,
        spark: object = None,
        time_zone: str = SESSION_ZONE,
        user_metadata: str | None = None,
    ) -> PartitioningResult:
        """Change the partitioning of the latest version of the table, and move to the new version.

        All rows are written into new files by the new partition columns, in one commit: readers see the table before or
        after it. Rows are not changed and keep their row ids, deleted rows and deletion vectors are dropped, and the
        change data feed shows nothing. New columns replace the columns that earlier transforms have added. A clustered
        table is then partitioned instead. If another writer commits in the meantime, the rows are written again.

        Delta has one partitioning for all files of a version, so new data alone cannot be partitioned differently. With
        `new_data_only` the columns of the transforms become clustering columns instead: no file is written, new data
        has statistics of these columns, and OPTIMIZE orders files that are not clustered yet by them.

        Args:
            transforms: Names of columns, and transforms such as `transforms.date("ts")`; no arguments for a table
                without partitions.
            new_data_only: Whether existing files are not changed, and the table is clustered. The table must not have
                partition columns.
            spark: A session, classic or Connect, that writes the rows. By default, this process does.
            time_zone: Time zone of dates and hours of timestamps. A session uses its own time zone.
                The default is the active Spark session's, and UTC without a session.
            user_metadata: Text to record with the commit in the table's history.

        Returns:
            The version, and the `kind` of the change: "rewritten" or "clustering". The version is None if the table
            already has this layout.

        Raises:
            SchemaError: A column does not exist, a transform does not take columns of its type, or a rule of the table
                forbids the partition columns.
            RowViolation: A column that becomes a partition column contains the empty string.
            UnsupportedFeature: The table needs a feature that deltaskip cannot write, or Spark to read a file.
            CommitConflict: Other writers committed first in every attempt.
            StorageError: Storage failed.
            InvalidArgument: `new_data_only` is true for a partitioned table, or without transforms.
            InvalidArgumentType: An argument has a wrong type.
        """
        from deltaskip.maintenance.partitioning import replace_partitioning
        from deltaskip.transforms.parse_transforms import transforms_of

        given = transforms_of(transforms, "transforms")
        options = self._write_options(None, user_metadata, time_zone)
        if arguments.flag("new_data_only", new_data_only):
            return self._moved(self._clustered_by(given, options))
        return self._moved(replace_partitioning(self.snapshot, given, spark, options))

    def _clustered_by(self, transforms: Sequence[Transform], options: WriteOptions) -> PartitioningResult:
        from deltaskip.alter.alter import alter
        from deltaskip.alter.table_changes import ClusterBy
        from deltaskip.maintenance.results import PartitioningResult
        from deltaskip.sparkexpr.types import display_name

        latest = refresh(self.snapshot)
        if latest.partition_columns:
            raise InvalidArgument(
                f"{self.uri} is partitioned by {', '.join(latest.partition_columns)}, and all files of a version have "
                f"one partitioning: leave out new_data_only to write all rows anew."
            )
        if not transforms:
            raise InvalidArgument(f"new_data_only needs at least one column or transform to cluster {self.uri} by.")
        columns = list(dict.fromkeys(each.path for each in transforms))
        done = alter(latest, [ClusterBy(*columns)], options)
        names = tuple(display_name(each) for each in columns)
        return PartitioningResult(done.version, done.operation, kind="clustering", clustering_columns=names)
