"""The methods of DeltaTable that maintain a table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, Literal

from deltaskip import arguments
from deltaskip.errors import InvalidArgument, InvalidArgumentType, SchemaError, shown
from deltaskip.log import chosen_version, refresh
from deltaskip.schema.properties import HOUR_MS, TableProperties
from deltaskip.table.methods import TableMethods

if TYPE_CHECKING:
    from deltaskip.log.symlink_manifests import Manifests
    from deltaskip.maintenance.results import VacuumResult
    from deltaskip.maintenance.verify.findings import Verification
    from deltaskip.txn.result import WriteResult

# Longer than the age of any file.
_LONGEST_MS = 1 << 50


class MaintainingMethods(TableMethods):
    """Vacuum, restore, manifests and verification."""

    def vacuum(
        self,
        retention: timedelta | float | str | None = None,
        dry_run: bool = False,
        *,
        lite: bool = False,
        enforce_retention: bool = True,
        inventory: object = None,
    ) -> VacuumResult:
        """Delete the files in the table's folder that no retained version needs, and move to the version VACUUM END.

        VACUUM deletes data files and deletion vectors that were removed from the table before the retention, older
        change data files, and files that failed writes left behind; sidecars that no checkpoint needs; and directories
        that are then empty. Hidden files, links, other tables below the folder and files outside of the folder stay.
        Versions that are older than the retention, and shallow clones of these versions, cannot be read afterwards.

        Nothing is deleted if the log cannot be read. Two commits, VACUUM START and VACUUM END, record the operation.

        Args:
            retention: How long removed files are kept: a timedelta, a number of hours, or an interval such as "7 days".
                The default is the table property `delta.deletedFileRetentionDuration`, by default 7 days.
            dry_run: Find the files and delete nothing.
            lite: Find the files that commits removed since the last such vacuum, without listing the folder. Files that
                failed writes left behind stay.
            enforce_retention: Whether to refuse a retention that is shorter than the table's. A shorter retention can
                delete files that other writers have not committed yet, and files that readers are using.
            inventory: The files below the table's folder, such as the inventory report of an object store, so that the
                folder is not listed: rows as for `append` with the columns path, not percent-encoded, length in bytes,
                isDir and modificationTime in milliseconds. Files that it lacks stay, and so do directories.

        Returns:
            The files with their number and size, directories, and seconds by phase.

        Raises:
            InvalidArgument: The retention is malformed, negative or too short, or `inventory` has other columns or is
                combined with `lite`.
            UnsupportedFeature: The table has a feature that deltaskip does not know, is managed by a catalog, or `lite`
                needs commits that the log no longer contains.
            CorruptLog: The log is damaged. Nothing was deleted.
            StorageError: Storage failed. Some of the files may be deleted, but none that is needed.
            InvalidArgumentType: An argument has a wrong type.
        """
        from deltaskip.data_files.data import GivenRows
        from deltaskip.maintenance.vacuum import vacuum

        done = vacuum(
            self.snapshot,
            retention_ms(retention, self.snapshot.root),
            arguments.flag("dry_run", dry_run),
            lite=arguments.flag("lite", lite),
            enforce_retention=arguments.flag("enforce_retention", enforce_retention),
            inventory=None if inventory is None else GivenRows(inventory, "inventory").arrow(self.snapshot.root),
        )
        return self._moved(done)

    def restore(
        self,
        version: int | None = None,
        timestamp: date | str | None = None,
        *,
        check_files: bool = True,
        dry_run: bool = False,
        user_metadata: str | None = None,
    ) -> WriteResult:
        """Restore an earlier version in one commit, and move to the new version.

        Rows, columns, properties and clustering are restored; the protocol keeps all its features, identity columns
        continue from their marks, and rows have their earlier row ids. The versions in between stay in the history.

        Args:
            version: The version to restore.
            timestamp: Instead, the latest version that was committed at or before this time, as for DeltaTable.
            check_files: Whether to check first that the version's files exist.
            dry_run: Check and count the files, and commit nothing.
            user_metadata: Text to record with the commit in the table's history.

        Returns:
            The committed version and Delta's metrics; the version is None if the table is at that version.

        Raises:
            DataFileMissing: Files of the version no longer exist; the message names the first ones.
            VersionNotFound: The version does not exist, or its log files were deleted.
            CommitConflict: Another writer changed the table at the same time.
            UnsupportedFeature: The table is append-only, or has a feature that deltaskip cannot write.
            StorageError: Storage failed.
            InvalidArgument: Neither or both of version and timestamp are given.
            InvalidArgumentType: An argument has a wrong type.
        """
        from deltaskip.maintenance.restore import restore

        checked, dry = arguments.flag("check_files", check_files), arguments.flag("dry_run", dry_run)
        options = self._write_options(None, user_metadata, "UTC")
        chosen = self._chosen_version(version, timestamp)
        if chosen is None:
            raise InvalidArgument(f"Specify the version or the timestamp to which {self.snapshot.root} is restored.")
        time = None if timestamp is None else str(timestamp)
        return self._moved(restore(self.snapshot, chosen, time, check_files=checked, dry_run=dry, options=options))

    def generate(self, mode: Literal["symlink_format_manifest"] = "symlink_format_manifest") -> Manifests:
        """Write manifests of the latest version for engines that read a list of Parquet files.

        Each partition has a manifest, `_symlink_format_manifest/p=1/manifest`; manifests of partitions that the table
        no longer has are deleted. Manifests are kept up to date only if the table property
        `delta.compatibility.symlinkFormatManifest.enabled` is true: then each commit writes the manifests that it
        changes.

        Args:
            mode: Kind of manifest.

        Returns:
            The version, and the manifests that were written and deleted.

        Raises:
            UnsupportedFeature: A file has a deletion vector, or columns are mapped: such engines would read wrong rows.
            StorageError: Storage failed.
            InvalidArgument: The mode does not exist.
        """
        from deltaskip.log.symlink_manifests import write_manifests

        arguments.choice("mode", mode, "symlink_format_manifest")
        self.snapshot = refresh(self.snapshot)
        return write_manifests(self.snapshot)

    def verify(
        self,
        data: bool = False,
        since: int | None = None,
        *,
        repair: bool = False,
        dry_run: bool = False,
        min_skipped: float | None = None,
        where: object = None,
        assert_stats: Sequence[str] = (),
        spark: Any = None,
    ) -> Verification:
        """Check the latest version of the table against the rules of the protocol, and return what violates them.

        The log is read: commits, checkpoints with their sidecars, checksums, log compactions, deletion vectors, and
        what actions of active files say about these. `deltaskip.verify` does the same for a table that cannot be
        opened.

        Args:
            data: Whether to read the data files, too: they exist with the logged size, can be read, their statistics,
                partition values and mapped names are true, and their rows satisfy the rules of the table. Rules with
                expressions that depend on the time zone of a session are not checked.
            since: Commits, checkpoints and checksums of earlier versions are not looked at. The default is all.
            repair: Whether to mend what can be mended. Files of the log that contradict the commits are renamed and
                written again; files that do not exist are removed from the log, and wrong statistics are replaced, in
                one commit. Data is never deleted, and what is not certain is not changed.
            dry_run: With `repair`: list the changes in `repairs`, and make none.
            min_skipped: Percentage of the files that each predicate of `where` must skip.
            where: A predicate, or a list of them, for `min_skipped`. The default is those that scans of the table have
                noted in the file `deltaskip.options.journal`.
            assert_stats: Names of columns of which every file must have a minimum, a maximum and a null count.
            spark: With `data`: a session, classic or Connect, whose jobs compute the statistics of the files, as for
                `recompute_stats`. By default, this process reads them.

        Returns:
            The findings; true if none of them is an error.

        Raises:
            StorageError: The log cannot be listed, or a repair failed.
            CommitConflict: Another writer changed the table during the repair.
            UnsupportedFeature: The table has a feature that deltaskip cannot write, for a repair.
            PredicateError: A predicate of `where` is not valid.
            SparkUnavailable: With a session: the executors lack this package.
            InvalidArgument: An argument has a wrong value, `where` is given without `min_skipped`, or there are no
                predicates for it.
            InvalidArgumentType: An argument has a wrong type.
        """
        from deltaskip.table.verification import verified

        found = verified(
            self.snapshot.storage,
            self.snapshot.root,
            data,
            since,
            repair=repair,
            dry_run=dry_run,
            min_skipped=min_skipped,
            where=where,
            assert_stats=assert_stats,
            spark=spark,
        )
        return found if found.repaired is None else self._moved(found)

    def _chosen_version(self, version: int | None, timestamp: date | str | None) -> int | None:
        """The version that the arguments name; None if neither argument is given."""
        root = self.snapshot.root
        number = arguments.non_negative("version", version, f"(table {root})")
        milliseconds = None if timestamp is None else arguments.milliseconds(timestamp, root)
        return chosen_version(self.snapshot.storage, root, number, milliseconds)


def retention_ms(retention: object, table: str) -> int | None:
    """Return a retention in milliseconds; None for the table's retention.

    Args:
        retention: A timedelta, a number of hours, or the text of an interval.
        table: Location of the table, for messages.

    Raises:
        InvalidArgument: The retention is negative or malformed.
        InvalidArgumentType: The retention has another type.
    """
    if retention is None:
        return None
    if isinstance(retention, timedelta):
        milliseconds = retention // timedelta(milliseconds=1)
    elif isinstance(retention, str):
        try:
            milliseconds = TableProperties.deleted_file_retention_ms.parse(retention)
        except SchemaError:
            raise InvalidArgument(
                f"retention must be an interval of weeks or shorter units such as '7 days' or '168 hours', not "
                f"{retention!r} (table {table})."
            ) from None
    elif isinstance(retention, int | float) and not isinstance(retention, bool):
        if isinstance(retention, float) and not math.isfinite(retention):
            raise InvalidArgument(f"retention must be a number of hours, not {retention} (table {table}).")
        milliseconds = int(retention * HOUR_MS)
    else:
        kinds = "a timedelta, a number of hours or the text of an interval"
        raise InvalidArgumentType.of("retention", kinds, retention)
    if milliseconds < 0:
        raise InvalidArgument(f"retention must not be negative, but is {shown(retention)} (table {table}).")
    return min(milliseconds, _LONGEST_MS)
