"""The winners: commits that other writers made after a transaction read its snapshot."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.actions import CommitInfo, table_keys
from deltaskip.errors import CommitConflict, CorruptLog
from deltaskip.fork_safety import cached_property
from deltaskip.log import Snapshot
from deltaskip.log.checkpoint.metadata_tree import require_logged_files
from deltaskip.log.commit import Commits, OtherAction, commit_infos, members_of, read_commits
from deltaskip.log.file_names import Kind, LogFile
from deltaskip.log.segment import list_commits
from deltaskip.records import dataclass
from deltaskip.sparkexpr.values.arrow_values import arrow_array, is_not_false, numpy_values, one_chunk


@dataclass(frozen=True)
class Winners:
    """Parsed commits after the snapshot `base`, oldest first. `commits.actions` contains their adds and removes."""

    base: Snapshot
    commits: Commits

    @property
    def versions(self) -> Sequence[int]:
        """Versions of the commits."""
        return [file.version for file in self.commits.files]

    def others(self, name: str) -> list[tuple[int, Mapping[str, object]]]:
        """Version and members of every action with this name; adds and removes are not included."""
        found: list[OtherAction] = [action for action in self.commits.others if action.name == name]
        return [(self.commits.files[a.commit].version, members_of(self.commits, a)) for a in found]

    @cached_property
    def infos(self) -> list[CommitInfo | None]:
        """The commitInfo of each commit; None if it has none."""
        return commit_infos(self.commits)

    def version_of(self, txn_id: str) -> int | None:
        """The version that a transaction was committed as; None if none of these commits is the transaction."""
        for version, info in zip(self.versions, self.infos, strict=True):
            if info is not None and info.txn_id == txn_id:
                return version
        return None

    def paths(self, is_remove: bool) -> tuple[pa.Array, pa.Array, pa.Array]:
        """Keys of paths (table_keys), paths as logged, and versions of the removes or of the adds."""
        actions = self.commits.actions
        wanted = actions["is_remove"] if is_remove else pc.invert(actions["is_remove"])
        rows = actions.filter(wanted)
        raw = one_chunk(rows["path"])
        try:
            canonical = table_keys(self.base.table_root, raw)
        except ValueError as error:
            raise CorruptLog(
                f"The log of {self.base.root} is damaged: {error}; rewrite the commit that contains it."
            ) from error
        ordinals = numpy_values(rows["commit"]) if len(rows) else np.zeros(0, np.int32)
        return canonical, raw, arrow_array(np.array(self.versions, np.int64)[ordinals])

    def without(self, keys: Collection[str]) -> Winners:
        """The winners without their adds and removes of some files, by key (table_keys)."""
        actions = self.commits.actions
        own = table_keys(self.base.table_root, one_chunk(actions["path"]))
        left = pc.invert(pc.is_in(own, value_set=arrow_array(list(keys), pa.string())))
        return Winners(self.base, replace(self.commits, actions=actions.filter(left)))

    def new_rows(self, blind_appends: bool) -> Snapshot | None:
        """The adds with data change as a separate snapshot, to be scanned; None if there are none.

        blind_appends: whether to include the adds of commits whose commitInfo marks them as blind appends.
        """
        actions = self.commits.actions
        adds_rows = pc.and_(pc.invert(actions["is_remove"]), is_not_false(actions["data_change"]))
        if not blind_appends:
            blind = [i for i, info in enumerate(self.infos) if info is not None and _is_blind(info)]
            is_blind = pc.is_in(actions["commit"], value_set=arrow_array(blind, pa.int32()))
            adds_rows = pc.and_(adds_rows, pc.invert(is_blind))
        adds = actions.filter(adds_rows)
        return Snapshot.of_adds(self.base, adds, self.commits.files) if len(adds) else None


def read_winners(base: Snapshot, latest: Snapshot, after: int) -> Winners:
    """Read the commits after version `after` up to `latest`, in the table of the snapshot `base`.

    Raises CommitConflict if some of them were deleted, or if a winner has changed the table's id.
    """
    if latest.metadata.id != base.metadata.id:
        raise CommitConflict(
            f"{base.root} has another metaData.id at version {latest.version} than it had when version {base.version} "
            f"was read: open it again and repeat the operation.",
            "metadata",
        )
    files: dict[int, LogFile] = {f.version: f for f in latest.segment.commits if f.kind is Kind.COMMIT}
    if latest.segment.own_commit is not None:
        files[latest.version] = latest.segment.own_commit
    wanted = range(after + 1, latest.version + 1)
    missing = [version for version in wanted if version not in files]
    if missing:
        # The snapshot itself does not need these commits, since there is a newer checkpoint.
        files.update((file.version, file) for file in list_commits(latest.storage, latest.root, missing[0]))
        missing = [version for version in wanted if version not in files]
    if missing:
        raise CommitConflict(
            f"The commit of version {missing[0]} of {base.root} was deleted, so a transaction on version "
            f"{base.version} cannot be checked for conflicts: open the table again and repeat the operation.",
            "cleaned up",
        )
    commits = read_commits(base.storage, base.root, [files[version] for version in wanted], None)
    require_logged_files(commits)
    return Winners(base, commits)


def _is_blind(info: CommitInfo) -> bool:
    return info.members.get("isBlindAppend") is True
