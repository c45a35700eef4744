"""Transaction: reads and actions on one snapshot, committed atomically as the next version of the table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from itertools import islice
from logging import INFO
from types import TracebackType
from typing import Any, Self

from deltaskip import actions, errors
from deltaskip.arguments import flag, instance, mapping, non_negative, text, texts
from deltaskip.doors import Unpicklable, door
from deltaskip.engine import SESSION_ZONE
from deltaskip.log import Snapshot, is_cleaned_up, same_table
from deltaskip.log.new_table import BEFORE_CREATION
from deltaskip.progress import LOGGER
from deltaskip.skipping.read_options import ReadOptions
from deltaskip.skipping.scan import Scan
from deltaskip.sparkexpr.types import StructType, carry_collations, parse_schema, schema_to_json
from deltaskip.sparkexpr.values.calendar import current_ms
from deltaskip.storage.kill_points import kill_point
from deltaskip.storage.new_folders import NewFolders
from deltaskip.txn.changes import Changes
from deltaskip.txn.commit_loop import CommitLoop, Committed, is_tree_due
from deltaskip.txn.result import CostMeter
from deltaskip.txn.tree_commit import add_tree
from deltaskip.txn.turns import Turn
from deltaskip.txn.validation.domains import check_settable_domain


@door
class Transaction(Unpicklable):
    """Reads and actions on one snapshot, which `commit` writes as one version of the table.

    Created by `DeltaTable.transaction`. As a context manager it commits when the block ends, unless the block has
    committed or added no action, and discards its actions if the block raises:

        with table.transaction(read="day = '2026-01-05'") as txn:
            txn.remove(*old)
            txn.add(*new)
        txn.version

    Commits that other writers make in the meantime are allowed unless they conflict with what this transaction reads or
    writes; then `commit` raises CommitConflict. Commits are atomic, even if the process is killed.

    Args:
        snapshot: The version of the table that the transaction reads.
        operation: Name of the operation in the table's history, such as "WRITE".
        parameters: Parameters of the operation in the table's history.
        look_up_files: Whether to check in storage, before the commit, that added files exist with their sizes and that
            new deletion vectors can be read.
        user_metadata: Text that is recorded with the commit in the table's history (userMetadata).

    Attributes:
        snapshot: The version of the table that the transaction reads.
        cost: Counts the cost of the transaction's changes of rows.
        already_gone: Number of rows that the transaction would have removed and that another writer removed first.
        after: The version that was committed; None before that, and if the log must be read for it.
        new_folders: The folders that the creation of the table makes; None if there is a table.
        unsynced: The data files that the commit makes durable.
        turn: The turn of the operation, if it takes one, which ends with the commit.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        operation: str,
        parameters: Mapping[str, Any] | None = None,
        look_up_files: bool = True,
        user_metadata: str | None = None,
    ) -> None:
        self.snapshot = snapshot
        self._look_up_files = flag("look_up_files", look_up_files)
        self._changes = Changes(snapshot, operation, dict(parameters or {}), user_metadata)
        self._loop = CommitLoop(snapshot)
        self.turn = Turn(snapshot)
        self.unsynced = self._loop.unsynced
        self._committed: int | None = None
        self.after: Snapshot | None = None
        # The time zone in which rows were converted between local times and instants; "" if none were.
        self.zone = ""
        self._discarded, self.already_gone, self.cost = False, 0, CostMeter()
        is_new = snapshot.version == BEFORE_CREATION
        self.new_folders = NewFolders(snapshot.storage, snapshot.root) if is_new else None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.snapshot.root!r}, version={self.snapshot.version})"

    def __enter__(self) -> Self:
        """Begin a block that commits when it ends, or discards the transaction if it raises."""
        self._check_open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _error: BaseException | None, _traceback: TracebackType | None
    ) -> None:
        """Commit, unless the block has committed or added no action; discard the transaction if the block raised.

        If the commit fails, a transaction that wrote data files is also discarded; otherwise it stays open.
        """
        if self._committed is not None:
            return
        if kind is not None:
            self.discard()
        elif self.has_actions:
            try:
                self.commit()
            except BaseException:
                if self._changes.undo:
                    self.discard()
                raise

    def discard(self) -> None:
        """End the transaction without a commit, and delete the data files that were written for it.

        Files stay if the outcome of a commit is unknown, because it may have added them. Nothing happens if the
        transaction has ended.
        """
        if self._committed is not None or self._discarded:
            return
        self._discarded = True
        before = self._changes
        self._changes = Changes(self.snapshot, before.operation, before.parameters, before.user_metadata)
        if not self._loop.outcome_unknown:
            for delete in before.undo:
                delete()
        if self.new_folders is not None:
            self.new_folders.remove_empty()

    @property
    def version(self) -> int | None:
        """Version that the transaction was committed as; None before that."""
        return self._committed

    @property
    def operation(self) -> str:
        """Name of the operation in the table's history."""
        return self._changes.operation

    @property
    def has_actions(self) -> bool:
        """Whether there is something to commit: an action, or an operation that may have none."""
        return self._changes.may_be_empty or self._changes.intent().actions > 0

    @property
    def changes(self) -> Changes:
        """Reads and actions so far, to which operations of deltaskip add theirs.

        Raises:
            InvalidCommit: The transaction has ended.
        """
        self._check_open()
        return self._changes

    @property
    def metadata(self) -> actions.Metadata:
        """The metadata action of the table with the transaction's changes."""
        return self._changes.metadata or self.snapshot.metadata

    @property
    def protocol(self) -> actions.Protocol:
        """The protocol action of the table with the transaction's changes."""
        return self._changes.protocol or self.snapshot.protocol

    @property
    def schema(self) -> StructType:
        """The schema of the table with the transaction's changes.

        Raises SchemaError if the schema passed to `set_metadata` cannot be parsed.
        """
        return self.snapshot.schema if self._changes.metadata is None else parse_schema(self.metadata.schema_string)

    @property
    def domains(self) -> Mapping[str, actions.DomainMetadata]:
        """The metadata domains of the table with the transaction's changes, by name."""
        changed = {**self.snapshot.domains, **self._changes.domains}
        return {name: domain for name, domain in changed.items() if not domain.removed}

    def read(self, where: object, time_zone: str | None = SESSION_ZONE, *, params: object = None) -> Scan:
        """Return a scan of the snapshot and make the transaction depend on the files that it keeps.

        The transaction conflicts with a commit that removes one of these files or adds rows that may match.

        Args:
            where: A predicate, as in `DeltaTable.scan`; "true" to depend on every row.
            time_zone: Time zone of the session, as in `DeltaTable.scan`.
            params: Values of the parameters of SQL text, as in `DeltaTable.scan`.

        Raises:
            InvalidArgumentType: `where` is None.
            PredicateError: The predicate does not parse or does not match the schema.
            InvalidCommit: The transaction was already committed or discarded.
        """
        if where is None:
            raise errors.InvalidArgumentType(
                f"where must be a predicate, not None: pass 'true' to depend on every row of {self.snapshot.root}."
            )
        scan = Scan(self.snapshot, ReadOptions(where, time_zone=time_zone, params=params))
        self.read_scan(scan)
        return scan

    def read_scan(self, scan: Scan, removes: bool = False) -> None:
        """Make the transaction depend on the files that a scan of its snapshot keeps, as `read` does.

        Args:
            scan: The scan.
            removes: Whether the rows that match are exactly the rows that the transaction removes, so that it does not
                depend on other rows of these files.
        """
        changes = self.changes
        is_removed = flag("removes", removes)
        changes.scans.append(instance("scan", scan, Scan, "a Scan"))
        if is_removed:
            changes.removed_scans.add(id(scan))

    def read_files(self, paths: Iterable[str]) -> None:
        """Make the transaction depend on single files: it conflicts with a commit that removes one of them.

        Args:
            paths: Paths of active files, as logged.
        """
        self.changes.put_read(texts("paths", paths))

    def read_app(self, app_id: str) -> int | None:
        """Return the version that an application committed last, or None, and make the transaction depend on it.

        Args:
            app_id: Identifier of the application, as in `set_app_version`.
        """
        self.changes.apps.add(text("app_id", app_id))
        return found.version if (found := self.snapshot.txns.get(app_id)) is not None else None

    def add(self, *files: actions.AddFile) -> None:
        """Add files, or add active files again with different statistics, tags or deletion vectors.

        If the table has row tracking, the commit assigns row ids. An add of an active path with the same deletion
        vector replaces the file's add action. To change the deletion vector, also remove the file with the old one.

        Args:
            files: Add actions. Paths must be percent-encoded, and a new file needs `data_change=True`.

        Raises:
            InvalidCommit: A path was already added, or removed with the same deletion vector, in this transaction.
        """
        for file in files:
            self.changes.put_add(instance("Each file", file, actions.AddFile, "an AddFile"))

    def add_written(
        self, *files: actions.AddFile, delete: Callable[[], None] | None = None, inserted: bool = False
    ) -> None:
        """Add new files whose rows satisfy every rule of the table, which `deltaskip.rows` has checked.

        All other adds of the transaction must also be of such files.

        Args:
            files: Add actions.
            delete: Deletes the files; `discard` calls it.
            inserted: Whether every row of the files is new, and none comes from a removed file.

        Raises:
            InvalidCommit: A path was already added in this transaction.
        """
        changes = self.changes
        if delete is not None:
            changes.undo.append(delete)
        fed = bool(changes.cdc_files)
        self.add(*files)
        if flag("inserted", inserted):
            # The actions that were put last.
            changes.inserted.update(islice(reversed(changes.adds), len(files)))
        changes.rows_checked = True
        if files and fed:
            self.feed_inserts(files)

    def feed_inserts(self, files: Sequence[actions.AddFile]) -> None:
        """Also write rows of added files to the change data feed. Raises InvalidCommit if they cannot be read again.

        # PROTOCOL, Add CDC File: readers of a commit with change data files read nothing else.
        """
        raise errors.InvalidCommit(
            f"A transaction on {self.snapshot.root} with files of the change data feed accepts no more rows, because "
            f"these files must contain all changes: commit it first."
        )

    def add_again(self, *files: actions.AddFile) -> None:
        """Add active files again with different statistics or tags, without looking them up in the snapshot.

        Use it for bulk updates of statistics. Everything except statistics and tags must be as in this snapshot, and
        `data_change` must be False; this is not checked.

        Args:
            files: Add actions of files that were read from this snapshot.

        Raises:
            InvalidCommit: A path was already added in this transaction.
        """
        for file in files:
            self.changes.put_unchanged(instance("Each file", file, actions.AddFile, "an AddFile"))

    def remove(self, *files: actions.RemoveFile) -> None:
        """Remove active files.

        Args:
            files: Remove actions with the deletion vector that the file has in the snapshot.

        Raises:
            InvalidCommit: A path was already removed, or added with the same deletion vector, in this transaction.
        """
        for file in files:
            self.changes.put_remove(instance("Each file", file, actions.RemoveFile, "a RemoveFile"))

    def add_cdc(self, *files: actions.AddCdcFile) -> None:
        """Add CDC files, which list the rows that this commit changes.

        Required if the table has the change data feed enabled and the commit both adds and removes rows. If a commit
        contains CDC files, they must cover every change (PROTOCOL, Add CDC File).

        Args:
            files: Actions of CDC files that are already written.

        Raises:
            InvalidCommit: A path was already added in this transaction.
        """
        for file in files:
            self.changes.put_cdc(instance("Each file", file, actions.AddCdcFile, "an AddCdcFile"))

    def set_metadata(self, metadata: actions.Metadata, *, keep_collations: bool = True) -> None:
        """Replace the metaData action: schema, partition columns and table properties.

        Args:
            metadata: The new action, with the id of the table.
            keep_collations: Whether string columns keep their collations where the new schema declares none, since a
                schema from another source, such as Arrow, has none. False drops these collations.
        """
        action = instance("metadata", metadata, actions.Metadata, "a Metadata action")
        keep = flag("keep_collations", keep_collations)
        self.changes.metadata = _with_collations(action, self.snapshot) if keep else action

    def set_protocol(self, protocol: actions.Protocol) -> None:
        """Replace the protocol action.

        Args:
            protocol: The new action. It must keep every table feature that the table has.
        """
        self.changes.protocol = instance("protocol", protocol, actions.Protocol, "a Protocol action")

    def set_operation(self, operation: str, parameters: Mapping[str, Any] | None = None) -> None:
        """Name the operation in the table's history.

        Args:
            operation: Name of the operation.
            parameters: Its parameters; None to keep those of the transaction.
        """
        changes = self.changes
        changes.operation = text("operation", operation)
        if parameters is not None:
            changes.parameters = dict(mapping("parameters", parameters))

    def set_domain(self, domain: str, configuration: str) -> None:
        """Set the configuration of a metadata domain.

        Args:
            domain: Name of the domain.
            configuration: Its configuration, usually JSON text.

        Raises:
            InvalidCommit: The protocol reserves the domain: its name begins with `delta.`.
        """
        name = text("domain", domain)
        check_settable_domain(name, self.snapshot.root)
        self.changes.domains[name] = actions.DomainMetadata(name, text("configuration", configuration))

    def remove_domain(self, domain: str) -> None:
        """Remove a metadata domain; its tombstone keeps the last configuration.

        Args:
            domain: Name of the domain.

        Raises:
            InvalidCommit: The protocol reserves the domain: its name begins with `delta.`.
        """
        name = text("domain", domain)
        check_settable_domain(name, self.snapshot.root)
        known = self.snapshot.domains.get(name)
        configuration = "" if known is None else known.configuration
        self.changes.domains[name] = actions.DomainMetadata(name, configuration, removed=True)

    def set_app_version(self, app_id: str, version: int) -> None:
        """Record the version of an application, so that it can skip rows that it has already committed (txn action).

        The transaction conflicts with every commit that sets a version of the same application.

        Args:
            app_id: Identifier of the application, such as a streaming query.
            version: The application's version, 0 or greater, such as the number of a micro-batch.
        """
        name, number = text("app_id", app_id), non_negative("version", version)
        if number is None:
            raise errors.InvalidArgumentType.of("version", "an int", version)
        self.changes.txns[name] = actions.Txn(name, number, current_ms())

    def set_parameters(self, parameters: Mapping[str, object]) -> None:
        """Add parameters of the operation to the table's history (operationParameters).

        Args:
            parameters: Values by name, of any kind that has a JSON form.
        """
        changes = self.changes
        changes.parameters = {**changes.parameters, **mapping("parameters", parameters)}

    def set_metrics(self, metrics: Mapping[str, object]) -> None:
        """Set metrics of the operation in the table's history (operationMetrics).

        Args:
            metrics: Values by name; they are written as text.
        """
        self.changes.metrics.update({name: str(value) for name, value in mapping("metrics", metrics).items()})

    def add_metrics(self, metrics: Mapping[str, int]) -> None:
        """Add numbers to the metrics of the operation, for a transaction of several writes.

        Args:
            metrics: Numbers by name; a metric that was not set counts as 0.
        """
        numbers, before = mapping("metrics", metrics), self.changes.metrics
        self.set_metrics(
            {
                name: int(before.get(name, 0)) + instance(f"metrics[{name!r}]", number, int, "an int")
                for name, number in numbers.items()
            }
        )

    def leave_out(self, *paths: str) -> None:
        """Drop the file actions on these paths, so that the others can be committed after a conflict.

        Args:
            paths: Paths as logged, such as `CommitConflict.paths`.

        Raises:
            InvalidCommit: The transaction contains CDC files, which cover the changes of all its files.
        """
        self.changes.leave_out(texts("paths", paths))

    def commit(self) -> int:
        """Write the actions as the next version of the table, and return that version.

        If other writers commit first without a conflict, the commit is retried on top of their versions. After an error
        the table contains nothing of the transaction, which can be committed again.

        Raises:
            UnsupportedFeature: The table or the actions need a table feature that this package cannot write.
            InvalidCommit: The protocol does not allow the actions, there are none, or the transaction has ended.
            CommitConflict: Another writer committed something that this transaction depends on.
            TableNotFound: The table was dropped, or replaced by another one.
            StorageError: Storage failed.
        """
        self._check_open()
        if not self.has_actions:
            raise errors.InvalidCommit(
                f"A transaction on {self.snapshot.root} has nothing to commit: add an action first."
            )
        try:
            with same_table(self.snapshot) if self.new_folders is None else nullcontext():
                intent, owns_vectors = self._changes.intent(), bool(self._changes.undo)
                return self._finish(self._loop.commit(intent, self._look_up_files, owns_vectors))
        except errors.CorruptLog as error:
            if not is_cleaned_up(self.snapshot):
                raise
            base = self.snapshot
            raise errors.CommitConflict(
                f"The checkpoint of version {base.version} of {base.root} was deleted by log cleanup, so a transaction "
                f"on that version cannot be checked for conflicts: open the table again and repeat the operation.",
                "cleaned up",
            ) from error
        except BaseException:
            if self.new_folders is not None:
                self.new_folders.remove_empty()
            raise

    def _check_open(self) -> None:
        root = self.snapshot.root
        if self._committed is not None:
            raise errors.InvalidCommit(
                f"This transaction was already committed as version {self._committed} of {root}: begin another one."
            )
        if self._discarded:
            raise errors.InvalidCommit(f"This transaction on {root} was discarded: begin another one.")

    def _finish(self, committed: Committed) -> int:
        # From now on the files of the commit stay, unless it was withdrawn.
        self._committed, self.already_gone = committed.version, committed.already_gone
        self.turn.end()
        kill_point("committed")
        try:
            self.after = self._loop.settle(committed)
        except errors.TableNotFound:
            self._committed = None
            raise
        if is_tree_due(committed.latest, committed.version):
            add_tree(committed.latest if self.after is None else self.after)
        if LOGGER.isEnabledFor(INFO):
            parts = " ".join([self.operation, *(f"{name}={value}" for name, value in self._changes.metrics.items())])
            LOGGER.info("Committed version %s of %s: %s", committed.version, self.snapshot.root, parts)
        return committed.version


def _with_collations(metadata: actions.Metadata, snapshot: Snapshot) -> actions.Metadata:
    """The action with the collations of the snapshot's schema. The commit refuses a schema that does not parse."""
    try:
        new = parse_schema(metadata.schema_string)
    except errors.SchemaError:
        return metadata
    carried = carry_collations(snapshot.schema, new)
    return metadata if carried == new else replace(metadata, schema_string=schema_to_json(carried))
