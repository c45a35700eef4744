"""What the log holds after its checkpoint."""

from collections.abc import Sequence
from functools import cached_property

import pyarrow as pa

from deltaskip.actions import CommitInfo
from deltaskip.errors import CorruptLog
from deltaskip.log.commit import Commits, commit_info, parse_contents, state_change
from deltaskip.log.compaction import require_reconciled
from deltaskip.log.file_names import Kind, LogFile
from deltaskip.log.replay import EMPTY, Replay, after, replay
from deltaskip.log.table_state import StateChange, overlay

__all__ = ["Tail", "parse_tail"]


class Tail:
    """The commits after a checkpoint: their state now, their files when asked for.

    info: provenance of the last commit, if it has any.
    """

    def __init__(
        self, root: str, state: StateChange, info: CommitInfo | None, actions: pa.Table, older: "Tail | None" = None
    ) -> None:
        self.state = state
        self.info = info
        self._root = root
        self._actions = actions
        self._older = older

    def following(self, older: "Tail") -> "Tail":
        """The two adjoining tails as one; self must be freshly parsed."""
        return Tail(self._root, overlay(older.state, self.state), self.info, self._actions, older)

    @cached_property
    def files(self) -> Replay:
        """Their adds and removes, reconciled. Raises CorruptLog where a path does not decode."""
        try:
            newer = replay(self._actions)
        except ValueError as error:
            raise CorruptLog(
                f"The log of {self._root} is damaged: {error}; rewrite the commit that holds it."
            ) from error
        older = EMPTY if self._older is None else self._older.files
        # The parsed text may be long, and nothing asks for it again.
        del self._actions
        self._older = None
        return after(older, newer)


def parse_tail(root: str, files: Sequence[LogFile], contents: Sequence[bytes]) -> Tail:
    """The tail that the commits, and compactions in place of missing ones, make; oldest first.

    Raises CorruptLog naming what is damaged.
    """
    commits: Commits = parse_contents(root, files, contents)
    if any(file.kind is Kind.COMPACTION for file in files):
        require_reconciled(commits)
    info = commit_info(commits, len(files) - 1) if files and files[-1].kind is Kind.COMMIT else None
    return Tail(root, state_change(commits), info, commits.actions)
