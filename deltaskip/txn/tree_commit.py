"""Commits that write an adaptive metadata tree of the version before them.

# RFC Adaptive Metadata, Manifest Commit; Conflict Resolution
Whatever other writers commit first is in the tree: it is written again of the version that the commit then follows.
"""

from __future__ import annotations

from deltaskip.doors import first_line
from deltaskip.errors import MaintenanceWarning
from deltaskip.log import Snapshot, refresh
from deltaskip.log.checkpoint import tree_writing
from deltaskip.log.checkpoint.write import kept_state
from deltaskip.log.checkpoint.written_checkpoint import WrittenCheckpoint
from deltaskip.log.file_names import Kind
from deltaskip.storage import join
from deltaskip.txn.changes import Changes
from deltaskip.txn.commit_loop import CommitLoop
from deltaskip.warning import warn

_OPERATION = "OPTIMIZE CHECKPOINT"


class CommittedTree:
    """The tree that a transaction commits, which each attempt to commit writes; arguments as in write_tree."""

    def __init__(
        self, leaf_entries: int = tree_writing.LEAF_ENTRIES, inline_entries: int = tree_writing.INLINE_ENTRIES
    ) -> None:
        self._sizes = leaf_entries, inline_entries
        self._last: tuple[Snapshot, tree_writing.WrittenTree] | None = None

    @property
    def made(self) -> tree_writing.WrittenTree:
        """The tree that was written last."""
        assert self._last is not None
        return self._last[1]

    def line(self, latest: Snapshot) -> bytes:
        """Write the tree of a version, and return the line of the commit after it. Raises as write_tree does."""
        self.discard()
        made = tree_writing.write_tree(latest, *self._sizes)
        self._last = latest, made
        return tree_writing.checkpoint_line(latest, made, list(kept_state(latest)))

    def discard(self) -> None:
        """Delete the manifests that were written last."""
        if self._last is not None:
            tree_writing.delete_tree(*self._last)
            self._last = None


def add_tree(snapshot: Snapshot) -> None:
    """Commit the tree that is due; issues a MaintenanceWarning instead of raising an error."""
    try:
        commit_tree(snapshot)
    except Exception as error:
        warn(
            f"A version of {snapshot.root} was committed, but the metadata tree that is due failed: "
            f"{first_line(error)}.",
            MaintenanceWarning,
        )


def commit_tree(
    snapshot: Snapshot, leaf_entries: int = tree_writing.LEAF_ENTRIES, inline_entries: int = tree_writing.INLINE_ENTRIES
) -> WrittenCheckpoint:
    """Commit a tree of the latest version of a table, unless its newest commit is one.

    Args:
        snapshot: A version of the table.
        leaf_entries: As in write_tree.
        inline_entries: As in write_tree.

    Raises:
        UnsupportedFeature: As write_tree does.
        DeltaSkipError: As other commits do.
    """
    latest = refresh(snapshot)
    checkpoint = latest.segment.checkpoint
    if checkpoint is not None and checkpoint.kind is Kind.COMMIT and checkpoint.files[0].version == latest.version:
        return WrittenCheckpoint(checkpoint.version, checkpoint.files[0].path, written=False)
    loop, tree = CommitLoop(latest), CommittedTree(leaf_entries, inline_entries)
    try:
        loop.settle(loop.commit(Changes(latest, _OPERATION, {}, tree=tree).intent(), False))
    except BaseException:
        if not loop.outcome_unknown:
            tree.discard()
        raise
    made = tree.made
    files, size = latest.totals()
    return WrittenCheckpoint(
        made.version, join(latest.root, made.paths[-1]), True, files, files, size, made.size_bytes, []
    )
