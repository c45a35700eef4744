"""Statements about tables and namespaces: CREATE, REPLACE, CLONE, ALTER, DROP, COMMENT, SHOW and DESCRIBE.

# Spark 4.1, SqlBaseParser.g4, statement; delta-spark 4.4, DeltaSqlBase.g4
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from deltaskip.alter.changes import RemoveProperty, SetProperty
from deltaskip.errors import InvalidArgument
from deltaskip.schema.resolve import display_name, fold_name
from deltaskip.schema.sql_text import sql_error
from deltaskip.schema.types import StructField, StructType
from deltaskip.statements.namespace_statements import (
    AlterNamespace,
    CreateNamespace,
    DescribeNamespace,
    DropNamespace,
    ShowNamespaces,
)
from deltaskip.statements.reader import StatementReader
from deltaskip.statements.row_statements import TruncateTable
from deltaskip.statements.show_statements import (
    DescribeDetail,
    DescribeHistory,
    DescribeTable,
    ShowColumns,
    ShowCreateTable,
    ShowPartitions,
    ShowProperties,
    ShowTables,
)
from deltaskip.statements.statement import Statement
from deltaskip.statements.table_statements import (
    AlterTable,
    CloneTable,
    CommentOn,
    CreateTable,
    DropTable,
    Refresh,
    RenameTable,
)
from deltaskip.statements.values import Creating, Parts
from deltaskip.transforms import Identity, Transform
from deltaskip.transforms.given import parse_transform

__all__ = [
    "alter_namespace",
    "alter_table",
    "clone_table",
    "comment_on",
    "create_namespace",
    "create_table",
    "describe",
    "describe_detail",
    "describe_history",
    "describe_namespace",
    "drop_namespace",
    "drop_table",
    "refresh",
    "show_columns",
    "show_create_table",
    "show_namespaces",
    "show_partitions",
    "show_properties",
    "show_tables",
    "truncate",
]

NAMESPACES = ("NAMESPACE", "SCHEMA", "DATABASE")
_ALL_NAMESPACES = ("NAMESPACES", "SCHEMAS", "DATABASES")


def create_table(reader: StatementReader) -> Statement:
    """CREATE [OR REPLACE] TABLE and REPLACE TABLE, after TABLE: a table, AS a query, or a clone."""
    creating = _creating(reader)
    if_not_exists = creating == "create" and reader.if_not_exists()
    name = reader.parts()
    if reader.peek_word("SHALLOW", "DEEP", "CLONE"):
        return clone_table(reader, name, creating, if_not_exists)
    if reader.peek_word("LIKE"):
        raise reader.error("CREATE TABLE … LIKE is not supported: write CREATE TABLE … AS SELECT * FROM t LIMIT 0")
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
    if found.get("columns") is None and "query" not in found:
        raise reader.error("a table needs columns, as in (id BIGINT, …), or AS and a query")
    if found.get("columns") is not None and "query" in found:
        # Spark 4.1, AstBuilder.visitCreateTable: schema may not be specified in CTAS.
        raise InvalidArgument(
            f"CREATE TABLE {display_name(name)} has both columns and a query: leave out the columns, and cast the "
            f"values of the query."
        )
    reader.finish()
    return CreateTable(name, **found)


def _creating(reader: StatementReader) -> Creating:
    if reader.take_words("CREATE", "OR", "REPLACE", "TABLE"):
        return "create or replace"
    if reader.take_words("REPLACE", "TABLE"):
        return "replace"
    reader.need_words("CREATE", "TABLE")
    return "create"


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
    """The properties. # Spark 4.1, AstBuilder.cleanTableProperties: some have clauses of their own"""
    at = reader.position
    found = reader.properties()
    for key, instead in (("location", "LOCATION '…'"), ("external", "LOCATION '…'"), ("provider", "USING delta")):
        if any(name.lower() == key for name, _ in found):
            raise sql_error(reader.text, at, f"{key} is not a property that can be set: write {instead}")
    return found


def _cluster_by(reader: StatementReader) -> tuple[Parts, ...]:
    if reader.take_words("AUTO"):
        raise reader.error("CLUSTER BY AUTO is not supported: name the columns, as in CLUSTER BY (a, b)")
    return () if reader.take_words("NONE") else tuple(reader.parenthesized_list(reader.path))


def _partitions(reader: StatementReader) -> tuple[tuple[Transform, ...], tuple[StructField, ...]]:
    """(transform or column, …), or columns with types, which are added to those of the table."""
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


def clone_table(reader: StatementReader, name: Parts, creating: Creating, if_not_exists: bool) -> CloneTable:
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
    reader.finish()
    return CloneTable(name, source, properties, location, creating, if_not_exists)


