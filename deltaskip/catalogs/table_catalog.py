"""The interface of a catalog: tables and namespaces by name.

# SPIP Spark API for Table Metadata, Table Catalog API; Atomic Operations. Spark 4.1, TableCatalog, StagingTableCatalog
# and SupportsNamespaces, say which errors a method raises.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from datetime import date
from importlib import import_module
from typing import TYPE_CHECKING, Any

from deltaskip.alter.table_changes import ClusterBy, RemoveProperty, SetProperty, TableChange
from deltaskip.catalogs.identifier import CatalogIdentifier, namespace_of
from deltaskip.doors import Unpicklable, door
from deltaskip.errors import DeltaSkipError, TableNotFound, UnsupportedFeature, nearest
from deltaskip.records import dataclass
from deltaskip.sparkexpr.types import display_name
from deltaskip.transforms import Transform

if TYPE_CHECKING:
    from deltaskip.catalogs.staged import StagedTable
    from deltaskip.data_files.sort_order import SortOrder
    from deltaskip.table.table import DeltaTable

_STATEMENTS = "deltaskip.statements.run"
"""The module whose function `run_statement` runs SQL. It is in a package above this one, so only its name is known."""

Ident = str | Sequence[str] | CatalogIdentifier
"""The name of a table: SQL text such as "sales.orders", a tuple of its parts, or a CatalogIdentifier."""

Partitions = str | Transform | ClusterBy | Sequence[str | Transform | ClusterBy] | None
"""Names of partition columns and transforms, or one ClusterBy; None for neither."""


@dataclass(frozen=True, slots=True)
class NamespaceDescription:
    """A namespace and its properties.

    Attributes:
        catalog: Name of the catalog.
        namespace: Parts of the namespace's name.
        comment: Its comment; None without one.
        location: The folder of its tables; None if the catalog keeps none.
        owner: Its owner; None if the catalog keeps none.
        properties: The other properties.
    """

    catalog: str
    namespace: tuple[str, ...]
    comment: str | None = None
    location: str | None = None
    owner: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)


class TableCatalog(Unpicklable, ABC):
    """A catalog: creates, loads, alters, renames, lists and drops tables by name.

    A method that takes the name of a table raises InvalidArgument for text that is not a name and
    InvalidArgumentType for other values. Every method raises CatalogError if the catalog cannot be reached, and
    StorageError if the storage of a table cannot.

    Attributes:
        name: Name of the catalog, for messages and SQL.
    """

    name: str
    instead = "open it there with deltaskip.catalog, or pickle the tables that load_table returns"

    def __init_subclass__(cls, **named: Any) -> None:
        super().__init_subclass__(**named)
        door(cls)

    @abstractmethod
    def table_exists(self, ident: Ident) -> bool:
        """Return whether the catalog has a table of this name."""

    @abstractmethod
    def load_table(
        self, ident: Ident, *, version: int | None = None, timestamp: date | str | None = None
    ) -> DeltaTable:
        """Return a table.

        Args:
            ident: Name of the table.
            version: Version to open. The default is the latest.
            timestamp: Open the latest version that was committed at or before this time, as in DeltaTable.

        Raises:
            TableNotFound: The table does not exist.
            VersionNotFound: The version does not exist, or there was none at that time.
        """

    def refresh_table(self, ident: Ident) -> DeltaTable:
        """Load the latest version of a table, ignoring any cache. Raises as `load_table` does."""
        return self.load_table(ident)

    @abstractmethod
    def create_table(
        self,
        ident: Ident,
        schema: Any,
        partitions: Partitions = (),
        properties: Mapping[str, str] | None = None,
    ) -> DeltaTable:
        """Create a table, without rows or with given rows in the same commit, and return it.

        Args:
            ident: Name of the table.
            schema: Columns as DDL text, or a schema of PySpark, Arrow or deltaskip. Or rows, as for
                `DeltaTable.append`: the table then has their columns, which accept NULL, and their rows.
            partitions: Names of partition columns, and transforms such as `transforms.date("ts")`; or one
                ClusterBy("a", "b") for a clustered table.
            properties: Table properties. `location` is the location of a table that the catalog does not manage,
                `comment` the description of the table, and `provider` can only be "delta".

        Raises:
            TableAlreadyExists: There is a table of this name, or a Delta table at the location.
            NamespaceNotFound: The namespace does not exist.
            SchemaError: The schema cannot be parsed, or a column is not allowed.
            RowViolation: A value does not fit its column. There is no table then.
            InvalidArgument: A transform or property is not possible.
        """

    @abstractmethod
    def alter_table(self, ident: Ident, *changes: TableChange | Iterable[TableChange]) -> DeltaTable:
        """Make changes strictly in order, all of them in one commit or none, and return the table.

        Args:
            ident: Name of the table.
            changes: Changes such as AddColumn("price", "DECIMAL(10,2)"), or one list of them.

        Raises:
            TableNotFound: The table does not exist.
            SchemaError: A column does not exist, already exists, or cannot be changed in this way.
            InvalidArgument: A property is not possible.
        """

    @abstractmethod
    def drop_table(self, ident: Ident, purge: bool = False) -> bool:
        """Drop a table: its name, and its files if the catalog manages them.

        Args:
            ident: Name of the table.
            purge: Whether the files of a table that the catalog does not manage are also deleted.

        Returns:
            Whether there was a table of this name.
        """

    @abstractmethod
    def rename_table(self, old: Ident, new: Ident) -> None:
        """Rename a table, also to another namespace.

        Args:
            old: Name of the table.
            new: Its new name.

        Raises:
            TableNotFound: There is no table of the old name.
            TableAlreadyExists: There is a table of the new name.
            NamespaceNotFound: The namespace of the new name does not exist.
            UnsupportedFeature: The catalog cannot rename tables.
        """

    @abstractmethod
    def register_table(self, ident: Ident, location: str) -> DeltaTable:
        """Register an existing Delta table under a name. Its files are not moved, and stay when the name is dropped.

        Args:
            ident: Name of the table.
            location: Path or URI of the table.

        Raises:
            TableNotFound: There is no Delta table at the location.
            TableAlreadyExists: There is a table of this name.
            NamespaceNotFound: The namespace does not exist.
        """

    @abstractmethod
    def list_tables(self, namespace: str | Sequence[str] = ()) -> list[CatalogIdentifier]:
        """Return the names of the tables of a namespace, sorted, without tables of namespaces in it.

        Raises NamespaceNotFound if it does not exist.
        """

    def matching_tables(
        self, namespace: str | Sequence[str], matches: Callable[[str], bool]
    ) -> list[CatalogIdentifier]:
        """Return the names of the tables of a namespace whose last part matches, sorted. Raises NamespaceNotFound."""
        return [ident for ident in self.list_tables(namespace) if matches(ident.name)]

    @abstractmethod
    def list_namespaces(self, parent: str | Sequence[str] = ()) -> list[tuple[str, ...]]:
        """Return the namespaces directly below another one, sorted. Raises NamespaceNotFound."""

    @abstractmethod
    def namespace_exists(self, namespace: str | Sequence[str]) -> bool:
        """Return whether a namespace exists; the root () always does."""

    @abstractmethod
    def create_namespace(self, namespace: str | Sequence[str], properties: Mapping[str, str] | None = None) -> None:
        """Create a namespace.

        Args:
            namespace: Name of the namespace.
            properties: Its properties, such as `comment`.

        Raises:
            NamespaceAlreadyExists: A namespace of this name exists.
            NamespaceNotFound: The namespace above it does not exist.
        """

    @abstractmethod
    def load_namespace(self, namespace: str | Sequence[str]) -> dict[str, str]:
        """Return the properties of a namespace. Raises NamespaceNotFound."""

    def describe_namespace(self, namespace: str | Sequence[str]) -> NamespaceDescription:
        """Return the facts of DESCRIBE NAMESPACE about a namespace. Raises NamespaceNotFound."""
        own = self.load_namespace(namespace)
        comment, location, owner = (own.pop(key, None) for key in ("comment", "location", "owner"))
        return NamespaceDescription(self.name, namespace_of(namespace), comment, location, owner, own)

    @abstractmethod
    def alter_namespace(self, namespace: str | Sequence[str], *changes: SetProperty | RemoveProperty) -> None:
        """Set and remove properties of a namespace, in order. Raises NamespaceNotFound."""

    @abstractmethod
    def drop_namespace(self, namespace: str | Sequence[str], cascade: bool = False) -> bool:
        """Drop a namespace.

        Args:
            namespace: Name of the namespace.
            cascade: Whether its tables and namespaces are also dropped.

        Returns:
            Whether there was a namespace of this name.

        Raises:
            NamespaceNotEmpty: It contains a table or a namespace, and `cascade` is False.
        """

    def sql(
        self, spark: Any, text: str | None = None, params: Mapping[str, object] | Sequence[object] | None = None
    ) -> Any:
        """Run an SQL statement over the tables of the catalog, as Spark SQL and Delta write it.

        In a query each table of the catalog is read through a scan that skips files; all other names are resolved by
        the session. Types, expressions and queries keep their text as typed. Without a session, a SELECT is run as by
        `deltaskip.sql`, by a scan or by DuckDB. Its rows are written by INSERT, CREATE TABLE … AS and MERGE only if
        DuckDB cannot compute others than Spark.

        Args:
            spark: A session, classic or Connect. It may be None, or be left out so that the text comes first, for
                statements with expressions that deltaskip evaluates itself.
            text: One statement.
            params: Values of the parameters of the text: a mapping for `:name`, a list for `?`, as in
                DeltaTable.scan.

        Returns:
            The rows of the answer, with the columns of Spark and delta-spark: a DataFrame of the session, or an Arrow
            table without a session. Statements other than queries have run when the method returns.

        Raises:
            PredicateError: The text is not a statement, Spark or DuckDB refuses its query, or DuckDB may compute other
                rows to write than Spark.
            InvalidArgument: The statement is not supported; the message names what to use instead.
            SparkUnavailable: The statement needs a session.
            DeltaSkipError: As raised by the methods that the statement calls.

        Warns:
            PredicateWarning: DuckDB runs a SELECT whose functions may have another meaning there than in Spark.
        """
        return import_module(_STATEMENTS).run_statement(self, spark, text, params)


class TransactionalTableCatalog(TableCatalog):
    """A catalog that creates and replaces tables together with their rows, in one commit.

    # SPIP Spark API for Table Metadata, Atomic Operations
    """

    @abstractmethod
    def stage_create(
        self,
        ident: Ident,
        schema: Any,
        partitions: Partitions = (),
        sort_order: Sequence[str | SortOrder] | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> StagedTable:
        """Return a staged table, which is created with its rows when it is committed; CREATE TABLE AS SELECT.

        Args:
            ident: Name of the table.
            schema: Columns, as in `create_table`.
            partitions: Partition columns and transforms, as in `create_table`.
            sort_order: Order in which the rows of each data file are written, such as ["ts DESC", "id"].
            properties: Table properties, as in `create_table`.

        Raises:
            TableAlreadyExists: There is a table of this name; it may also be raised by the commit.
            NamespaceNotFound: The namespace does not exist.
            SchemaError: The schema cannot be parsed, or a column is not allowed.
            InvalidArgument: A transform, property or sort order is not possible.
        """

    @abstractmethod
    def stage_replace(
        self,
        ident: Ident,
        schema: Any,
        partitions: Partitions = (),
        sort_order: Sequence[str | SortOrder] | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> StagedTable:
        """Return a staged table, which replaces an existing one when it is committed; REPLACE TABLE AS SELECT.

        The commit gives the table the new columns, partitions, properties and rows, and keeps its history. Arguments
        and errors as for `stage_create`, except for TableNotFound if no table has this name. The commit raises
        CommitConflict if another writer has changed the table.
        """

    @abstractmethod
    def stage_create_or_replace(
        self,
        ident: Ident,
        schema: Any,
        partitions: Partitions = (),
        sort_order: Sequence[str | SortOrder] | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> StagedTable:
        """Return `stage_replace` if there is a table of this name, otherwise `stage_create`."""


def transactional(catalog: TableCatalog, name: str) -> TransactionalTableCatalog:
    """Return the catalog if it creates and replaces tables with their rows. Raises UnsupportedFeature with the name."""
    if not isinstance(catalog, TransactionalTableCatalog):
        raise UnsupportedFeature(
            f"The catalog {name} cannot create or replace a table together with its rows: create the table, and INSERT "
            f"INTO it."
        )
    return catalog


def no_table(catalog: TableCatalog, ident: CatalogIdentifier) -> TableNotFound:
    """Return the error for a name that no table of a catalog has, with the most similar name."""
    try:
        near = _nearest_table(catalog, ident)
    except DeltaSkipError:
        near = None
    cure = "" if near is None else f" Did you mean {near}?"
    if near is not None and str(near).lower() == str(ident).lower():
        cure += " Letter case counts."
    return TableNotFound(f"The catalog {catalog.name} has no table {ident}.{cure}")


def _nearest_table(catalog: TableCatalog, ident: CatalogIdentifier) -> CatalogIdentifier | None:
    """The table with the most similar name in the namespace of a name, or in the most similar one; None for none."""
    namespace = ident.namespace
    if not catalog.namespace_exists(namespace):
        others = {display_name(each): each for each in catalog.list_namespaces(namespace[:-1])}
        near = nearest(display_name(namespace), others)
        if near is None:
            return None
        namespace = others[near]
    tables = {each.name: each for each in catalog.list_tables(namespace)}
    if not namespace and ident.name not in tables:
        # The namespace may be missing.
        for each in catalog.list_namespaces()[:_MOST_SEARCHED]:
            found = catalog.matching_tables(each, lambda name: name.lower() == ident.name.lower())
            if found:
                return found[0]
    near = nearest(ident.name, tables)
    return None if near is None else tables[near]


_MOST_SEARCHED = 20
"""The most namespaces that are searched for a table whose name lacks one."""
