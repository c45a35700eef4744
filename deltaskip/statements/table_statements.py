"""Statements that create, change, rename and drop tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from deltaskip.alter import table_changes
from deltaskip.catalogs.identifier import CatalogIdentifier
from deltaskip.catalogs.located import PROVIDERS, LocatedCatalog, TableEntry
from deltaskip.catalogs.staged import changed_since_read
from deltaskip.catalogs.table_catalog import TableCatalog, transactional
from deltaskip.errors import InvalidArgument, PredicateError, TableAlreadyExists, TableNotFound
from deltaskip.records import dataclass
from deltaskip.rows.schema_merge import all_nullable
from deltaskip.schema.user_schema import schema_of
from deltaskip.skipping.scan import Scan
from deltaskip.sparkexpr.text.sql_text import sql_error
from deltaskip.sparkexpr.types import StructField, StructType, display_name, fold_name
from deltaskip.statements.answers import NO_ROWS, create_statement, rows
from deltaskip.statements.namespace_statements import NAMESPACE_WORDS
from deltaskip.statements.query_rows import QueryRows
from deltaskip.statements.reader import Creating, NameParts, StatementReader, StatementTable, path_of
from deltaskip.statements.statement import Statement, StatementSession, catalog_name
from deltaskip.storage.location import address_of
from deltaskip.transforms import Identity, Transform
from deltaskip.transforms.parse_transforms import parse_transform

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
        columns: The columns; None if the query provides them, or the table at the location.
        partitions: Partition columns and transforms.
        cluster_by: Paths of the clustering columns.
        properties: Table properties.
        comment: Description of the table.
        location: Location of the table.
        provider: Name after USING.
        query: Text of the query after AS.
        creating: Whether the table may, must or must not exist.
        if_not_exists: Whether an existing table is kept.
    """

    name: NameParts
    columns: StructType | None = None
    partitions: tuple[Transform, ...] = ()
    cluster_by: tuple[NameParts, ...] = ()
    properties: tuple[tuple[str, str], ...] = ()
    comment: str | None = None
    location: str | None = None
    provider: str | None = None
    query: str | None = None
    creating: Creating = "create"
    if_not_exists: bool = False

    @staticmethod
    def read(creating: Creating, reader: StatementReader) -> Statement:
        """CREATE [OR REPLACE] TABLE and REPLACE TABLE, after TABLE: a table, AS a query, or a clone."""
        if_not_exists = creating == "create" and reader.if_not_exists()
        name = reader.parts()
        if reader.peek_word("SHALLOW", "DEEP", "CLONE"):
            return _clone_table(reader, name, creating, if_not_exists)
        if creating == "create" and reader.take_words("LIKE"):
            source = reader.parts()
            given: dict[str, Any] = {"creating": creating}
            _table_options(reader, given)
            if given.keys() & {"partitions", "cluster_by", "comment"}:
                raise reader.error(
                    "LIKE takes the partitioning and comment of the other table: leave these clauses out"
                )
            return CreateTableLike(name, source, given, if_not_exists)
        found: dict[str, Any] = {"creating": creating, "if_not_exists": if_not_exists}
        if reader.peek_symbol("(") and not reader.begins_query():
            found["columns"] = reader.column_definitions()
        _table_options(reader, found)
        if reader.take_words("AS") or reader.begins_query():
            found["query"] = reader.query()
        added = found.pop("added", ())
        if added:
            columns = found.get("columns")
            if columns is None:
                raise reader.error("partition columns with types need the other columns: write them before")
            found["columns"] = StructType((*columns.fields, *added))
        if found.get("columns") is None and "query" not in found and not _names_a_table(found):
            raise reader.error(
                "a table needs columns, as in (id BIGINT, …), AS and a query, or only the LOCATION of one that exists"
            )
        if found.get("columns") is not None and "query" in found:
            # Spark 4.1, AstBuilder.visitCreateTable: schema may not be specified in CTAS.
            raise InvalidArgument(
                f"CREATE TABLE {display_name(name)} has both columns and a query: leave out the columns, and cast the "
                f"values of the query."
            )
        return CreateTable(name, **found)

    def run(self, session: StatementSession) -> Any:
        """Create the table with all its rows, or not at all."""
        catalog, ident = session.catalog, catalog_name(session, self.name)
        if self.provider is not None and self.provider.lower() not in PROVIDERS:
            raise InvalidArgument(
                f"The catalog {catalog.name} has Delta tables only, so {ident} cannot be USING {self.provider}: write "
                f"USING delta."
            )
        if self.creating == "create" and catalog.table_exists(ident):
            if self.if_not_exists:
                return NO_ROWS
            raise TableAlreadyExists(
                f"The catalog {catalog.name} already has a table {ident}: write CREATE TABLE IF NOT EXISTS, or CREATE "
                f"OR REPLACE TABLE."
            )
        if self.columns is None and self.query is None:
            assert self.location is not None
            catalog.register_table(ident, self.location)
            return NO_ROWS
        properties = dict(self.properties)
        if self.comment is not None:
            properties["comment"] = self.comment
        if self.location is not None:
            properties["location"] = self.location
        frame, scans = (None, []) if self.query is None else session.read(self.query)
        if isinstance(frame, QueryRows) and frame.times:
            raise PredicateError(
                f"{frame.times[0]} is a TIMESTAMP without a time zone where DuckDB runs the query, and Spark makes a "
                f"column TIMESTAMP or DATE of it: create the table with its columns, and insert the rows."
            )
        schema: Any = self.columns if frame is None else _nullable(schema_of(frame.schema))
        partitions: list[str | Transform | table_changes.ClusterBy] = list(self.partitions)
        if self.cluster_by:
            partitions.append(table_changes.ClusterBy(*self.cluster_by))
        try:
            if frame is None and self.creating == "create":
                catalog.create_table(ident, schema, partitions, properties)
                return NO_ROWS
            staging = transactional(catalog, catalog.name)
            stage = {
                "create": staging.stage_create,
                "replace": staging.stage_replace,
                "create or replace": staging.stage_create_or_replace,
            }[self.creating]
            with stage(ident, schema, partitions, properties=properties) as staged:
                if frame is not None:
                    _check_still_latest(catalog, ident, scans, staged.location)
                    staged.append(frame)
        except TableAlreadyExists:
            # Another writer was first.
            if not self.if_not_exists:
                raise
        return NO_ROWS