def alter_table(reader: StatementReader) -> Statement:
    """ALTER TABLE name, then what `alter_sql` takes, or RENAME TO."""
    reader.need_words("ALTER", "TABLE")
    name = reader.parts()
    if reader.take_words("RENAME", "TO"):
        new = reader.parts("the new name")
        reader.finish()
        return RenameTable(name, new)
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
    changes = tuple(reader.changes())
    reader.finish()
    return AlterTable(name, changes)


def drop_table(reader: StatementReader) -> DropTable:
    """DROP TABLE [IF EXISTS] name [PURGE]"""
    reader.need_words("DROP", "TABLE")
    if_exists = reader.if_exists()
    name = reader.parts()
    purge = reader.take_words("PURGE")
    reader.finish()
    return DropTable(name, if_exists, purge)


def truncate(reader: StatementReader) -> TruncateTable:
    """TRUNCATE TABLE name [PARTITION (…)]"""
    reader.need_words("TRUNCATE", "TABLE")
    name = reader.parts()
    partition = reader.partition_values() if reader.take_words("PARTITION") else ()
    reader.finish()
    return TruncateTable(name, partition)


def refresh(reader: StatementReader) -> Refresh:
    """REFRESH [TABLE] name"""
    reader.need_words("REFRESH")
    reader.take_words("TABLE")
    name = reader.parts()
    reader.finish()
    return Refresh(name)


def comment_on(reader: StatementReader) -> CommentOn:
    """COMMENT ON TABLE | NAMESPACE | COLUMN name IS 'text' | NULL"""
    reader.need_words("COMMENT", "ON")
    column: Parts = ()
    if reader.take_words("TABLE"):
        kind, name = "table", reader.parts()
    elif reader.take_one(*NAMESPACES):
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
    reader.finish()
    return CommentOn(kind, name, comment, column)  # type: ignore[arg-type]


def create_namespace(reader: StatementReader) -> CreateNamespace:
    """CREATE NAMESPACE [IF NOT EXISTS] name [COMMENT] [LOCATION] [WITH PROPERTIES]"""
    reader.need_words("CREATE")
    reader.take_one(*NAMESPACES)
    if_not_exists = reader.if_not_exists()
    name = reader.parts("the name of a namespace")
    properties: dict[str, str] = {}
    while True:
        if reader.take_words("COMMENT"):
            properties["comment"] = reader.string("the comment")
        elif reader.take_words("LOCATION"):
            properties["location"] = reader.string("the location")
        elif reader.take_words("WITH"):
            if not reader.take_one("PROPERTIES", "DBPROPERTIES"):
                raise reader.error("PROPERTIES is expected here")
            properties.update(reader.properties())
        else:
            break
    reader.finish()
    return CreateNamespace(name, tuple(properties.items()), if_not_exists)


def drop_namespace(reader: StatementReader) -> DropNamespace:
    """DROP NAMESPACE [IF EXISTS] name [RESTRICT | CASCADE]"""
    reader.need_words("DROP")
    reader.take_one(*NAMESPACES)
    if_exists = reader.if_exists()
    name = reader.parts("the name of a namespace")
    cascade = reader.take_one("RESTRICT", "CASCADE") == "CASCADE"
    reader.finish()
    return DropNamespace(name, if_exists, cascade)


def alter_namespace(reader: StatementReader) -> AlterNamespace:
    """ALTER NAMESPACE name SET | UNSET PROPERTIES (…)"""
    reader.need_words("ALTER")
    reader.take_one(*NAMESPACES)
    name = reader.parts("the name of a namespace")
    changes: list[SetProperty | RemoveProperty] = []
    if reader.take_words("UNSET"):
        if not reader.take_one("PROPERTIES", "DBPROPERTIES"):
            raise reader.error("PROPERTIES is expected here")
        exists = reader.if_exists()
        changes += [RemoveProperty(each, exists) for each in reader.parenthesized_list(reader.property_name)]
    else:
        reader.need_words("SET")
        if reader.take_words("LOCATION"):
            changes.append(SetProperty("location", reader.string("the location")))
        elif reader.take_one("PROPERTIES", "DBPROPERTIES"):
            changes += [SetProperty(*each) for each in reader.properties()]
        else:
            raise reader.error("PROPERTIES or LOCATION is expected here")
    reader.finish()
    return AlterNamespace(name, tuple(changes))


