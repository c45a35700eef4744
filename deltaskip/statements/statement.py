"""A statement, and its context while it runs: the catalog, the session, and tables by name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from datetime import datetime
from typing import Any

from deltaskip.catalogs.identifier import CatalogIdentifier
from deltaskip.catalogs.table_catalog import TableCatalog
from deltaskip.errors import InvalidArgument
from deltaskip.reading.table_scan import TableScan
from deltaskip.records import dataclass
from deltaskip.schema.relations import unqualified_text
from deltaskip.sparkexpr.types import display_name
from deltaskip.statements.queries import QuerySession
from deltaskip.statements.query_rows import rows_to_write
from deltaskip.statements.reader import NameParts, path_of, qualifiers
from deltaskip.table.table import DeltaTable


@dataclass(frozen=True, slots=True)
class StatementSession(QuerySession):
    """A catalog and the Spark session that runs queries over its tables.

    Attributes:
        spark: The session, classic or Connect; None for none.
        catalog: The catalog.
    """

    catalog: TableCatalog

    def setting(self, name: str, default: str) -> str:
        """A setting of the session in lower case."""
        return default if self.spark is None else str(self.spark.conf.get(name, default)).strip().lower()

    def ident(self, parts: NameParts) -> CatalogIdentifier:
        """The name of a table in the catalog, without the catalog's name."""
        if len(parts) > 1 and parts[0] == self.catalog.name and not self.catalog.namespace_exists(parts[:-1]):
            parts = parts[1:]
        return CatalogIdentifier(parts[:-1], parts[-1])

    def namespace(self, parts: NameParts) -> NameParts:
        """The name of a namespace in the catalog, without the catalog's name."""
        own = bool(parts) and parts[0] == self.catalog.name and not self.catalog.namespace_exists(parts[:1])
        return parts[1:] if own else parts

    def named_table(self, parts: NameParts, version: int | None, time: datetime | None) -> DeltaTable:
        """The table of the catalog."""
        return self.catalog.load_table(self.ident(parts), version=version, timestamp=time)

    def has_named(self, parts: NameParts) -> bool:
        """Whether the catalog has a table of a name."""
        return self.catalog.table_exists(self.ident(parts))

    def query(self, text: str) -> Any:
        """The DataFrame of a query; its `QueryRows` without a session."""
        return QuerySession.query(self, text) if self.spark is not None else rows_to_write(self, text)[0]

    def read(self, text: str) -> tuple[Any, list[TableScan]]:
        """The DataFrame or `QueryRows` of a query, and the scans by which it reads the latest version of tables."""
        return QuerySession.read(self, text) if self.spark is not None else rows_to_write(self, text)

    def own(self, text: str, parts: NameParts, alias: str | None, table: DeltaTable) -> str:
        """An expression over the columns of a table, without its name or alias as qualifier."""
        return unqualified_text(text, table.schema, qualifiers(parts, alias))


def catalog_name(session: StatementSession, parts: NameParts) -> CatalogIdentifier:
    """The name of a table that a statement creates, drops or renames. Raises InvalidArgument for a path."""
    if path_of(parts) is not None:
        raise by_path(display_name(parts))
    return session.ident(parts)


def by_path(name: str) -> InvalidArgument:
    """Return the error for a statement that creates, drops or renames a table by its path."""
    return InvalidArgument(f"{name} is a path: tables by path are created with DeltaTable.create, and need no DROP.")


@dataclass(frozen=True, slots=True)
class Statement(ABC):
    """A statement. Its class is its kind, and its attributes are the names and texts in it."""

    @property
    def only_reads(self) -> bool:
        """Whether the statement changes nothing."""
        return False

    @abstractmethod
    def run(self, session: StatementSession) -> Any:
        """Run the statement. Returns its rows: an Arrow table, or the DataFrame of a query."""


@dataclass(frozen=True, slots=True)
class ReadStatement(Statement):
    """A statement that changes nothing."""

    @property
    def only_reads(self) -> bool:
        return True
