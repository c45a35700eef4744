"""The part of the log after its checkpoint."""

from collections.abc import Callable, Sequence

import pyarrow as pa

from deltaskip.actions import CommitInfo
from deltaskip.errors import CorruptLog
from deltaskip.fork_safety import new_lock
from deltaskip.log.checkpoint.metadata_tree import tree_in
from deltaskip.log.commit import Commits, commit_pieces, last_commit_info, read_commits, state_change
from deltaskip.log.compaction import require_reconciled
from deltaskip.log.file_names import Kind, LogFile
from deltaskip.log.replay import EMPTY, Replay, after, replay
from deltaskip.log.segment import CheckpointRef
from deltaskip.log.state_actions import StateChange, overlay
from deltaskip.storage import Storage


class Tail:
    """The commits after a checkpoint. Their state is available at once; their files are reconciled on first use.

    info: commitInfo of the last commit, if it has any. tree: the newest adaptive metadata tree that a commit names.
    """

    def __init__(
        self,
        root: str,
        state: StateChange,
        info: CommitInfo | None,
        actions: pa.Table | Callable[[], pa.Table],
        older: "Tail | None" = None,
        tree: CheckpointRef | None = None,
    ) -> None:
        """actions: adds and removes of the commits, or a function that reads them."""
        self.state = state
        self.info = info
        self.tree = tree
        self._root = root
        self._unread: tuple[pa.Table | Callable[[], pa.Table], Tail | None] | None = (actions, older)
        self._files: Replay = EMPTY
        self._lock = new_lock()

    @classmethod
    def without_files(cls, root: str, state: StateChange, info: CommitInfo | None = None) -> "Tail":
        """Return a tail with this state and no files."""
        tail = cls(root, state, info, pa.table({}))
        tail._unread = None
        return tail

    @classmethod
    def of_files(cls, root: str, state: StateChange, adds: pa.Table) -> "Tail":
        """Return a tail with this state whose files are exactly `adds` (FILE_SCHEMA), which may repeat a path."""
        tail = cls.without_files(root, state)
        tail._files = Replay(adds, EMPTY.superseded)
        return tail

    def following(self, older: "Tail") -> "Tail":
        """Return this tail appended to an older, adjacent one; self must be newly parsed."""
        assert self._unread is not None
        return Tail(self._root, overlay(older.state, self.state), self.info, self._unread[0], older)

    def with_state(self, change: StateChange) -> "Tail":
        """Return a tail with the same files and a newer state."""
        tail = Tail(self._root, overlay(self.state, change), self.info, pa.table({}))
        tail._files, tail._unread = self.files, None
        return tail

    @property
    def files(self) -> Replay:
        """The reconciled adds and removes. Raises CorruptLog for a path that cannot be decoded."""
        # The chain of a table that is refreshed for days without a scan is too long for recursion.
        chain: list[Tail] = [self]
        while (unread := chain[-1]._unread) is not None and unread[1] is not None:
            chain.append(unread[1])
        for tail in reversed(chain):
            tail._reconcile()
        return self._files

    def _reconcile(self) -> None:
        """Fill `_files`; the older tail, if any, is already filled."""
        with self._lock:
            if self._unread is None:
                return
            actions, older = self._unread
            if callable(actions):
                actions = actions()
            try:
                self._files = after(EMPTY if older is None else older._files, replay(actions))
            except ValueError as error:
                raise CorruptLog(
                    f"The log of {self._root} is damaged: {error}; rewrite the commit that contains it."
                ) from error
            # The parsed text may be long and is not needed again.
            self._unread = None


def tail_of(commits: Commits) -> Tail:
    """Return the tail of the commits, and of compactions instead of missing ones, oldest first.

    Raises CorruptLog with the file and line that is damaged.
    """
    files = commits.files
    if Kind.COMPACTION in [file.kind for file in files]:
        require_reconciled(commits)
    info = last_commit_info(commits) if files and files[-1].kind is Kind.COMMIT else None
    return Tail(commits.root, state_change(commits), info, commits.actions, None, tree_in(commits))


def deferred_tail(storage: Storage, root: str, files: Sequence[LogFile]) -> Tail:
    """Return the tail of commits, whose adds and removes are read again when the files are needed.

    Memory is bounded by the state, and by the text that is parsed at a time. Raises CorruptLog as `tail_of` does, but
    for damaged columns of adds and removes other than the path only when the files are needed.
    """
    state, info, tree = StateChange(), None, None
    for piece in commit_pieces(storage, root, files, ["path"]):
        state = overlay(state, state_change(piece))
        if info is None and len(piece.files) == len(files):
            info = last_commit_info(piece)
        tree = tree_in(piece) or tree
    return Tail(root, state, info, lambda: read_commits(storage, root, files).actions, None, tree)
