"""The rows of one catalog in a database: each method is one query or one transaction."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from sqlalchemy import Connection, bindparam, select

from deltaskip.catalogs.database.catalog_tables import NAMESPACES, TABLES, name_id
from deltaskip.catalogs.database.connection import ConstraintViolated, Database
from deltaskip.catalogs.identifier import CatalogIdentifier, Namespace
from deltaskip.catalogs.located import TableEntry
from deltaskip.json_text import parse_json
from deltaskip.storage import uri_of

T = TypeVar("T")

_TABLE = select(TABLES.c.location, TABLES.c.managed).where(TABLES.c.id == bindparam("key"))
_TABLES = select(TABLES.c.name).where(TABLES.c.namespace_id == bindparam("key"))
_NAMESPACE = select(NAMESPACES.c.properties).where(NAMESPACES.c.id == bindparam("key"))
_NAMESPACES = select(NAMESPACES.c.namespace).where(NAMESPACES.c.parent_id == bindparam("key"))


class CatalogRows:
    """The tables and namespaces of a catalog as rows. Every method raises CatalogError if the database fails.

    Args:
        database: The database.
        catalog: Name of the catalog in it.
    """

    def __init__(self, database: Database, catalog: str) -> None:
        self.database = database
        self._catalog = catalog
        self._root_exists = False

    def table(self, ident: CatalogIdentifier) -> TableEntry | None:
        """Return the entry of a table; None if there is none."""
        rows = self.database.read(_TABLE, {"key": self._table_id(ident)})
        return TableEntry(ident, rows[0].location, bool(rows[0].managed)) if rows else None

    def tables(self, namespace: Namespace) -> list[str]:
        """Return the names of the tables of a namespace."""
        return [row.name for row in self.database.read(_TABLES, {"key": self._namespace_id(namespace)})]

    def add_table(self, entry: TableEntry) -> bool:
        """Add a table; False if the name is taken, or its namespace does not exist."""
        location = _stored(entry.location)
        row = {
            **self._named(entry.identifier),
            "catalog_name": self._catalog,
            "location": location,
            "managed": entry.managed,
        }

        def insert(connection: Connection, _lost: bool) -> None:
            connection.execute(TABLES.insert(), row)

        try:
            self._write(insert, root=not entry.identifier.namespace)
        except ConstraintViolated as error:
            found = self.table(entry.identifier) if error.lost else None
            return found is not None and found.location == location
        return True

    def remove_table(self, entry: TableEntry) -> bool:
        """Remove a table; False if another writer has removed or renamed it."""
        this_one, location = self._is(entry), TABLES.c.location == _stored(entry.location)

        def delete(connection: Connection, lost: bool) -> bool:
            if connection.execute(TABLES.delete().where(this_one)).rowcount:
                return True
            # An earlier attempt may have removed it; but if another writer has renamed the table, it still exists.
            anywhere = TABLES.select().where((TABLES.c.catalog_name == self._catalog) & location)
            return lost and connection.execute(anywhere).first() is None

        return self._write(delete)

    def move_table(self, entry: TableEntry, new: CatalogIdentifier) -> bool:
        """Give a table another name; False if another writer has removed or renamed it.

        Raises ConstraintViolated if the new name is taken, or its namespace does not exist.
        """
        this_one = self._is(entry)

        def rename(connection: Connection, lost: bool) -> bool:
            if connection.execute(TABLES.update().where(this_one), self._named(new)).rowcount:
                return True
            found = connection.execute(_TABLE, {"key": self._table_id(new)}).first() if lost else None
            return found is not None and found.location == _stored(entry.location)

        return self._write(rename, root=not new.namespace)

    def namespace(self, namespace: Namespace) -> dict[str, str] | None:
        """Return the properties of a namespace; None if it does not exist."""
        rows = self.database.read(_NAMESPACE, {"key": self._namespace_id(namespace)})
        return self._parsed(rows[0].properties, dict) if rows else None

    def namespaces(self, parent: Namespace) -> list[Namespace]:
        """Return the namespaces directly below another one."""
        rows = self.database.read(_NAMESPACES, {"key": self._namespace_id(parent)})
        return [tuple(self._parsed(row.namespace, list)) for row in rows]

    def add_namespace(self, namespace: Namespace, properties: Mapping[str, str]) -> bool:
        """Add a namespace; False if there is one of this name, or the one above it does not exist."""
        row = self._namespace_row(namespace, properties)

        def insert(connection: Connection, _lost: bool) -> None:
            connection.execute(NAMESPACES.insert(), row)

        try:
            self._write(insert, root=len(namespace) == 1)
        except ConstraintViolated as error:
            return error.lost and self.namespace(namespace) == dict(properties)
        return True

    def change_namespace(self, namespace: Namespace, change: Callable[[dict[str, str]], dict[str, str]]) -> bool:
        """Replace the properties of a namespace by the result of `change` for them; False if it does not exist."""
        this_one = NAMESPACES.c.id == self._namespace_id(namespace)

        def update(connection: Connection, _lost: bool) -> bool:
            row = connection.execute(NAMESPACES.select().where(this_one).with_for_update()).first()
            if row is None:
                return False
            properties = json.dumps(change(self._parsed(row.properties, dict)))
            connection.execute(NAMESPACES.update().where(this_one), {"properties": properties})
            return True

        return self._write(update)

    def remove_namespace(self, namespace: Namespace) -> bool:
        """Remove a namespace; False if there was none. Raises ConstraintViolated if it is not empty."""
        this_one = NAMESPACES.c.id == self._namespace_id(namespace)

        def delete(connection: Connection, lost: bool) -> bool:
            return connection.execute(NAMESPACES.delete().where(this_one)).rowcount > 0 or lost

        return self._write(delete)

    def _write(self, work: Callable[[Connection, bool], T], root: bool = False) -> T:
        """Run a transaction. root: whether its row is directly below the root, whose row is added if it is missing."""
        if root and not self._root_exists:
            self._add_root()
            self._root_exists = True
        return self.database.write(work)

    def _add_root(self) -> None:
        row = self._namespace_row((), {})
        if self.namespace(()) is not None:
            return

        def insert(connection: Connection, _lost: bool) -> bool:
            connection.execute(NAMESPACES.insert(), row)
            return True

        try:
            self.database.write(insert)
        except ConstraintViolated:
            # Another process has already inserted the row.
            return

    def _namespace_row(self, namespace: Namespace, properties: Mapping[str, str]) -> dict[str, Any]:
        return {
            "id": self._namespace_id(namespace),
            "catalog_name": self._catalog,
            "parent_id": self._namespace_id(namespace[:-1]) if namespace else None,
            "namespace": json.dumps(namespace),
            "properties": json.dumps(dict(properties)),
        }

    def _named(self, ident: CatalogIdentifier) -> dict[str, Any]:
        """The columns of a table's row that follow from its name."""
        return {
            "id": self._table_id(ident),
            "namespace_id": self._namespace_id(ident.namespace),
            "namespace": json.dumps(ident.namespace),
            "name": ident.name,
        }

    def _is(self, entry: TableEntry) -> Any:
        """The condition of a table's row: name and location, since another table may have taken the name."""
        return (TABLES.c.id == self._table_id(entry.identifier)) & (TABLES.c.location == _stored(entry.location))

    def _namespace_id(self, namespace: Namespace) -> str:
        return name_id(self._catalog, namespace)

    def _table_id(self, ident: CatalogIdentifier) -> str:
        return name_id(self._catalog, ident.namespace, ident.name)

    def _parsed(self, text: str, kind: type) -> Any:
        try:
            found = parse_json(text)
        except ValueError:
            found = None
        if not isinstance(found, kind):
            raise self.database.damaged(f"the row of a namespace contains {text[:80]!r}")
        return found


def _stored(location: str) -> str:
    """The location as text that every database can store: bytes of a path that are not UTF-8 are percent-encoded."""
    try:
        location.encode()
    except UnicodeEncodeError:
        return uri_of(location)
    return location
