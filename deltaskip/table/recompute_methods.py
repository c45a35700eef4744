"""The methods of DeltaTable that recompute statistics."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from deltaskip import arguments
from deltaskip.doors import first_line
from deltaskip.engine import current_collation_version, engine
from deltaskip.errors import InvalidArgument, MaintenanceWarning
from deltaskip.log import check_same_table, refresh
from deltaskip.predicates import given_predicate
from deltaskip.table.methods import TableMethods
from deltaskip.warning import warn

if TYPE_CHECKING:
    from deltaskip.maintenance.recompute.recomputed import Recomputed, RecomputePlan


class RecomputingMethods(TableMethods):
    """Recomputing the statistics of a table's files."""

    def recompute_stats(
        self,
        spark: Any = None,
        where: object = None,
        columns: Sequence[str] | None = None,
        collations: Mapping[str, Sequence[str]] | None = None,
        mode: Literal["auto", "footer", "scan"] = "auto",
        only_missing: bool = False,
        *,
        collation_versions: Sequence[str] | None = None,
        resume: bool = True,
        kernel_spelling: bool = False,
        batch_files: int = 50_000,
        progress: Callable[[Recomputed], None] | None = None,
        index: bool = False,
        params: Mapping[str, object] | Sequence[object] | None = None,
    ) -> Recomputed:
        """Compute the statistics of the files and commit them; moves to the latest version.

        With a session, Spark jobs read the files. Without one, this process reads footers and values, several files at
        once; its memory must hold the statistics of `batch_files` files.

        Files that other writers remove or replace in the meantime are left out and reported in `Recomputed.left_out`.

        Args:
            spark: A session, classic or Connect, whose executors have this package. By default, this process reads.
            where: A predicate, as in `scan`; only files that may contain a matching row are read. None for all files.
            columns: Columns whose statistics are computed; the statistics of other columns are not changed. None for
                every column that has statistics.
            collations: Versioned identifiers of the collated bounds to write, by column name, such as
                `{"name": ["icu.UNICODE_CI.77.1"]}`. Without `collations` and `collation_versions`: the versions that
                the table's metadata domain `collations` lists and, if the table has the feature `collations`, the
                version of the session (without one, as in `recompute_plan`), as far as this process can evaluate them.
            mode: "footer" takes only statistics that Parquet footers prove, "scan" reads all values, "auto" reads the
                values of the columns whose statistics a footer does not prove.
            only_missing: Read only files that lack a part of the statistics.
            collation_versions: Versions such as `["77.1"]`, for the collations of all collated columns.
            resume: Skip files that an interrupted run already finished: files whose statistics this version of the
                package computed with the same settings and no writer has replaced since.
            kernel_spelling: Write collated bounds a second time under the upper-case identifier that Delta Kernel
                looks up.
            batch_files: Files for one commit.
            progress: Called with the result so far after each commit, instead of a progress bar.
            index: Whether to build the key index of the columns anew that the table property
                `deltaskip.keyIndexColumns` names, from all files. With `columns=[]`, nothing else is done.
            params: Values of the parameters of `where`, as in `scan`.

        Returns:
            Numbers of committed and unchanged files, rows and bytes read, and the versions that were committed.

        Raises:
            SparkUnavailable: With a session: the executors lack this package.
            PredicateError: The predicate is not valid, or a column does not exist.
            InvalidArgument: An argument has a wrong value, or both `collations` and `collation_versions` are given.
            InvalidArgumentType: An argument has a wrong type.
            InvalidCollation: A collation identifier is not valid.
            SchemaError: `index` is true, and the property names no column, or one that cannot have a key index.
            CollationUnavailable: No library in this process implements a collation version.
            UnsupportedFeature: The table requires a writer feature that deltaskip does not support.
            DataFileMissing: A data file is not in storage.
            CorruptLog: An action in the log cannot be read.
            CommitConflict: Another writer changed the table's schema or features.
            TableNotFound: The table was dropped, or replaced by another table.
            StorageError: Storage cannot be accessed, or a data file cannot be read.
        """
        from deltaskip.maintenance.key_index import check_key_columns, index_keys
        from deltaskip.maintenance.recompute.recompute import recompute
        from deltaskip.maintenance.recompute.recomputed import Recomputed
        from deltaskip.maintenance.recompute.request import recompute_request

        files_of_commit = arguments.non_negative("batch_files", batch_files, f"(table {self.snapshot.table_root})")
        if not files_of_commit:
            raise InvalidArgument(
                f"batch_files must be 1 or greater, not {batch_files} (table {self.snapshot.table_root})."
            )
        act = f"Recomputing statistics of {self.snapshot.table_root}"
        version = current_collation_version() if spark is None else engine(act).collation_version(spark)
        check_same_table(self.snapshot)
        rebuilt = arguments.flag("index", index)
        if rebuilt:
            check_key_columns(self.snapshot)
        where = given_predicate(where, params, self.snapshot.schema)
        request = recompute_request(
            self.snapshot,
            where,
            columns,
            self._chosen_collations(collations, collation_versions),
            mode,
            only_missing,
            resume=resume,
            kernel_spelling=kernel_spelling,
            spark_version=version,
        )
        progress = arguments.function_or_none("progress", progress)
        only_index = rebuilt and columns is not None and not columns
        done = Recomputed() if only_index else recompute(self.snapshot, request, spark, files_of_commit, progress)
        self._moved(done)
        if only_index:
            done.index = index_keys(refresh(self.snapshot), rebuild=True)
        elif rebuilt:
            try:
                done.index = index_keys(refresh(self.snapshot), rebuild=True)
            except Exception as error:
                warn(
                    f"The statistics of {self.snapshot.root} are recomputed, but its key index is not built: "
                    f"{first_line(error)}.",
                    MaintenanceWarning,
                )
        return done

    def recompute_plan(
        self,
        where: object = None,
        columns: Sequence[str] | None = None,
        collations: Mapping[str, Sequence[str]] | None = None,
        mode: Literal["auto", "footer", "scan"] = "auto",
        only_missing: bool = False,
        *,
        collation_versions: Sequence[str] | None = None,
        resume: bool = True,
        kernel_spelling: bool = False,
        overlap: bool = True,
        params: Mapping[str, object] | Sequence[object] | None = None,
    ) -> RecomputePlan:
        """Return the plan of `recompute_stats` with the same arguments, from the log alone. Needs no Spark.

        If `overlap` is False, how many files an equality predicate keeps is not measured, which is faster. Raises the
        errors of `recompute_stats` about arguments, the log and storage.
        """
        from deltaskip.maintenance.recompute.request import recompute_plan, recompute_request

        check_same_table(self.snapshot)
        where = given_predicate(where, params, self.snapshot.schema)
        request = recompute_request(
            self.snapshot,
            where,
            columns,
            self._chosen_collations(collations, collation_versions),
            mode,
            only_missing,
            resume=resume,
            kernel_spelling=kernel_spelling,
            spark_version=current_collation_version(),
        )
        return recompute_plan(self.snapshot, request, arguments.flag("overlap", overlap))

    def _chosen_collations(
        self, collations: Mapping[str, Sequence[str]] | None, collation_versions: Sequence[str] | None
    ) -> Mapping[str, Sequence[str]] | Sequence[str] | None:
        if collations is None:
            return collation_versions
        if collation_versions is not None:
            raise InvalidArgument(
                f"Specify either collations or collation_versions to recompute statistics of "
                f"{self.snapshot.table_root}, not both."
            )
        return arguments.mapping("collations", collations)

    def retire_collation_version(self, collation: str, version: str) -> int:
        """Stop keeping statistics of a collation version for new files.

        Existing statistics of the version stay in the log, and readers that use the version still prune with them.

        Args:
            collation: Collation without a version, such as `icu.UNICODE_CI` or `UNICODE_CI`.
            version: Collation version, such as `77.1`.

        Returns:
            The version that was committed. The table moves to this version.

        Raises:
            InvalidCollation: `collation` is not a collation identifier.
            InvalidCommit: The table does not list the version.
            CommitConflict: Another writer committed a conflicting change.
        """
        from deltaskip.txn.collation_versions import retire
        from deltaskip.txn.transaction import Transaction

        parameters = {arguments.text("collation", collation): arguments.text("version", version)}
        transaction = Transaction(self.snapshot, "RETIRE COLLATION VERSION", parameters)
        retire(transaction, collation, version)
        return self._moved(transaction.commit())
