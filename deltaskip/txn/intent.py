"""The reads and actions of a transaction, for conflict detection and preparation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from itertools import chain
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from deltaskip import actions as a
from deltaskip.errors import InvalidCommit
from deltaskip.json_text import compact_json, parse_json
from deltaskip.log import Snapshot
from deltaskip.records import dataclass
from deltaskip.skipping.scan import Scan
from deltaskip.sparkexpr.values.arrow_values import arrow_array
from deltaskip.txn.known_files import Known
from deltaskip.txn.removed_files import RemovedFiles

if TYPE_CHECKING:
    from deltaskip.txn.tree_commit import CommittedTree

RowsMatch = Callable[[Scan, str, pa.Int64Array], bool]
"""Whether some of a file's rows, by path and positions, may match the predicate of a scan."""


@dataclass(frozen=True, slots=True)
class Intent:
    """The reads and actions of a transaction on `base`, made by `Changes`.

    Attributes:
        base: The version that was read.
        operation: Name of the operation.
        parameters: Parameters of the operation.
        user_metadata: Text that is recorded with the commit.
        scans: Predicates that were read.
        files: Paths of files that were read by name, by key.
        apps: Application ids whose version was read.
        adds: Added files by `table_key`.
        unchanged: What the log contains for files that are added again, where the caller read them from the snapshot.
        removes: Removed files by `table_key`.
        removed: Further files that are removed with all their rows.
        cdc_files: Files of the change data feed by `table_key`.
        metadata: The new metadata, if any.
        protocol: The new protocol, if any.
        domains: Metadata domains by name.
        txns: Versions of applications by their ids.
        metrics: Metrics of the operation.
        rows_checked: Whether the rows of all new files satisfy the rules of the table's features.
        inserted: Keys of new files without any row of a removed file.
        row_ids_kept: Whether rows that new files took over from removed files have their row ids in them.
        constraints_checked: Names of new constraints that the rows of all files of `base` satisfy.
        dropped_features: Features that nothing in the new state uses, each with whether the history must be protected.
        may_be_empty: Whether a commit without actions records the operation, as the commits of a VACUUM do.
        copies_state: Whether files and metadata after the commit come from one version of a table, in which they were
            valid together. Files that other writers add conflict.
        removed_scans: Identities of the scans whose matching rows are exactly the rows that it removes.
        rows_match: Evaluates predicates over rows that other writers removed; None if they cannot be evaluated.
        vector_files: Tombstones of files with deletion vectors, so that clients without the feature keep these files.
        tree: The adaptive metadata tree that the commit writes, if any.
    """

    base: Snapshot
    operation: str
    parameters: Mapping[str, Any]
    user_metadata: str | None
    scans: Sequence[Scan]
    files: Mapping[str, str]
    apps: Set[str]
    adds: Mapping[str, a.AddFile]
    unchanged: Mapping[str, Known]
    removes: Mapping[str, a.RemoveFile]
    removed: Sequence[RemovedFiles]
    cdc_files: Mapping[str, a.AddCdcFile]
    metadata: a.Metadata | None
    protocol: a.Protocol | None
    domains: Mapping[str, a.DomainMetadata]
    txns: Mapping[str, a.Txn]
    metrics: Mapping[str, str]
    rows_checked: bool
    inserted: Set[str]
    row_ids_kept: bool
    constraints_checked: Set[str]
    dropped_features: Mapping[str, bool]
    may_be_empty: bool
    copies_state: bool
    removed_scans: Set[int]
    rows_match: RowsMatch | None
    vector_files: Mapping[str, a.RemoveFile]
    tree: CommittedTree | None

    @property
    def actions(self) -> int:
        """Number of actions without commitInfo."""
        state = sum(action is not None for action in (self.metadata, self.protocol))
        files = len(self.adds) + self.num_removes + len(self.cdc_files) + len(self.vector_files)
        return files + len(self.domains) + len(self.txns) + state

    @property
    def num_removes(self) -> int:
        """Number of files that are removed."""
        return len(self.removes) + sum(map(len, self.removed))

    @property
    def changes_data(self) -> bool:
        """Whether some file action has dataChange true."""
        actions: Iterable[a.AddFile | a.RemoveFile] = chain(self.adds.values(), self.removes.values())
        return bool(self.removed) or any(action.data_change for action in actions)

    @property
    def rearranges(self) -> bool:
        """Whether it contains only file actions without data change, so that its actions do not depend on the rows.

        The state of a version depends on all rows, also if it is that of the table, so that there is nothing to do.
        """
        state = self.metadata or self.protocol or self.domains or self.txns or self.copies_state
        return not self.changes_data and not state

    @property
    def is_blind_append(self) -> bool:
        """Whether it only adds rows, and has read nothing on which these rows could depend.

        As in delta-spark, this holds for commits without files, such as the creation of a table.
        """
        read = self.scans or self.files or self.constraints_checked
        return not self.num_removes and not read and (self.changes_data or not self.adds)

    @property
    def only_removes(self) -> bool:
        """Whether it writes no row: it removes files, and adds some of them again with more deleted rows."""
        return not self.cdc_files and all(key in self.removes for key in self.adds)

    @property
    def touched(self) -> dict[str, str]:
        """Every path that it adds or removes: path as logged by key."""
        adds = {key: action.path for key, action in self.adds.items()}
        removed = {key: path for each in self.removed for key, path in each.paths()}
        return adds | removed | {key: action.path for key, action in self.removes.items()}

    @property
    def removed_keys(self) -> pa.Array:
        """The keys of the files that are removed."""
        return pa.concat_arrays([arrow_array(list(self.removes), pa.string()), *(each.keys for each in self.removed)])


def dv_id(action: a.AddFile | a.RemoveFile) -> str | None:
    """The unique id of the action's deletion vector; None if it has none."""
    vector = action.deletion_vector
    if vector is None:
        return None
    if not isinstance(vector, a.DeletionVectorDescriptor):
        raise InvalidCommit(
            f"The deletion vector of {action.path} must be a DeletionVectorDescriptor, not {type(vector).__name__}.",
            "commit.actions",
        )
    return vector.unique_id


def logged_parameter(value: Any) -> str:
    """Return the text of a value in `operationParameters`."""
    return value if isinstance(value, str) else compact_json(value)


def parameter_value(text: Any, like: Any) -> Any:
    """Return the value of a logged parameter with the type of `like`; None if its text is not JSON."""
    if isinstance(like, str) or not isinstance(text, str):
        return text
    try:
        return parse_json(text)
    except ValueError:
        return None
