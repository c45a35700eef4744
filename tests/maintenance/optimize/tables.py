"""Tables for the tests of OPTIMIZE: many small files of known rows, and what must not change."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from deltaskip import DeltaTable
from deltaskip.dml.files_to_change import files_to_change
from deltaskip.features.row_tracking import row_id_columns
from deltaskip.reading.stored_rows import StoredRows
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


def row_ids(table: DeltaTable) -> dict[int, tuple[int, int]]:
    """The row id and the row commit version of each row, by its `id`."""
    snapshot = table.snapshot
    columns = row_id_columns(snapshot.table_properties)
    assert columns is not None
    files = files_to_change(table.scan()).whole.listed
    found: dict[int, tuple[int, int]] = {}
    reader = StoredRows(snapshot, snapshot.schema, snapshot.mapping_mode, None, columns.fields)
    for number, batch in reader.live(files):
        base, version = (files[n][number].as_py() for n in ("base_row_id", "default_row_commit_version"))
        for at, id_, row_id, commit in zip(
            batch.positions.tolist(),
            batch.columns["id"].to_pylist(),
            batch.columns[columns.row_id].to_pylist(),
            batch.columns[columns.commit_version].to_pylist(),
            strict=True,
        ):
            found[id_] = base + at if row_id is None else row_id, version if commit is None else commit
    return found


def files_of(table: DeltaTable) -> list[dict[str, Any]]:
    """The files of the table."""
    listed: list[dict[str, Any]] = table.scan().files().to_pylist()
    return listed
