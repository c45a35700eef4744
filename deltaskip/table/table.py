"""DeltaTable: one table at one version, and what can be asked of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal

from deltaskip.actions import Metadata, Protocol
from deltaskip.collations.registry import SPARK_VERSION
from deltaskip.deprecations import warn_renamed
from deltaskip.engine import engine
from deltaskip.errors import InvalidArgument, VersionNotFound
from deltaskip.log import Snapshot, load_snapshot, refresh
from deltaskip.log.history import HistoryEntry, version_at_timestamp
from deltaskip.log.history import history as log_history
from deltaskip.log.stats_provenance import COMPUTE_OPERATION
from deltaskip.schema.types import StructType
from deltaskip.skipping.coverage import table_coverage
from deltaskip.skipping.scan import Scan
from deltaskip.stats.coverage import TableCoverage
from deltaskip.storage import open_storage

if TYPE_CHECKING:
    from deltaskip.log.checkpoint.written import WrittenCheckpoint
    from deltaskip.txn.recompute.recomputed import Recomputed
    from deltaskip.txn.transaction import Transaction

__all__ = ["DeltaTable"]


class DeltaTable:
    """A Delta table at one version: the latest, `version`, or the last one not younger than `timestamp`.

    table: a local path, or a URI (`file:`, `s3://`, `gs://`, `abfss://`, …). timestamp: a datetime (naive: UTC) or ISO
    8601 text. storage_options: credentials and endpoints for object stores.
    Raises TableNotFound, VersionNotFound, CorruptLog, UnsupportedFeature or StorageError, each naming the table.
    """

    def __init__(
        self,
        table: str | os.PathLike[str],
        version: int | None = None,
        timestamp: datetime | str | None = None,
        storage_options: Mapping[str, str] | None = None,
    ) -> None:
        storage, root = open_storage(table, storage_options)
        if timestamp is not None:
            if version is not None:
                raise VersionNotFound(
                    f"Of {root} either a version or a timestamp can be opened, not both: leave one out."
                )
            version = version_at_timestamp(storage, root, _milliseconds(timestamp))
        self.snapshot: Snapshot = load_snapshot(storage, root, version)

    @property
    def uri(self) -> str:
        """Where the table is."""
        return self.snapshot.table_root

    @property
    def version(self) -> int:
        """Version that is open."""
        return self.snapshot.version

    @property
    def schema(self) -> StructType:
        """Columns, in Delta's types."""
        return self.snapshot.schema

    @property
    def protocol(self) -> Protocol:
        """The protocol action."""
        return self.snapshot.protocol

    @property
    def metadata(self) -> Metadata:
        """The metaData action."""
        return self.snapshot.metadata

    @property
    def partition_columns(self) -> tuple[str, ...]:
        """Names of the partition columns."""
        return tuple(self.snapshot.partition_columns)

    @property
    def properties(self) -> Mapping[str, str]:
        """Table properties (metaData.configuration)."""
        return self.snapshot.properties

    @property
    def txns(self) -> Mapping[str, int]:
        """Version that each application has committed, by its id (txn actions)."""
        return {app_id: txn.version for app_id, txn in self.snapshot.txns.items()}

    @property
    def domains(self) -> Mapping[str, str]:
        """Configuration of each metadata domain that is not removed, as logged."""
        return {name: domain.configuration for name, domain in self.snapshot.domains.items()}

    @property
    def in_commit_timestamp(self) -> int | None:
        """The version's commit time in milliseconds since the epoch, where the table keeps in-commit timestamps."""
        return self.snapshot.in_commit_timestamp

    def scan(
        self,
        where: object = None,
        columns: Sequence[str] | None = None,
        limit: int | None = None,
        time_zone: str | None = "UTC",
        collation_version: str = SPARK_VERSION,
    ) -> Scan:
        """The files, and through Spark the rows, that match `where`; see Scan."""
        return Scan(self.snapshot, where, columns, limit, time_zone, collation_version)

    def history(self, limit: int | None = None) -> list[HistoryEntry]:
        """Commits that are still in the log, newest first."""
        return log_history(self.snapshot.storage, self.snapshot.root, limit)

    def inspect_stats(self) -> TableCoverage:
        """Share of files and rows with statistics, overlap of bounds, and what would help most; reads them all."""
        return table_coverage(self.snapshot)

    def transaction(
        self, read: object = None, operation: str = "WRITE", parameters: Mapping[str, object] | None = None
    ) -> Transaction:
        """A transaction on this version: add and remove files, set metadata, then `commit()`; see Transaction.

        read: a predicate (`"true"` for every row) whose files the transaction depends on; None where it depends on
        none. operation, parameters: what the history says of the commit.
        """
        # Reading a table must not cost what writing to it needs.
        from deltaskip.txn.after_commit import after_commit
        from deltaskip.txn.transaction import Transaction

        transaction = Transaction(self.snapshot, operation, parameters, after_commit)
        if read is not None:
            transaction.read(read)
        return transaction

    def checkpoint(self) -> WrittenCheckpoint:
        """Write the checkpoint of this version, unless it is there: what is in it, and where.

        Classic, or V2 with sidecars where the table asks for it; `_last_checkpoint` and the version checksum with it.
        """
        from deltaskip.log.checkpoint.write import write_checkpoint

        return write_checkpoint(self.snapshot)

    def recompute_stats(
        self,
        spark: Any,
        where: object = None,
        columns: Sequence[str] | None = None,
        collations: Mapping[str, Sequence[str]] | Sequence[str] | None = None,
        mode: Literal["auto", "footer", "scan"] = "auto",
        only_missing: bool = False,
        *,
        collation_versions: Sequence[str] | None = None,
        resume: bool = True,
        kernel_spelling: bool = False,
        batch_files: int = 50_000,
        progress: Callable[[Recomputed], None] = lambda _done: None,
        again: bool | None = None,
    ) -> Recomputed:
        """Compute the statistics of the files with Spark jobs and commit them; moves to the latest version.

        Files that other writers remove or replace in the meantime are left out and reported in `Recomputed.left_out`.

        Args:
            spark: A session, classic or Connect, whose executors have this package.
            where: A predicate, as in `scan`; only files that may contain a matching row are read. None for all files.
            columns: Columns to compute statistics for; the statistics of the other columns stay as they are. None for
                every column that has statistics.
            collations: Versioned identifiers of the collated bounds to write, by column name, such as
                `{"name": ["icu.UNICODE_CI.77.1"]}`. Without `collations` and `collation_versions`: the versions that
                the table's metadata domain `collations` lists and this process can evaluate.
            mode: "footer" takes only what Parquet footers prove, "scan" reads all values, "auto" reads the values of
                the columns that a footer does not prove.
            only_missing: Read only files that lack some of the statistics.
            collation_versions: Versions such as `["77.1"]`, for the collations of all collated columns.
            resume: Skip files that an interrupted run already finished: those that this version of the package
                computed with the same settings and that nobody has replaced since.
            kernel_spelling: Write collated bounds a second time under the upper-case identifier that Delta Kernel
                looks up.
            batch_files: Files for one commit.
            progress: Called with the result so far after each commit.
            again: Deprecated; use `resume=not again`.

        Returns:
            Numbers of committed and unchanged files, rows and bytes read, and the versions that were committed.

        Raises:
            SparkUnavailable: PySpark is not installed, or the executors lack this package.
            SchemaError: A column does not exist.
            InvalidCollation, CollationUnavailable: A collation is unknown, or no library here evaluates its version.
            DataFileMissing: A data file is not in storage.
            CommitConflict: Another writer changed the table's schema or features.
        """
        from deltaskip.txn.after_commit import after_commit
        from deltaskip.txn.recompute.commit import commit_statistics
        from deltaskip.txn.recompute.request import files_to_read, recompute_request
        from deltaskip.txn.transaction import Transaction

        if again is not None:
            warn_renamed(f"DeltaTable.recompute_stats(again={again})", f"resume={not again}")
            resume = not again
        if collations is not None and collation_versions is not None:
            raise InvalidArgument(
                f"Specify either collations or collation_versions to recompute statistics of {self.uri}, not both."
            )
        if collations is not None and not isinstance(collations, Mapping):
            warn_renamed("DeltaTable.recompute_stats(collations=[...])", "collation_versions=[...]")
        chosen = (where, columns, collation_versions if collations is None else collations, mode, only_missing)
        request = recompute_request(self.snapshot, *chosen, resume=resume, kernel_spelling=kernel_spelling)
        results = engine(f"Recomputing statistics of {self.uri}").recompute_statistics(
            spark,
            self.snapshot,
            files_to_read(self.snapshot, request),
            request.statistics,
            merge=not request.complete,
            job_files=batch_files,
        )
        done = commit_statistics(
            self.snapshot,
            results,
            request.identifiers,
            lambda snapshot: Transaction(snapshot, COMPUTE_OPERATION, request.parameters, after_commit),
            progress,
        )
        self.refresh()
        return done

    def retire_collation_version(self, collation: str, version: str) -> int:
        """Let the table's writers keep no statistics of that version any more; the table's new version.

        Statistics that are there stay, and are pruned on by readers of that version.
        """
        from deltaskip.txn.collation_versions import retire

        transaction = self.transaction(operation="RETIRE COLLATION VERSION", parameters={collation: version})
        retire(transaction, collation, version)
        committed = transaction.commit()
        self.refresh()
        return committed

    def clean_up_log(self) -> list[str]:
        """Delete what of the log no retained version needs, by `delta.logRetentionDuration`; names of deleted files."""
        from deltaskip.log.cleanup import clean_up_log

        return clean_up_log(refresh(self.snapshot))

    def refresh(self) -> DeltaTable:
        """Move to the latest version, reading only what is new in the log; returns the table itself."""
        self.snapshot = refresh(self.snapshot)
        return self

    def __repr__(self) -> str:
        return f"DeltaTable({self.uri!r}, version={self.version})"


def _milliseconds(timestamp: datetime | str) -> int:
    """Milliseconds since the epoch; without a zone, UTC is meant."""
    if isinstance(timestamp, str):
        try:
            timestamp = datetime.fromisoformat(timestamp.strip())
        except ValueError as error:
            raise VersionNotFound(
                f"{timestamp!r} is not a timestamp: write it as 2026-01-31, 2026-01-31T12:00:00 or "
                "2026-01-31T12:00:00+01:00."
            ) from error
    moment = timestamp if timestamp.tzinfo is not None else timestamp.replace(tzinfo=UTC)
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
