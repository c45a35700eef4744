"""SQL statements as values: what each names, with expressions and queries as the text that was typed."""

from __future__ import annotations

from dataclasses import field
from typing import Literal

from deltaskip.alter.changes import RemoveProperty, SetProperty, TableChange
from deltaskip.records import dataclass
from deltaskip.schema.types import StructType
from deltaskip.transforms import Transform

__all__ = [
    "AlterNamespace",
    "AlterTable",
    "Clause",
    "CloneTable",
    "CommentOn",
    "CreateNamespace",
    "CreateTable",
    "Creating",
    "Delete",
    "DescribeDetail",
    "DescribeHistory",
    "DescribeNamespace",
    "DescribeTable",
    "DropNamespace",
    "DropTable",
    "Generate",
    "Insert",
    "MergeInto",
    "Optimize",
    "PartitionValue",
    "Parts",
    "Query",
    "Refresh",
    "RenameTable",
    "Restore",
    "ShowColumns",
    "ShowCreateTable",
    "ShowNamespaces",
    "ShowPartitions",
    "ShowProperties",
    "ShowTables",
    "SourceOfMerge",
    "Statement",
    "StatementTable",
    "TruncateTable",
    "Update",
    "Vacuum",
]

Parts = tuple[str, ...]
"""The parts of a name, without backticks."""

Creating = Literal["create", "replace", "create or replace"]


