"""The shortest backend of catalogs, a dictionary of locations: the example of docs/pages/contributing.md."""

from collections.abc import Iterable, Mapping
from uuid import uuid4

from deltaskip.catalogs.identifier import CatalogIdentifier, Namespace, shown_namespace
from deltaskip.catalogs.located import LocatedCatalog, TableEntry
from deltaskip.errors import NamespaceAlreadyExists, TableAlreadyExists, TableNotFound
from deltaskip.storage import join


class MemoryCatalog(LocatedCatalog):
    """A catalog of this process, in which one thread at a time changes tables.

    Args:
        folder: Path or URI of the folder for tables without a location.
    """

    def __init__(self, folder: str, *, name: str = "memory", storage_options: Mapping[str, str] | None = None) -> None:
        super().__init__(name, storage_options)
        self._folder = folder
        self._entries: dict[CatalogIdentifier, TableEntry] = {}
        self._namespaces: dict[Namespace, dict[str, str]] = {(): {}}

    def find_entry(self, ident: CatalogIdentifier) -> TableEntry | None:
        return self._entries.get(ident)

    def add_entry(self, entry: TableEntry) -> None:
        if self._entries.setdefault(entry.identifier, entry) is not entry:
            raise TableAlreadyExists(f"The catalog {self.name} already has a table {entry.identifier}.")

    def remove_entry(self, entry: TableEntry) -> bool:
        return self._entries.pop(entry.identifier, None) is not None

    def move_entry(self, entry: TableEntry, new: CatalogIdentifier) -> None:
        if entry.identifier not in self._entries:
            raise TableNotFound(f"The catalog {self.name} has no table {entry.identifier}.")
        self.add_entry(TableEntry(new, entry.location, entry.managed))
        self.remove_entry(entry)

    def new_location(self, ident: CatalogIdentifier) -> str:
        return join(self._folder, uuid4().hex)

    def table_names(self, namespace: Namespace) -> Iterable[str]:
        return [ident.name for ident in self._entries if ident.namespace == namespace]

    def child_namespaces(self, parent: Namespace) -> Iterable[Namespace]:
        return [each for each in self._namespaces if each and each[:-1] == parent]

    def find_namespace(self, namespace: Namespace) -> dict[str, str] | None:
        return self._namespaces.get(namespace)

    def add_namespace(self, namespace: Namespace, properties: Mapping[str, str]) -> None:
        if namespace in self._namespaces:
            shown = shown_namespace(namespace)
            raise NamespaceAlreadyExists(f"The catalog {self.name} already has a namespace {shown}.")
        self._namespaces[namespace] = dict(properties)

    def set_namespace(self, namespace: Namespace, properties: Mapping[str, str]) -> None:
        self._namespaces[namespace] = dict(properties)

    def remove_namespace(self, namespace: Namespace) -> bool:
        return self._namespaces.pop(namespace, None) is not None
