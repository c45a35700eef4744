"""The loop that writes a commit as the next version of a table, on top of the commits of other writers."""

from __future__ import annotations

import random
import time
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from uuid import uuid4

from deltaskip import errors
from deltaskip.actions import hadoop_path
from deltaskip.doors import first_line
from deltaskip.features.registry import has_tree
from deltaskip.log import Snapshot, advanced, check_same_table, is_fresh, load_snapshot, refresh
from deltaskip.log.catalog_commits import catalog_commits, is_commit, is_managed, put_commit
from deltaskip.log.checkpoint.write import write_checkpoint
from deltaskip.log.checksum_writing import write_checksum_after
from deltaskip.log.cleanup import clean_up_old_log
from deltaskip.log.compaction_writing import is_compaction_due, write_compaction
from deltaskip.log.file_names import commit_name, version_prefix
from deltaskip.log.loading import at_checkpoint, is_outdated, list_log, note_log
from deltaskip.log.new_table import BEFORE_CREATION, already_exists
from deltaskip.log.symlink_manifests import changed_partitions, write_manifests
from deltaskip.records import dataclass
from deltaskip.schema.properties import TableProperties
from deltaskip.storage import LOG_FOLDER, FileInfo, LocalStorage, join
from deltaskip.storage.catalog_storage import storage_below
from deltaskip.storage.gate import delete_file, log_names
from deltaskip.storage.kill_points import kill_point
from deltaskip.storage.unsynced import Unsynced
from deltaskip.txn.conflicts import check_conflicts
from deltaskip.txn.intent import Intent
from deltaskip.txn.preparation import commit_text, prepare
from deltaskip.txn.row_level import unite
from deltaskip.txn.turns import Turn
from deltaskip.txn.validation.files import check_data_files
from deltaskip.txn.winners import read_winners
from deltaskip.warning import warn

MAX_ATTEMPTS = 1000
_FIRST_PAUSE_SECONDS = {False: 0.002, True: 0.05}
_LONGEST_PAUSE_SECONDS = 1.0
# Successive attempts in which storage refuses a version because it exists, but does not list it.
_MOST_CONTRADICTIONS = 8
# A read that does not tell whose commit it is is repeated.
_READS_OF_COMMIT = 2
_SYMLINKS = TableProperties.symlink_manifests.name.encode()


@dataclass(frozen=True, slots=True)
class Committed:
    """A commit that is in the log.

    Attributes:
        latest: The version before it, or a later one.
        version: The version of the commit.
        text: Its text; None if an earlier attempt wrote it.
        already_gone: Number of rows that the transaction would have removed and that winners had removed.
    """

    latest: Snapshot
    version: int
    text: bytes | None = None
    already_gone: int = 0


