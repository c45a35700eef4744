"""delta-spark's DeltaTable with its builders of MERGE and OPTIMIZE: the names of its module `delta.tables`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.types import StructType

from deltaskip.delta import argument_checks, table_operations
from deltaskip.delta.argument_checks import (
    assignments,
    boolean_argument,
    clone_arguments,
    condition,
    frame,
    integer_argument,
    names_argument,
    number_argument,
    string_argument,
    without_alias,
)
from deltaskip.delta.builder import DeltaTableBuilder, IdentityGenerator
from deltaskip.delta.creating import converted
from deltaskip.delta.locations import opened, opened_by_name
from deltaskip.delta.spark_errors import convert_conflicts, spark_errors
from deltaskip.doors import Unpicklable, door
from deltaskip.errors import InvalidArgument, InvalidArgumentType
from deltaskip.maintenance.optimize.optimize import optimize
from deltaskip.maintenance.optimize.strategy import OptimizeRequest
from deltaskip.predicates import as_columns_of
from deltaskip.spark.columns.arrow_frame import arrow_frame
from deltaskip.spark.columns.frame_columns import remember_frame
from deltaskip.spark.columns.spark_types import with_declarations
from deltaskip.spark.session.active import time_zone_of
from deltaskip.spark.session.checks import checked
from deltaskip.spark.session.session_settings import is_classic
from deltaskip.sparkexpr import nodes as n
from deltaskip.sparkexpr import parse_sql, to_sql
from deltaskip.sparkexpr.nodes import Node
from deltaskip.statements.answers import rows
from deltaskip.table import delta_rows
from deltaskip.table import table as tables
from deltaskip.table.merge_builder import MergeBuilder, Unrun, unrun_merge
from deltaskip.txn.write_options import WriteOptions

__all__ = ["DeltaMergeBuilder", "DeltaOptimizeBuilder", "DeltaTable", "DeltaTableBuilder", "IdentityGenerator"]

convert_conflicts()
_AUTO_MERGE = "spark.databricks.delta.schema.autoMerge.enabled"


@door
class DeltaTable(Unpicklable):
    """A Delta table, with the methods of delta-spark's class of this name.

    Made by `forPath`, `forName`, `convertToDelta` and the builders. Methods see the latest version of the table.
    Errors are deltaskip's, and also instances of the PySpark class that delta-spark raises.
    """

    instead = "open it with the session of the other process, or pickle a deltaskip.DeltaTable"

    def __init__(self, spark: SparkSession, table: tables.DeltaTable, name: str | None = None) -> None:
        self._spark = spark
        self._table = table
        self._name = name
        self._alias: str | None = None

    @classmethod
    def forPath(cls, sparkSession: SparkSession, path: str, hadoopConf: dict[str, str] = {}) -> DeltaTable:  # noqa: B006
        """Return the table at a path.

        Args:
            sparkSession: The session that reads the table.
            path: Path or URI of the table.
            hadoopConf: Settings of Hadoop that begin with "fs." or "dfs.". Credentials and endpoints of S3 and Azure
                are used for the log; the session needs its own settings to read rows.

        Raises:
            AnalysisException: There is no Delta table at the path.
        """
        spark = checked(sparkSession)
        with spark_errors():
            return cls(spark, opened(path, hadoopConf))

    @classmethod
    def forName(cls, sparkSession: SparkSession, tableOrViewName: str) -> DeltaTable:
        """Return the table with a name in the session's catalog, or the table at ``delta.`/path` ``.

        Raises:
            AnalysisException: The session knows no such table, or it is not a Delta table.
        """
        spark = checked(sparkSession)
        with spark_errors():
            return cls(spark, *opened_by_name(spark, tableOrViewName))

    @classmethod
    def create(cls, sparkSession: SparkSession | None = None) -> DeltaTableBuilder:
        """Return a builder that creates a table. It fails if the table exists."""
        return DeltaTableBuilder(_session(sparkSession), "create", DeltaTable)

    @classmethod
    def createIfNotExists(cls, sparkSession: SparkSession | None = None) -> DeltaTableBuilder:
        """Return a builder that creates a table. A table that exists is not changed."""
        return DeltaTableBuilder(_session(sparkSession), "createIfNotExists", DeltaTable)

    @classmethod
    def replace(cls, sparkSession: SparkSession | None = None) -> DeltaTableBuilder:
        """Return a builder that replaces columns and properties of a table, and removes its rows."""
        return DeltaTableBuilder(_session(sparkSession), "replace", DeltaTable)

    @classmethod
    def createOrReplace(cls, sparkSession: SparkSession | None = None) -> DeltaTableBuilder:
        """Return a builder that replaces a table, or creates it if it does not exist."""
        return DeltaTableBuilder(_session(sparkSession), "createOrReplace", DeltaTable)

    @classmethod
    def convertToDelta(
        cls, sparkSession: SparkSession, identifier: str, partitionSchema: str | StructType | None = None
    ) -> DeltaTable:
        """Make a folder of Parquet files a Delta table, without moving the files.

        Args:
            sparkSession: The session.
            identifier: ``parquet.`/path` ``, or the name of a Parquet table that the session knows.
            partitionSchema: The partition columns with their types, such as "day DATE".
        """
        spark = checked(sparkSession)
        with spark_errors():
            return cls(spark, *converted(spark, identifier, partitionSchema))

    @classmethod
    def isDeltaTable(cls, sparkSession: SparkSession, identifier: str) -> bool:
        """Return whether a Delta table exists at a path."""
        checked(sparkSession)
        with spark_errors():
            return tables.DeltaTable.exists(identifier)

    def toDF(self) -> DataFrame:
        """Return the rows of the latest version as a DataFrame."""
        with spark_errors():
            table = self._table.refresh()
            rows: DataFrame = with_declarations(table.scan().to_spark(self._spark), table.schema)
            rows = rows if self._alias is None else rows.alias(self._alias)
            return remember_frame(rows, table.snapshot.table_root, table.schema.names)

    def alias(self, aliasName: str) -> DeltaTable:
        """Return the table under another name, for columns such as `name.id` of `toDF`."""
        if not isinstance(aliasName, str):
            raise InvalidArgumentType.of("aliasName", "a str", aliasName)
        named = DeltaTable(self._spark, self._table, self._name)
        named._alias = aliasName
        return named

    def history(self, limit: int | None = None) -> DataFrame:
        """Return the commits as a DataFrame, newest first.

        Args:
            limit: Maximum number of commits. The default is all.
        """
        with spark_errors():
            return arrow_frame(
                self._spark, rows(delta_rows.HISTORY, delta_rows.history_rows(self._table.refresh().history(limit)))
            )

    def detail(self) -> DataFrame:
        """Return facts about the table as a DataFrame of one row: format, id, location, size, protocol, …"""
        with spark_errors():
            return arrow_frame(
                self._spark,
                rows(delta_rows.DETAIL, [delta_rows.detail_row(self._table.refresh().detail(), self._name)]),
            )

    def upgradeTableProtocol(self, readerVersion: int, writerVersion: int) -> None:
        """Raise the versions of the protocol. Versions are never lowered.

        Raises:
            ValueError: A version is not an int, or not a version of the protocol.
        """
        integer_argument("readerVersion", readerVersion)
        integer_argument("writerVersion", writerVersion)
        with spark_errors():
            table_operations.upgrade(self._table, readerVersion, writerVersion)

    def addFeatureSupport(self, featureName: str) -> None:
        """Add a table feature to the protocol, with the features that it requires.

        Raises:
            ValueError: The name is not a string, or not the name of a feature.
        """
        string_argument("featureName", featureName)
        with spark_errors():
            table_operations.add_feature_support(self._table, featureName)

    def dropFeatureSupport(self, featureName: str, truncateHistory: bool | None = None) -> None:
        """Remove a table feature from the protocol, and its uses from the table.

        Args:
            featureName: Name of the feature.
            truncateHistory: Whether to delete the history of versions that have the feature.

        Raises:
            ValueError: The name is not a string, or the table does not have the feature.
        """
        string_argument("featureName", featureName)
        truncate = False if truncateHistory is None else boolean_argument("truncateHistory", truncateHistory)
        with spark_errors():
            table_operations.drop_feature_support(self._table, featureName, truncate)

    def delete(self, condition: str | Column | None = None) -> DataFrame | None:
        """Delete the rows for which a condition is true, or all rows without a condition.

        Args:
            condition: SQL text or a Column.

        Returns:
            As delta-spark does: None in a classic session, and the number of rows through Spark Connect.
        """
        argument_checks.condition(condition)
        with spark_errors():
            result = self._table.delete(
                self._own(condition), self._spark, user_metadata=table_operations.user_metadata(self._spark)
            )
            return _affected_frame(self._spark, result.metrics.get("numDeletedRows", -1))

    def update(
        self, condition: str | Column | None = None, set: dict[str, str | Column] | None = None
    ) -> DataFrame | None:
        """Set columns of the rows for which a condition is true.

        Args:
            condition: SQL text or a Column. The default updates all rows.
            set: New values by column, as SQL text or Columns.

        Returns:
            As delta-spark does: None in a classic session, and the number of rows through Spark Connect.
        """
        values = assignments(set, "'set'")
        argument_checks.condition(condition)
        with spark_errors():
            if not values:
                # delta-spark accepts it, and changes nothing.
                return _affected_frame(self._spark, 0)
            given = {self._own(name): self._own(value) for name, value in values.items()}
            where, note = self._own(condition), table_operations.user_metadata(self._spark)
            result = self._table.update(given, where, self._spark, user_metadata=note)
            return _affected_frame(self._spark, result.metrics.get("numUpdatedRows", 0))

    def merge(self, source: DataFrame, condition: str | Column) -> DeltaMergeBuilder:
        """Return a builder for the clauses of a MERGE.

        Args:
            source: The rows to merge into the table.
            condition: When a row of the source matches a row of the table, as SQL text or a Column. The names of the
                source and the table are their aliases.
        """
        frame(source, "'source' in merge")
        if condition is None:
            raise InvalidArgument("'condition' in merge cannot be None")
        argument_checks.condition(condition)

        def begin(evolves: bool) -> MergeBuilder:
            mode: Literal["keep", "merge"] = "merge" if evolves or _merges_schema(self._spark) else "keep"
            return self._table.merge(
                source,
                condition,
                target_alias=self._alias,
                schema_mode=mode,
                spark=self._spark,
                user_metadata=table_operations.user_metadata(self._spark),
            )

        return DeltaMergeBuilder(self._spark, begin, self._table.uri)

    def optimize(self) -> DeltaOptimizeBuilder:
        """Return a builder for an OPTIMIZE."""
        return DeltaOptimizeBuilder(self._spark, self._table)

    def vacuum(self, retentionHours: float | None = None) -> DataFrame:
        """Delete the files of the table's folder that no version within the retention needs.

        The retention may be shorter than the table's if the session sets
        `spark.databricks.delta.retentionDurationCheck.enabled` to false.

        Args:
            retentionHours: How long removed files are kept. The default is the table's retention.

        Returns:
            An empty DataFrame, as delta-spark does.
        """
        hours = table_operations.hours_or_none(retentionHours)
        with spark_errors():
            return table_operations.vacuum_as_session(self._spark, self._table, hours)

    def restoreToVersion(self, version: int) -> DataFrame:
        """Make an earlier version the latest again.

        Args:
            version: The version.

        Returns:
            Numbers and sizes of files that were restored and removed.
        """
        number_argument("version", version)
        with spark_errors():
            return table_operations.restored_to_version(self._spark, self._table, version)

    def restoreToTimestamp(self, timestamp: str) -> DataFrame:
        """Make the latest version at a time the latest again.

        Args:
            timestamp: The time, such as "2026-01-31 12:00:00", in the session's time zone.

        Returns:
            Numbers and sizes of files that were restored and removed.
        """
        string_argument("timestamp", timestamp)
        with spark_errors():
            return table_operations.restored_to_timestamp(self._spark, self._table, timestamp)

    def clone(
        self, target: str, isShallow: bool = False, replace: bool = False, properties: dict[str, str] | None = None
    ) -> DeltaTable:
        """Create a table from the latest version that refers to this table's files, and return it.

        Args:
            target: Path of the new table.
            isShallow: Must be true: files are not copied.
            replace: Whether to replace a table at the target.
            properties: Properties of the new table, in addition to this table's.
        """
        clone_arguments(target, isShallow, replace, properties)
        return self._cloned(target, isShallow, replace, properties)

    def cloneAtVersion(
        self,
        version: int,
        target: str,
        isShallow: bool = False,
        replace: bool = False,
        properties: dict[str, str] | None = None,
    ) -> DeltaTable:
        """Clone a version of the table; other arguments as for `clone`."""
        number_argument("version", version)
        clone_arguments(target, isShallow, replace, properties)
        return self._cloned(target, isShallow, replace, properties, version)

    def cloneAtTimestamp(
        self,
        timestamp: str,
        target: str,
        isShallow: bool = False,
        replace: bool = False,
        properties: dict[str, str] | None = None,
    ) -> DeltaTable:
        """Clone the latest version at a time in the session's time zone; other arguments as for `clone`."""
        string_argument("timestamp", timestamp)
        clone_arguments(target, isShallow, replace, properties)
        return self._cloned(target, isShallow, replace, properties, timestamp)

    def generate(self, mode: str) -> None:
        """Write manifests for engines that read Parquet files by a list of their paths.

        Args:
            mode: "symlink_format_manifest", in any letter case.
        """
        string_argument("mode", mode)
        with spark_errors():
            self._table.generate(mode.lower())  # type: ignore[arg-type]

    def _cloned(
        self, target: str, shallow: bool, replace: bool, properties: dict[str, str] | None, at: int | str | None = None
    ) -> DeltaTable:
        with spark_errors():
            moment = table_operations.moment_of(self._spark, at) if isinstance(at, str) else at
            made = table_operations.cloned(self._spark, self._table, target, shallow, replace, properties, moment)
        return DeltaTable(self._spark, *made)

    def _own(self, value: Any) -> Any:
        """A condition or value over the columns of the table, without the alias."""
        value = as_columns_of(value, self._table.snapshot.table_root)
        return value if self._alias is None else without_alias(value, self._alias, self._table.schema)

    def __repr__(self) -> str:
        return f"DeltaTable({self._name or self._table.uri!r})"


