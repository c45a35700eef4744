"""Tables for the tests of OPTIMIZE: many small files of known rows, and what must not change."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from deltaskip import DeltaTable
from tests.dml.tables import DDL, rows

VECTORS: dict[str, Any] = {"delta.enableDeletionVectors": "true"}
FEED: dict[str, Any] = {"delta.enableChangeDataFeed": "true"}
ROW_IDS: dict[str, Any] = {"delta.enableRowTracking": "true"}


def made(
    folder: Path, files: int = 6, each: int = 10, partition_by: Sequence[str] = (), ddl: str = DDL, **properties: str
) -> DeltaTable:
    """A table of `files` appends of `each` rows, with ids from 0 on."""
    table = DeltaTable.create(folder / "t", ddl, partition_by, properties=properties)
    for number in range(files):
        table.append(rows(range(number * each, (number + 1) * each)))
    return table


def files_of(table: DeltaTable) -> list[dict[str, Any]]:
    """The files of the table."""
    listed: list[dict[str, Any]] = table.scan().files().to_pylist()
    return listed