class CommitLoop:
    """The attempts to commit one transaction.

    Args:
        base: The version of the table that the transaction reads.

    Attributes:
        unsynced: The files of the transaction that the commit makes durable.
        outcome_unknown: Whether storage failed before it confirmed the commit, so that readers may see it.
    """

    def __init__(self, base: Snapshot) -> None:
        self._base = base
        self._txn_id = str(uuid4())
        self.unsynced = Unsynced(base.storage)
        self.outcome_unknown = False
        # The version that was last attempted.
        self._put = base.version + 1
        # Deletion vector files that were written to unite rows with those of winners, and the files that they replace.
        self._written: list[str] = []
        self._superseded: list[str] = []
        self._new_file: FileInfo | None = None

    def commit(self, intent: Intent, look_up_files: bool, owns_vectors: bool = False) -> Committed:
        """Write the actions as the next version of the table.

        Args:
            intent: The reads and actions.
            look_up_files: Whether to check in storage that added files exist.
            owns_vectors: Whether new deletion vectors were written only for this transaction, so that vectors that are
                united with others are deleted.

        Raises:
            CommitConflict: Another writer committed something that the transaction depends on.
            TableAlreadyExists: The commit creates a table, and one exists.
            TableNotFound: The table was dropped, or replaced by another one.
            StorageError: Storage failed, or refuses to create a version that it does not have. If `outcome_unknown`,
                the message says how to find out whether the commit is in the log.
            CatalogError: The catalog failed; `outcome_unknown` as for storage.
            DeltaSkipError: As `prepare` does.
        """
        self._written, self._superseded = [], []
        try:
            with Turn(self._base, "commit") as turn:
                committed = self._committed(intent, look_up_files, turn)
        except BaseException as error:
            if not self.outcome_unknown:
                self._delete(self._written)
            elif isinstance(error, Exception) and not isinstance(error, errors.CatalogError):
                raise self._in_doubt(error) from error
            raise
        if owns_vectors and committed.text is not None:
            self._delete(self._superseded)
        return committed

    def _committed(self, intent: Intent, look_up_files: bool, turn: Turn) -> Committed:
        base, already_gone = self._base, 0
        prepared = prepare(intent, base)
        if look_up_files:
            check_data_files(prepared.facts)
        kill_point("prepared")
        turn.take_if_busy()
        self._new_file = self._first_file(intent) if base.version == BEFORE_CREATION else None
        latest, checked, contradictions = base, base.version, 0
        for attempt in range(MAX_ATTEMPTS):
            creates = latest.version == BEFORE_CREATION
            before = latest.version
            if not creates and (attempt or turn.is_taken or not is_fresh(latest)):
                latest = refresh(latest)
            if latest.version < checked:
                raise errors.CommitConflict(
                    f"The log of {base.root} was rolled back from version {checked} to version {latest.version}: open "
                    f"the table again and repeat the operation.",
                    "cleaned up",
                )
            contradictions = 0 if latest.version > before else contradictions
            if latest.version > checked:
                winners = read_winners(base, latest, checked)
                landed = winners.version_of(self._txn_id)
                if landed is not None:
                    # An earlier attempt, whose outcome was unknown, has succeeded.
                    return Committed(latest, landed)
                self.outcome_unknown = False
                united = unite(intent, winners, latest)
                self._written += united.written
                self._superseded += united.superseded
                intent, winners = united.intent, united.winners
                already_gone += united.already_gone
                check_conflicts(intent, prepared.isolation, winners, prepared.every_file)
                # The winners do not conflict, but the rules of the version that the commit now follows apply.
                prepared, checked = prepare(intent, latest), latest.version
            text = commit_text(prepared, latest, self._txn_id)
            if not self._is_late(latest) and self._try(text, latest):
                return Committed(latest, latest.version + 1, text, already_gone)
            contradictions += 1
            if contradictions >= _MOST_CONTRADICTIONS:
                raise self._contradicted(latest)
            # The table that took the location may have been dropped since.
            if creates and self._is_there(latest):
                if self.outcome_unknown:
                    raise errors.StorageError(
                        f"A table exists at {latest.root}, and its first commit could not be read."
                    )
                raise already_exists(latest.root)
            turn.take()
            if contradictions > 1 or not turn.is_taken:
                _pause(attempt, base.storage.remote)
        raise errors.CommitConflict(
            f"Other writers of {base.root} committed first in each of {MAX_ATTEMPTS} attempts: commit again when fewer "
            f"writers are active.",
            "busy",
        )

    def settle(self, committed: Committed) -> Snapshot | None:
        """Carry out the maintenance after a commit: write its checksum, and a checkpoint that is due.

        Returns the snapshot of the commit; None if the log must be read for it.

        Raises TableNotFound, and withdraws the commit, if the table was dropped or replaced before it was written.
        """
        try:
            if committed.latest.storage.remote:
                # Each takes requests, and none depends on the others.
                with ThreadPoolExecutor(2, "deltaskip") as beside:
                    kept = beside.submit(self._check_kept, committed)
                    following = beside.submit(_read_after, committed)
                    _after_commit(committed.latest, committed.version, committed.text, None, following)
                kept.result()
                after = following.result()
            else:
                after = _advanced(committed)
                self._check_kept(committed)
                _after_commit(committed.latest, committed.version, committed.text, after)
            if after is not None and _is_read_again(after):
                after = at_checkpoint(after)
            if after is not None and not after.storage.remote:
                note_log(after)
            return after
        except errors.TableNotFound:
            self._withdraw(committed)
            raise
        except Exception as error:  # such as a thread that cannot start
            _warn(committed.latest, committed.version, "maintenance", error)
            return None

    def _check_kept(self, committed: Committed) -> None:
        """Raise TableNotFound if the table was dropped or replaced before the commit was written.

        Storage creates a file if its name is free, even if the previous version's file is gone. A commit on which
        another writer has built stays, since the table at the path could not be read without it.
        """
        latest, storage = committed.latest, committed.latest.storage
        if committed.text is None or latest.version == BEFORE_CREATION or is_managed(storage):
            return
        try:
            check_same_table(latest)
        except errors.TableNotFound:
            raise
        except errors.CorruptLog as error:
            if not self._is_alone(committed):
                return
            raise errors.TableNotFound(f"The table {latest.root} was dropped, or replaced by another table.") from error
        except Exception:
            # The commit exists, even if a later step fails.
            return

    def _is_alone(self, committed: Committed) -> bool:
        """Whether the log has no file of the version before the commit."""
        log = list_log(self._base.storage, self._base.root)
        return committed.version - 1 not in {*log.commits, *log.checkpoints}

    def _withdraw(self, committed: Committed) -> None:
        """Delete a commit and its checksum, unless another commit has followed it."""
        storage, root = self._base.storage, self._base.root
        log, version = join(root, LOG_FOLDER), committed.version
        with suppress(OSError, errors.DeltaSkipError):
            if storage.exists(join(log, commit_name(version + 1))):
                self.outcome_unknown = True
                return
            found = storage.read(join(log, commit_name(version)))
            ours = None if committed.text is None else is_commit(found, committed.text)
            if ours:
                delete_file(storage, root, f"{LOG_FOLDER}/{commit_name(version)}", log_names)
                delete_file(storage, root, f"{LOG_FOLDER}/{version_prefix(version)}.crc", log_names)
            # A commit that may stand needs its files.
            self.outcome_unknown = ours is None

    def _first_file(self, intent: Intent) -> FileInfo | None:
        """A local file in the folder of the table that the commit creates; None if it adds none.

        Raises TableNotFound if the file is missing.
        """
        storage, root = storage_below(self._base.storage), self._base.root
        locations = (hadoop_path(self._base.table_root, add.path) for add in intent.adds.values())
        own = next((each for each in locations if each.startswith(f"{root}/")), None)
        if own is None or not isinstance(storage, LocalStorage):
            return None
        try:
            return storage.info(own)
        except FileNotFoundError as error:
            raise errors.TableNotFound(
                f"The table {root} was dropped while it was created: {own} does not exist."
            ) from error

    def _is_there(self, latest: Snapshot) -> bool:
        """Whether the version after `latest` can be read, or may be readable."""
        try:
            self._base.storage.size(_next_commit(latest))
        except FileNotFoundError:
            return False
        except errors.StorageError:
            return True
        return True

    def _in_doubt(self, error: Exception) -> errors.StorageError:
        """The error for a commit that readers may see, or may never see."""
        base, version = self._base, self._put
        return errors.StorageError(
            f"The commit of version {version} to {base.root} may have landed, and its files were kept: "
            f"{str(error).rstrip('.')}. Before the operation is repeated, see whether {commit_name(version)} in "
            f"{LOG_FOLDER} contains the txnId {self._txn_id}; an operation with txn= can be repeated in any case."
        )

    def _contradicted(self, latest: Snapshot) -> errors.StorageError:
        """The error for a version that storage, or the table's catalog, claims to have and cannot return."""
        return errors.StorageError(
            f"Cannot commit to {latest.root}: version {latest.version + 1} is refused as one that exists, but nobody "
            f"has written it; check that the store or catalog supports conditional writes, and that its lists are up "
            f"to date."
        )

    def _delete(self, paths: Iterable[str]) -> None:
        """Delete files below the table's root, or by their location; files that storage cannot delete stay."""
        base = self._base
        for path in paths:
            with suppress(OSError, errors.DeltaSkipError):
                delete_file(base.storage, base.root, path.removeprefix(f"{base.root}/"))

    def _is_late(self, latest: Snapshot) -> bool:
        """Whether another writer has committed the version after `latest`, so that no attempt to write is needed."""
        storage = latest.storage
        return not (storage.remote or is_managed(storage)) and storage.exists(_next_commit(latest))

    def _try(self, text: bytes, latest: Snapshot) -> bool:
        """Whether the commit is now the version after `latest`."""
        before = self.outcome_unknown
        self._put = latest.version + 1

        def in_doubt(whether: bool) -> None:
            self.outcome_unknown = before or whether

        try:
            put_commit(latest, text, in_doubt, self.unsynced, self._new_file)
        except FileExistsError:
            # A request that was retried after its response was lost finds its own file.
            return self.outcome_unknown and self._is_ours(latest, text)
        except FileNotFoundError as error:
            self.outcome_unknown = False
            if latest.version == BEFORE_CREATION:
                raise errors.TableNotFound(
                    f"The folder {latest.root} cannot be created, or was dropped while its table was created: choose a "
                    f"folder that can be written."
                ) from error
            # The log is gone. The next attempt raises the error.
            return False
        except Exception:
            if self.outcome_unknown and self._is_ours(latest, text):
                return True
            raise
        return True

    def _is_ours(self, latest: Snapshot, text: bytes) -> bool:
        """Whether the commit of the version after `latest` can be read and is this transaction's.

        If that is not certain either way, the outcome stays unknown.
        """
        is_local, ours = False, None
        try:
            is_local = isinstance(storage_below(latest.storage), LocalStorage)
            for _ in range(_READS_OF_COMMIT):
                ours = is_commit(latest.storage.read(_next_commit(latest)), text)
                if ours is not None:
                    break
        except FileNotFoundError:
            # A request may still reach the store, and a catalog decides about all versions except the first.
            decides = is_managed(latest.storage) and latest.version != BEFORE_CREATION
            self.outcome_unknown = decides or not is_local
            return False
        except Exception:
            return False
        self.outcome_unknown = ours is not False
        return bool(ours)


