"""Writers of different partitions of a transform: a predicate on its source is a predicate on the partitions, too."""

from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pytest

from deltaskip import DeltaTable, transforms
from deltaskip.errors import CommitConflict
from deltaskip.sparkexpr.types.data_types import LONG
from deltaskip.sparkexpr.values.hashes import spark_hash

# Without statistics only partition values tell the files of one writer from those of another.
NO_STATISTICS = {"delta.dataSkippingNumIndexedCols": "0"}


def rows(day: int, i: int) -> pa.Table:
    return pa.table({"ts": pa.array([datetime(2024, 1, day, 12)], pa.timestamp("us")), "id": [i]})


def bucket(i: int) -> int:
    hashed = spark_hash(i, LONG)
    assert hashed is not None
    return hashed % 8


@pytest.mark.parametrize(
    ("read", "disjoint", "conflicting"),
    [
        ("ts < TIMESTAMP_NTZ'2024-01-03'", rows(4, 1), rows(2, 1)),
        ("ts IN (TIMESTAMP_NTZ'2024-01-03 12:00:00', TIMESTAMP_NTZ'2024-01-05 12:00:00')", rows(4, 1), rows(5, 1)),
        ("id = 1", rows(4, 2), rows(4, 1)),
        ("id IN (1, 3)", rows(4, 2), rows(4, 3)),
    ],
)
def test_other_partitions_do_not_conflict(tmp_path: Path, read: str, disjoint: pa.Table, conflicting: pa.Table) -> None:
    assert bucket(2) not in (bucket(1), bucket(3))
    by = [transforms.date("ts"), transforms.bucket("id", 8)]
    table = DeltaTable.create(tmp_path / "t", "ts TIMESTAMP_NTZ, id BIGINT", by, properties=NO_STATISTICS)
    table.append(rows(1, 1))
    table.refresh()
    transaction = table.transaction(read)
    DeltaTable(tmp_path / "t").append(disjoint)
    transaction.set_app_version("job", 1)
    assert transaction.commit() == 3
    transaction = table.refresh().transaction(read)
    DeltaTable(tmp_path / "t").append(conflicting)
    transaction.set_app_version("job", 2)
    with pytest.raises(CommitConflict):
        transaction.commit()


def test_two_deletes_of_different_days_both_commit(tmp_path: Path) -> None:
    by = [transforms.date("ts")]
    table = DeltaTable.create(tmp_path / "t", "ts TIMESTAMP_NTZ, id BIGINT", by, properties=NO_STATISTICS)
    for day in (1, 2, 3):
        table.append(rows(day, day))
    table.refresh()
    first, second = (table.transaction() for _ in range(2))
    for transaction, day in ((first, 1), (second, 3)):
        where = f"ts >= TIMESTAMP_NTZ'2024-01-0{day}' AND ts < TIMESTAMP_NTZ'2024-01-0{day + 1}'"
        transaction.delete(where)
    first.commit()
    second.commit()
    assert table.refresh().scan().distinct("ts_day")["ts_day"].to_pylist() == [datetime(2024, 1, 2).date()]