def _session(given: SparkSession | None) -> SparkSession:
    """The session, or the active one of this process."""
    active: Any = SparkSession.getActiveSession() if given is None else given
    if active is None:
        raise InvalidArgument("There is no active Spark session: pass one, such as DeltaTable.create(spark).")
    return checked(active)


def _merges_schema(spark: SparkSession) -> bool:
    """Return whether MERGE adds columns of sources to tables, by delta-spark's setting of the session."""
    return str(spark.conf.get(_AUTO_MERGE, "false")).lower() == "true"


@door
class DeltaMergeBuilder(Unpicklable):
    """The clauses of a MERGE. Each method checks its arguments and returns a builder; `execute` runs the MERGE.

    A WriteWarning is issued if the builders are dropped and none was executed. Made by `DeltaTable.merge`, with any
    number of clauses. The first clause of its kind whose condition is true applies to a row; only the last clause of a
    kind may lack a condition.
    """

    def __init__(
        self, spark: SparkSession, begin: Callable[[bool], MergeBuilder], table: str, unrun: Unrun | None = None
    ) -> None:
        self._spark = spark
        self._begin = begin
        self._table = table
        # The builders of one merge share the warning.
        self._unrun = Unrun() if unrun is None else unrun
        self._unrun.message = unrun_merge(table)
        self._evolves = False
        self._clauses: tuple[Callable[[MergeBuilder], MergeBuilder], ...] = ()

    def whenMatchedUpdate(
        self, condition: str | Column | None = None, set: dict[str, str | Column] | None = None
    ) -> DeltaMergeBuilder:
        """Update columns of rows that match."""
        values, where = self._setting(set, "'set' in whenMatchedUpdate", condition)
        return self._with(lambda builder: builder.when_matched_update(values, where))

    def whenMatchedUpdateAll(self, condition: str | Column | None = None) -> DeltaMergeBuilder:
        """Update all columns of rows that match."""
        where = self._condition(condition)
        return self._with(lambda builder: builder.when_matched_update_all(where=where))

    def whenMatchedDelete(self, condition: str | Column | None = None) -> DeltaMergeBuilder:
        """Delete rows that match."""
        where = self._condition(condition)
        return self._with(lambda builder: builder.when_matched_delete(where))

    def whenNotMatchedInsert(
        self, condition: str | Column | None = None, values: dict[str, str | Column] | None = None
    ) -> DeltaMergeBuilder:
        """Insert rows of the source that match no row of the table."""
        given, where = self._setting(values, "'values' in whenNotMatchedInsert", condition)
        return self._with(lambda builder: builder.when_not_matched_insert(given, where))

    def whenNotMatchedInsertAll(self, condition: str | Column | None = None) -> DeltaMergeBuilder:
        """Insert all columns of rows of the source that match no row of the table."""
        where = self._condition(condition)
        return self._with(lambda builder: builder.when_not_matched_insert_all(where=where))

    def whenNotMatchedBySourceUpdate(
        self, condition: str | Column | None = None, set: dict[str, str | Column] | None = None
    ) -> DeltaMergeBuilder:
        """Update columns of rows that no row of the source matches."""
        values, where = self._setting(set, "'set' in whenNotMatchedBySourceUpdate", condition)
        return self._with(lambda builder: builder.when_not_matched_by_source_update(values, where))

    def whenNotMatchedBySourceDelete(self, condition: str | Column | None = None) -> DeltaMergeBuilder:
        """Delete rows that no row of the source matches."""
        where = self._condition(condition)
        return self._with(lambda builder: builder.when_not_matched_by_source_delete(where))

    def withSchemaEvolution(self) -> DeltaMergeBuilder:
        """Add columns of the source to the table."""
        builder = self._with()
        builder._evolves = True
        return builder

    def execute(self) -> DataFrame:
        """Run the MERGE, and return the numbers of rows that it changed as a DataFrame of one row."""
        self._unrun.message = None
        # delta-spark raises AnalysisException if clauses are missing or can never apply.
        with spark_errors(argument=AnalysisException):
            builder = self._begin(self._evolves)
            for add in self._clauses:
                builder = add(builder)
            return arrow_frame(self._spark, rows(delta_rows.MERGED, [delta_rows.merged_row(builder.execute().metrics)]))

    def _with(self, *clauses: Callable[[MergeBuilder], MergeBuilder]) -> DeltaMergeBuilder:
        builder = DeltaMergeBuilder(self._spark, self._begin, self._table, self._unrun)
        builder._evolves, builder._clauses = self._evolves, (*self._clauses, *clauses)
        return builder

    def _condition(self, when: Any) -> Any:
        # If this call fails, no warning is needed.
        self._unrun.message = None
        return condition(when)

    def _setting(self, given: Any, name: str, when: Any) -> tuple[dict[str, Any], Any]:
        self._unrun.message = None
        return assignments(given, name), condition(when)


