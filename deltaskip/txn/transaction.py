"""Transaction: reads and actions on one snapshot, committed as the next version or not at all."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Any
from uuid import uuid4

from deltaskip.actions import AddCdcFile, AddFile, DomainMetadata, Metadata, Protocol, RemoveFile, Txn, canonical_path
from deltaskip.errors import CommitConflict, CorruptLog, InvalidArgumentType, InvalidCommit, StorageError
from deltaskip.log import LOG_FOLDER, Snapshot, refresh
from deltaskip.log.file_names import commit_name
from deltaskip.skipping.scan import Scan
from deltaskip.storage import join
from deltaskip.storage.kill_points import step
from deltaskip.txn.conflicts import check_conflicts
from deltaskip.txn.intent import Intent
from deltaskip.txn.preparation import CLUSTERING, commit_text, prepare
from deltaskip.txn.row_ids import ROW_TRACKING_DOMAIN
from deltaskip.txn.winners import read_winners

__all__ = ["Transaction"]

MAX_ATTEMPTS = 1000
_FIRST_PAUSE_SECONDS = {False: 0.002, True: 0.05}
_LONGEST_PAUSE_SECONDS = 1.0
# Domains that belong to the protocol and that this package understands.
_OWN_DOMAINS = frozenset((CLUSTERING,))


class Transaction:
    """Reads and actions on `snapshot`; `commit` makes them one version of the table.

    Made by DeltaTable.transaction. Other writers' commits meanwhile are no obstacle unless they touch what was read or
    is written; then `commit` raises CommitConflict and nothing of this transaction is in the table.

    operation, parameters: what the table's history says of the commit. after_commit: called once the commit is in the
    log, with the last snapshot known before it, its version and its text (None where an earlier attempt, whose outcome
    was not known, turns out to have made it).
    """

    def __init__(
        self,
        snapshot: Snapshot,
        operation: str,
        parameters: Mapping[str, Any] | None = None,
        after_commit: Callable[[Snapshot, int, bytes | None], None] | None = None,
    ) -> None:
        self.snapshot = snapshot
        self._intent = Intent(snapshot, operation, dict(parameters or {}))
        self._after_commit = after_commit
        self._txn_id = str(uuid4())
        self._committed: int | None = None
        self._discarded = False

    def __enter__(self) -> Transaction:
        """Begin a block that commits when it ends, or discards the transaction if it raises."""
        self._check_open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _error: BaseException | None, _traceback: TracebackType | None
    ) -> None:
        """Commit, unless the block has committed or added no action; discard the actions if the block raised."""
        if self._committed is not None:
            return
        if kind is not None:
            self._discarded = True
            self._intent = Intent(self.snapshot, self._intent.operation, self._intent.parameters)
        elif self._intent.actions:
            self.commit()

    @property
    def version(self) -> int | None:
        """The version that it became; None before that."""
        return self._committed

    def read(self, where: object, time_zone: str | None = "UTC") -> Scan:
        """The files that may hold rows matching `where` (None: every file), as of the snapshot.

        The transaction depends on them: it conflicts with a commit that ends one of them or adds rows that may match.
        """
        if where is None:
            raise InvalidArgumentType(
                f"A transaction on {self.snapshot.root} cannot read None: pass the predicate 'true' to depend on every "
                f"row."
            )
        scan = Scan(self.snapshot, where, time_zone=time_zone)
        self._pending.scans.append(scan)
        return scan

    def read_files(self, paths: Iterable[str]) -> None:
        """Depend on these files, paths as logged: the transaction conflicts with a commit that ends one of them."""
        self._pending.files.update((canonical_path(path), path) for path in paths)

    def read_app(self, app_id: str) -> int | None:
        """The version that an application has committed last; the transaction depends on it."""
        self._pending.apps.add(app_id)
        found = self.snapshot.txns.get(app_id)
        return None if found is None else found.version

    def add(self, *files: AddFile) -> None:
        """Add files, or add active ones again with other statistics, tags or deletion vectors.

        Row ids are assigned where the table tracks rows. An add of an active path with the same deletion vector
        replaces it; with another one the file must be removed with the old one, too.
        Raises InvalidCommit where a path was added before in this transaction.
        """
        for file in files:
            self._pending.put_add(file)

    def add_again(self, *files: AddFile) -> None:
        """Add active files as the snapshot lists them, dataChange false, but for their statistics and tags.

        As `add`, without looking them up: for who has read them from this snapshot, of a table that may have millions.
        """
        for file in files:
            self._pending.put_unchanged(file)

    def remove(self, *files: RemoveFile) -> None:
        """Remove active files. Raises InvalidCommit where a path was removed before in this transaction."""
        for file in files:
            self._pending.put_remove(file)

    def add_cdc(self, *files: AddCdcFile) -> None:
        """Add files that say which rows this commit changes and how, for the table's change data feed.

        A table that keeps one needs them where a commit both adds and removes rows; with them it must tell of every
        change (PROTOCOL, Add CDC File). Raises InvalidCommit where a path was added before in this transaction.
        """
        for file in files:
            self._pending.put_change(file)

    def set_metadata(self, metadata: Metadata) -> None:
        """Replace schema, partitioning and properties."""
        self._pending.metadata = metadata

    def set_protocol(self, protocol: Protocol) -> None:
        """Replace the protocol; it must keep every feature that the table has."""
        self._pending.protocol = protocol

    def set_domain(self, domain: str, configuration: str) -> None:
        """Set a metadata domain. Raises InvalidCommit for one that belongs to the protocol and is not known here."""
        self._pending.domains[self._own(domain)] = DomainMetadata(domain, configuration)

    def remove_domain(self, domain: str) -> None:
        """Remove a metadata domain; it keeps its last configuration as a tombstone."""
        known = self.snapshot.domains.get(domain)
        configuration = "" if known is None else known.configuration
        self._pending.domains[self._own(domain)] = DomainMetadata(domain, configuration, removed=True)

    def set_app_version(self, app_id: str, version: int) -> None:
        """Record how far an application has got; conflicts with any other commit of the same application."""
        self._pending.txns[app_id] = Txn(app_id, version, time.time_ns() // 1_000_000)

    def set_metrics(self, metrics: Mapping[str, object]) -> None:
        """What the table's history tells about the commit (operationMetrics), as text."""
        self._pending.metrics.update((name, str(value)) for name, value in metrics.items())

    def leave_out(self, *paths: str) -> None:
        """Forget the file actions on these paths, as logged: after a conflict over them the rest may be committed.

        Raises InvalidCommit where change files were added, which tell of all.
        """
        self._intent = self._pending.without(paths)

    def commit(self) -> int:
        """The version that the actions have become.

        Raises UnsupportedFeature and InvalidCommit before anything is written, CommitConflict where another writer got
        in the way, StorageError where storage failed. After an error nothing of the transaction is in the table, and
        it may be committed again.
        """
        self._check_open()
        if not self._intent.actions:
            raise InvalidCommit(f"This transaction on {self.snapshot.root} has nothing to commit: add an action first.")
        try:
            return self._commit()
        except CorruptLog as error:
            if not self._is_cleaned_up():
                raise
            base = self.snapshot
            raise CommitConflict(
                f"The checkpoint that version {base.version} of {base.root} was read from has been cleaned up, so a "
                f"transaction on that version cannot be checked: open the table again and repeat the operation.",
                "cleaned up",
            ) from error

    @property
    def _pending(self) -> Intent:
        """Reads and actions so far, to be extended. Raises InvalidCommit if the transaction has ended."""
        self._check_open()
        return self._intent

    def _check_open(self) -> None:
        root = self.snapshot.root
        if self._committed is not None:
            raise InvalidCommit(
                f"This transaction was already committed as version {self._committed} of {root}: begin another one."
            )
        if self._discarded:
            raise InvalidCommit(
                f"This transaction on {root} was discarded because its block raised an exception: begin another one."
            )

    def _commit(self) -> int:
        prepared = prepare(self._intent)
        step("prepared")
        latest, checked = self.snapshot, self.snapshot.version
        for attempt in range(MAX_ATTEMPTS):
            latest = refresh(latest)
            if latest.version > checked or latest.metadata.id != self.snapshot.metadata.id:
                winners = read_winners(self.snapshot, latest, checked)
                landed = winners.version_of(self._txn_id)
                if landed is not None:
                    # An attempt whose outcome was not known has succeeded after all.
                    return self._finish(latest, landed)
                check_conflicts(self._intent, prepared.isolation, winners, prepared.every_file)
                checked = latest.version
            text = commit_text(prepared, latest, self._txn_id)
            if self._try(text, latest):
                return self._finish(latest, latest.version + 1, text)
            _pause(attempt, self.snapshot.storage.remote)
        raise CommitConflict(
            f"Other writers of {self.snapshot.root} were faster {MAX_ATTEMPTS} times: commit again when fewer write.",
            "busy",
        )

    def _try(self, text: bytes, latest: Snapshot) -> bool:
        """Whether the text has become the version after `latest`."""
        storage = latest.storage
        path = join(latest.root, LOG_FOLDER, commit_name(latest.version + 1))
        try:
            storage.put_if_absent(path, text)
        except FileExistsError:
            # A request that was repeated after its answer got lost meets its own work.
            return self._is_ours(path, text)
        except StorageError:
            if self._is_ours(path, text):
                return True
            raise
        return True

    def _is_cleaned_up(self) -> bool:
        """Whether files that the snapshot begins with are gone: a newer checkpoint serves the table by now."""
        segment, checkpoint = self.snapshot.segment.checkpoint, self.snapshot.checkpoint
        if segment is None or checkpoint is None:
            return False
        paths = [*(file.path for file in segment.files), *checkpoint.sidecars]
        return not all(self.snapshot.storage.exists(path) for path in paths)

    def _is_ours(self, path: str, text: bytes) -> bool:
        try:
            return self.snapshot.storage.read(path) == text
        except (FileNotFoundError, StorageError):
            return False

    def _finish(self, latest: Snapshot, version: int, text: bytes | None = None) -> int:
        self._committed = version
        step("committed")
        if self._after_commit is not None:
            self._after_commit(latest, version, text)
        return version

    def _own(self, domain: str) -> str:
        if domain == ROW_TRACKING_DOMAIN or (domain.startswith("delta.") and domain not in _OWN_DOMAINS):
            raise InvalidCommit(
                f"The metadata domain {domain} of {self.snapshot.root} belongs to the protocol and cannot be set: use "
                f"a name that does not begin with 'delta.'."
            )
        return domain


def _pause(attempt: int, remote: bool) -> None:
    """Longer after each attempt, and never as long as another writer's."""
    longest = min(_LONGEST_PAUSE_SECONDS, _FIRST_PAUSE_SECONDS[remote] * 2.0 ** min(attempt, 20))
    time.sleep(random.uniform(0, longest))