def _advanced(committed: Committed) -> Snapshot | None:
    """The snapshot of the new version, made from the text of its commit; None if that is not possible."""
    try:
        return None if committed.text is None else advanced(committed.latest, committed.text)
    except Exception:
        # As below.
        return None


def _next_commit(latest: Snapshot) -> str:
    return join(latest.root, LOG_FOLDER, commit_name(latest.version + 1))


def _read_after(committed: Committed) -> Snapshot | None:
    """The version of the commit or a later one, for the next operation; None if it is not known."""
    if committed.latest.version == BEFORE_CREATION:
        return None
    try:
        found = refresh(committed.latest, committed.text)
    except Exception:
        # The next operation that reads the version raises the error.
        return None
    return found if found.version >= committed.version else None


def _pause(attempt: int, remote: bool) -> None:
    """Sleep for a random time that grows with the attempts, so that competing writers do not stay in step."""
    longest = min(_LONGEST_PAUSE_SECONDS, _FIRST_PAUSE_SECONDS[remote] * 2.0 ** min(attempt, 20))
    time.sleep(random.uniform(0, longest))


def _after_commit(
    latest: Snapshot,
    version: int,
    text: bytes | None = None,
    after: Snapshot | None = None,
    following: Future[Snapshot | None] | None = None,
) -> None:
    """Write the version checksum of `version`; if a checkpoint is due, also write it and clean up the log.

    If the table keeps symlink manifests up to date, they are also written. Issues a MaintenanceWarning instead of
    raising an error, since the commit itself has succeeded.

    Args:
        latest: The newest known snapshot of the table before the commit.
        version: The version that was committed.
        text: The text of the commit, if it directly follows `latest`.
        after: The snapshot of the version, if it is known.
        following: Reads the snapshot of the version, or a later one, at the same time.
    """
    commits, what = catalog_commits(latest.storage), "publication in its catalog"
    try:
        if commits is not None:
            commits.after_commit(latest, version, text)
    except Exception as error:
        _warn(latest, version, what, error)
    what = "version checksum"
    try:
        if text is not None:
            write_checksum_after(latest, text, after)
            kill_point("checksum written")
        what = "checkpoint"
        if _is_checkpoint_due(latest, version):
            if after is None and following is not None:
                after = following.result()
            _write_checkpoint(refresh(latest) if after is None else after, version)
        what = "log compaction"
        if is_compaction_due(latest, version):
            write_compaction(latest, version)
            kill_point("compaction written")
    except Exception as error:  # an error from `commit` would mean that nothing was committed
        _warn(latest, version, what, error)
    try:
        if latest.table_properties.symlink_manifests or _SYMLINKS in (text or b""):
            _write_manifests(latest, version, text)
    except Exception as error:
        _warn(latest, version, "symlink manifests", error)


