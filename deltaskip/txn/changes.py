"""Changes: what operations read and put into a transaction, before it is committed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import field, fields, replace
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from deltaskip.actions import AddCdcFile, AddFile, DomainMetadata, Metadata, Protocol, RemoveFile, Txn, table_key
from deltaskip.errors import InvalidCommit
from deltaskip.log import Snapshot
from deltaskip.records import dataclass
from deltaskip.skipping.scan import Scan
from deltaskip.txn.intent import Intent, RowsMatch, dv_id
from deltaskip.txn.known_files import Known
from deltaskip.txn.removed_files import RemovedFiles

if TYPE_CHECKING:
    from deltaskip.txn.tree_commit import CommittedTree

_of_intent = attrgetter(*(each.name for each in fields(Intent)))


@dataclass(slots=True)
class Changes:
    """The reads and actions of a transaction so far, and what operations of this package state about them.

    The attributes are those of `Intent`, which `intent` makes of them; adds and removes are put by the methods.

    Attributes:
        undo: Functions that delete the files that were written for the transaction.
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
    tree: CommittedTree | None = None
    undo: list[Callable[[], None]] = field(default_factory=list)

    @property
    def has_files(self) -> bool:
        """Whether files are added or removed."""
        return bool(self.adds or self.removes or self.removed)

    def intent(self) -> Intent:
        """Return the reads and actions so far, as a value that shares their containers."""
        return Intent(*_of_intent(self))

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

    def put_removed(self, files: RemovedFiles) -> None:
        """Remove active files that were read from the snapshot, with all their rows, without an object for each."""
        if len(files):
            self.removed.append(files)

    def rearrange(self) -> None:
        """Let no file action change data: the rows of the new files are those of the removed ones.

        # PROTOCOL, Add File and Remove File, dataChange
        """
        for action in chain.from_iterable(each.actions() for each in self.removed):
            self.put_remove(action)
        self.removed = []
        self.adds.update({key: replace(action, data_change=False) for key, action in self.adds.items()})
        self.removes.update({key: replace(action, data_change=False) for key, action in self.removes.items()})

    def put_cdc(self, action: AddCdcFile) -> None:
        """Add a CDC file; see put_add."""
        key = self._key(action.path)
        if key in self.cdc_files:
            raise InvalidCommit(f"{action.path} was added twice in one transaction on {self.base.root}: add it once.")
        self.cdc_files[key] = action

    def put_checked_constraint(self, name: str) -> None:
        """Add a new CHECK constraint that all rows of `base` satisfy, so that files of other writers conflict.

        Raises InvalidCommit if files are added, whose rows are not rows of `base`.
        """
        if self.adds:
            raise InvalidCommit(
                f"The constraint {name} cannot be added to {self.base.root} after rows in one transaction: add the "
                f"constraint first."
            )
        self.constraints_checked.add(name)

    def put_domain(self, domain: DomainMetadata) -> None:
        """Set a metadata domain, as the feature that owns it requires."""
        self.domains[domain.domain] = domain

    def leave_out(self, paths: tuple[str, ...]) -> None:
        """Drop the file actions on these paths, as logged. Raises InvalidCommit if there are CDC files."""
        if self.cdc_files:
            raise InvalidCommit(
                f"No file can be left out of a transaction on {self.base.root} that contains CDC files, which cover "
                f"the changes of all its files: begin another transaction."
            )
        gone = {self._key(path) for path in paths}
        for by_key in (self.adds, self.unchanged, self.removes, self.files):
            for key in gone & by_key.keys():
                del by_key[key]
        self.removed = [left for each in self.removed if len(left := each.divided(gone)[1])]

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


def expanded(intent: Intent, keys: Collection[str] | None = None) -> Intent:
    """Return the intent with a separate action for each removed file. Raises InvalidCommit as `put_remove` does.

    keys: The keys of the files; None for all of them.
    """
    these, others = intent.removed, list[RemovedFiles]()
    if keys is not None:
        pairs = [each.divided(keys) for each in intent.removed]
        these, others = [pair[0] for pair in pairs], [pair[1] for pair in pairs if len(pair[1])]
    changes = Changes(intent.base, intent.operation, intent.parameters, adds=dict(intent.adds))
    for action in chain(*(each.actions() for each in these), intent.removes.values()):
        changes.put_remove(action)
    return replace(intent, removes=changes.removes, removed=others)
