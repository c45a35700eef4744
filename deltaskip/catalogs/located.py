"""Catalogs that keep a location for each name; the tables themselves are their Delta logs."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import date
from typing import Any

import pyarrow as pa

from deltaskip import arguments, errors
from deltaskip.actions import decode_path
from deltaskip.alter.table_changes import ClusterBy, RemoveProperty, SetComment, SetProperty, TableChange
from deltaskip.catalogs import identifier as names
from deltaskip.catalogs.staged import StagedTable
from deltaskip.catalogs.table_catalog import Ident, Partitions, TransactionalTableCatalog, no_table
from deltaskip.data_files.data import rows_or_none
from deltaskip.data_files.sort_order import SORT_ORDER_KEY, SortOrder, check_sort_order, sort_order_of, sort_order_text
from deltaskip.doors import first_line
from deltaskip.log import load_snapshot, same_table
from deltaskip.records import dataclass
from deltaskip.schema.user_schema import schema_of
from deltaskip.skipping.read_options import ReadOptions
from deltaskip.skipping.scan import Scan
from deltaskip.sparkexpr.types import display_name
from deltaskip.storage import LOG_FOLDER, Storage, gate, join, open_storage, storage_below, uri_of
from deltaskip.storage.kill_points import kill_point
from deltaskip.storage.tree import files_below
from deltaskip.table.creation import TableDefinition, columns_of_rows, creation, replacement
from deltaskip.table.table import DeltaTable
from deltaskip.transforms import Transform
from deltaskip.transforms.parse_transforms import transforms_of
from deltaskip.txn.latest import opening_after
from deltaskip.txn.transaction import Transaction
from deltaskip.warning import warn

# The second one is the name of the format in Spark.
PROVIDERS = ("delta", "deltaskip")
CASCADE = errors.OptionAdvice("cascade", True, "cascade=True (CASCADE in SQL)")
_CREATE_NAMESPACE = errors.OptionAdvice("create_namespace", text="create it with create_namespace")
COMMENT, LOCATION, PROVIDER, EXTERNAL = "comment", "location", "provider", "external"
"""Properties with a special meaning, which are not stored as properties of the Delta table."""


@dataclass(frozen=True, slots=True)
class TableEntry:
    """A table as its catalog keeps it.

    Attributes:
        identifier: Name of the table.
        location: Path or URI of the table.
        managed: Whether the catalog has chosen the location, so that dropping the table deletes its files.
    """

    identifier: names.CatalogIdentifier
    location: str
    managed: bool = True


@dataclass(frozen=True, slots=True)
class DescribedTable:
    """The description of a new table by the caller, with the order in which rows are written."""

    definition: TableDefinition
    location: str | None
    order: Sequence[SortOrder] = ()


class LocatedCatalog(TransactionalTableCatalog):
    """Base class of catalogs that keep a location for each name.

    The Delta log of a table is created first and its entry second, so that an entry never names a table that does not
    exist; a killed creation leaves a folder without a name.

    Args:
        name: Name of the catalog, for messages and SQL.
        storage_options: Options of object stores for all tables, as for DeltaTable.
    """

    def __init__(self, name: str, storage_options: Mapping[str, str] | None = None) -> None:
        self.name = name
        self.storage_options = arguments.storage_settings(storage_options)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    # The operations of a backend. Identifiers and namespaces are checked before.

    @abstractmethod
    def find_entry(self, ident: names.CatalogIdentifier) -> TableEntry | None:
        """Return the entry of a table; None if there is none."""

    @abstractmethod
    def add_entry(self, entry: TableEntry) -> None:
        """Add the entry of a table that exists; of several writers one succeeds. Raises TableAlreadyExists."""

    @abstractmethod
    def remove_entry(self, entry: TableEntry) -> bool:
        """Remove an entry, and return whether this call did; False if another writer was first."""

    @abstractmethod
    def move_entry(self, entry: TableEntry, new: names.CatalogIdentifier) -> None:
        """Rename an entry. Raises TableNotFound and TableAlreadyExists."""

    @abstractmethod
    def new_location(self, ident: names.CatalogIdentifier) -> str:
        """Return the location of a new table that the catalog manages."""

    def check_files(self, entry: TableEntry) -> None:
        """Raise StorageError if the folder of a table, which is to lose its entry, cannot be deleted."""
        gate.check_deletable_folder(*open_storage(entry.location, self.storage_options), *self.own_locations())

    def remove_files(self, entry: TableEntry) -> None:
        """Delete the files of a table that has lost its entry."""
        gate.delete_whole_folder(*open_storage(entry.location, self.storage_options), *self.own_locations())

    def own_locations(self) -> Sequence[str]:
        """Return further locations, in addition to other tables, that dropping a table must not delete."""
        return ()

    @abstractmethod
    def table_names(self, namespace: names.Namespace) -> Iterable[str]:
        """Return the names of the tables of a namespace that exists."""

    def matching_names(self, namespace: names.Namespace, matches: Callable[[str], bool]) -> Iterable[str]:
        """Return the names of the tables of an existing namespace that match."""
        return filter(matches, self.table_names(namespace))

    @abstractmethod
    def child_namespaces(self, parent: names.Namespace) -> Iterable[names.Namespace]:
        """Return the namespaces directly below a namespace that exists."""

    @abstractmethod
    def find_namespace(self, namespace: names.Namespace) -> dict[str, str] | None:
        """Return the properties of a namespace; None if it does not exist. The root () always exists."""

    @abstractmethod
    def add_namespace(self, namespace: names.Namespace, properties: Mapping[str, str]) -> None:
        """Create a namespace; of several writers one succeeds. Raises NamespaceAlreadyExists."""

    @abstractmethod
    def set_namespace(self, namespace: names.Namespace, properties: Mapping[str, str]) -> None:
        """Replace the properties of a namespace. Raises NamespaceNotFound."""

    @abstractmethod
    def remove_namespace(self, namespace: names.Namespace) -> bool:
        """Remove a namespace that is empty, and return whether this call did."""

    # Tables

    def table_exists(self, ident: Ident) -> bool:
        return self.find_entry(names.identifier_of(ident)) is not None

    def load_table(
        self, ident: Ident, *, version: int | None = None, timestamp: date | str | None = None
    ) -> DeltaTable:
        return self._open(self._entry(names.identifier_of(ident)), version, timestamp)

    def create_table(
        self,
        ident: Ident,
        schema: Any,
        partitions: Partitions = (),
        properties: Mapping[str, str] | None = None,
    ) -> DeltaTable:
        wanted, rows = names.identifier_of(ident), rows_or_none(schema, "schema")
        columns = schema if rows is None else columns_of_rows(rows, str(wanted))
        described = self._described(columns, partitions, properties)
        with self._staged_create(wanted, described, "CREATE TABLE") as staged:
            if described.location is not None:
                staged.check_no_files()
            if rows is not None:
                staged.append(rows)
            return staged.commit_staged_changes()

    def alter_table(self, ident: Ident, *changes: TableChange | Iterable[TableChange]) -> DeltaTable:
        checked = [_own_change(change) for change in _flat(changes)]
        table = self.load_table(ident)
        table.alter(*checked)
        return table

    def drop_table(self, ident: Ident, purge: bool = False) -> bool:
        with_files = arguments.flag("purge", purge)
        wanted = names.identifier_of(ident)
        entry = self.find_entry(wanted)
        if entry is None:
            return False
        with_files = with_files or entry.managed
        if with_files:
            try:
                self.check_files(entry)
            except errors.StorageError:
                if self.find_entry(wanted) is None:
                    # Another writer has dropped it meanwhile.
                    return False
                raise
        if not self.remove_entry(entry):
            return False
        if with_files:
            self.delete_dropped(entry.location, lambda _: self.remove_files(entry))
        return True

    def delete_dropped(self, location: str, delete: Callable[[str], None]) -> None:
        """Delete files without a name in the catalog. Issues a MaintenanceWarning for files that cannot be deleted.

        Args:
            location: Of the files.
            delete: Deletes them.
        """
        try:
            delete(location)
        except Exception as error:
            warn(
                f"{location} was dropped from the catalog {self.name}, but could not be deleted: {first_line(error)}. "
                f"Delete it.",
                errors.MaintenanceWarning,
            )

    def rename_table(self, old: Ident, new: Ident) -> None:
        before, after = self._entry(names.identifier_of(old, "old")), names.identifier_of(new, "new")
        self._check_namespace(after.namespace)
        self._check_free(after)
        self.move_entry(before, after)

    def register_table(self, ident: Ident, location: str) -> DeltaTable:
        wanted = names.identifier_of(ident)
        self._check_namespace(wanted.namespace)
        self._check_free(wanted)
        table = DeltaTable(arguments.path("location", location), storage_options=self.storage_options)
        self._check_location(table.snapshot.root)
        self.add_entry(TableEntry(wanted, table.snapshot.root, managed=False))
        return table

    def list_tables(self, namespace: str | Sequence[str] = ()) -> list[names.CatalogIdentifier]:
        found = names.namespace_of(namespace)
        self._check_namespace(found)
        return [names.CatalogIdentifier(found, name) for name in sorted(self.table_names(found))]

    def matching_tables(
        self, namespace: str | Sequence[str], matches: Callable[[str], bool]
    ) -> list[names.CatalogIdentifier]:
        found = names.namespace_of(namespace)
        self._check_namespace(found)
        return [names.CatalogIdentifier(found, name) for name in sorted(self.matching_names(found, matches))]

    # Namespaces

    def list_namespaces(self, parent: str | Sequence[str] = ()) -> list[names.Namespace]:
        found = names.namespace_of(parent, "parent")
        self._check_namespace(found)
        return sorted(self.child_namespaces(found))

    def namespace_exists(self, namespace: str | Sequence[str]) -> bool:
        return self.find_namespace(names.namespace_of(namespace)) is not None

    def create_namespace(self, namespace: str | Sequence[str], properties: Mapping[str, str] | None = None) -> None:
        found = names.namespace_of(namespace)
        given = {} if properties is None else arguments.texts_by_name("properties", properties)
        names.check_new_namespace(found)
        if self.find_namespace(found) is not None:
            raise errors.NamespaceAlreadyExists(
                f"The catalog {self.name} already has a namespace {names.shown_namespace(found)}."
            )
        self._check_namespace(found[:-1])
        self.add_namespace(found, given)

    def load_namespace(self, namespace: str | Sequence[str]) -> dict[str, str]:
        return self._check_namespace(names.namespace_of(namespace))

    def alter_namespace(self, namespace: str | Sequence[str], *changes: SetProperty | RemoveProperty) -> None:
        found = names.namespace_of(namespace)
        properties = changed_properties(self._check_namespace(found), changes)
        if not found:
            raise errors.InvalidArgument(f"The root of the catalog {self.name} has no properties.")
        self.set_namespace(found, properties)

    def drop_namespace(self, namespace: str | Sequence[str], cascade: bool = False) -> bool:
        found, with_content = names.namespace_of(namespace), arguments.flag("cascade", cascade)
        if not found:
            raise errors.InvalidArgument(f"The root of the catalog {self.name} cannot be dropped.")
        if self.find_namespace(found) is None:
            return False
        tables, inside = self.list_tables(found), self.list_namespaces(found)
        if (tables or inside) and not with_content:
            content = str(tables[0]) if tables else names.shown_namespace(inside[0])
            raise errors.NamespaceNotEmpty(
                f"The namespace {names.shown_namespace(found)} of the catalog {self.name} contains {content}: drop "
                f"that first, or pass {CASCADE}."
            ).advising(CASCADE)
        for each in inside:
            self.drop_namespace(each, cascade=True)
        for ident in tables:
            self.drop_table(ident)
        return self.remove_namespace(found)

    # Staged tables

    def stage_create(
        self,
        ident: Ident,
        schema: Any,
        partitions: Partitions = (),
        sort_order: Sequence[str | SortOrder] | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> StagedTable:
        described = self._described(schema, partitions, properties, sort_order)
        return self._staged_create(names.identifier_of(ident), described, "CREATE TABLE")

    def stage_replace(
        self,
        ident: Ident,
        schema: Any,
        partitions: Partitions = (),
        sort_order: Sequence[str | SortOrder] | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> StagedTable:
        described = self._described(schema, partitions, properties, sort_order)
        return self._staged_replace(self._entry(names.identifier_of(ident)), described, "REPLACE TABLE")

    def stage_create_or_replace(
        self,
        ident: Ident,
        schema: Any,
        partitions: Partitions = (),
        sort_order: Sequence[str | SortOrder] | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> StagedTable:
        wanted, described = names.identifier_of(ident), self._described(schema, partitions, properties, sort_order)
        entry = self.find_entry(wanted)
        operation = "CREATE OR REPLACE TABLE"
        if entry is None:
            return self._staged_create(wanted, described, operation)
        return self._staged_replace(entry, described, operation)

    def _staged_create(self, ident: names.CatalogIdentifier, described: DescribedTable, operation: str) -> StagedTable:
        self._check_namespace(ident.namespace)
        self._check_free(ident)
        managed = described.location is None
        storage, root = open_storage(described.location or self.new_location(ident), self.storage_options)
        if not managed:
            self._check_location(root)
        entry = TableEntry(ident, root, managed)
        transaction = creation(storage, root, described.definition)
        transaction.set_operation(operation)

        def finish() -> DeltaTable:
            kill_point("table created")
            try:
                self._check_namespace(ident.namespace)
                self.add_entry(entry)
            except BaseException as error:
                unchanged = isinstance(error, errors.CatalogError) and error.unchanged
                added = False if unchanged else self._has_entry(entry)
                if added is False:
                    withdraw(storage, transaction)
                if not added or not isinstance(error, errors.CatalogError):
                    raise
            kill_point("entry added")
            with opening_after(f"The table {ident} was created"):
                return self._open(entry)

        return StagedTable(ident, transaction, described.order, finish)

    def _staged_replace(self, entry: TableEntry, described: DescribedTable, operation: str) -> StagedTable:
        if described.location is not None and uri_of(described.location) != uri_of(entry.location):
            raise elsewhere(entry, described.location)
        storage, root = open_storage(entry.location, self.storage_options)
        latest = load_snapshot(storage, root)
        with same_table(latest):
            transaction = replacement(latest, described.definition)
        transaction.set_operation(operation)

        def finish() -> DeltaTable:
            with opening_after(f"The table {entry.identifier} was replaced"):
                return self._open(entry)

        return StagedTable(entry.identifier, transaction, described.order, finish)

    # Checks

    def _entry(self, ident: names.CatalogIdentifier) -> TableEntry:
        """The entry of a table. Raises TableNotFound."""
        found = self.find_entry(ident)
        if found is None:
            raise no_table(self, ident)
        return found

    def _open(self, entry: TableEntry, version: int | None = None, timestamp: date | str | None = None) -> DeltaTable:
        return DeltaTable(entry.location, version, timestamp, self.storage_options)

    def _check_namespace(self, namespace: names.Namespace) -> dict[str, str]:
        """The properties of a namespace. Raises NamespaceNotFound."""
        found = self.find_namespace(namespace)
        if found is None:
            raise self._no_namespace(namespace)
        return found

    def _no_namespace(self, namespace: names.Namespace) -> errors.NamespaceNotFound:
        try:
            near = errors.meant(
                names.shown_namespace(namespace), map(names.shown_namespace, self.child_namespaces(namespace[:-1]))
            )
        except errors.DeltaSkipError:
            near = ""
        shown = names.shown_namespace(namespace)
        return errors.NamespaceNotFound(
            f"The catalog {self.name} has no namespace {shown}: {_CREATE_NAMESPACE}.{near}"
        ).advising(_CREATE_NAMESPACE)

    def _check_free(self, ident: names.CatalogIdentifier) -> None:
        if self.find_entry(ident) is not None:
            raise errors.TableAlreadyExists(f"The catalog {self.name} already has a table {ident}.")

    def _check_location(self, root: str) -> None:
        """Raise InvalidArgument for a location that the catalog chooses, or may choose, for a managed table."""
        for own in self.own_locations():
            if gate.contains(own, root):
                raise errors.InvalidArgument(
                    f"{root} is in {own}, the folder of the tables that the catalog {self.name} manages, where a table "
                    f"has one name only: choose a location elsewhere, or rename the table that is there."
                )

    def _described(
        self,
        schema: Any,
        partitions: Partitions,
        properties: Mapping[str, str] | None,
        sort_order: Sequence[str | SortOrder] | None = None,
    ) -> DescribedTable:
        order = sort_order_of(sort_order)
        given = {} if properties is None else arguments.texts_by_name("properties", properties)
        own = {name: text for name, text in given.items() if name not in (COMMENT, LOCATION, PROVIDER, EXTERNAL)}
        provider = given.get(PROVIDER, "delta")
        if provider.lower() not in PROVIDERS:
            raise errors.InvalidArgument(
                f"The property provider can only be 'delta', not {provider!r}: omit it, and the USING clause. Write a "
                f"DataFrame by df.writeTo(name).create(), or by df.write.format('deltaskip').saveAsTable(name), which "
                f"otherwise uses the format of spark.sql.sources.default."
            )
        external = given.get(EXTERNAL, "false").lower()
        if external not in ("true", "false"):
            raise errors.InvalidArgument(f"The property external must be 'true' or 'false', not {given[EXTERNAL]!r}.")
        if external == "true" and LOCATION not in given:
            raise errors.InvalidArgument("An external table needs the property location, the folder of its files.")
        parts = [partitions] if isinstance(partitions, str | Transform | ClusterBy) else partitions or ()
        clusters = [each for each in parts if isinstance(each, ClusterBy)]
        columns = transforms_of([each for each in parts if not isinstance(each, ClusterBy)], "partitions")
        cluster_by = tuple(display_name(path) for each in clusters for path in each.columns)
        found = schema_of(schema)
        if order:
            check_sort_order(order, found, f"the catalog {self.name}")
            own[SORT_ORDER_KEY] = sort_order_text(order)
        definition = TableDefinition(found, columns, cluster_by, own, given.get(COMMENT))
        return DescribedTable(definition, given.get(LOCATION), order)

    def _has_entry(self, entry: TableEntry) -> bool | None:
        """Whether a table has its entry, although adding it raised; None if the catalog does not answer."""
        try:
            found = self.find_entry(entry.identifier)
        except errors.DeltaSkipError:
            return None
        return found is not None and found.location == entry.location


def changed_properties(before: Mapping[str, str], changes: Iterable[SetProperty | RemoveProperty]) -> dict[str, str]:
    """Return the properties of a namespace after changes. Raises InvalidArgumentType for other changes."""
    properties = dict(before)
    for change in changes:
        match change:
            case SetProperty(name, value):
                properties[name] = str(value)
            case RemoveProperty(name):
                properties.pop(name, None)
            case _:
                raise errors.InvalidArgumentType.of("Each change", "a SetProperty or RemoveProperty", change)
    return properties


def _flat(changes: Sequence[TableChange | Iterable[TableChange]]) -> list[TableChange]:
    """The changes; one of them may be a list."""
    found: list[TableChange] = []
    for each in changes:
        found.extend([each] if isinstance(each, TableChange) or not isinstance(each, Iterable) else each)
    return found


def _own_change(change: TableChange) -> TableChange:
    """The change that a property with a special meaning stands for. Raises InvalidArgument if it cannot change.

    # Spark 4.1, TableCatalog: PROP_COMMENT, PROP_LOCATION, PROP_PROVIDER, PROP_EXTERNAL are reserved.
    """
    if not isinstance(change, TableChange):
        raise errors.InvalidArgumentType.of("Each change", "a change such as AddColumn('price', 'INT')", change)
    match change:
        case SetProperty(name, value) if name == COMMENT:
            return SetComment(value)
        case RemoveProperty(name) if name == COMMENT:
            return SetComment(None)
        case SetProperty(name) | RemoveProperty(name) if name in (LOCATION, PROVIDER, EXTERNAL):
            raise errors.InvalidArgument(
                f"The property {name} of a table cannot be changed: it belongs to its entry in the catalog, which "
                f"drop_table and register_table change."
            )
    return change


def elsewhere(entry: TableEntry, location: str) -> errors.InvalidArgument:
    """Return the error for replacing a table by one at another location."""
    return errors.InvalidArgument(
        f"The table {entry.identifier} is at {entry.location} and cannot be replaced by one at {location}: drop it "
        f"first, or leave the property location out."
    )


def withdraw(storage: Storage, transaction: Transaction) -> None:
    """Delete a table that was just created and has no name: its log first, then the files of version 0.

    Other files of the folder stay, because they are not the table's, and so do folders that existed before. Nothing
    happens if there is no table.

    Args:
        storage: Storage of the table.
        transaction: The transaction that has created it.
    """
    root = transaction.snapshot.root
    try:
        created = load_snapshot(storage, root, 0)
        paths = Scan(created, ReadOptions("true")).files(columns=["path"])["path"].to_pylist()
    except errors.DeltaSkipError:
        paths = []
    try:
        files = files_below(storage_below(storage), join(root, LOG_FOLDER), lambda each: each.kind == "directory")
    except (FileNotFoundError, NotADirectoryError):
        files = []
    log = pa.array([file.path[len(root.rstrip("/")) + 1 :] for file in files], pa.string())
    gate.delete_files(storage, root, log.filter(gate.deletable(storage, root, log, gate.log_names)), gate.log_names)
    with suppress(OSError, errors.DeltaSkipError):
        data = pa.array([decode_path(path) for path in paths], pa.string())
        gate.delete_files(storage, root, data.filter(gate.deletable(storage, root, data, gate.written_names)))
    if transaction.new_folders is not None:
        transaction.new_folders.remove_empty()
