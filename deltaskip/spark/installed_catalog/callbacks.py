"""The catalog as Spark sees it."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import timedelta
from functools import partial
from typing import Any

from deltaskip.alter import table_changes
from deltaskip.alter.table_changes import (
    AddColumn,
    AddConstraint,
    ClusterBy,
    DeleteColumn,
    DropConstraint,
    First,
    RemoveProperty,
    RenameColumn,
    SetProperty,
    UpdateColumnComment,
    UpdateColumnNullability,
)
from deltaskip.catalogs.identifier import CatalogIdentifier, Namespace
from deltaskip.catalogs.located import EXTERNAL, LOCATION, PROVIDER
from deltaskip.catalogs.table_catalog import TableCatalog, TransactionalTableCatalog, transactional
from deltaskip.errors import InvalidArgument, TableNotFound, UnsupportedFeature
from deltaskip.spark.installed_catalog.changelog import InstalledChangelog, clause_of
from deltaskip.spark.installed_catalog.definitions import described
from deltaskip.spark.installed_catalog.installed_table import InstalledTable, TableToCommit
from deltaskip.spark.installed_catalog.planned_statements import RowStatements
from deltaskip.spark.session.jvm import Jvm, Proxy, Unmeasured, answers
from deltaskip.sparkexpr.types import display_name
from deltaskip.sparkexpr.values.calendar import EPOCH
from deltaskip.statements.reader import path_of
from deltaskip.statements.statement import by_path
from deltaskip.table.table import DeltaTable

_CATALOG = "org.apache.spark.sql.connector.catalog"
_CAPABILITIES = (
    "SUPPORT_COLUMN_DEFAULT_VALUE",
    "SUPPORT_TABLE_CONSTRAINT",
    "SUPPORTS_CREATE_TABLE_WITH_GENERATED_COLUMNS",
    "SUPPORTS_CREATE_TABLE_WITH_IDENTITY_COLUMNS",
)


class SparkPlugin(Unmeasured, Proxy):
    """A catalog of this package as a CatalogPlugin of Spark.

    Args:
        jvm: The session's JVM.
        name: Name of the catalog in the session.
        catalog: The catalog.
        statements: Plans statements that change rows.
    """

    def __init__(self, jvm: Jvm, name: str, catalog: TableCatalog, statements: RowStatements) -> None:
        super().__init__(jvm, f"deltaskip catalog {name} #{id(self)}")
        self._name = name
        self._catalog = catalog
        self._statements = statements

    # CatalogPlugin

    def initialize(self, _name: str, _options: Any) -> None:
        """CatalogPlugin: nothing to initialize."""

    def name(self) -> str:
        """CatalogPlugin: the name in the session."""
        return self._name

    @answers()
    def defaultNamespace(self) -> Any:
        """CatalogPlugin: the root."""
        return self.jvm.strings(())

    # TableCatalog

    @answers()
    def capabilities(self) -> Any:
        """TableCatalog: the capabilities of CREATE TABLE."""
        of = self.jvm.view.org.apache.spark.sql.connector.catalog.TableCatalogCapability
        return self.jvm.enums(of, _CAPABILITIES)

    def useNullableQuerySchema(self) -> bool:
        """TableCatalog: columns of CREATE TABLE AS SELECT are nullable, as in delta-spark."""
        return True

    @answers("NoSuchNamespaceException")
    def listTables(self, namespace: Any) -> Any:
        """TableCatalog: the tables of a namespace."""
        identifiers = self.jvm.view.org.apache.spark.sql.connector.catalog.Identifier
        found = self._catalog.list_tables(_parts(namespace))
        return self.jvm.array(identifiers, (self._identifier(each) for each in found))

    @answers("NoSuchNamespaceException")
    def listTableSummaries(self, namespace: Any) -> Any:
        """TableCatalog: the tables of a namespace, with their types."""
        summaries = self.jvm.view.org.apache.spark.sql.connector.catalog.TableSummary
        found = self._catalog.list_tables(_parts(namespace))
        return self.jvm.array(summaries, (summaries.of(self._identifier(each), "MANAGED") for each in found))

    @answers("NoSuchTableException")
    def loadTable(self, ident: Any, how: Any = None, _options: Any = None) -> Any:
        """TableCatalog: a table, at a version or time, or for statements that change it.

        Args:
            ident: The identifier of the table.
            how: None, a version as text, a time in microseconds, a set of privileges, or a TableContext with these.
        """
        name = _identifier(ident)
        how = _from_context(how)
        if how is None:
            return self._installed(name, self._load(name))
        if isinstance(how, str):
            return self._installed(name, self._load(name, version=_version(how)), travels=True)
        if isinstance(how, int):
            return self._installed(name, self._load(name, timestamp=EPOCH + timedelta(microseconds=how)), travels=True)
        latest = partial(self._load, name)
        table = self._installed(name, latest(), latest=latest)
        self._statements.tables[table.text] = table
        return table

    @answers("NoSuchTableException")
    def loadChangelog(self, ident: Any, context: Any, options: Any) -> Any:
        """TableCatalog: the changes of a table, for CHANGES FROM.

        Args:
            ident: The identifier of the table.
            context: The range, and how changes are told.
            options: The options of the read.
        """
        name = _identifier(ident)
        shown = display_name([self._name, *name.namespace, name.name])
        return InstalledChangelog(self.jvm, shown, self._load(name), clause_of(context, options))

    @answers()
    def tableStateOptionKeys(self) -> Any:
        """TableCatalog: no option of a query chooses a state of a table."""
        return self.jvm.view.java.util.HashSet()

    @answers()
    def changelogStateOptionKeys(self) -> Any:
        """TableCatalog: no option of a query chooses changes of a table."""
        return self.jvm.view.java.util.HashSet()

    @answers()
    def invalidateTable(self, ident: Any) -> None:
        """TableCatalog: forget the cached state of a table."""
        name = _identifier(ident)
        if self._path(name) is None and self._exists(name):
            self._catalog.refresh_table(name)

    @answers()
    def tableExists(self, ident: Any) -> bool:
        """TableCatalog: whether a table exists."""
        return self._exists(_identifier(ident))

    @answers("TableAlreadyExistsException", "NoSuchNamespaceException")
    def createTable(self, ident: Any, *given: Any) -> Any:
        """TableCatalog: create an empty table, or register the one at a location of which nothing else is said."""
        name = self._named(ident)
        new = described(self.jvm, given)
        properties = new.properties
        # Spark refuses partitioning and clustering without columns.
        says_more = new.schema.fields or properties.keys() - {LOCATION, PROVIDER, EXTERNAL}
        if LOCATION in properties and not says_more:
            return self._installed(name, self._catalog.register_table(name, properties[LOCATION]))
        return self._installed(name, self._catalog.create_table(name, new.schema, new.partitions, properties))

    @answers("TableAlreadyExistsException", "NoSuchNamespaceException")
    def createTableLike(self, ident: Any, info: Any, _source: Any) -> Any:
        """TableCatalog: create an empty table with the columns of another table."""
        return self.createTable(ident, info)

    @answers("NoSuchTableException")
    def alterTable(self, ident: Any, changes: Any) -> Any:
        """TableCatalog: change a table in one commit."""
        name = _identifier(ident)
        made = [each for change in changes for each in _table_changes(change)]
        if self._path(name) is not None and made:
            self._load(name).alter(*made)
        table = self._catalog.alter_table(name, made) if made and self._path(name) is None else self._load(name)
        return self._installed(name, table)

    @answers()
    def dropTable(self, ident: Any) -> bool:
        """TableCatalog: drop a table."""
        return self._catalog.drop_table(self._named(ident))

    @answers()
    def purgeTable(self, ident: Any) -> bool:
        """TableCatalog: drop a table with its files."""
        return self._catalog.drop_table(self._named(ident), purge=True)

    @answers("NoSuchTableException", "TableAlreadyExistsException")
    def renameTable(self, old: Any, new: Any) -> None:
        """TableCatalog: rename a table."""
        target = self._named(new)
        if target.namespace[:1] == (self._name,) and not self._catalog.namespace_exists(target.namespace):
            # Spark passes the name as written, which may begin with the name of the catalog.
            target = CatalogIdentifier(target.namespace[1:], target.name)
        self._catalog.rename_table(self._named(old), target)

    # StagingTableCatalog

    @answers("TableAlreadyExistsException", "NoSuchNamespaceException")
    def stageCreate(self, ident: Any, *given: Any) -> Any:
        """StagingTableCatalog: a table that the commit creates."""
        return self._staged(ident, given, self._transactional().stage_create)

    @answers("NoSuchNamespaceException", "NoSuchTableException")
    def stageReplace(self, ident: Any, *given: Any) -> Any:
        """StagingTableCatalog: a table that the commit replaces."""
        return self._staged(ident, given, self._transactional().stage_replace)

    @answers("NoSuchNamespaceException")
    def stageCreateOrReplace(self, ident: Any, *given: Any) -> Any:
        """StagingTableCatalog: a table that the commit creates or replaces."""
        return self._staged(ident, given, self._transactional().stage_create_or_replace)

    # SupportsNamespaces

    @answers("NoSuchNamespaceException")
    def listNamespaces(self, namespace: Any = ()) -> Any:
        """SupportsNamespaces: the child namespaces of a namespace."""
        found = self._catalog.list_namespaces(_parts(namespace))
        return self.jvm.array_of_strings(found)

    @answers()
    def namespaceExists(self, namespace: Any) -> bool:
        """SupportsNamespaces: whether a namespace exists."""
        return self._catalog.namespace_exists(_parts(namespace))

    @answers("NoSuchNamespaceException")
    def loadNamespaceMetadata(self, namespace: Any) -> Any:
        """SupportsNamespaces: the properties of a namespace."""
        return self.jvm.map(self._catalog.load_namespace(_parts(namespace)))

    @answers("NamespaceAlreadyExistsException")
    def createNamespace(self, namespace: Any, properties: Any) -> None:
        """SupportsNamespaces: create a namespace."""
        given = {str(name): str(value) for name, value in properties.items() if name != "owner"}
        self._catalog.create_namespace(_parts(namespace), given)

    @answers("NoSuchNamespaceException")
    def alterNamespace(self, namespace: Any, changes: Any) -> None:
        """SupportsNamespaces: change the properties of a namespace."""
        self._catalog.alter_namespace(_parts(namespace), *map(_namespace_change, changes))

    @answers("NoSuchNamespaceException", "NonEmptyNamespaceException")
    def dropNamespace(self, namespace: Any, cascade: bool) -> bool:
        """SupportsNamespaces: drop a namespace."""
        return self._catalog.drop_namespace(_parts(namespace), cascade)

    # Calls of this package's catalog

    def _path(self, name: CatalogIdentifier) -> str | None:
        """The path of ``deltaskip.`/data/events` `` for a catalog of this name; None for the name of a table."""
        return path_of((*name.namespace, name.name)) or path_of((self._name, *name.namespace, name.name))

    def _named(self, ident: Any) -> CatalogIdentifier:
        """The name of a table that a statement creates, drops or renames. Raises InvalidArgument for a path."""
        name = _identifier(ident)
        if self._path(name) is not None:
            raise by_path(display_name([self._name, *name.namespace, name.name]))
        return name

    def _load(self, name: CatalogIdentifier, **at: Any) -> Any:
        path = self._path(name)
        if path is not None:
            try:
                return DeltaTable(path, **at)
            except TableNotFound as error:
                # Otherwise Spark would read files of the format itself.
                raise InvalidArgument(str(error)) from error
        if not name.namespace or self._catalog.namespace_exists(name.namespace):
            return self._catalog.load_table(name, **at)
        raise TableNotFound(f"The catalog {self._name} has no table {name}.")

    def _installed(self, name: CatalogIdentifier, table: DeltaTable, **how: Any) -> InstalledTable:
        return InstalledTable(self.jvm, self._name, self._catalog, name, table, **how)

    def _exists(self, name: CatalogIdentifier) -> bool:
        path = self._path(name)
        if path is not None:
            return DeltaTable.exists(path)
        return self._catalog.namespace_exists(name.namespace) and self._catalog.table_exists(name)

    def _transactional(self) -> TransactionalTableCatalog:
        return transactional(self._catalog, self._name)

    def _staged(self, ident: Any, given: tuple[Any, ...], stage: Any) -> Any:
        name = self._named(ident)
        new = described(self.jvm, given)
        staged = stage(name, new.schema, new.partitions, properties=new.properties)
        return TableToCommit(self.jvm, self._name, staged, new.schema.fields, lambda: self._load(name).version)

    def _identifier(self, ident: CatalogIdentifier) -> Any:
        identifiers = self.jvm.view.org.apache.spark.sql.connector.catalog.Identifier
        return identifiers.of(self.jvm.strings(ident.namespace), ident.name)

    class Java:
        """The interfaces that Spark sees."""

        implements = (f"{_CATALOG}.StagingTableCatalog", f"{_CATALOG}.SupportsNamespaces")


def _identifier(ident: Any) -> CatalogIdentifier:
    return CatalogIdentifier(_parts(ident.namespace()), str(ident.name()))


def _parts(namespace: Iterable[Any]) -> Namespace:
    return tuple(str(part) for part in namespace)


def _from_context(how: Any) -> Any:
    """The version that a TableContext of Spark 4.3 asks for. Other values are returned unchanged."""
    if how is None or isinstance(how, str | int | Collection):
        return how
    travel = how.timeTravel()
    if travel.isPresent():
        found = travel.get()
        return found.version() if found.getClass().getSimpleName() == "AsOfVersion" else found.micros()
    privileges = how.writePrivileges()
    return None if privileges.isEmpty() else privileges


def _version(text: str) -> int:
    if not text.strip().isdecimal():
        raise InvalidArgument(f"VERSION AS OF needs the number of a version, not {text!r}.")
    return int(text)


_OF_DELTA_SPARK = "org.apache.spark.sql.delta."


def _table_changes(change: Any) -> list[table_changes.TableChange]:
    """Convert a change of a table, which may need several changes. Raises UnsupportedFeature for an unknown change."""
    name, kind = str(change.getClass().getName()), change.getClass().getSimpleName()
    match kind:
        # delta-spark's parser, where a session has it, makes changes of its own.
        case "AddConstraint" if name.startswith(_OF_DELTA_SPARK):
            return [AddConstraint(change.constraintName(), change.expr())]
        case "DropConstraint" if name.startswith(_OF_DELTA_SPARK):
            return [DropConstraint(change.constraintName(), bool(change.ifExists()))]
        case "AddColumn":
            return _add_column(change)
        case "RenameColumn":
            return [RenameColumn(_path(change), change.newName())]
        case "UpdateColumnType":
            return [table_changes.UpdateColumn(_path(change), _type(change.newDataType()))]
        case "UpdateColumnNullability":
            return [UpdateColumnNullability(_path(change), bool(change.nullable()))]
        case "UpdateColumnComment":
            return [UpdateColumnComment(_path(change), change.newComment())]
        case "UpdateColumnPosition":
            position = _position(change.position())
            return [] if position is None else [table_changes.MoveColumn(_path(change), position)]
        case "UpdateColumnDefaultValue":
            text = change.newDefaultValue()
            return [table_changes.SetDefault(_path(change), text) if text else table_changes.DropDefault(_path(change))]
        case "DeleteColumn":
            return [DeleteColumn(_path(change), bool(change.ifExists()))]
        case "SetProperty":
            return [SetProperty(change.property(), change.value())]
        case "RemoveProperty":
            # Spark passes only the name, whether or not the statement has IF EXISTS.
            return [RemoveProperty(change.property(), if_exists=True)]
        case "ClusterBy":
            return [ClusterBy(*(tuple(map(str, each.fieldNames())) for each in change.clusteringColumns()))]
        case "AddConstraint" if change.constraint().getClass().getSimpleName() == "Check":
            return [AddConstraint(change.constraint().name(), change.constraint().predicateSql())]
        case "DropConstraint":
            return [DropConstraint(change.name(), bool(change.ifExists()))]
        case other:
            raise UnsupportedFeature(f"The change {other} of a table is not one that Delta tables have: {change}.")


def _namespace_change(change: Any) -> SetProperty | RemoveProperty:
    """Convert a change of a namespace."""
    if change.getClass().getSimpleName() == "SetProperty":
        return SetProperty(change.property(), change.value())
    return RemoveProperty(change.property(), if_exists=True)


def _add_column(change: Any) -> list[table_changes.TableChange]:
    path = _path(change)
    if change.defaultValue() is not None:
        raise UnsupportedFeature(
            f"The column {display_name(path)} cannot be added with a default, because rows that are there would need "
            f"a value: add it first, and then write ALTER COLUMN … SET DEFAULT."
        )
    position = None if change.position() is None else _position(change.position())
    return [AddColumn(path, _type(change.dataType()), change.comment(), bool(change.isNullable()), position)]


def _path(change: Any) -> tuple[str, ...]:
    return tuple(str(part) for part in change.fieldNames())


def _position(position: Any) -> First | table_changes.After | None:
    if position is None:
        return None
    return (
        table_changes.FIRST
        if position.getClass().getSimpleName() == "First"
        else table_changes.After(position.column())
    )


def _type(data_type: Any) -> str:
    """The type as SQL text, with collations and declared lengths."""
    return str(data_type.sql())
