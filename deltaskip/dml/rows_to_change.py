"""The rows that a change may touch: the execution, this process or a Spark session, their scan, and their files."""

from __future__ import annotations

from typing import Any

from deltaskip.dml.arrow_execution import ArrowExecution
from deltaskip.dml.execution import ChangingEngine, RowExecution
from deltaskip.dml.files_to_change import FilesToChange, files_to_change
from deltaskip.engine import engine
from deltaskip.log import Snapshot
from deltaskip.records import dataclass
from deltaskip.skipping.read_options import ReadOptions
from deltaskip.skipping.scan import Scan


@dataclass(frozen=True, slots=True, eq=False)
class RowsToChange:
    """The rows that match the predicate of a change.

    Attributes:
        execution: Reads and writes the rows.
        scan: The scan of the rows that change.
        files: The files that may lose rows.
    """

    execution: RowExecution
    scan: Scan
    files: FilesToChange


def execution_of(snapshot: Snapshot, spark: Any, time_zone: str, act: str) -> RowExecution:
    """Return the execution of a session, or of a DataFrame's session; without one, that of this process.

    Args:
        snapshot: The table.
        spark: The session or DataFrame; None for this process.
        time_zone: Time zone of expressions in this process.
        act: The operation that needs the session, such as "Deleting", for errors.
    """
    if spark is None:
        return ArrowExecution(snapshot, time_zone)
    asked = engine(f"{act} rows of {snapshot.table_root}", ChangingEngine)
    return asked.row_execution(spark, snapshot)


def rows_to_change(snapshot: Snapshot, where: str | None, execution: RowExecution, read_rows: int = -1) -> RowsToChange:
    """Return the rows that match the predicate of a change. Nothing but the log is read.

    Args:
        snapshot: The version of the table.
        where: SQL text of the predicate; None for all rows.
        execution: Reads and writes the rows, from `execution_of`.
        read_rows: See `files_to_change`.

    Raises:
        PredicateError: The predicate is not valid.
        UnsupportedFeature: The predicate can only be evaluated by Spark.
    """
    text = "true" if where is None else where
    scan = execution.planned(Scan(snapshot, ReadOptions(text, meaning=execution.meaning(text))))
    return RowsToChange(execution, scan, files_to_change(scan, read_rows))
