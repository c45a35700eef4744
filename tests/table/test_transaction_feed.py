"""A transaction that deletes or updates rows and appends others: the change data feed has all of them."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deltaskip import DeltaTable
from deltaskip.errors import InvalidArgumentType
from tests.builder import log_file

ROWS = pa.table({"id": [1, 2, 3], "p": ["x", "x", "y"]})
NEW = pa.table({"id": [7, 8], "p": ["x", "z"]})


def changes(table: DeltaTable) -> list[tuple[Any, ...]]:
    read = table.changes(2).to_arrow().to_pylist()
    return sorted((row["id"], row["p"], row["_change_type"]) for row in read)


def test_rows_that_are_appended_after_a_change_are_in_the_feed(tmp_path: Path) -> None:
    number = 0
    for partition_by in ((), ("p",)):
        for vectors in ("false", "true"):
            for mode in ("none", "name"):
                number += 1
                properties = {
                    "delta.enableChangeDataFeed": "true",
                    "delta.enableDeletionVectors": vectors,
                    "delta.columnMapping.mode": mode,
                }
                # Of whole files that are removed, and of files that are added, the log itself has the changes.
                for where, deleted in (("id = 1", [1]), ("id < 10", [1, 2, 3])):
                    path = tmp_path / f"{number} {len(deleted)}"
                    table = DeltaTable.create(path, "id BIGINT, p STRING", partition_by, (), properties)
                    table.append(ROWS)
                    with table.transaction() as transaction:
                        transaction.delete(where)
                        transaction.append(NEW)
                        transaction.append(pa.table({"id": [9], "p": ["y"]}))
                    table.refresh()
                    inserted = [(7, "x", "insert"), (8, "z", "insert"), (9, "y", "insert")]
                    gone = [
                        (id_, p, "delete") for id_, p in zip(*ROWS.to_pydict().values(), strict=True) if id_ in deleted
                    ]
                    assert changes(table) == [*gone, *inserted]
                    kept = [id_ for id_ in (1, 2, 3) if id_ not in deleted]
                    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == [*kept, 7, 8, 9]
                    assert table.version == 2


def test_updates_come_first_too_and_new_columns_are_null_in_older_changes(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "id BIGINT, p STRING", properties={"delta.enableChangeDataFeed": "true"})
    table.append(ROWS)
    with table.transaction() as transaction:
        transaction.update({"p": "'q'"}, "id = 2")
        transaction.append(NEW.append_column("more", pa.array([1, 2])), schema_mode="merge")
    table.refresh()
    read = table.changes(2).to_arrow().to_pylist()
    found = sorted((row["id"], row["p"], row["more"], row["_change_type"]) for row in read)
    assert found == [
        (2, "q", None, "update_postimage"),
        (2, "x", None, "update_preimage"),
        (7, "x", 1, "insert"),
        (8, "z", 2, "insert"),
    ]
    # Readers of other engines read the change files alone.
    lines = [line for line in log_file(tmp_path / "t", 2).read_text().splitlines() if line.startswith('{"cdc"')]
    assert len(lines) >= 2


def test_a_transaction_that_is_given_up_leaves_no_change_files(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "id BIGINT, p STRING", properties={"delta.enableChangeDataFeed": "true"})
    table.append(ROWS)
    transaction = table.transaction()
    transaction.delete("id = 1")
    transaction.append(NEW)
    transaction.discard()
    left = list((tmp_path / "t").rglob("*.parquet"))
    assert len(left) == 1
    assert pq.read_table(left[0]).num_rows == 3


def test_what_is_no_file_is_refused_by_name(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "id BIGINT, p STRING")
    for files in (pa.scalar(1), pa.Scalar, [1], ["a.parquet"], None):
        with pytest.raises(InvalidArgumentType, match=r"files|Each file"):
            table.transaction().feed_inserts(files)