def _names_a_table(found: Mapping[str, Any]) -> bool:
    """Whether a CREATE TABLE without columns registers the table at a location."""
    others = {"creating", "if_not_exists", "location", "provider"}
    return "location" in found and found["creating"] == "create" and found.keys() <= others


@dataclass(frozen=True, slots=True)
class CreateTableLike(Statement):
    """CREATE TABLE … LIKE: an empty table with the columns, partitioning, properties and rules of another.

    Attributes:
        name: Name of the table.
        source: Name of the other table.
        given: Attributes of CreateTable that the statement has.
        if_not_exists: Whether an existing table is kept.
    """

    name: NameParts
    source: NameParts
    given: Mapping[str, Any]
    if_not_exists: bool = False

    def run(self, session: StatementSession) -> Any:
        """Run the statement that SHOW CREATE TABLE shows, with another name and location."""
        reader = StatementReader(create_statement(session.table(self.source), display_name(self.name), ()))
        reader.at = len(("CREATE", "TABLE"))
        made = CreateTable.read("create", reader)
        assert isinstance(made, CreateTable)
        properties = (*made.properties, *self.given.get("properties", ()))
        given: dict[str, Any] = {"location": None, **self.given, "properties": properties}
        return replace(made, if_not_exists=self.if_not_exists, **given).run(session)


@dataclass(frozen=True, slots=True)
class CloneTable(Statement):
    """CREATE TABLE … SHALLOW CLONE.

    Attributes:
        name: Name of the clone.
        source: The table that is cloned, optionally at a version.
        properties: Table properties in addition to the source's.
        location: Location of the clone.
        creating: Whether the clone may, must or must not exist.
        if_not_exists: Whether an existing table is kept.
    """

    name: NameParts
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
            return NO_ROWS
        if exists and self.creating == "create":
            raise TableAlreadyExists(f"The catalog {catalog.name} already has a table {ident}.")
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
        return rows(
            ", ".join(f"{name} BIGINT" for name in _CLONED),
            [tuple(int(metrics.get(name, 0)) for name in _CLONED.values())],
        )


@dataclass(frozen=True, slots=True)
class AlterTable(Statement):
    """ALTER TABLE with its changes, in order."""

    name: NameParts
    changes: tuple[table_changes.TableChange, ...]

    @staticmethod
    def read(reader: StatementReader) -> Statement:
        """ALTER TABLE name, then the text that `alter_sql` takes, or RENAME TO."""
        name = reader.parts()
        if reader.take_words("RENAME", "TO"):
            return RenameTable(name, reader.parts("the new name"))
        for words, instead in (
            ("SET LOCATION", "DROP TABLE and register_table(name, location)"),
            ("RECOVER PARTITIONS", "nothing: the log lists all files"),
            ("ADD PARTITION", "INSERT INTO: a partition is there when it has rows"),
            ("ADD IF NOT EXISTS", "INSERT INTO: a partition is there when it has rows"),
            ("DROP PARTITION", "DELETE FROM … WHERE"),
            ("DROP IF EXISTS PARTITION", "DELETE FROM … WHERE"),
            ("PARTITION", "DELETE FROM … WHERE and INSERT INTO"),
            ("SET SERDE", "SET TBLPROPERTIES"),
            ("SET SERDEPROPERTIES", "SET TBLPROPERTIES"),
        ):
            if reader.peek_words(*words.split()):
                raise reader.error(f"ALTER TABLE … {words} is not supported: use {instead}")
        return AlterTable(name, tuple(reader.changes()))

    def run(self, session: StatementSession) -> Any:
        if path_of(self.name) is None:
            session.catalog.alter_table(session.ident(self.name), self.changes)
        else:
            session.table(self.name).alter(*self.changes)
        return NO_ROWS


