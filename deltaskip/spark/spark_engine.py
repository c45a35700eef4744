"""Spark as the engine: `deltaskip.engine` loads the constant ENGINE of this module."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyspark
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession

from deltaskip.engine import Engine, ListedScan, in_one_meaning
from deltaskip.errors import InvalidArgument, UnsupportedFeature
from deltaskip.log import Snapshot
from deltaskip.spark.columns.frame_columns import as_columns_of, remember_frame
from deltaskip.spark.columns.from_column import column_to_node, column_to_term
from deltaskip.spark.read.dataframe import scan_to_dataframe
from deltaskip.spark.read.session_facts import active_collation_version, refuse_other_server, session_collation_version
from deltaskip.spark.read.session_meaning import active_session_meaning, active_settings, session_meaning, substituted
from deltaskip.spark.session.active import (
    active_session,
    active_session_function,
    in_ansi,
    local_session,
    session_time_zone,
    time_zone_of,
)
from deltaskip.spark.session.checks import check_frame, checked, running_interpreter
from deltaskip.spark.session.error_conversion import spark_errors_named
from deltaskip.spark.session.session_settings import is_classic, session_id
from deltaskip.sparkexpr import SortTerm, parse_sql
from deltaskip.sparkexpr.collations import UNKNOWN_VERSION
from deltaskip.sparkexpr.meaning import SessionMeaning
from deltaskip.sparkexpr.nodes import Node
from deltaskip.sparkexpr.types import StructType
from deltaskip.stats.file_facts import StatisticsRequest

if TYPE_CHECKING:
    from deltaskip.catalogs.open_catalog import CatalogEngine
    from deltaskip.catalogs.table_catalog import TableCatalog, TransactionalTableCatalog
    from deltaskip.change_feed.change_scan import ChangeFeedEngine, ChangeScan
    from deltaskip.data_files.parquet_writer import DataFileLayout
    from deltaskip.data_files.written_rows import WritingEngine, WrittenRows
    from deltaskip.dml.execution import ChangingEngine, RowExecution
    from deltaskip.dml.merge.merge_execution import MergeSource, MergingEngine
    from deltaskip.maintenance.optimize.rewriting import Rewriting, RewritingEngine
    from deltaskip.maintenance.recompute.computed_files import RecomputingEngine
    from deltaskip.reading.distributed_scan import PlanningEngine
    from deltaskip.rows.plan import RowPlan
    from deltaskip.skipping.log_scan import LogScan

_METRIC = "numFiles"


class SparkEngine(Engine):
    """Reads rows and runs jobs through PySpark, on classic sessions and Spark Connect."""

    @property
    def version(self) -> str:
        """Version of PySpark."""
        return str(pyspark.__version__)

    def scan_to_dataframe(
        self, session: SparkSession, scan: ListedScan, metadata: bool = False, listing: bool = True
    ) -> DataFrame:
        spark = checked(session)
        with spark_errors_named(spark, _name(scan.snapshot), "read"):
            plan = partial(scan_to_dataframe, spark, scan, metadata, listing=listing)
            frame = plan() if scan.given is None else in_one_meaning(spark, plan)
            return remember_frame(frame, scan.snapshot.table_root, tuple(scan.columns or scan.snapshot.schema.names))

    def planned_files(self, session: SparkSession, scan: LogScan, columns: Sequence[str]) -> DataFrame:
        """Return a DataFrame of the files of a scan, which executors find."""
        from deltaskip.spark.planning.planned_files import planned_files

        spark = _of_spark(session, "Planning a scan on executors")
        with spark_errors_named(spark, _name(scan.snapshot), "plan a scan of"):
            return planned_files(spark, scan, columns)

    def planned_rows(self, session: SparkSession, scan: LogScan) -> DataFrame:
        """Return a DataFrame of the rows of a scan, whose files executors find."""
        from deltaskip.spark.planning.planned_rows import planned_rows

        spark = _of_spark(session, "Planning a scan on executors")
        with spark_errors_named(spark, _name(scan.snapshot), "read"):
            return planned_rows(spark, scan)

    def query(
        self,
        session: SparkSession,
        text: str,
        scans: Mapping[str, ListedScan | ChangeScan],
        conditions: Mapping[str, str],
        metadata: Collection[str],
    ) -> DataFrame:
        from deltaskip.spark.read.query import query

        return query(_of_spark(session, "A query by deltaskip.sql"), text, scans, conditions, metadata)

    def arrow_to_dataframe(self, session: SparkSession, rows: pa.Table) -> DataFrame:
        from deltaskip.spark.columns.arrow_frame import arrow_frame

        return arrow_frame(checked(session), rows)

    def changes_to_dataframe(self, session: SparkSession, scan: ChangeScan) -> DataFrame:
        """Return a DataFrame of changes."""
        from deltaskip.spark.read.change_feed import changes_to_dataframe

        spark = _of_spark(session, "Reading changes as a DataFrame")
        with spark_errors_named(spark, _name(scan.snapshot), "read the changes of"):
            return changes_to_dataframe(spark, scan)

    def stream_to_dataframe(self, session: SparkSession, options: Mapping[str, str]) -> DataFrame:

        return _stream_to_dataframe(checked(session), options)

    def register_format(self, session: SparkSession) -> None:

        _register_format(checked(session))

    def session_id(self, session: SparkSession) -> str:
        return session_id(checked(session))

    def collation_version(self, session: SparkSession) -> str | None:
        version = session_collation_version(checked(session))
        return None if version == UNKNOWN_VERSION else version

    def active_collation_version(self) -> str | None:
        return active_collation_version()

    def files_read(self, frame: DataFrame) -> int | None:
        return files_read(frame)

    def session_time_zone(self) -> str | None:
        return session_time_zone()

    def substituted(self, session: SparkSession, text: str) -> str:
        return substituted(checked(session), text)

    def meaning(
        self, session: SparkSession | None, given: object = None, schema: StructType | None = None
    ) -> SessionMeaning | None:
        if session is None:
            return active_session_meaning(given, schema)
        return session_meaning(checked(session), [given], schema)

    def active_settings(self) -> SessionMeaning | None:
        return active_settings()

    def is_classic(self, session: SparkSession) -> bool:
        return is_classic(checked(session))

    def session_function(self, name: str) -> bool:
        return active_session_function(name)

    def column_to_node(self, column: Column, read: Callable[[str], Node] = parse_sql) -> Node:
        return column_to_node(column, read)

    def column_to_term(self, column: Column, read: Callable[[str], Node] = parse_sql) -> SortTerm:
        return column_to_term(column, read)

    def check_frame(self, frame: DataFrame, name: str) -> None:
        """Raise InvalidArgument if the session of a DataFrame was stopped."""
        check_frame(frame, name)

    def as_columns_of(self, column: Column, table: str, qualifier: str | None, source: Any = None) -> Column:
        return as_columns_of(column, table, qualifier, source)

    def write_dataframe(self, frame: DataFrame, plan: RowPlan, layout: DataFileLayout) -> WrittenRows:
        """Write the rows of a DataFrame by a job."""
        from deltaskip.spark.write.write_dataframe import write_dataframe

        _of_spark(frame.sparkSession, "Writing a DataFrame")
        return write_dataframe(frame, plan, layout)

    def has_session(self) -> bool:
        return active_session() is not None

    def check_rows(self, scan: ListedScan, plan: RowPlan) -> None:
        """Check the rows of files by a job of the active session."""
        from deltaskip.spark.write.checked_rows import check_rows

        spark = active_session()
        assert spark is not None
        check_rows(self.scan_to_dataframe(spark, scan), plan)

    def check_stored_text(self, session: SparkSession, texts: Iterable[tuple[str, str]], snapshot: Snapshot) -> None:
        from deltaskip.spark.write.checked_rows import check_stored_text

        check_stored_text(checked(session), texts, snapshot.root, snapshot.allow_reflection)

    def row_execution(self, session: SparkSession | DataFrame, snapshot: Snapshot) -> RowExecution:
        """Return the execution of changes by jobs. session: a session, or a DataFrame of it."""
        from deltaskip.spark.dml.spark_execution import SparkExecution

        return SparkExecution(_of_spark(session, f"Changing {snapshot.root}"), snapshot)

    def rewriting(self, session: SparkSession, snapshot: Snapshot) -> Rewriting:
        """Return the rewriting of files by jobs."""
        from deltaskip.spark.dml.spark_rewriting import SparkRewriting

        return SparkRewriting(_of_spark(session, f"Rewriting {snapshot.root}"), snapshot)

    def writing_session(self, session: SparkSession) -> AbstractContextManager[None]:
        from deltaskip.spark.dml.spark_rewriting import writing_session

        return writing_session(checked(session))

    def merge_source(self, session: SparkSession | DataFrame, data: Any, alias: str | None) -> MergeSource:
        """Return the source of a merge, which a job joins. session: a session, or a DataFrame of it."""
        from deltaskip.spark.columns.arrow_frame import arrow_frame
        from deltaskip.spark.dml.merge_source import SparkMergeSource

        spark = _of_spark(session, "Merging a DataFrame")
        is_plain = isinstance(data, pa.Table)
        return SparkMergeSource(spark, arrow_frame(spark, data) if is_plain else data, alias, is_plain)

    def recompute_statistics(
        self,
        session: SparkSession,
        snapshot: Snapshot,
        files: Iterable[pa.RecordBatch],
        request: StatisticsRequest,
        *,
        merge: bool,
        job_files: int,
    ) -> Iterator[pa.Table]:
        """Compute statistics by jobs. Their modules are not needed for reading a table."""
        from deltaskip.spark.recompute.job import recompute_statistics

        spark = _of_spark(session, f"Recomputing statistics of {snapshot.root}")
        with spark_errors_named(spark, _name(snapshot), "recompute statistics of"):
            yield from recompute_statistics(spark, snapshot, files, request, merge=merge, job_files=job_files)

    def session_catalog(
        self, session: SparkSession | None, name: str, storage_options: Mapping[str, str] | None = None
    ) -> TransactionalTableCatalog:
        """Return the catalog of a session; None for the active one."""
        from deltaskip.spark.catalog.spark_catalog import SparkCatalog

        spark = active_session() if session is None else checked(session)
        if spark is None:
            raise InvalidArgument("There is no active Spark session to open the catalog of: start one, or pass spark=.")
        return SparkCatalog(spark, name, storage_options)

    def install_catalog(self, session: SparkSession, name: str, catalog: TableCatalog) -> Callable[[], None]:
        """Install a catalog in a session."""
        from deltaskip.spark.installed_catalog.install import install_in_session

        return install_in_session(session, name, catalog)

    def local_session(self, scratch: Path) -> AbstractContextManager[SparkSession]:
        return local_session(scratch)


def _of_spark(session: SparkSession | DataFrame, doing: str) -> SparkSession:
    """The session, or a DataFrame's session, checked to belong to a Spark server."""
    spark = checked(getattr(session, "sparkSession", session))
    refuse_other_server(spark, doing)
    return spark