def _affected_frame(spark: SparkSession, count: int) -> DataFrame | None:
    """Return the number of rows that were deleted or updated, like delta-spark only through Spark Connect.

    Args:
        spark: The session.
        count: The number of rows; -1 if it is unknown.
    """
    return None if is_classic(spark) else arrow_frame(spark, rows(delta_rows.AFFECTED, [(count,)]))


@door
class DeltaOptimizeBuilder(Unpicklable):
    """An OPTIMIZE that the methods of this class run. A WriteWarning is issued if it is dropped without one of them.

    Args:
        spark: The session.
        table: The table.
    """

    def __init__(self, spark: SparkSession, table: tables.DeltaTable) -> None:
        self._spark = spark
        self._table = table
        self._where: list[str] = []
        self._unrun = Unrun(f"The OPTIMIZE of {table.uri} was not run: call executeCompaction() or executeZOrderBy().")

    def where(self, partitionFilter: str) -> DeltaOptimizeBuilder:
        """Set the predicate of the partitions to optimize. If it is called again, all predicates must hold."""
        message, self._unrun.message = self._unrun.message, None
        self._where.append(string_argument("partitionFilter", partitionFilter))
        self._unrun.message = message
        return self

    def executeCompaction(self) -> DataFrame:
        """Join small files of each partition; return a row with the path of the table, and metrics."""
        self._unrun.message = None
        return self._run(())

    def executeZOrderBy(self, *cols: str | Sequence[str]) -> DataFrame:
        """Order the rows of each partition by several columns; return a row as `executeCompaction` does."""
        self._unrun.message = None
        return self._run(names_argument("Z-order column", cols))

    def _run(self, columns: Sequence[str]) -> DataFrame:
        table = self._table
        with spark_errors():
            where = " AND ".join(f"({each})" for each in self._where) if len(self._where) > 1 else None
            where = self._where[0] if len(self._where) == 1 else where
            zone = time_zone_of(self._spark)
            predicates = tuple(_text(parse_sql(each)) for each in self._where)
            request = OptimizeRequest(where, zorder_by=tuple(columns), time_zone=zone, predicates=predicates)
            recorded = WriteOptions(user_metadata=table_operations.user_metadata(self._spark))
            result = optimize(table.snapshot, request, self._spark, recorded)
            table.refresh()
            row = delta_rows.optimized_row(table.snapshot, result, _parallelism(self._spark))
            return arrow_frame(self._spark, rows(delta_rows.OPTIMIZED, [row]))


def _parallelism(spark: SparkSession) -> int:
    context = getattr(spark, "_sc", None)
    return 0 if context is None else int(context.defaultParallelism)


def _text(node: Node) -> str:
    """The predicate as delta-spark writes it into the history: Spark's text of an expression without a table."""
    match node:
        case n.Column(parts):
            return f"'{'.'.join(parts)}"
        case n.Literal(value) if isinstance(value, str):
            return value
        case n.Compare("<>" | "!=", left, right):
            return f"NOT ({_text(left)} = {_text(right)})"
        case n.Compare(op, left, right):
            return f"({_text(left)} {op} {_text(right)})"
        case n.And(children) | n.Or(children):
            word = "AND" if isinstance(node, n.And) else "OR"
            found = _text(children[0])
            for child in children[1:]:
                found = f"({found} {word} {_text(child)})"
            return found
        case n.Not(n.IsNull(child)):
            return f"isnotnull({_text(child)})"
        case n.Not(child):
            return f"NOT {_text(child)}"
        case n.IsNull(child):
            return f"isnull({_text(child)})"
        case n.In(child, values):
            return f"{_text(child)} IN ({','.join(map(_text, values))})"
        case _:
            return to_sql(node)
