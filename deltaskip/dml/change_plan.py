"""Plans of changes of rows: the execution, this process or a Spark session, and the files that a change may touch."""

from __future__ import annotations

from typing import Any, cast

import pyarrow as pa

from deltaskip.dml.arrow_execution import ArrowExecution
from deltaskip.dml.execution import ChangingEngine, RowExecution
from deltaskip.dml.files_to_change import DataFiles, FilesToChange, files_to_change, size_of_table
from deltaskip.engine import engine
from deltaskip.features.registry import marks_rows
from deltaskip.log import Snapshot, refresh
from deltaskip.records import dataclass
from deltaskip.schema.arrow_values import arrow_array
from deltaskip.skipping.read_options import ReadOptions
from deltaskip.skipping.scan import Scan
from deltaskip.txn.cost import ChangePlan, FileCount

_EVERY, _SOME = "every row matches", "some rows may match"


@dataclass(frozen=True, slots=True, eq=False)
class PlannedChange:
    """The plan of a change of the rows that match a predicate.

    Attributes:
        execution: Reads and writes the rows.
        scan: The scan of the rows that change.
        files: The files that may lose rows.
    """

    execution: RowExecution
    scan: Scan
    files: FilesToChange


def execution_of(snapshot: Snapshot, spark: Any, time_zone: str, act: str) -> RowExecution:
    """Return the execution of a session, or of a DataFrame's session; without a session, the execution of this process.

    Args:
        snapshot: The table.
        spark: The session or DataFrame; None for this process.
        time_zone: Time zone of expressions in this process.
        act: The operation that needs the session, such as "Deleting", for errors.
    """
    if spark is None:
        return ArrowExecution(snapshot, time_zone)
    asked = cast(ChangingEngine, engine(f"{act} rows of {snapshot.table_root}"))
    return asked.row_execution(spark, snapshot)


def plan_change(snapshot: Snapshot, where: str | None, execution: RowExecution) -> PlannedChange:
    """Return the plan of a change of the rows that match a predicate. Only the log is read.

    Args:
        snapshot: The version of the table.
        where: SQL text of the predicate; None for all rows.
        execution: Reads and writes the rows, from `execution_of`.

    Raises:
        PredicateError: The predicate is not valid.
        UnsupportedFeature: The predicate can only be evaluated by Spark.
    """
    scan = execution.planned(Scan(snapshot, ReadOptions("true" if where is None else where)))
    return PlannedChange(execution, scan, files_to_change(scan))


def described_change(
    snapshot: Snapshot, operation: str, where: str | None, spark: Any, time_zone: str, act: str
) -> ChangePlan:
    """Return the plan of an operation on the latest version of a table, for the user.

    operation: Name of the operation in the table's history. where: as for `plan_change`; the other arguments as for
    `execution_of`.
    """
    latest = refresh(snapshot)
    plan = plan_change(latest, where, execution_of(latest, spark, time_zone, act))
    return plan_of(operation, plan.scan, plan.files)


def plan_of(operation: str, scan: Scan, change: FilesToChange) -> ChangePlan:
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
        marks_rows=marks_rows(snapshot.protocol, snapshot.table_properties),
        files=pa.concat_tables([_described(change.whole, _EVERY), _described(change.partly, _SOME)]),
        explain=scan.explain(),
    )


def _described(files: DataFiles, reason: str) -> pa.Table:
    reasons = arrow_array([reason], pa.string()).take(arrow_array([0] * len(files), pa.int64()))
    columns = [*(files.logged[name].combine_chunks() for name in ("path", "size")), files.live_rows, reasons]
    return pa.table(columns, names=["path", "size", "num_records", "reason"])
