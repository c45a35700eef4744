"""The changes of a table as Spark sees them: CHANGES FROM VERSION of Spark's own SQL, and spark.read.changes.

This process finds the changes, in the mode that the query asks for, so that Spark compares no rows itself.

# Spark 4.2: Changelog, ChangelogContext, ChangelogRange, ResolveChangelogTable
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from deltaskip.change_feed.change_scan import ChangeScan
from deltaskip.errors import DeltaSkipError, UnsupportedFeature
from deltaskip.fork_safety import cached_property
from deltaskip.reading.session_scan import read_by
from deltaskip.spark.columns.column_parts import sequence
from deltaskip.spark.columns.spark_types import spark_schema
from deltaskip.spark.installed_catalog.catalyst_predicates import required_of_rows
from deltaskip.spark.installed_catalog.compiled_java import of_zone
from deltaskip.spark.installed_catalog.definitions import spark_columns
from deltaskip.spark.installed_catalog.scans import ColumnsScan, planned_batch
from deltaskip.spark.read.session_facts import session_facts
from deltaskip.spark.session.active import time_zone_of
from deltaskip.spark.session.jvm import Jvm, Proxy, answers
from deltaskip.spark.session.session_settings import java_state
from deltaskip.spark.source.batch_read import partitions_of
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.values.calendar import EPOCH
from deltaskip.statements.queries import changed_rows
from deltaskip.statements.reader import StatementChanges
from deltaskip.table.table import DeltaTable

_READ = "org.apache.spark.sql.connector.read"


def clause_of(context: Any, options: Any) -> StatementChanges:
    """Return the changes that Spark asks for.

    Args:
        context: A ChangelogContext of the JVM.
        options: The options of the read, a map of the JVM.
    """
    bounds = context.range()
    by_version = str(bounds.getClass().getSimpleName()) == "VersionRange"
    if by_version:
        start, end = bounds.startingVersion(), bounds.endingVersion()
    elif str(bounds.getClass().getSimpleName()) == "TimestampRange":
        start, end = bounds.startingTimestamp(), bounds.endingTimestamp()
    else:
        return StatementChanges(0, updates=bool(context.computeUpdates()))

    def bound(value: Any) -> int | datetime:
        return int(str(value)) if by_version else EPOCH + timedelta(microseconds=int(value))

    given = [("deduplicationmode", str(context.deduplicationMode().value()))]
    source = options.get("source")
    if source is not None:
        given.append(("source", str(source)))
    return StatementChanges(
        bound(start),
        bound(end.get()) if end.isPresent() else None,
        not bounds.startingBoundInclusive(),
        not bounds.endingBoundInclusive(),
        tuple(given),
        bool(context.computeUpdates()),
    )


class InstalledChangelog(Proxy):
    """The changes of a table.

    Args:
        jvm: The session's JVM.
        name: Name of the table, with the catalog's name.
        table: The table.
        clause: The changes.
    """

    def __init__(self, jvm: Jvm, name: str, table: DeltaTable, clause: StatementChanges) -> None:
        zone = time_zone_of(jvm.spark)
        scan = changed_rows(clause, table, (), zone)
        super().__init__(jvm, f"changes {scan.start} to {scan.end} of {name} {table.metadata.id} {clause}")
        self._name = name
        self._scan = read_by(scan, session_facts(jvm.spark, scan))
        self._shown = list(self._scan.paths_by_name)

    def name(self) -> str:
        """Changelog: the name in messages."""
        return self._name

    @answers()
    def columns(self) -> Any:
        """Changelog: the columns of the table and of changes."""
        fields = {field.name: field for field in self._scan.snapshot.schema.fields}
        return self.jvm.columns(self.jvm.schema(spark_columns([fields[name] for name in self._shown], True)))

    def containsCarryoverRows(self) -> bool:
        """Changelog: rows that only moved are not returned."""
        return False

    def containsIntermediateChanges(self) -> bool:
        """Changelog: net changes are found here, so that Spark does not look for them."""
        return False

    def representsUpdateAsDeleteAndInsert(self) -> bool:
        """Changelog: updates are told as the query asks, so that Spark does not look for them."""
        return False

    @answers()
    def rowId(self) -> Any:
        """Changelog: no columns that identify a row, since Spark compares none."""
        of = self.jvm.view.org.apache.spark.sql.connector.expressions.NamedReference
        return self.jvm.array(of, ())

    def rowVersion(self) -> None:
        """Changelog: no version of a row."""
        return

    @answers()
    def newScanBuilder(self, _options: Any) -> Any:
        """Changelog: the builder of a scan."""
        return ChangesBuilder(self.jvm, self._scan, self.text)

    class Java:
        """The interfaces that Spark sees."""

        implements = ("org.apache.spark.sql.connector.catalog.Changelog",)


class ChangesBuilder(Proxy):
    """Takes the columns and predicates that Spark pushes down.

    Args:
        jvm: The session's JVM.
        scan: The changes.
        text: The table and versions, for comparing plans.
    """

    def __init__(self, jvm: Jvm, scan: ChangeScan, text: str) -> None:
        super().__init__(jvm, f"scan builder of {text}")
        self._scan = scan
        self._names = list(scan.paths_by_name)
        self._of = text

    @answers()
    def pruneColumns(self, schema: Any) -> None:
        """SupportsPushDownRequiredColumns: keep the columns of a schema, whole."""
        wanted = {str(name) for name in schema.fieldNames()}
        # Arrow batches without columns have no rows to count.
        self._names = [name for name in self._scan.paths_by_name if name in wanted] or self._names[-3:-2]

    @answers()
    def pushFilters(self, filters: Any) -> Any:
        """SupportsPushDownCatalystFilters: take predicates for skipping files, and leave all to Spark."""
        for node in required_of_rows(of_zone(self.jvm, sequence(filters), self._scan.time_zone or "UTC")):
            try:
                narrowed = self._scan.narrowed(None, node)
            except DeltaSkipError:
                continue
            if narrowed.evaluates_here():
                self._scan = narrowed
                self._of += f" [{node}]"
        return filters

    @answers()
    def pushedFilters(self) -> Any:
        """SupportsPushDownCatalystFilters: no predicates, since Spark must evaluate all of them."""
        of = self.jvm.view.org.apache.spark.sql.connector.expressions.filter.Predicate
        return self.jvm.array(of, ())

    @answers()
    def build(self) -> Any:
        """ScanBuilder: the scan."""
        return InstalledChanges(self.jvm, self._scan.narrowed(self._names, None), self._names, self._of)

    class Java:
        """The interfaces that Spark sees."""

        implements = (
            f"{_READ}.SupportsPushDownRequiredColumns",
            "org.apache.spark.sql.internal.connector.SupportsPushDownCatalystFilters",
        )


class InstalledChanges(ColumnsScan):
    """A scan of some columns of the changes that can match.

    Args:
        jvm: The session's JVM.
        scan: The changes.
        names: The columns.
        text: The table and versions, for comparing plans.
    """

    def __init__(self, jvm: Jvm, scan: ChangeScan, names: Sequence[str], text: str) -> None:
        super().__init__(jvm, f"{text} [{', '.join(names)}]")
        fields = {field.name: field for field in scan.snapshot.schema.fields}
        self._scan = scan
        self._fields = tuple(fields[name] for name in names)

    @answers()
    def toBatch(self) -> Any:
        """Scan: the files and their readers."""
        spark = self.jvm.spark
        most = int(java_state(spark).conf().filesMaxPartitionBytes())
        try:
            parts = partitions_of(self._scan.reads(), most)
        except UnsupportedFeature as error:
            raise UnsupportedFeature(
                f"{error} Through Spark's own SQL these changes cannot be read: use sql() of the catalog."
            ) from error
        return planned_batch(self.jvm, parts, self._schema)

    @answers()
    def toMicroBatchStream(self, _checkpoint: Any) -> Any:
        """Scan: refuse streams, whose offsets Spark would keep for objects of this process."""
        raise UnsupportedFeature(
            f"A stream of changes is read by the path of the table: write spark.readStream.format('deltaskip')"
            f".option('readChangeFeed', 'true').load({self._scan.snapshot.table_root!r})."
        )

    @cached_property
    def _schema(self) -> Any:
        return self.jvm.schema(spark_schema(t.StructType(self._fields)))

    class Java:
        """The interfaces that Spark sees."""

        implements = (f"{_READ}.Scan",)
