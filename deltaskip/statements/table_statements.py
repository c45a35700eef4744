"""Statements that create, change, rename and drop tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from deltaskip.alter.changes import (
    ClusterBy,
    RemoveProperty,
    SetComment,
    SetProperty,
    TableChange,
    UpdateColumnComment,
)
from deltaskip.catalogs.identifier import CatalogIdentifier
from deltaskip.catalogs.located import LocatedCatalog, TableEntry
from deltaskip.catalogs.table_catalog import TableCatalog, TransactionalTableCatalog
from deltaskip.errors import (
    CommitConflict,
    InvalidArgument,
    TableAlreadyExists,
    TableNotFound,
    UnsupportedFeature,
)
from deltaskip.records import dataclass
from deltaskip.schema.given import schema_of
from deltaskip.schema.types import StructField, StructType
from deltaskip.skipping.scan import Scan
from deltaskip.statements.answers import NOTHING, rows
from deltaskip.statements.session import StatementSession, catalog_name, path_of
from deltaskip.statements.statement import Statement
from deltaskip.statements.values import Creating, Parts, StatementTable
from deltaskip.transforms import Transform

__all__ = ["AlterTable", "CloneTable", "CommentOn", "CreateTable", "DropTable", "Refresh", "RenameTable"]

_CLONED = {
    "source_table_size": "sourceTableSize",
    "source_num_of_files": "sourceNumOfFiles",
    "num_removed_files": "numRemovedFiles",
    "num_copied_files": "numCopiedFiles",
    "removed_files_size": "removedFilesSize",
    "copied_files_size": "copiedFilesSize",
}


@dataclass(frozen=True, slots=True)
class CreateTable(Statement):
    """CREATE TABLE, REPLACE TABLE, and both with AS and a query.

    Attributes:
        name: Name of the table.
        columns: The columns; None if the query gives them.
        partitions: Partition columns and transforms.
        cluster_by: Paths of the clustering columns.
        properties: Table properties.
        comment: Description of the table.
        location: Place of the table.
        provider: Name after USING.
        query: Text of the query after AS.
        creating: Whether the table may, must or must not exist.
        if_not_exists: Whether a table that exists stays as it is.
    """

    name: Parts
    columns: StructType | None = None
    partitions: tuple[Transform, ...] = ()
    cluster_by: tuple[Parts, ...] = ()
    properties: tuple[tuple[str, str], ...] = ()
    comment: str | None = None
    location: str | None = None
    provider: str | None = None
    query: str | None = None
    creating: Creating = "create"
    if_not_exists: bool = False

    def run(self, session: StatementSession) -> Any:
        """Create the table whole, or not at all."""
        catalog, ident = session.catalog, catalog_name(session, self.name)
        if self.provider is not None and self.provider.lower() != "delta":
            raise InvalidArgument(
                f"The catalog {catalog.name} has Delta tables only, so {ident} cannot be USING {self.provider}: write "
                f"USING delta."
            )
        if self.creating == "create" and catalog.table_exists(ident):
            if self.if_not_exists:
                return NOTHING
            raise TableAlreadyExists(
                f"The catalog {catalog.name} has a table {ident} already: write CREATE TABLE IF NOT EXISTS, or CREATE "
                f"OR REPLACE TABLE."
            )
        properties = dict(self.properties)
        if self.comment is not None:
            properties["comment"] = self.comment
        if self.location is not None:
            properties["location"] = self.location
        frame, scans = (None, []) if self.query is None else session.read(self.query)
        schema: Any = self.columns if frame is None else _nullable(schema_of(frame.schema))
        partitions: list[str | Transform | ClusterBy] = list(self.partitions)
        if self.cluster_by:
            partitions.append(ClusterBy(*self.cluster_by))
        try:
            if frame is None and self.creating == "create":
                catalog.create_table(ident, schema, partitions, properties)
                return NOTHING
            if not isinstance(catalog, TransactionalTableCatalog):
                raise UnsupportedFeature(
                    f"The catalog {catalog.name} cannot create or replace a table together with its rows: create the "
                    f"table, and INSERT INTO it."
                )
            stage = {
                "create": catalog.stage_create,
                "replace": catalog.stage_replace,
                "create or replace": catalog.stage_create_or_replace,
            }[self.creating]
            with stage(ident, schema, partitions, properties=properties) as staged:
                if frame is not None:
                    _check_still_latest(catalog, ident, scans, staged.location)
                    staged.append(frame)
        except TableAlreadyExists:
            # Another writer was first.
            if not self.if_not_exists:
                raise
        return NOTHING


@dataclass(frozen=True, slots=True)
class CloneTable(Statement):
    """CREATE TABLE … SHALLOW CLONE.

    Attributes:
        name: Name of the clone.
        source: The table that is cloned, maybe at a version.
        properties: Table properties beside those of the source.
        location: Place of the clone.
        creating: Whether the clone may, must or must not exist.
        if_not_exists: Whether a table that exists stays as it is.
    """

    name: Parts
    source: StatementTable
    properties: tuple[tuple[str, str], ...] = ()
    location: str | None = None
    creating: Creating = "create"
    if_not_exists: bool = False

    def run(self, session: StatementSession) -> Any:
        catalog, ident = session.catalog, catalog_name(session, self.name)
        source = session.table(self.source)
        exists = catalog.table_exists(ident)
        if exists and self.if_not_exists:
            return NOTHING
        if exists and self.creating == "create":
            raise TableAlreadyExists(f"The catalog {catalog.name} has a table {ident} already.")
        if not exists and self.creating == "replace":
            raise TableNotFound(f"The catalog {catalog.name} has no table {ident}.")
        properties = dict(self.properties) or None
        if exists:
            clone = source.clone(catalog.load_table(ident).uri, replace=True, properties=properties)
        elif self.location is not None:
            clone = source.clone(self.location, properties=properties)
            catalog.register_table(ident, self.location)
        elif isinstance(catalog, LocatedCatalog):
            location = catalog.new_location(ident)
            clone = source.clone(location, properties=properties, storage_options=catalog.storage_options)
            catalog.add_entry(TableEntry(ident, location))
        else:
            raise InvalidArgument(f"The catalog {catalog.name} needs the place of a clone: write LOCATION '…'.")
        metrics = clone.history(1)[0].operation_metrics
        return rows(_bigints(_CLONED), [tuple(int(metrics.get(name, 0)) for name in _CLONED.values())])


@dataclass(frozen=True, slots=True)
class AlterTable(Statement):
    """ALTER TABLE with the changes that it makes, in order."""

    name: Parts
    changes: tuple[TableChange, ...]

    def run(self, session: StatementSession) -> Any:
        if path_of(self.name) is None:
            session.catalog.alter_table(session.ident(self.name), self.changes)
        else:
            session.table(self.name).alter(*self.changes)
        return NOTHING


@dataclass(frozen=True, slots=True)
class RenameTable(Statement):
    """ALTER TABLE … RENAME TO. A new name of one part stays in the namespace."""

    name: Parts
    new: Parts

    def run(self, session: StatementSession) -> Any:
        old = catalog_name(session, self.name)
        new = CatalogIdentifier(old.namespace, self.new[0]) if len(self.new) == 1 else catalog_name(session, self.new)
        session.catalog.rename_table(old, new)
        return NOTHING


@dataclass(frozen=True, slots=True)
class DropTable(Statement):
    """DROP TABLE."""

    name: Parts
    if_exists: bool = False
    purge: bool = False

    def run(self, session: StatementSession) -> Any:
        catalog, ident = session.catalog, catalog_name(session, self.name)
        if not catalog.drop_table(ident, purge=self.purge) and not self.if_exists:
            raise TableNotFound(f"The catalog {catalog.name} has no table {ident}: write DROP TABLE IF EXISTS.")
        return NOTHING


@dataclass(frozen=True, slots=True)
class Refresh(Statement):
    """REFRESH TABLE."""

    name: Parts

    def run(self, session: StatementSession) -> Any:
        if path_of(self.name) is None:
            session.catalog.refresh_table(session.ident(self.name))
        return NOTHING


@dataclass(frozen=True, slots=True)
class CommentOn(Statement):
    """COMMENT ON TABLE, NAMESPACE or COLUMN.

    Attributes:
        kind: What the comment is on.
        name: Name of the table or namespace.
        comment: The comment; None removes it.
        column: Path of the column; () for none.
    """

    kind: Literal["table", "namespace", "column"]
    name: Parts
    comment: str | None
    column: Parts = ()

    def run(self, session: StatementSession) -> Any:
        catalog, comment = session.catalog, self.comment
        if self.kind == "namespace":
            change = RemoveProperty("comment") if comment is None else SetProperty("comment", comment)
            catalog.alter_namespace(session.namespace(self.name), change)
        elif self.kind == "column":
            catalog.alter_table(session.ident(self.name), UpdateColumnComment(self.column, comment))
        else:
            catalog.alter_table(session.ident(self.name), SetComment(comment))
        return NOTHING


def _check_still_latest(catalog: TableCatalog, ident: CatalogIdentifier, scans: Sequence[Scan], location: str) -> None:
    """Raise CommitConflict if the table that is replaced has rows that a query over itself has not seen."""
    read = [scan.snapshot.version for scan in scans if scan.snapshot.table_root == location]
    if read and catalog.table_exists(ident) and catalog.load_table(ident).version != max(read):
        raise CommitConflict(
            f"Another writer has changed the table {ident}, which is replaced by a query over itself: run the "
            f"statement again."
        )


def _nullable(schema: StructType) -> StructType:
    """The columns of a query as those of a table. # delta-spark, CreateDeltaTableCommand: asNullable"""
    return StructType(tuple(StructField(f.name, f.type, True, f.metadata) for f in schema.fields))


def _bigints(names: Mapping[str, str]) -> str:
    return ", ".join(f"{name} BIGINT" for name in names)
