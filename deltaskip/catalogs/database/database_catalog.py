"""SqlCatalog: tables and namespaces as rows of a database."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from deltaskip import arguments, errors
from deltaskip.alter.table_changes import RemoveProperty, SetProperty
from deltaskip.catalogs.identifier import CatalogIdentifier, Namespace, namespace_of, shown_namespace
from deltaskip.catalogs.located import CASCADE, LocatedCatalog, TableEntry, changed_properties
from deltaskip.extras import install_command
from deltaskip.lazy_regex import regex
from deltaskip.path_bytes import absolute_path
from deltaskip.storage import join, parse_location

if TYPE_CHECKING:
    from deltaskip.catalogs.database.catalog_rows import CatalogRows

_OLDEST_SQLALCHEMY = 2
# The part of a folder's name by which people recognize its table; the random part makes the name unique.
_SHOWN_CHARACTERS = 80
_ODD = regex(r"[^A-Za-z0-9_\-]+")


class SqlCatalog(LocatedCatalog):
    """A catalog in a database: SQLite and Postgres, and others that SQLAlchemy connects to.

    The database keeps names, namespaces and locations; everything else about a table is in its Delta log. Several
    processes can use one catalog at the same time; if several create a table of one name, one succeeds.

        catalog = SqlCatalog("sqlite:///catalog.db")
        catalog.create_namespace("sales")
        catalog.create_table("sales.orders", "id BIGINT, day DATE", ["day"])

    Args:
        url: URL of the database, as SQLAlchemy takes it: "sqlite:///file.db", "postgresql+psycopg2://user@host/db".
        warehouse: Path or URI of the folder for tables without a location. The default for a SQLite file `NAME.db` is
            the folder `NAME.warehouse` beside it; other databases have none.
        catalog: Name of the catalog in the database, which can keep several.
        name: Name of the catalog in messages and SQL. The default is the name of the database.
        storage_options: Options of object stores for all tables, as for DeltaTable.

    Raises:
        InvalidArgument: The URL is not a database URL, or the database is in memory.
        CatalogError: SQLAlchemy or the driver of the database is not installed.
    """

    def __init__(
        self,
        url: str,
        warehouse: str | os.PathLike[str] | None = None,
        *,
        catalog: str = "default",
        name: str | None = None,
        storage_options: Mapping[str, str] | None = None,
    ) -> None:
        self._rows = _rows(arguments.unicode_text("url", url), arguments.unicode_text("catalog", catalog))
        super().__init__(arguments.text_or_none("name", name) or self._default_name(), storage_options)
        given = None if warehouse is None else parse_location(arguments.path("warehouse", warehouse))
        self.warehouse = self._default_warehouse() if given is None else given

    def __repr__(self) -> str:
        return f"SqlCatalog({self._rows.database.shown!r})"

    def find_entry(self, ident: CatalogIdentifier) -> TableEntry | None:
        return self._rows.table(ident)

    def add_entry(self, entry: TableEntry) -> None:
        """Raises NamespaceNotFound if the namespace was dropped."""
        if not self._rows.add_table(entry):
            raise self._refused(entry.identifier)

    def remove_entry(self, entry: TableEntry) -> bool:
        return self._rows.remove_table(entry)

    def move_entry(self, entry: TableEntry, new: CatalogIdentifier) -> None:
        """Raises NamespaceNotFound if the new namespace was dropped."""
        from deltaskip.catalogs.database.connection import ConstraintViolated

        try:
            moved = self._rows.move_table(entry, new)
        except ConstraintViolated as error:
            raise self._refused(new) from error
        if not moved:
            raise errors.TableNotFound(f"The catalog {self.name} has no table {entry.identifier}.")

    def new_location(self, ident: CatalogIdentifier) -> str:
        """Each call returns a new location, so that no leftover files conflict."""
        if self.warehouse is None:
            raise errors.InvalidArgument(
                f"The catalog {self.name} has no folder for the table {ident}: open the catalog with warehouse=, or "
                f"give the table the property location."
            )
        folders = [_shown_part(".".join(ident.namespace))] if ident.namespace else []
        return join(self.warehouse, *folders, f"{_shown_part(ident.name)}-{uuid.uuid4().hex}")

    def own_locations(self) -> Sequence[str]:
        return () if self.warehouse is None else (self.warehouse,)

    def table_names(self, namespace: Namespace) -> Iterable[str]:
        return self._rows.tables(namespace)

    def child_namespaces(self, parent: Namespace) -> Iterable[Namespace]:
        return self._rows.namespaces(parent)

    def find_namespace(self, namespace: Namespace) -> dict[str, str] | None:
        return self._rows.namespace(namespace) if namespace else {}

    def add_namespace(self, namespace: Namespace, properties: Mapping[str, str]) -> None:
        """Raises NamespaceNotFound if the parent was dropped."""
        if self._rows.add_namespace(namespace, properties):
            return
        if self._rows.namespace(namespace) is None:
            raise self._no_namespace(namespace[:-1])
        raise errors.NamespaceAlreadyExists(
            f"The catalog {self.name} already has a namespace {shown_namespace(namespace)}."
        )

    def set_namespace(self, namespace: Namespace, properties: Mapping[str, str]) -> None:
        if not self._rows.change_namespace(namespace, lambda _: dict(properties)):
            raise self._no_namespace(namespace)

    def alter_namespace(self, namespace: str | Sequence[str], *changes: SetProperty | RemoveProperty) -> None:
        """Changes that several writers make at the same time all apply."""
        found = namespace_of(namespace)
        changed_properties({}, changes)
        if not found:
            raise errors.InvalidArgument(f"The root of the catalog {self.name} has no properties.")
        if not self._rows.change_namespace(found, lambda before: changed_properties(before, changes)):
            raise self._no_namespace(found)

    def remove_namespace(self, namespace: Namespace) -> bool:
        """Raises NamespaceNotEmpty if another writer has added something."""
        from deltaskip.catalogs.database.connection import ConstraintViolated

        try:
            return self._rows.remove_namespace(namespace)
        except ConstraintViolated as error:
            raise errors.NamespaceNotEmpty(
                f"The namespace {shown_namespace(namespace)} of the catalog {self.name} is not empty, because another "
                f"writer has added something: drop that first, or pass {CASCADE}."
            ).advising(CASCADE) from error

    def _default_name(self) -> str:
        database = self._rows.database.url.database or ""
        return os.path.splitext(os.path.basename(database.partition("?")[0]))[0] or "sql"

    def _default_warehouse(self) -> str | None:
        """The folder beside a SQLite file; None for other databases."""
        database = self._rows.database
        file = database.url.database
        if not database.is_sqlite or file is None or file.startswith("file:"):
            return None
        return os.path.splitext(absolute_path(file))[0] + ".warehouse"

    def _refused(self, ident: CatalogIdentifier) -> errors.TableAlreadyExists | errors.NamespaceNotFound:
        """The error for a row that a key refused: the name is taken, or the namespace was dropped."""
        if self._rows.table(ident) is None and self.find_namespace(ident.namespace) is None:
            return self._no_namespace(ident.namespace)
        return errors.TableAlreadyExists(f"The catalog {self.name} already has a table {ident}.")


def _rows(url: str, catalog: str) -> CatalogRows:
    install = install_command("postgres") if url.startswith("postgres") else install_command("sql", "sqlalchemy")
    try:
        import sqlalchemy
    except ModuleNotFoundError as error:
        raise errors.CatalogError(f"A catalog in a database needs SQLAlchemy: {install}.") from error
    if int(sqlalchemy.__version__.partition(".")[0]) < _OLDEST_SQLALCHEMY:
        raise errors.CatalogError(
            f"A catalog in a database needs SQLAlchemy {_OLDEST_SQLALCHEMY} or newer, not {sqlalchemy.__version__}: "
            f"{install}."
        )
    from deltaskip.catalogs.database.catalog_rows import CatalogRows
    from deltaskip.catalogs.database.connection import Database

    return CatalogRows(Database(url), catalog)


def _shown_part(name: str) -> str:
    return _ODD.sub("_", name)[:_SHOWN_CHARACTERS]
