"""What a change of rows would touch, as its dry run returns it."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from deltaskip.dml.files_to_change import DataFiles, FilesToChange, size_of_table
from deltaskip.dml.rows_to_change import execution_of, rows_to_change
from deltaskip.features.registry import writes_deletion_vectors
from deltaskip.log import Snapshot, refresh
from deltaskip.records import dataclass
from deltaskip.shown import Shown
from deltaskip.skipping.explain.report import Explain
from deltaskip.skipping.scan import Scan
from deltaskip.sparkexpr.values.arrow_values import arrow_array
from deltaskip.txn.result import FileCount

_EVERY, _SOME = "every row matches", "some rows may match"


@dataclass(frozen=True, slots=True, repr=False)
class ChangePlan(Shown):
    """The files that a change of rows may touch, and why. Nothing was written, and no data file was read.

    Attributes:
        operation: Name of the operation in the table's history.
        table: URI of the table.
        version: The version that was planned on.
        whole: Files all of whose rows change; a deletion removes them without reading them.
        read: Files that must be read, because some of their rows may change.
        skipped: The other files of the table.
        marks_rows: Whether rows of files are marked by deletion vectors; otherwise files of which some rows change are
            rewritten.
        files: The files of `whole` and `read`: path, size, num_records (rows that are not deleted, null if the log
            does not have it) and reason, which is "every row matches" or "some rows may match".
        explain: Why files are skipped or not: what each part of the predicate skips.
    """

    operation: str
    table: str
    version: int
    whole: FileCount
    read: FileCount
    skipped: FileCount
    marks_rows: bool
    files: pa.Table
    explain: Explain


def dry_run_plan(
    snapshot: Snapshot, operation: str, where: str | None, spark: Any, time_zone: str, act: str
) -> ChangePlan:
    """Return the plan of an operation on the latest version of a table, for the user.

    operation: Name of the operation in the table's history. where: as for `rows_to_change`; the other arguments are
    those of `execution_of`.
    """
    latest = refresh(snapshot)
    rows = rows_to_change(latest, where, execution_of(latest, spark, time_zone, act))
    return plan_of_files(operation, rows.scan, rows.files)


def plan_of_files(operation: str, scan: Scan, change: FilesToChange) -> ChangePlan:
    """Return the plan of a change of rows.

    Args:
        operation: Name of the operation in the table's history.
        scan: The scan of the rows that change.
        change: The files of the scan, from `files_to_change`.
    """
    snapshot = scan.snapshot
    whole, read = (FileCount(len(each), each.size_in_bytes) for each in (change.whole, change.partly))
    return ChangePlan(
        operation=operation,
        table=snapshot.table_root,
        version=snapshot.version,
        whole=whole,
        read=read,
        skipped=size_of_table(snapshot) - whole - read,
        marks_rows=writes_deletion_vectors(snapshot.protocol, snapshot.table_properties),
        files=pa.concat_tables([_described(change.whole, _EVERY), _described(change.partly, _SOME)]),
        explain=scan.explain(),
    )


def _described(files: DataFiles, reason: str) -> pa.Table:
    reasons = arrow_array([reason], pa.string()).take(arrow_array([0] * len(files), pa.int64()))
    columns = [*(files.logged[name].combine_chunks() for name in ("path", "size")), files.live_rows, reasons]
    return pa.table(columns, names=["path", "size", "num_records", "reason"])