@dataclass(frozen=True, slots=True)
class RenameTable(Statement):
    """ALTER TABLE … RENAME TO. A new name of one part stays in the namespace."""

    name: NameParts
    new: NameParts

    def run(self, session: StatementSession) -> Any:
        old = catalog_name(session, self.name)
        new = CatalogIdentifier(old.namespace, self.new[0]) if len(self.new) == 1 else catalog_name(session, self.new)
        session.catalog.rename_table(old, new)
        return NO_ROWS


@dataclass(frozen=True, slots=True)
class DropTable(Statement):
    """DROP TABLE."""

    name: NameParts
    if_exists: bool = False
    purge: bool = False

    @staticmethod
    def read(reader: StatementReader) -> DropTable:
        """DROP TABLE [IF EXISTS] name [PURGE]"""
        if_exists = reader.if_exists()
        return DropTable(reader.parts(), if_exists, reader.take_words("PURGE"))

    def run(self, session: StatementSession) -> Any:
        catalog, ident = session.catalog, catalog_name(session, self.name)
        if not catalog.drop_table(ident, purge=self.purge) and not self.if_exists:
            raise TableNotFound(f"The catalog {catalog.name} has no table {ident}: write DROP TABLE IF EXISTS.")
        return NO_ROWS


@dataclass(frozen=True, slots=True)
class Refresh(Statement):
    """REFRESH TABLE."""

    name: NameParts

    @staticmethod
    def read(reader: StatementReader) -> Refresh:
        """REFRESH [TABLE] name"""
        reader.take_words("TABLE")
        return Refresh(reader.parts())

    def run(self, session: StatementSession) -> Any:
        if path_of(self.name) is None:
            session.catalog.refresh_table(session.ident(self.name))
        return NO_ROWS


@dataclass(frozen=True, slots=True)
class CommentOn(Statement):
    """COMMENT ON TABLE, NAMESPACE or COLUMN.

    Attributes:
        kind: The kind of object with the comment.
        name: Name of the table or namespace.
        comment: The comment; None removes it.
        column: Path of the column; () for none.
    """

    kind: Literal["table", "namespace", "column"]
    name: NameParts
    comment: str | None
    column: NameParts = ()

    @staticmethod
    def read(reader: StatementReader) -> CommentOn:
        """COMMENT ON TABLE | NAMESPACE | COLUMN name IS 'text' | NULL"""
        column: NameParts = ()
        if reader.take_words("TABLE"):
            kind, name = "table", reader.parts()
        elif reader.take_one(*NAMESPACE_WORDS):
            kind, name = "namespace", reader.parts("the name of a namespace")
        elif reader.take_words("COLUMN"):
            kind, path = "column", reader.parts("the name of a table and a column")
            if len(path) < 2:
                raise reader.error("write the name of the table before the column, as in db.t.c")
            name, column = path[:-1], path[-1:]
        else:
            raise reader.error("TABLE, NAMESPACE or COLUMN is expected here")
        reader.need_words("IS")
        comment = None if reader.take_words("NULL") else reader.string("the comment")
        return CommentOn(kind, name, comment, column)  # type: ignore[arg-type]

    def run(self, session: StatementSession) -> Any:
        catalog, comment = session.catalog, self.comment
        if self.kind == "namespace":
            change = (
                table_changes.RemoveProperty("comment")
                if comment is None
                else table_changes.SetProperty("comment", comment)
            )
            catalog.alter_namespace(session.namespace(self.name), change)
        elif self.kind == "column":
            catalog.alter_table(session.ident(self.name), table_changes.UpdateColumnComment(self.column, comment))
        else:
            catalog.alter_table(session.ident(self.name), table_changes.SetComment(comment))
        return NO_ROWS


def _check_still_latest(catalog: TableCatalog, ident: CatalogIdentifier, scans: Sequence[Scan], location: str) -> None:
    """Raise CommitConflict if the table to replace has rows that a query over itself has not seen."""
    read = [scan.snapshot.version for scan in scans if address_of(scan.snapshot.root) == location]
    if read and catalog.table_exists(ident) and catalog.load_table(ident).version != max(read):
        raise changed_since_read(ident)


