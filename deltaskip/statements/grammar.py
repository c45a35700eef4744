"""The table of statements: the form of each, the call that it stands for, and whether it needs Spark.

# Spark 4.1, SqlBaseParser.g4, statement; delta-spark 4.4, DeltaSqlBase.g4
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Literal

from deltaskip.records import dataclass
from deltaskip.statements.from_the_log import Query
from deltaskip.statements.inserting import Insert
from deltaskip.statements.maintenance_statements import Generate, Optimize, Reorg, Restore, Vacuum
from deltaskip.statements.namespace_statements import (
    ALL_NAMESPACES,
    NAMESPACE_WORDS,
    AlterNamespace,
    CreateNamespace,
    DescribeNamespace,
    DropNamespace,
    ShowNamespaces,
)
from deltaskip.statements.reader import QUERY_WORDS, StatementReader, check_reads
from deltaskip.statements.row_statements import Delete, MergeInto, TruncateTable, Update
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
from deltaskip.statements.table_statements import AlterTable, CommentOn, CreateTable, DropTable, Refresh


@dataclass(frozen=True, slots=True)
class StatementForm:
    """A kind of statement.

    Attributes:
        begins: The words with which it begins, each with its alternatives.
        form: How it is written.
        becomes: The method that runs it.
        spark: Whether it needs a session: "no", or "for expressions" and queries that deltaskip cannot evaluate.
        read: Reads the statement after its first words.
    """

    begins: tuple[tuple[str, ...], ...]
    form: str
    becomes: str
    spark: Literal["no", "for expressions"]
    read: Callable[[StatementReader], Statement]


def _query(reader: StatementReader) -> Statement:
    reader.at = 0
    at = reader.changing()
    if at is None or not reader.tokens[at].is_word("INSERT"):
        return _only_query(reader)
    before = reader.text[reader.tokens[0].start : reader.tokens[at].start]
    reader.at = at + 1
    insert = Insert.read(reader)
    query = f"({insert.query})" if insert.query[:4].upper() == "WITH" else insert.query
    return replace(insert, query=before + query)


def _explain(reader: StatementReader) -> Query:
    reader.take_one("EXTENDED", "CODEGEN", "COST", "FORMATTED")
    if not reader.begins_query():
        raise reader.error("only queries can be explained: pass dry_run=True to DeltaTable.delete, update or merge")
    return _only_query(reader)


def _only_query(reader: StatementReader) -> Query:
    check_reads(reader)
    reader.at = 0
    return Query(reader.rest("the query"))


_DESCRIBE = ("DESCRIBE", "DESC")

GRAMMAR: tuple[StatementForm, ...] = (
    StatementForm(
        (("CREATE",), ("OR",), ("REPLACE",), ("TABLE",)),
        "CREATE OR REPLACE TABLE name, with the clauses of CREATE TABLE",
        "stage_create_or_replace(…).commit_staged_changes(), or clone(…, replace=True)",
        "for expressions",
        partial(CreateTable.read, "create or replace"),
    ),
    StatementForm(
        (("CREATE",), ("TABLE",)),
        "CREATE TABLE [IF NOT EXISTS] name [(columns)] [USING delta] [PARTITIONED BY (days(ts), bucket(16, id), …)] "
        "[CLUSTER BY (…)] [COMMENT] [LOCATION] [TBLPROPERTIES] [AS query]; "
        "CREATE TABLE [IF NOT EXISTS] name LIKE source [USING delta] [TBLPROPERTIES] [LOCATION]; "
        "CREATE TABLE [IF NOT EXISTS] name SHALLOW CLONE source [TBLPROPERTIES] [LOCATION]; "
        "CREATE TABLE [IF NOT EXISTS] name [USING delta] LOCATION 'a table that exists'",
        "create_table, stage_create(…).append(query), clone, or register_table",
        "for expressions",
        partial(CreateTable.read, "create"),
    ),
    StatementForm((("REPLACE",), ("TABLE",)), "REPLACE TABLE name, with the clauses of CREATE TABLE",
        "stage_replace(…).commit_staged_changes()", "for expressions", partial(CreateTable.read, "replace")),
    StatementForm(
        (("ALTER",), ("TABLE",)),
        "ALTER TABLE name, and ADD COLUMNS, ALTER COLUMN, RENAME COLUMN, DROP COLUMNS, REPLACE COLUMNS, SET and UNSET "
        "TBLPROPERTIES, ADD and DROP CONSTRAINT, CLUSTER BY, DROP FEATURE, or RENAME TO new",
        "alter_table(name, changes), rename_table",
        "no",
        AlterTable.read,
    ),
    StatementForm((("DROP",), ("TABLE",)), "DROP TABLE [IF EXISTS] name [PURGE]", "drop_table", "no", DropTable.read),
    StatementForm((("TRUNCATE",), ("TABLE",)), "TRUNCATE TABLE name [PARTITION (p = 1)]", "DeltaTable.delete(…)", "no",
        TruncateTable.read),
    StatementForm((("REFRESH",),), "REFRESH [TABLE] name", "refresh_table", "no", Refresh.read),
    StatementForm((("COMMENT",), ("ON",)), "COMMENT ON TABLE, COLUMN or NAMESPACE name IS 'text' or NULL",
        "alter_table(name, SetComment(…)), alter_namespace", "no", CommentOn.read),
    StatementForm((("CREATE",), NAMESPACE_WORDS),
        "CREATE NAMESPACE [IF NOT EXISTS] name [COMMENT] [LOCATION] [WITH PROPERTIES]", "create_namespace", "no",
        CreateNamespace.read),
    StatementForm((("DROP",), NAMESPACE_WORDS), "DROP NAMESPACE [IF EXISTS] name [RESTRICT or CASCADE]",
        "drop_namespace", "no", DropNamespace.read),
    StatementForm((("ALTER",), NAMESPACE_WORDS), "ALTER NAMESPACE name SET or UNSET PROPERTIES (…)", "alter_namespace",
        "no", AlterNamespace.read),
    StatementForm((_DESCRIBE, NAMESPACE_WORDS), "DESCRIBE NAMESPACE [EXTENDED] name", "describe_namespace", "no",
        DescribeNamespace.read),
    StatementForm((("SHOW",), ALL_NAMESPACES), "SHOW NAMESPACES [IN parent] [LIKE 'pattern']", "list_namespaces", "no",
        ShowNamespaces.read),
    StatementForm((("SHOW",), ("TABLES",)), "SHOW TABLES [IN namespace] [LIKE 'pattern']", "list_tables", "no",
        ShowTables.read),
    StatementForm((("SHOW",), ("PARTITIONS",)), "SHOW PARTITIONS name [PARTITION (p = 1)]",
        "partition values of the active files, from the log", "no", ShowPartitions.read),
    StatementForm((("SHOW",), ("TBLPROPERTIES",)), "SHOW TBLPROPERTIES name [('key')]", "DeltaTable.properties", "no",
        ShowProperties.read),
    StatementForm((("SHOW",), ("CREATE",), ("TABLE",)), "SHOW CREATE TABLE name",
        "a statement that creates such a table", "no", ShowCreateTable.read),
    StatementForm((("SHOW",), ("COLUMNS",)), "SHOW COLUMNS IN name", "DeltaTable.schema", "no", ShowColumns.read),
    StatementForm((_DESCRIBE, ("DETAIL",)), "DESCRIBE DETAIL name", "DeltaTable.detail()", "no", DescribeDetail.read),
    StatementForm((_DESCRIBE, ("HISTORY",)), "DESCRIBE HISTORY name [LIMIT n]", "DeltaTable.history(n)", "no",
        DescribeHistory.read),
    StatementForm((_DESCRIBE,), "DESCRIBE [TABLE] [EXTENDED] name [column]",
        "DeltaTable.schema, partitioning and properties", "no", DescribeTable.read),
    StatementForm(
        (("INSERT",),),
        "INSERT [WITH SCHEMA EVOLUTION] INTO or OVERWRITE [TABLE] name [AS alias] [PARTITION (p = 1, q)] "
        "[BY NAME or (columns)] [REPLACE WHERE predicate, USING (columns) or ON condition] query or VALUES (…) "
        "[AS alias]",
        "DeltaTable.append or overwrite",
        "for expressions",
        Insert.read,
    ),
    StatementForm((("DELETE",),), "DELETE FROM name [alias] [WHERE predicate]", "DeltaTable.delete", "for expressions",
        Delete.read),
    StatementForm((("UPDATE",),), "UPDATE name [alias] SET column = value, … [WHERE predicate]", "DeltaTable.update",
        "for expressions", Update.read),
    StatementForm(
        (("MERGE",),),
        "MERGE [WITH SCHEMA EVOLUTION] INTO name [alias] USING source or (query) [alias] ON condition "
        "WHEN [NOT] MATCHED [BY SOURCE] [AND condition] THEN UPDATE SET …, INSERT … or DELETE, …",
        "DeltaTable.merge",
        "for expressions",
        MergeInto.read,
    ),
    StatementForm((("OPTIMIZE",),), "OPTIMIZE name [FULL] [WHERE predicate] [ZORDER BY (columns)]",
        "DeltaTable.optimize", "no", Optimize.read),
    StatementForm((("REORG",),), "REORG TABLE name [WHERE predicate] APPLY (PURGE)", "DeltaTable.optimize(purge=True)",
        "no", Reorg.read),
    StatementForm((("VACUUM",),),
        "VACUUM name [FULL or LITE] [USING INVENTORY name or (query)] [RETAIN n HOURS] [DRY RUN]", "DeltaTable.vacuum",
        "no", Vacuum.read),
    StatementForm((("RESTORE",),), "RESTORE [TABLE] name TO VERSION AS OF n or TIMESTAMP AS OF time",
        "DeltaTable.restore", "no", Restore.read),
    StatementForm((("GENERATE",),), "GENERATE symlink_format_manifest FOR TABLE name", "DeltaTable.generate", "no",
        Generate.read),
    StatementForm((QUERY_WORDS,), "SELECT, WITH, FROM, VALUES and TABLE",
        "Spark's query over `scan(where)` of each table; without a session a scan, or DuckDB", "for expressions",
        _query),
    StatementForm((("EXPLAIN",),), "EXPLAIN [EXTENDED or FORMATTED] query",
        "Spark's plan of the query; without a session the files of each scan", "for expressions",
        _explain),
)  # fmt: skip
"""The first form whose words a statement begins with reads it."""

NEAREST: dict[str, str] = {
    "VIEW": "createOrReplaceTempView of the DataFrame of a query",
    "FUNCTION": "spark.udf.register, or CREATE FUNCTION through spark.sql",
    "ANALYZE": "DeltaTable.recompute_stats(), which computes statistics of files",
    "CONVERT": "deltaskip.convert_to_delta(spark, path), and register_table(name, path)",
    "MSCK": "nothing: the log lists all files",
    "REPAIR": "nothing: the log lists all files",
    "FSCK": "DeltaTable.verify(data=True, repair=True), which removes files that do not exist from the log",
    "USE": "names with their namespace, as in sales.orders",
    "SET": "spark.conf.set",
    "RESET": "spark.conf.unset",
    "CACHE": "DataFrame.cache of the result",
    "UNCACHE": "DataFrame.unpersist",
    "CLEAR": "spark.catalog.clearCache",
    "CALL": "the methods of the catalog and of DeltaTable",
    "LOAD": "INSERT INTO … SELECT, or DeltaTable.add_files",
    "COPY": "INSERT INTO … SELECT, or DeltaTable.add_files",
    "UPSERT": "MERGE INTO",
    "DECLARE": "params of sql()",
    "EXECUTE": "params of sql()",
    "BEGIN": "one call of sql() for each statement, or DeltaTable.transaction for several changes of one table",
    "START": "one call of sql() for each statement",
    "COMMIT": "one call of sql() for each statement",
    "GRANT": "the access control of the catalog's server",
    "REVOKE": "the access control of the catalog's server",
    "UNDROP": "RESTORE TABLE name TO VERSION AS OF n, or register_table(name, location)",
    "IMPORT": "register_table(name, location)",
    "EXPORT": "CREATE TABLE … SHALLOW CLONE",
    "CREATE": "CREATE TABLE or CREATE NAMESPACE",
    "REPLACE": "REPLACE TABLE",
    "ALTER": "ALTER TABLE or ALTER NAMESPACE",
    "DROP": "DROP TABLE or DROP NAMESPACE",
    "SHOW": "SHOW TABLES, NAMESPACES, PARTITIONS, TBLPROPERTIES, COLUMNS or CREATE TABLE",
    "COMMENT": "COMMENT ON TABLE, COLUMN or NAMESPACE",
    "TRUNCATE": "TRUNCATE TABLE",
}
"""The alternative to a statement without a form, by its first word; VIEW and FUNCTION may be later words."""


def statement_table() -> str:
    """Return the statements as a Markdown table, one row for each form."""
    lines = ["| statement | becomes | needs Spark |", "|---|---|---|"]
    for form in GRAMMAR:
        written = form.form.replace("|", "\\|")
        lines.append(f"| {'<br>'.join(f'`{each}`' for each in written.split('; '))} | {form.becomes} | {form.spark} |")
    return "\n".join(lines) + "\n"
