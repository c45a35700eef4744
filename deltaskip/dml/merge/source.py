"""The source of a merge, for the engine that runs it: a DataFrame's session, a given one, or this process."""

from __future__ import annotations

from typing import Any, cast

from deltaskip.data_files.data import GivenRows
from deltaskip.dml.merge.arrow_merge import ArrowMergeSource
from deltaskip.dml.merge.merge_execution import MergeSource, MergingEngine
from deltaskip.engine import engine
from deltaskip.log import Snapshot

__all__ = ["merge_source"]


def merge_source(rows: GivenRows, alias: str | None, spark: Any, time_zone: str, snapshot: Snapshot) -> MergeSource:
    """Return the source of a merge.

    Args:
        rows: Its rows.
        alias: The name of the source in expressions; None for that of its DataFrame.
        spark: A session for Arrow data; None to join them in this process.
        time_zone: Time zone of expressions in this process.
        snapshot: The table.
    """
    table = snapshot.root
    if rows.frame is None and spark is None:
        return ArrowMergeSource(rows, table, alias, time_zone)
    given, session = rows.frame, rows.frame
    if given is None:
        rows.schema_for(snapshot.schema)
        given, session = rows.table(table), spark
    return cast(MergingEngine, engine(f"Merging into {table}")).merge_source(session, given, alias)