def _is_read_again(after: Snapshot) -> bool:
    """Whether the version of a commit is read from its checkpoint, which was just written, for the next operation."""
    try:
        return _is_checkpoint_due(after, after.version) and is_outdated(after.storage, after.segment)
    except errors.StorageError:
        return False


def _is_checkpoint_due(snapshot: Snapshot, version: int) -> bool:
    return _is_due(snapshot, version) and not has_tree(snapshot.protocol)


def is_tree_due(snapshot: Snapshot, version: int) -> bool:
    """Whether a commit with an adaptive metadata tree of a version is due, by the properties of a snapshot near it."""
    return has_tree(snapshot.protocol) and _is_due(snapshot, version)


def _is_due(snapshot: Snapshot, version: int) -> bool:
    return bool(version) and not version % snapshot.table_properties.checkpoint_interval


def _write_checkpoint(snapshot: Snapshot, version: int) -> None:
    if snapshot.version != version:
        snapshot = load_snapshot(snapshot.storage, snapshot.root, version)
    write_checkpoint(snapshot)
    if snapshot.table_properties.expired_log_cleanup and _may_clean_up(snapshot):
        clean_up_old_log(snapshot)


def _may_clean_up(snapshot: Snapshot) -> bool:
    commits = catalog_commits(snapshot.storage)
    return commits is None or not commits.manages or commits.permits("METADATA_CLEANUP")


def _write_manifests(latest: Snapshot, version: int, text: bytes | None) -> None:
    """Update the manifests of the partitions that the commit changed; all manifests if that is not known."""
    created = latest.version == BEFORE_CREATION
    snapshot = load_snapshot(latest.storage, latest.root, version) if created else refresh(latest)
    if snapshot.table_properties.symlink_manifests:
        write_manifests(snapshot, None if text is None else changed_partitions(snapshot, text))


def _warn(latest: Snapshot, version: int, what: str, error: Exception) -> None:
    failed = "failed" if not what.endswith("s") else "could not be written"
    warn(
        f"Version {version} of {latest.root} was committed, but its {what} {failed}: {first_line(error)}.",
        errors.MaintenanceWarning,
    )
