"""Writing a commit as the next version of a table, on top of those that other writers commit in the meantime."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from uuid import uuid4

from deltaskip.errors import CommitConflict, StorageError, TableExists
from deltaskip.log import LOG_FOLDER, Snapshot, refresh
from deltaskip.log.file_names import commit_name
from deltaskip.log.new_table import BEFORE_CREATION
from deltaskip.storage import join
from deltaskip.storage.kill_points import kill_point
from deltaskip.txn.conflicts import check_conflicts
from deltaskip.txn.intent import Intent
from deltaskip.txn.preparation import commit_text, prepare
from deltaskip.txn.validation.data_files import check_data_files
from deltaskip.txn.winners import read_winners

__all__ = ["MAX_ATTEMPTS", "CommitLoop", "Committed"]

MAX_ATTEMPTS = 1000
_FIRST_PAUSE_SECONDS = {False: 0.002, True: 0.05}
_LONGEST_PAUSE_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Committed:
    """A commit that is in the log.

    Attributes:
        latest: The version before it, or a later one.
        version: The version that it is.
        text: Its text; None if an earlier attempt wrote it.
    """

    latest: Snapshot
    version: int
    text: bytes | None = None


class CommitLoop:
    """The attempts to commit one transaction.

    Args:
        base: The version of the table that the transaction reads.

    Attributes:
        outcome_unknown: Whether storage failed before it answered if it has the commit, so that readers may see it.
    """

    def __init__(self, base: Snapshot) -> None:
        self._base = base
        self._txn_id = str(uuid4())
        self.outcome_unknown = False

    def commit(self, intent: Intent, look_up_files: bool) -> Committed:
        """Write the actions as the next version of the table.

        Args:
            intent: The reads and actions.
            look_up_files: Whether to check in storage that added files exist.

        Raises:
            CommitConflict: Another writer committed something that the transaction depends on.
            TableExists: The commit creates a table, and there is one.
            DeltaSkipError: As `prepare` does, and StorageError.
        """
        base = self._base
        prepared = prepare(intent, base)
        if look_up_files:
            check_data_files(prepared.candidate)
        kill_point("prepared")
        latest, checked = base, base.version
        for attempt in range(MAX_ATTEMPTS):
            creates = latest.version == BEFORE_CREATION
            latest = latest if creates else refresh(latest)
            if latest.version > checked or latest.metadata.id != base.metadata.id:
                winners = read_winners(base, latest, checked)
                landed = winners.version_of(self._txn_id)
                if landed is not None:
                    # An earlier attempt, whose outcome was unknown, has succeeded.
                    return Committed(latest, landed)
                self.outcome_unknown = False
                check_conflicts(intent, prepared.isolation, winners, prepared.every_file)
                # The winners do not conflict, but the rules are those of the version that the commit now follows.
                prepared, checked = prepare(intent, latest), latest.version
            text = commit_text(prepared, latest, self._txn_id)
            if self._try(text, latest):
                return Committed(latest, latest.version + 1, text)
            if creates:
                cure = "open it, or replace it with mode='replace'"
                raise TableExists(f"There is a table at {latest.root} already: {cure}.")
            _pause(attempt, base.storage.remote)
        raise CommitConflict(
            f"Other writers of {base.root} committed first in each of {MAX_ATTEMPTS} attempts: commit again when fewer "
            f"writers are active.",
            "busy",
        )

    def _try(self, text: bytes, latest: Snapshot) -> bool:
        """Whether the commit is now the version after `latest`."""
        path = join(latest.root, LOG_FOLDER, commit_name(latest.version + 1))
        self.outcome_unknown = True
        try:
            latest.storage.put_if_absent(path, text)
        except FileExistsError:
            # A request that was retried after its response was lost finds its own file.
            return self._is_ours(path, text)
        except StorageError:
            if self._is_ours(path, text):
                return True
            raise
        return True

    def _is_ours(self, path: str, text: bytes) -> bool:
        """Whether a commit file is this transaction's, as far as it can be read."""
        try:
            ours = self._base.storage.read(path) == text
        except (FileNotFoundError, StorageError):
            return False
        self.outcome_unknown = ours
        return ours


def _pause(attempt: int, remote: bool) -> None:
    """Sleep for a random time that grows with the attempts, so that competing writers do not stay in step."""
    longest = min(_LONGEST_PAUSE_SECONDS, _FIRST_PAUSE_SECONDS[remote] * 2.0 ** min(attempt, 20))
    time.sleep(random.uniform(0, longest))