@dataclass(frozen=True, slots=True)
class StatementTable:
    """A table as a statement names it.

    Attributes:
        parts: The parts of the name; ("delta", path) for a table by its path.
        version: The version to read; None for the latest.
        timestamp: SQL text of the time to read; None for the latest version.
    """

    parts: Parts
    version: int | None = None
    timestamp: str | None = None


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement. Its class says which, and its attributes what it names."""


@dataclass(frozen=True, slots=True)
class Query(Statement):
    """A query, or EXPLAIN of one.

    Attributes:
        text: The query as typed.
    """

    text: str


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


@dataclass(frozen=True, slots=True)
class AlterTable(Statement):
    """ALTER TABLE with the changes that it makes, in order."""

    name: Parts
    changes: tuple[TableChange, ...]


@dataclass(frozen=True, slots=True)
class RenameTable(Statement):
    """ALTER TABLE … RENAME TO. A new name of one part stays in the namespace."""

    name: Parts
    new: Parts


@dataclass(frozen=True, slots=True)
class DropTable(Statement):
    """DROP TABLE."""

    name: Parts
    if_exists: bool = False
    purge: bool = False


@dataclass(frozen=True, slots=True)
class TruncateTable(Statement):
    """TRUNCATE TABLE, or only partitions with the values of columns."""

    name: Parts
    partition: tuple[PartitionValue, ...] = ()


@dataclass(frozen=True, slots=True)
class Refresh(Statement):
    """REFRESH TABLE."""

    name: Parts


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


@dataclass(frozen=True, slots=True)
class CreateNamespace(Statement):
    """CREATE NAMESPACE."""

    name: Parts
    properties: tuple[tuple[str, str], ...] = ()
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class DropNamespace(Statement):
    """DROP NAMESPACE."""

    name: Parts
    if_exists: bool = False
    cascade: bool = False


@dataclass(frozen=True, slots=True)
class AlterNamespace(Statement):
    """ALTER NAMESPACE … SET or UNSET properties."""

    name: Parts
    changes: tuple[SetProperty | RemoveProperty, ...]


@dataclass(frozen=True, slots=True)
class DescribeNamespace(Statement):
    """DESCRIBE NAMESPACE."""

    name: Parts
    extended: bool = False


@dataclass(frozen=True, slots=True)
class ShowNamespaces(Statement):
    """SHOW NAMESPACES. pattern: `*` for any characters, `|` between alternatives."""

    parent: Parts = ()
    pattern: str | None = None


@dataclass(frozen=True, slots=True)
class ShowTables(Statement):
    """SHOW TABLES. pattern: as of ShowNamespaces."""

    namespace: Parts = ()
    pattern: str | None = None


@dataclass(frozen=True, slots=True)
class ShowPartitions(Statement):
    """SHOW PARTITIONS, maybe only those with the values of columns."""

    name: Parts
    partition: tuple[PartitionValue, ...] = ()


@dataclass(frozen=True, slots=True)
class ShowProperties(Statement):
    """SHOW TBLPROPERTIES. key: the one property to show."""

    name: Parts
    key: str | None = None


@dataclass(frozen=True, slots=True)
class ShowCreateTable(Statement):
    """SHOW CREATE TABLE."""

    name: Parts


@dataclass(frozen=True, slots=True)
class ShowColumns(Statement):
    """SHOW COLUMNS."""

    name: Parts


@dataclass(frozen=True, slots=True)
class DescribeTable(Statement):
    """DESCRIBE TABLE. column: path of the one column to describe."""

    name: StatementTable
    extended: bool = False
    column: Parts = ()


@dataclass(frozen=True, slots=True)
class DescribeDetail(Statement):
    """DESCRIBE DETAIL."""

    name: Parts


@dataclass(frozen=True, slots=True)
class DescribeHistory(Statement):
    """DESCRIBE HISTORY."""

    name: Parts
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class PartitionValue:
    """A column of PARTITION (…). value: SQL text of its value; None if the query gives it."""

    column: str
    value: str | None = None


@dataclass(frozen=True, slots=True)
class Insert(Statement):
    """INSERT INTO and INSERT OVERWRITE.

    Attributes:
        name: Name of the table.
        query: Text of the query or of VALUES (…).
        overwrite: Whether the rows replace others.
        where: Text of the predicate of the rows that they replace; None for all, or those of partitions.
        columns: Names of the columns that the query gives, in its order; () for all of the table.
        by_name: Whether columns are matched by name.
        partition: Columns of PARTITION (…).
        evolves: Whether new columns of the query are added to the table.
    """

    name: Parts
    query: str
    overwrite: bool = False
    where: str | None = None
    columns: Parts = ()
    by_name: bool = False
    partition: tuple[PartitionValue, ...] = ()
    evolves: bool = False


@dataclass(frozen=True, slots=True)
class Delete(Statement):
    """DELETE FROM."""

    name: Parts
    alias: str | None = None
    where: str | None = None


@dataclass(frozen=True, slots=True)
class Update(Statement):
    """UPDATE. values: SQL text of the new value by the path of a column."""

    name: Parts
    values: tuple[tuple[Parts, str], ...]
    alias: str | None = None
    where: str | None = None


@dataclass(frozen=True, slots=True)
class SourceOfMerge:
    """The source of a MERGE.

    Attributes:
        text: The name of a table with its time travel, or a query without its parentheses.
        is_query: Whether it is a query.
        alias: Its name in expressions.
    """

    text: str
    is_query: bool
    alias: str | None = None


@dataclass(frozen=True, slots=True)
class Clause:
    """A WHEN clause of a MERGE.

    Attributes:
        kind: The rows that the clause applies to.
        action: What it does with them.
        where: Text of its condition.
        values: SQL text by the path of a column; None for `*`.
    """

    kind: Literal["matched", "not matched", "not matched by source"]
    action: Literal["update", "insert", "delete"]
    where: str | None = None
    values: tuple[tuple[Parts, str], ...] | None = None


@dataclass(frozen=True, slots=True)
class MergeInto(Statement):
    """MERGE INTO."""

    name: Parts
    source: SourceOfMerge
    on: str
    clauses: tuple[Clause, ...]
    alias: str | None = None
    evolves: bool = False


@dataclass(frozen=True, slots=True)
class Optimize(Statement):
    """OPTIMIZE."""

    name: Parts
    where: str | None = None
    zorder_by: tuple[Parts, ...] = ()
    full: bool = False


@dataclass(frozen=True, slots=True)
class Vacuum(Statement):
    """VACUUM. hours: the retention; None for that of the table."""

    name: Parts
    hours: float | None = None
    dry_run: bool = False
    lite: bool = False


@dataclass(frozen=True, slots=True)
class Restore(Statement):
    """RESTORE TABLE. timestamp: SQL text."""

    name: Parts
    version: int | None = None
    timestamp: str | None = None


@dataclass(frozen=True, slots=True)
class Generate(Statement):
    """GENERATE."""

    name: Parts
    mode: str = field(default="symlink_format_manifest")
