"""Running statements: each becomes calls of the catalog and of its tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from deltaskip.alter.changes import ClusterBy, RemoveProperty, SetComment, SetProperty, UpdateColumnComment
from deltaskip.arguments import unicode_text
from deltaskip.catalogs.identifier import CatalogIdentifier
from deltaskip.catalogs.located import LocatedCatalog, TableEntry
from deltaskip.catalogs.table_catalog import TableCatalog, TransactionalTableCatalog
from deltaskip.engine import engine
from deltaskip.errors import (
    CommitConflict,
    InvalidArgument,
    NamespaceAlreadyExists,
    NamespaceNotFound,
    SparkUnavailable,
    TableAlreadyExists,
    TableNotFound,
    UnsupportedFeature,
)
from deltaskip.expr import with_parameters
from deltaskip.maintenance.optimize.optimize import optimize
from deltaskip.maintenance.optimize.strategy import OptimizeRequest
from deltaskip.schema.given import schema_of
from deltaskip.schema.relations import qualifier_length, unqualified_text
from deltaskip.schema.resolve import display_name
from deltaskip.schema.sql_text import quoted_name, quoted_path
from deltaskip.schema.types import VOID, StructField, StructType
from deltaskip.skipping.scan import Scan
from deltaskip.statements import answers
from deltaskip.statements import values as v
from deltaskip.statements.answers import NOTHING, rows
from deltaskip.statements.from_the_log import answer_from_log
from deltaskip.statements.inserting import insert, partition_predicate
from deltaskip.statements.parse import parse_statement
from deltaskip.statements.references import references
from deltaskip.statements.session import StatementSession, catalog_name, path_of, qualifiers
from deltaskip.statements.subqueries import with_values
from deltaskip.table.delta_rows import (
    AFFECTED,
    DETAIL,
    HISTORY,
    MERGED,
    OPTIMIZED,
    RESTORED,
    detail_row,
    history_rows,
    merged_row,
    optimized_row,
    restored_row,
)
from deltaskip.transforms import Transform

__all__ = ["run_statement"]

_RETENTION_CHECK = "spark.databricks.delta.retentionDurationCheck.enabled"
_AUTO_MERGE = "spark.databricks.delta.schema.autoMerge.enabled"
_CLONED = {
    "source_table_size": "sourceTableSize",
    "source_num_of_files": "sourceNumOfFiles",
    "num_removed_files": "numRemovedFiles",
    "num_copied_files": "numCopiedFiles",
    "removed_files_size": "removedFilesSize",
    "copied_files_size": "copiedFilesSize",
}


def run_statement(
    catalog: TableCatalog, spark: Any, text: str, params: Mapping[str, object] | Sequence[object] | None = None
) -> Any:
    """Run an SQL statement; see TableCatalog.sql."""
    given = with_parameters(unicode_text("text", text), params)
    session = StatementSession(spark, catalog)
    answer = _answer(session, parse_statement(str(given)))
    if spark is None or not isinstance(answer, pa.Table):
        return answer
    return engine("The answer of a statement").arrow_to_dataframe(spark, answer)


def _answer(session: StatementSession, statement: v.Statement) -> Any:
    """The rows that a statement returns: a table of Arrow, or the DataFrame of a query."""
    match statement:
        case v.Query(text):
            answer = answer_from_log(session, text)
            return session.query(text) if answer is None else answer
        case v.CreateTable():
            return _create_table(session, statement)
        case v.CloneTable():
            return _clone(session, statement)
        case v.Insert():
            return insert(session, statement)
        case v.Delete() | v.Update() | v.MergeInto() | v.TruncateTable():
            with _session_named(session):
                return _change_rows(session, statement)
        case v.Optimize() | v.Vacuum() | v.Restore() | v.Generate():
            return _maintain(session, statement)
        case _:
            done = _define(session, statement)
            return _show(session, statement) if done is None else done


@contextmanager
def _session_named(session: StatementSession) -> Iterator[None]:
    """Within the block, an expression that only Spark evaluates is a reason to pass a session, if there is none."""
    try:
        yield
    except UnsupportedFeature as error:
        if session.spark is not None or not error.needs_session:
            raise
        raise SparkUnavailable(f"{error} The session is the first argument of sql().") from error


def _define(session: StatementSession, statement: v.Statement) -> pa.Table | None:
    """Run a statement about the definition of a table or namespace; None for another one."""
    catalog = session.catalog
    match statement:
        case v.AlterTable(name, changes):
            if path_of(name) is None:
                catalog.alter_table(session.ident(name), changes)
            else:
                session.table(name).alter(*changes)
        case v.RenameTable(name, new):
            old = catalog_name(session, name)
            target = CatalogIdentifier(old.namespace, new[0]) if len(new) == 1 else catalog_name(session, new)
            catalog.rename_table(old, target)
        case v.DropTable(name, if_exists, purge):
            ident = catalog_name(session, name)
            if not catalog.drop_table(ident, purge=purge) and not if_exists:
                raise TableNotFound(f"The catalog {catalog.name} has no table {ident}: write DROP TABLE IF EXISTS.")
        case v.Refresh(name):
            if path_of(name) is None:
                catalog.refresh_table(session.ident(name))
        case v.CommentOn(kind, name, comment, column):
            _comment(session, kind, name, comment, column)
        case v.CreateNamespace(name, properties, if_not_exists):
            try:
                catalog.create_namespace(session.namespace(name), dict(properties))
            except NamespaceAlreadyExists:
                if not if_not_exists:
                    raise
        case v.DropNamespace(name, if_exists, cascade):
            own = session.namespace(name)
            if not catalog.drop_namespace(own, cascade=cascade) and not if_exists:
                raise NamespaceNotFound(f"The catalog {catalog.name} has no namespace {display_name(name)}.")
        case v.AlterNamespace(name, changes):
            catalog.alter_namespace(session.namespace(name), *changes)
        case _:
            return None
    return NOTHING


def _comment(session: StatementSession, kind: str, name: v.Parts, comment: str | None, column: v.Parts) -> None:
    catalog = session.catalog
    if kind == "namespace":
        change = RemoveProperty("comment") if comment is None else SetProperty("comment", comment)
        catalog.alter_namespace(session.namespace(name), change)
    elif kind == "column":
        catalog.alter_table(session.ident(name), UpdateColumnComment(column, comment))
    else:
        catalog.alter_table(session.ident(name), SetComment(comment))


def _show(session: StatementSession, statement: v.Statement) -> pa.Table:
    """The rows of a SHOW or DESCRIBE."""
    catalog, zone = session.catalog, session.time_zone
    match statement:
        case v.ShowNamespaces(parent, pattern):
            return answers.listed_namespaces(catalog.list_namespaces(session.namespace(parent)), pattern)
        case v.ShowTables(namespace, pattern):
            within = session.namespace(namespace)
            if pattern is None:
                return answers.listed_tables(catalog.list_tables(within))
            return answers.listed_tables(catalog.matching_tables(within, answers.matching(pattern)))
        case v.ShowPartitions(name, partition):
            return answers.partitions_of(session.table(name), partition_predicate(partition), zone)
        case v.ShowProperties(name, key):
            return answers.properties_of(session.table(name), display_name(name), key)
        case v.ShowCreateTable(name):
            text = answers.create_statement(session.table(name), display_name(name))
            return rows("createtab_stmt STRING NOT NULL", [(text,)])
        case v.ShowColumns(name):
            return answers.columns_of(session.table(name))
        case v.DescribeTable(name, _, column) if column:
            return answers.described_column(session.table(name), column)
        case v.DescribeTable(name, extended):
            shown = display_name(name.parts)
            return answers.described_table(session.table(name), shown, extended, catalog.name)
        case v.DescribeNamespace(name, extended):
            own = session.namespace(name)
            return answers.described_namespace(catalog.describe_namespace(own), extended)
        case v.DescribeDetail(name):
            shown = display_name((catalog.name, *session.ident(name).namespace, name[-1]))
            named = shown if path_of(name) is None else None
            return rows(DETAIL, [detail_row(session.table(name).detail(), named)])
        case v.DescribeHistory(name, limit):
            return rows(HISTORY, history_rows(session.table(name).history(limit)))
    raise InvalidArgument(f"{type(statement).__name__} cannot be run.")


def _create_table(session: StatementSession, statement: v.CreateTable) -> pa.Table:
    """CREATE TABLE, REPLACE TABLE, and both AS a query: the table is there whole, or not at all."""
    catalog, ident = session.catalog, catalog_name(session, statement.name)
    if statement.provider is not None and statement.provider.lower() != "delta":
        raise InvalidArgument(
            f"The catalog {catalog.name} has Delta tables only, so {ident} cannot be USING {statement.provider}: write "
            f"USING delta."
        )
    if statement.creating == "create" and catalog.table_exists(ident):
        if statement.if_not_exists:
            return NOTHING
        raise TableAlreadyExists(
            f"The catalog {catalog.name} has a table {ident} already: write CREATE TABLE IF NOT EXISTS, or CREATE OR "
            f"REPLACE TABLE."
        )
    properties = dict(statement.properties)
    if statement.comment is not None:
        properties["comment"] = statement.comment
    if statement.location is not None:
        properties["location"] = statement.location
    frame, scans = (None, []) if statement.query is None else session.read(statement.query)
    schema: Any = statement.columns if frame is None else _nullable(schema_of(frame.schema))
    partitions: list[str | Transform | ClusterBy] = list(statement.partitions)
    if statement.cluster_by:
        partitions.append(ClusterBy(*statement.cluster_by))
    try:
        if frame is None and statement.creating == "create":
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
        }[statement.creating]
        with stage(ident, schema, partitions, properties=properties) as staged:
            if frame is not None:
                _check_still_latest(catalog, ident, scans, staged.location)
                staged.append(frame)
    except TableAlreadyExists:
        # Another writer was first.
        if not statement.if_not_exists:
            raise
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


def _clone(session: StatementSession, statement: v.CloneTable) -> pa.Table:
    """CREATE TABLE … SHALLOW CLONE."""
    catalog, ident = session.catalog, catalog_name(session, statement.name)
    source = session.table(statement.source)
    exists = catalog.table_exists(ident)
    if exists and statement.if_not_exists:
        return NOTHING
    if exists and statement.creating == "create":
        raise TableAlreadyExists(f"The catalog {catalog.name} has a table {ident} already.")
    if not exists and statement.creating == "replace":
        raise TableNotFound(f"The catalog {catalog.name} has no table {ident}.")
    properties = dict(statement.properties) or None
    if exists:
        clone = source.clone(catalog.load_table(ident).uri, replace=True, properties=properties)
    elif statement.location is not None:
        clone = source.clone(statement.location, properties=properties)
        catalog.register_table(ident, statement.location)
    elif isinstance(catalog, LocatedCatalog):
        location = catalog.new_location(ident)
        clone = source.clone(location, properties=properties, storage_options=catalog.storage_options)
        catalog.add_entry(TableEntry(ident, location))
    else:
        raise InvalidArgument(f"The catalog {catalog.name} needs the place of a clone: write LOCATION '…'.")
    metrics = clone.history(1)[0].operation_metrics
    return rows(_bigints(_CLONED), [tuple(int(metrics.get(name, 0)) for name in _CLONED.values())])


def _bigints(names: Mapping[str, str]) -> str:
    return ", ".join(f"{name} BIGINT" for name in names)


def _change_rows(session: StatementSession, statement: v.Statement) -> pa.Table:
    """DELETE, UPDATE, MERGE and TRUNCATE."""
    match statement:
        case v.Delete(name, alias, where):
            table = session.table(name)
            own = None if where is None else session.own(with_values(where, session.query), name, alias, table)
            result = table.delete(own, session.spark)
            return _affected(result.metrics.get("numDeletedRows"))
        case v.TruncateTable(name, partition):
            session.table(name).delete(partition_predicate(partition), session.spark)
            return NOTHING
        case v.Update(name, values, alias, where):
            table = session.table(name)
            given = {}
            for path, expression in values:
                value = with_values(expression, session.query)
                own_path = path[qualifier_length(path, table.schema, qualifiers(name, alias)) :]
                given[quoted_path(own_path)] = session.own(value, name, alias, table)
            own = None if where is None else session.own(with_values(where, session.query), name, alias, table)
            result = table.update(given, own, session.spark)
            return _affected(result.metrics.get("numUpdatedRows", 0))
        case v.MergeInto():
            return _merge(session, statement)
    raise InvalidArgument(f"{type(statement).__name__} cannot be run.")


def _affected(count: int | None) -> pa.Table:
    return rows(AFFECTED, [(-1 if count is None else count,)])


def _merge(session: StatementSession, statement: v.MergeInto) -> pa.Table:
    table = session.table(statement.name)
    spark = session.needed("MERGE")
    source = statement.source
    text = source.text if source.is_query else f"SELECT * FROM {source.text}"
    frame = session.query(text)
    alias, target = source.alias, statement.alias or statement.name[-1]
    # Only their names matter here.
    columns = StructType(tuple(StructField(name, VOID) for name in frame.columns))
    named = [(statement.name, table.schema)] if statement.alias is None else []
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

    evolves = statement.evolves or session.setting(_AUTO_MERGE, "false") == "true"
    after = StructType((*table.schema.fields, *columns.fields)) if evolves else table.schema

    def length(path: v.Parts) -> int:
        """How many parts of the name of a column to set are the name of the table."""
        return qualifier_length(path, after, qualifiers(statement.name, statement.alias))

    builder = table.merge(
        frame, own(statement.on), alias, target, schema_mode="merge" if evolves else "keep", spark=spark
    )
    for clause in statement.clauses:
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


def _maintain(session: StatementSession, statement: v.Statement) -> pa.Table:
    """OPTIMIZE, VACUUM, RESTORE and GENERATE."""
    match statement:
        case v.Optimize(name, where, zorder_by, full):
            table = session.table(name)
            request = OptimizeRequest(where, None, tuple(map(display_name, zorder_by)), full, session.time_zone)
            result = optimize(table.snapshot, request, session.spark)
            return rows(OPTIMIZED, [optimized_row(table.refresh().snapshot, result)])
        case v.Vacuum(name, hours, dry_run, lite):
            table = session.table(name)
            enforced = session.setting(_RETENTION_CHECK, "true") != "false"
            found = table.vacuum(hours, dry_run, lite=lite, enforce_retention=enforced)
            root = table.uri.rstrip("/")
            shown = [f"{root}/{path}" for path in found.files] if dry_run else [root]
            return rows("path STRING", ((each,) for each in shown))
        case v.Restore(name, version, timestamp):
            time = None if timestamp is None else session.moment(timestamp)
            row = restored_row(session.table(name).restore(version, time))
            return rows(RESTORED, [] if row is None else [row])
        case v.Generate(name):
            session.table(name).generate()
            return NOTHING
    raise InvalidArgument(f"{type(statement).__name__} cannot be run.")