def _nullable(schema: StructType) -> StructType:
    """The columns of a query as columns of a table. # delta-spark, CreateDeltaTableCommand: asNullable"""
    return StructType(tuple(StructField(f.name, all_nullable(f.type), True, f.metadata) for f in schema.fields))


def _table_options(reader: StatementReader, found: dict[str, Any]) -> None:
    """The clauses between the columns and AS, in any order."""

    def put(key: str, read: Callable[[], Any]) -> Callable[[], None]:
        def once() -> None:
            if key in found:
                raise reader.error("this clause occurs twice")
            found[key] = read()

        return once

    def partitions() -> None:
        if "partitions" in found:
            raise reader.error("this clause occurs twice")
        found["partitions"], found["added"] = _partitions(reader)

    options = (
        ("USING", put("provider", lambda: reader.name("the name of the format"))),
        ("PARTITIONED BY", partitions),
        ("CLUSTER BY", put("cluster_by", lambda: _cluster_by(reader))),
        ("COMMENT", put("comment", lambda: reader.string("the comment"))),
        ("LOCATION", put("location", lambda: reader.string("the location"))),
        ("TBLPROPERTIES", put("properties", lambda: _properties(reader))),
    )
    while reader.chosen(*options):
        pass
    for words, instead in (
        ("CLUSTERED BY", "PARTITIONED BY (bucket(16, id))"),
        ("OPTIONS", "TBLPROPERTIES"),
        ("ROW FORMAT", "USING delta"),
        ("STORED", "USING delta"),
    ):
        if reader.peek_words(*words.split()):
            raise reader.error(f"{words} is not supported: write {instead}")


def _properties(reader: StatementReader) -> tuple[tuple[str, str], ...]:
    """The properties. # Spark 4.1, AstBuilder.cleanTableProperties: some have separate clauses"""
    at = reader.position
    found = reader.properties()
    for key, instead in (("location", "LOCATION '…'"), ("external", "LOCATION '…'"), ("provider", "USING delta")):
        if any(name.lower() == key for name, _ in found):
            raise sql_error(reader.text, at, f"{key} is not a property that can be set: write {instead}")
    return found


def _cluster_by(reader: StatementReader) -> tuple[NameParts, ...]:
    if reader.take_words("AUTO"):
        raise reader.error("CLUSTER BY AUTO is not supported: name the columns, as in CLUSTER BY (a, b)")
    return () if reader.take_words("NONE") else tuple(reader.parenthesized_list(reader.path))


def _partitions(reader: StatementReader) -> tuple[tuple[Transform, ...], tuple[StructField, ...]]:
    """(transform or column, …), or columns with types, which are added to the table's columns."""
    transforms: list[Transform] = []
    added: list[StructField] = []

    def one() -> None:
        start = reader.at
        tokens = reader.tokens
        typed = start + 1 < len(tokens) and tokens[start].kind in ("word", "name") and tokens[start + 1].kind == "word"
        if typed:
            closing = reader.at
            reader.text_until("a partition column", comma=True)
            inner = type(reader)(reader.text, tokens[closing : reader.at])
            field = inner.columns().fields[0]
            added.append(field)
            transforms.append(Identity((field.name,)))
            return
        text = reader.text_until("a partition column or transform", comma=True)
        try:
            transforms.append(parse_transform(text))
        except InvalidArgument as error:
            raise sql_error(reader.text, tokens[start].start, str(error).rstrip(".")) from error

    reader.parenthesized_list(one)
    names = [fold_name(field.name) for field in added]
    if len(set(names)) < len(names):
        raise reader.error("a partition column occurs twice")
    return tuple(transforms), tuple(added)


def _clone_table(reader: StatementReader, name: NameParts, creating: Creating, if_not_exists: bool) -> CloneTable:
    """SHALLOW CLONE source [TBLPROPERTIES] [LOCATION], after the name of the clone."""
    if not reader.take_words("SHALLOW", "CLONE"):
        raise reader.error(
            "only SHALLOW CLONE is supported, which refers to the files of its source; to copy the rows, write CREATE "
            "TABLE … AS SELECT"
        )
    source = reader.table_name()
    properties: tuple[tuple[str, str], ...] = ()
    location = None
    while reader.peek_word("TBLPROPERTIES", "LOCATION"):
        if reader.take_words("TBLPROPERTIES"):
            properties = reader.properties()
        else:
            reader.need_words("LOCATION")
            location = reader.string("the location")
    return CloneTable(name, source, properties, location, creating, if_not_exists)