def describe_namespace(reader: StatementReader) -> DescribeNamespace:
    """DESCRIBE NAMESPACE [EXTENDED] name"""
    reader.take_one("DESCRIBE", "DESC")
    reader.take_one(*NAMESPACES)
    extended = reader.take_words("EXTENDED")
    name = reader.parts("the name of a namespace")
    reader.finish()
    return DescribeNamespace(name, extended)


def describe_detail(reader: StatementReader) -> DescribeDetail:
    """DESCRIBE DETAIL name"""
    reader.take_one("DESCRIBE", "DESC")
    reader.need_words("DETAIL")
    reader.take_words("TABLE")
    name = reader.parts()
    reader.finish()
    return DescribeDetail(name)


def describe_history(reader: StatementReader) -> DescribeHistory:
    """DESCRIBE HISTORY name [LIMIT n]"""
    reader.take_one("DESCRIBE", "DESC")
    reader.need_words("HISTORY")
    reader.take_words("TABLE")
    name = reader.parts()
    limit = None
    if reader.take_words("LIMIT"):
        at = reader.position
        limit = reader.integer()
        if limit < 0:
            raise sql_error(reader.text, at, "the limit must not be negative")
    reader.finish()
    return DescribeHistory(name, limit)


def describe(reader: StatementReader) -> DescribeTable:
    """DESCRIBE [TABLE] [EXTENDED | FORMATTED] name [column]"""
    reader.take_one("DESCRIBE", "DESC")
    for word, instead in (("QUERY", "SELECT … LIMIT 0"), ("FUNCTION", "spark.sql")):
        if reader.peek_word(word) and reader.at + 1 < len(reader.tokens):
            raise reader.error(f"DESCRIBE {word} is not supported: use {instead}")
    reader.take_words("TABLE")
    extended = reader.take_one("EXTENDED", "FORMATTED") is not None
    name = reader.table_name()
    if reader.take_words("PARTITION"):
        raise reader.error("DESCRIBE … PARTITION is not supported: use SHOW PARTITIONS")
    if reader.take_words("AS", "JSON"):
        raise reader.error("AS JSON is not supported: use DESCRIBE DETAIL, or DeltaTable.detail().to_dict()")
    column: Parts = () if reader.at_end or reader.peek_symbol(";") else reader.path()
    reader.finish()
    return DescribeTable(name, extended, column)


def show_namespaces(reader: StatementReader) -> ShowNamespaces:
    """SHOW NAMESPACES [FROM | IN parent] [[LIKE] pattern]"""
    reader.need_words("SHOW")
    reader.take_one(*_ALL_NAMESPACES)
    parent = reader.parts("the name of a namespace") if reader.take_one("FROM", "IN") else ()
    pattern = reader.pattern()
    reader.finish()
    return ShowNamespaces(parent, pattern)


def show_tables(reader: StatementReader) -> ShowTables:
    """SHOW TABLES [FROM | IN namespace] [[LIKE] pattern]"""
    reader.need_words("SHOW", "TABLES")
    namespace = reader.parts("the name of a namespace") if reader.take_one("FROM", "IN") else ()
    pattern = reader.pattern()
    reader.finish()
    return ShowTables(namespace, pattern)


def show_partitions(reader: StatementReader) -> ShowPartitions:
    """SHOW PARTITIONS name [PARTITION (…)]"""
    reader.need_words("SHOW", "PARTITIONS")
    name = reader.parts()
    partition = reader.partition_values() if reader.take_words("PARTITION") else ()
    reader.finish()
    return ShowPartitions(name, partition)


def show_properties(reader: StatementReader) -> ShowProperties:
    """SHOW TBLPROPERTIES name [(key)]"""
    reader.need_words("SHOW", "TBLPROPERTIES")
    name = reader.parts()
    key = None
    if reader.peek_symbol("("):
        reader.expect("(")
        key = reader.property_name()
        reader.expect(")")
    reader.finish()
    return ShowProperties(name, key)


def show_create_table(reader: StatementReader) -> ShowCreateTable:
    """SHOW CREATE TABLE name"""
    reader.need_words("SHOW", "CREATE", "TABLE")
    name = reader.parts()
    reader.finish()
    return ShowCreateTable(name)


def show_columns(reader: StatementReader) -> ShowColumns:
    """SHOW COLUMNS FROM | IN name [FROM | IN namespace]"""
    reader.need_words("SHOW", "COLUMNS")
    if not reader.take_one("FROM", "IN"):
        raise reader.error("FROM or IN and the name of a table is expected here")
    name = reader.parts()
    if reader.take_one("FROM", "IN"):
        name = (*reader.parts("the name of a namespace"), name[-1])
    reader.finish()
    return ShowColumns(name)