def _name(snapshot: Snapshot) -> str:
    return f"{snapshot.table_root} (version {snapshot.version})"


ENGINE = SparkEngine()

if TYPE_CHECKING:
    # The engine implements the protocols of all packages.
    _asked: tuple[
        PlanningEngine,
        ChangeFeedEngine,
        WritingEngine,
        ChangingEngine,
        MergingEngine,
        RewritingEngine,
        CatalogEngine,
        RecomputingEngine,
    ] = (ENGINE,) * 8


def files_read(frame: DataFrame) -> int | None:
    """The number of files that the scans of `frame` read when it ran; None where Spark does not report it (Connect)."""
    java = getattr(frame, "_jdf", None)
    if java is None:
        return None
    return sum(_files_of(java.queryExecution().executedPlan()))


def _files_of(plan: Any) -> list[int]:
    """The metric of each scan of a physical plan, also below adaptive plans and their stages."""
    metric = plan.metrics().get(_METRIC)
    found = [int(metric.get().value())] if metric.isDefined() else []
    match plan.getClass().getSimpleName():
        case "AdaptiveSparkPlanExec":
            below = [plan.executedPlan()]
        case "ShuffleQueryStageExec" | "BroadcastQueryStageExec" | "ResultQueryStageExec" | "TableCacheQueryStageExec":
            below = [plan.plan()]
        case "ReusedExchangeExec":
            below = []
        case _:
            children = plan.children()
            below = [children.apply(i) for i in range(children.size())]
    return found + [number for each in below for number in _files_of(each)]


