"""DELETE, UPDATE, MERGE and TRUNCATE."""

from __future__ import annotations

from abc import abstractmethod
from typing import Literal

import pyarrow as pa

from deltaskip.errors import SparkUnavailable, UnsupportedFeature
from deltaskip.records import dataclass
from deltaskip.schema.relations import qualifier_length, unqualified_text
from deltaskip.schema.sql_text import quoted_name, quoted_path
from deltaskip.schema.types import VOID, StructField, StructType
from deltaskip.statements.answers import NOTHING, rows
from deltaskip.statements.inserting import partition_predicate
from deltaskip.statements.references import references
from deltaskip.statements.session import StatementSession, qualifiers
from deltaskip.statements.statement import Statement
from deltaskip.statements.subqueries import with_values
from deltaskip.statements.values import PartitionValue, Parts
from deltaskip.table.delta_rows import AFFECTED, MERGED, merged_row

__all__ = ["Clause", "Delete", "MergeInto", "RowChange", "SourceOfMerge", "TruncateTable", "Update"]

_AUTO_MERGE = "spark.databricks.delta.schema.autoMerge.enabled"


@dataclass(frozen=True, slots=True)
class RowChange(Statement):
    """A statement that changes rows of a table."""

    def run(self, session: StatementSession) -> pa.Table:
        """Run the statement. What only Spark evaluates is a reason to pass a session, if there is none."""
        try:
            return self.change(session)
        except UnsupportedFeature as error:
            if session.spark is not None or not error.needs_session:
                raise
            raise SparkUnavailable(f"{error} The session is the first argument of sql().") from error

    @abstractmethod
    def change(self, session: StatementSession) -> pa.Table:
        """Change the rows. Returns the rows of the answer."""


@dataclass(frozen=True, slots=True)
class Delete(RowChange):
    """DELETE FROM."""

    name: Parts
    alias: str | None = None
    where: str | None = None

    def change(self, session: StatementSession) -> pa.Table:
        table = session.table(self.name)
        own = None
        if self.where is not None:
            own = session.own(with_values(self.where, session.query), self.name, self.alias, table)
        return _affected(table.delete(own, session.spark).metrics.get("numDeletedRows"))


@dataclass(frozen=True, slots=True)
class TruncateTable(RowChange):
    """TRUNCATE TABLE, or only partitions with the values of columns."""

    name: Parts
    partition: tuple[PartitionValue, ...] = ()

    def change(self, session: StatementSession) -> pa.Table:
        session.table(self.name).delete(partition_predicate(self.partition), session.spark)
        return NOTHING


@dataclass(frozen=True, slots=True)
class Update(RowChange):
    """UPDATE. values: SQL text of the new value by the path of a column."""

    name: Parts
    values: tuple[tuple[Parts, str], ...]
    alias: str | None = None
    where: str | None = None

    def change(self, session: StatementSession) -> pa.Table:
        table = session.table(self.name)
        given = {}
        for path, expression in self.values:
            value = with_values(expression, session.query)
            own_path = path[qualifier_length(path, table.schema, qualifiers(self.name, self.alias)) :]
            given[quoted_path(own_path)] = session.own(value, self.name, self.alias, table)
        own = None
        if self.where is not None:
            own = session.own(with_values(self.where, session.query), self.name, self.alias, table)
        return _affected(table.update(given, own, session.spark).metrics.get("numUpdatedRows", 0))


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
class MergeInto(RowChange):
    """MERGE INTO."""

    name: Parts
    source: SourceOfMerge
    on: str
    clauses: tuple[Clause, ...]
    alias: str | None = None
    evolves: bool = False

    def change(self, session: StatementSession) -> pa.Table:
        table = session.table(self.name)
        spark = session.needed("MERGE")
        source = self.source
        text = source.text if source.is_query else f"SELECT * FROM {source.text}"
        frame = session.query(text)
        alias, target = source.alias, self.alias or self.name[-1]
        # Only their names matter here.
        columns = StructType(tuple(StructField(name, VOID) for name in frame.columns))
        named = [(self.name, table.schema)] if self.alias is None else []
        if alias is None and source.is_query:
            # As Spark names it: its columns are named without a qualifier.
            alias = "__auto_generated_subquery_name"
        elif alias is None:
            found = references(f"SELECT * FROM {source.text}")
            alias = found[0].name.parts[-1] if found else None
            named += [(each.name.parts, columns) for each in found]

        def own(expression: str) -> str:
            """The expression with `t.` in place of `db.t.`."""
            for parts, schema in named:
                expression = unqualified_text(
                    expression, schema, qualifiers(parts, None)[:-1], f"{quoted_name(parts[-1])}."
                )
            return expression

        evolves = self.evolves or session.setting(_AUTO_MERGE, "false") == "true"
        after = StructType((*table.schema.fields, *columns.fields)) if evolves else table.schema

        def length(path: Parts) -> int:
            """How many parts of the name of a column to set are the name of the table."""
            return qualifier_length(path, after, qualifiers(self.name, self.alias))

        builder = table.merge(
            frame, own(self.on), alias, target, schema_mode="merge" if evolves else "keep", spark=spark
        )
        for clause in self.clauses:
            where = None if clause.where is None else own(clause.where)
            kind = clause.kind.replace(" ", "_")
            if clause.action == "delete":
                builder = getattr(builder, f"when_{kind}_delete")(where=where)
            elif clause.values is None:
                builder = getattr(builder, f"when_{kind}_{clause.action}_all")(where=where)
            else:
                given = {quoted_path(path[length(path) :]): own(text) for path, text in clause.values}
                builder = getattr(builder, f"when_{kind}_{clause.action}")(given, where=where)
        return rows(MERGED, [merged_row(builder.execute().metrics)])


def _affected(count: int | None) -> pa.Table:
    return rows(AFFECTED, [(-1 if count is None else count,)])
