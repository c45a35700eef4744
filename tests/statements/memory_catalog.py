"""A catalog of a dictionary, for tests of statements."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from deltaskip.catalogs.identifier import CatalogIdentifier, Namespace
from deltaskip.catalogs.located import LocatedCatalog, TableEntry
from deltaskip.errors import TableAlreadyExists, TableNotFound


class MemoryCatalog(LocatedCatalog):
    """Names and namespaces in this process, tables below a folder."""

    def __init__(self, folder: Path, name: str = "cat") -> None:
        super().__init__(name)
        self._folder = folder
        self._entries: dict[CatalogIdentifier, TableEntry] = {}
        self._namespaces: dict[Namespace, dict[str, str]] = {(): {}}

    def find_entry(self, ident: CatalogIdentifier) -> TableEntry | None:
        return self._entries.get(ident)

    def add_entry(self, entry: TableEntry) -> None:
        if entry.identifier in self._entries:
            raise TableAlreadyExists(str(entry.identifier))
        self._entries[entry.identifier] = entry

    def remove_entry(self, entry: TableEntry) -> bool:
        return self._entries.pop(entry.identifier, None) is not None

    def move_entry(self, entry: TableEntry, new: CatalogIdentifier) -> None:
        if self._entries.pop(entry.identifier, None) is None:
            raise TableNotFound(str(entry.identifier))
        self._entries[new] = TableEntry(new, entry.location, entry.managed)

    def new_location(self, ident: CatalogIdentifier) -> str:
        return str(self._folder.joinpath(*ident.namespace, ident.name))

    def table_names(self, namespace: Namespace) -> Iterable[str]:
        return [ident.name for ident in self._entries if ident.namespace == namespace]

    def child_namespaces(self, parent: Namespace) -> Iterable[Namespace]:
        return [each for each in self._namespaces if each and each[:-1] == parent]

    def find_namespace(self, namespace: Namespace) -> dict[str, str] | None:
        return self._namespaces.get(namespace)

    def add_namespace(self, namespace: Namespace, properties: Mapping[str, str]) -> None:
        self._namespaces[namespace] = dict(properties)

    def set_namespace(self, namespace: Namespace, properties: Mapping[str, str]) -> None:
        self._namespaces[namespace] = dict(properties)

    def remove_namespace(self, namespace: Namespace) -> bool:
        return self._namespaces.pop(namespace, None) is not None
