"""The source of a merge, for the engine that runs it: a DataFrame's session, a given one, or this process."""

from __future__ import annotations

from typing import Any

from deltaskip.dml.merge.arrow_merge import ArrowMergeSource
from deltaskip.dml.merge.execution import MergeSource
from deltaskip.engine import engine
from deltaskip.errors import InvalidArgumentType
from deltaskip.rows.data import GivenRows

__all__ = ["given_source", "merge_source"]


def given_source(data: Any) -> GivenRows:
    """Return the rows of a source. Raises InvalidArgumentType if there are none."""
    try:
        return GivenRows(data)
    except InvalidArgumentType as error:
        expected = "a Spark DataFrame, or Arrow data with __arrow_c_stream__"
        raise InvalidArgumentType.of("source", expected, data) from error


def merge_source(rows: GivenRows, alias: str | None, spark: Any, time_zone: str, table: str) -> MergeSource:
    """Return the source of a merge.

    Args:
        rows: Its rows.
        alias: The name of the source in expressions; None for that of its DataFrame.
        spark: A session for Arrow data; None to join them in this process.
        time_zone: Time zone of expressions in this process.
        table: The table's location, for messages.
    """
    if rows.frame is not None or spark is not None:
        given = rows.table() if rows.frame is None else rows.frame
        session = rows.frame if rows.frame is not None else spark
        found: MergeSource = engine(f"Merging into {table}").merge_source(session, given, alias)
        return found
    return ArrowMergeSource(rows.table(), alias, time_zone)
