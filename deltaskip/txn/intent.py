"""The reads and actions of a transaction, for conflict detection and preparation."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import field, replace
from itertools import chain
from typing import Any

import pyarrow as pa

from deltaskip.actions import (
    AddCdcFile,
    AddFile,
    DeletionVectorDescriptor,
    DomainMetadata,
    Metadata,
    Protocol,
    RemoveFile,
    Txn,
    table_key,
)
from deltaskip.errors import InvalidCommit
from deltaskip.json_text import parse_json
from deltaskip.log import Snapshot
from deltaskip.records import dataclass
from deltaskip.skipping.scan import Scan
from deltaskip.sparkexpr.values.arrow_values import arrow_array
from deltaskip.txn.known_files import Known
from deltaskip.txn.removed_files import RemovedFiles

RowsMatch = Callable[[Scan, str, pa.Int64Array], bool]
"""Whether some of a file's rows, by path and positions, may match the predicate of a scan."""


@dataclass(slots=True)
class Intent:
    """The reads and actions of a transaction on `base`. adds and removes are keyed by table_key.

    scans: predicates that were read. files: paths of files that were read by name, by key. apps: application
    ids whose version was read. unchanged: what the log contains for files that are added again, where the caller read
    them from the snapshot. rows_checked: whether the rows of all new files satisfy the rules of the table's features.
    inserted: keys of new files without any row of a removed file.
    row_ids_kept: whether rows that new files took over from removed files have their row ids in them.
    constraints_checked: names of new constraints that the rows of all files of `base` satisfy. dropped_features:
    features that nothing in the new state uses, each with whether the history must be protected. may_be_empty: whether
    a commit without actions records the operation. copies_state: whether files and metadata after the commit come
    from one version of a table, in which they were valid together. removed_scans: identities of the scans whose
    matching rows are exactly the rows that it removes. rows_match: evaluates predicates over rows that other writers
    removed; None if they cannot be evaluated. vector_files: tombstones of files with deletion vectors. removed: further
    files that are removed with all their rows, in addition to `removes`.
    """

    base: Snapshot
    operation: str
    parameters: Mapping[str, Any]
    user_metadata: str | None = None
    scans: list[Scan] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    apps: set[str] = field(default_factory=set)
    adds: dict[str, AddFile] = field(default_factory=dict)
    unchanged: dict[str, Known] = field(default_factory=dict)
    removes: dict[str, RemoveFile] = field(default_factory=dict)
    removed: list[RemovedFiles] = field(default_factory=list)
    cdc_files: dict[str, AddCdcFile] = field(default_factory=dict)
    metadata: Metadata | None = None
    protocol: Protocol | None = None
    domains: dict[str, DomainMetadata] = field(default_factory=dict)
    txns: dict[str, Txn] = field(default_factory=dict)
    metrics: dict[str, str] = field(default_factory=dict)
    rows_checked: bool = False
    inserted: set[str] = field(default_factory=set)
    row_ids_kept: bool = False
    constraints_checked: set[str] = field(default_factory=set)
    dropped_features: dict[str, bool] = field(default_factory=dict)
    may_be_empty: bool = False
    copies_state: bool = False
    removed_scans: set[int] = field(default_factory=set)
    rows_match: RowsMatch | None = None
    vector_files: dict[str, RemoveFile] = field(default_factory=dict)

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
        actions: Iterable[AddFile | RemoveFile] = chain(self.adds.values(), self.removes.values())
        return bool(self.removed) or any(action.data_change for action in actions)

    @property
    def rearranges(self) -> bool:
        """Whether it contains only file actions without data change, so that its actions do not depend on the rows."""
        state = self.metadata or self.protocol or self.domains or self.txns
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

    def expanded(self, keys: Collection[str] | None = None) -> Intent:
        """A copy in which removed files have separate actions. Raises InvalidCommit as put_remove does.

        keys: The keys of the files; None for all of them.
        """
        these, others = self.removed, []
        if keys is not None:
            pairs = [each.divided(keys) for each in self.removed]
            these, others = [pair[0] for pair in pairs], [pair[1] for pair in pairs if len(pair[1])]
        copy = replace(self, removes={}, removed=others)
        for action in chain(*(each.actions() for each in these), self.removes.values()):
            copy.put_remove(action)
        return copy

    def put_add(self, action: AddFile) -> str:
        """Add the action and return its key.

        # PROTOCOL, Add File and Remove File: at most one add, and one remove, of a path in one commit
        """
        key = self._key(action.path)
        if key in self.adds:
            raise InvalidCommit(f"{action.path} was added twice in one transaction on {self.base.root}: add it once.")
        removed = self.removes.get(key)
        if removed is not None and dv_id(removed) == dv_id(action):
            raise InvalidCommit(self._both(action.path))
        self.adds[key] = action
        return key

    def put_unchanged(self, action: AddFile) -> None:
        """Add an active file again as the snapshot lists it, with different statistics or tags."""
        key = self.put_add(action)
        ids = action.base_row_id, action.default_row_commit_version
        self.unchanged[key] = Known(action.path, action.size, action.partition_values, action.deletion_vector, *ids)

    def put_read(self, paths: Iterable[str]) -> None:
        """Add paths of files that were read by name."""
        self.files.update((self._key(path), path) for path in paths)

    def put_remove(self, action: RemoveFile) -> None:
        """Add a remove action; see put_add."""
        key = self._key(action.path)
        if key in self.removes:
            raise InvalidCommit(
                f"{action.path} was removed twice in one transaction on {self.base.root}: remove it once."
            )
        added = self.adds.get(key)
        if added is not None and dv_id(added) == dv_id(action):
            raise InvalidCommit(self._both(action.path))
        self.removes[key] = action

    def put_cdc(self, action: AddCdcFile) -> None:
        """Add a CDC file; see put_add."""
        key = self._key(action.path)
        if key in self.cdc_files:
            raise InvalidCommit(f"{action.path} was added twice in one transaction on {self.base.root}: add it once.")
        self.cdc_files[key] = action

    def without(self, paths: tuple[str, ...]) -> Intent:
        """A copy without the file actions on these paths, as logged. Raises InvalidCommit if there are CDC files."""
        if self.cdc_files:
            raise InvalidCommit(
                f"No file can be left out of a transaction on {self.base.root} that contains CDC files, which cover "
                f"the changes of all its files: begin another transaction."
            )
        gone = {self._key(path) for path in paths}
        return replace(
            self,
            adds={key: action for key, action in self.adds.items() if key not in gone},
            unchanged={key: known for key, known in self.unchanged.items() if key not in gone},
            removes={key: action for key, action in self.removes.items() if key not in gone},
            removed=[left for each in self.removed if len(left := each.divided(gone)[1])],
            files={key: path for key, path in self.files.items() if key not in gone},
        )

    def _key(self, path: str) -> str:
        if not isinstance(path, str):
            raise InvalidCommit(
                f"A path in a commit to {self.base.root} must be a text, not {path!r}.", "commit.actions"
            )
        try:
            path.encode()
            return table_key(self.base.table_root, path)
        except ValueError as error:
            raise InvalidCommit(
                f"A path in a commit to {self.base.root} is malformed: {error}; percent-encode it."
            ) from error

    def _both(self, path: str) -> str:
        return (
            f"{path} is both added and removed with the same deletion vector in one transaction on {self.base.root}: "
            f"leave out the remove, since an add replaces the earlier add of the path."
        )


def dv_id(action: AddFile | RemoveFile) -> str | None:
    """The unique id of the action's deletion vector; None if it has none."""
    vector = action.deletion_vector
    if vector is None:
        return None
    if not isinstance(vector, DeletionVectorDescriptor):
        raise InvalidCommit(
            f"The deletion vector of {action.path} must be a DeletionVectorDescriptor, not {type(vector).__name__}.",
            "commit.actions",
        )
    return vector.unique_id


def logged_parameter(value: Any) -> str:
    """Return the text of a value in `operationParameters`."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def parameter_value(text: Any, like: Any) -> Any:
    """Return the value of a logged parameter with the type of `like`; None if its text is not JSON."""
    if isinstance(like, str) or not isinstance(text, str):
        return text
    try:
        return parse_json(text)
    except ValueError:
        return None
