"""The choice of the engine that reads and writes rows of a table: this process, or a Spark session."""

from __future__ import annotations

from typing import Any, cast

from deltaskip.dml.arrow_execution import ArrowExecution
from deltaskip.dml.execution import ChangingEngine, RowExecution
from deltaskip.engine import engine
from deltaskip.log import Snapshot


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
    asked = cast(ChangingEngine, engine(f"{act} rows of {snapshot.table_root}"))
    return asked.row_execution(spark, snapshot)
