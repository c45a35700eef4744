"""Changes of rows through Spark: one job finds the rows that match, and one writes rows of files into new files."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from deltaskip.data_files.parquet_writer import DataFileLayout
from deltaskip.data_files.written_rows import WrittenRows
from deltaskip.dml.arrow_execution import ArrowExecution
from deltaskip.dml.assignments import Assignments
from deltaskip.dml.changed_rows import ChangedRows
from deltaskip.dml.execution import RowExecution, RowsOfFiles, copying_plan
from deltaskip.dml.files_to_change import FilesToChange
from deltaskip.dml.positions import RowPositions
from deltaskip.expr.evaluation import left_to_spark
from deltaskip.features.row_tracking import RowIdColumns
from deltaskip.reading.session_scan import planned_for
from deltaskip.rows.plan import RowPlan
from deltaskip.schema.types import StructType
from deltaskip.skipping.scan import Scan
from deltaskip.spark.dml.bitmaps import collected_positions
from deltaskip.spark.dml.persisted_rows import FILE, POSITION, target_rows
from deltaskip.spark.dml.table_frames import TableFrames
from deltaskip.spark.dml.updated_rows import updated_rows
from deltaskip.spark.read.session_facts import session_facts
from deltaskip.spark.session.error_conversion import condition_errors_named, predicate_errors_named
from deltaskip.spark.session.releases import union_of_frames
from deltaskip.spark.session.session_settings import described_jobs
from deltaskip.spark.write.write_dataframe import write_dataframe


class SparkExecution(TableFrames, RowExecution):
    """Reads and writes rows of a table by Spark jobs."""

    def planned(self, scan: Scan) -> Scan:
        """The scan in the session's time zone and mode, and for its version of the collations.

        Spark resolves the parts that this package does not understand.
        """
        planned = planned_for(scan, session_facts(self._spark, scan))
        if left_to_spark(planned.predicate) is not None:
            with predicate_errors_named(self._snapshot.table_root):
                _ = self.no_rows().where(str(scan.where)).schema
        return planned

    def matching(self, scan: Scan, files: pa.Table) -> RowPositions:
        """Tasks return a bit for each row of blocks in which some row matches.

        Where there is little to read, no job is started.
        """
        here = self.matching_here(scan, files)
        if here is not None:
            return here
        snapshot = self._snapshot
        frame = target_rows(self, files, None)
        with predicate_errors_named(snapshot.table_root):
            frame = frame.where(str(scan.where)).select(FILE, POSITION)
        described = described_jobs(self._spark, f"find rows of {snapshot.root}")
        with condition_errors_named(self._spark, snapshot.root, str(scan.where)), described:
            [found] = collected_positions(frame, FILE, POSITION, None, len(files)).values()
        return found

    def write(
        self, parts: Sequence[RowsOfFiles], schema: StructType, row_ids: RowIdColumns | None, layout: DataFileLayout
    ) -> WrittenRows:
        """Few rows are copied without a job."""
        if self.copies_here(parts, schema):
            return ArrowExecution(self._snapshot, self.time_zone).write(parts, schema, row_ids, layout)
        frame = union_of_frames([self.part(part, schema, row_ids, layout) for part in parts])
        extra = [field.name for field in layout.extra]
        plan = copying_plan(self._snapshot.root, schema, layout.partition_columns, extra)
        return write_dataframe(frame, plan, layout)

    def write_planned(
        self, files: pa.Table, schema: StructType, plan: RowPlan, row_ids: RowIdColumns | None, layout: DataFileLayout
    ) -> WrittenRows:
        return write_dataframe(self.part(RowsOfFiles(files), schema, row_ids, layout), plan, layout)

    def updates(
        self,
        scan: Scan,
        change: FilesToChange,
        assignments: Assignments,
        row_ids: RowIdColumns | None,
        feed: bool,
    ) -> ChangedRows:
        return updated_rows(self, scan, change, assignments, row_ids, feed)