def _stream_to_dataframe(spark: SparkSession, options: Mapping[str, str]) -> DataFrame:
    """Return a streaming DataFrame of a table's rows, then of the rows appended to it.

    Args:
        spark: A session of Spark 4.0 or newer, classic or Connect.
        options: Options of the format deltaskip. Time zone and ANSI mode are the session's unless they say otherwise.

    Raises UnsupportedFeature for Spark 3.5.
    """
    _register_format(spark, options["path"])
    given = {"timeZone": time_zone_of(spark), "ansi": str(in_ansi(spark)).lower()}
    return spark.readStream.format("deltaskip").options(**{**given, **options}).load()


def _register_format(spark: SparkSession, path: str | None = None) -> None:
    """Let a session find the format deltaskip, also where its workers would run another interpreter.

    Args:
        spark: A session, classic or Connect.
        path: The table, for messages.

    Raises UnsupportedFeature for Spark 3.5.
    """
    if spark.version.startswith("3."):
        followed = "" if path is None else f", so it cannot follow {path}"
        raise UnsupportedFeature(
            f"Spark {spark.version} has no Python data sources{followed}: use Spark 4, or "
            f'spark.readStream.format("delta") of delta-spark, or read the versions since the last run with '
            f"DeltaTable.changes."
        )
    from deltaskip.spark.source.data_source import DeltaSkipDataSource

    registry: Any = spark.dataSource
    try:
        with running_interpreter(spark):
            registry.register(DeltaSkipDataSource)
    except AnalysisException as error:
        # Spark 4.0 refuses a format that it has already found through the package pyspark_deltaskip.
        if error.getCondition() != "DATA_SOURCE_ALREADY_EXISTS":
            raise
