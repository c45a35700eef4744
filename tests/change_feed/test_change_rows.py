"""The rows of a feed, read without Spark: each version's rows are those of the one before it and its changes."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from deltaskip import DeltaTable
from deltaskip.errors import DataFileMissing, PredicateError, UnsupportedFeature
from tests.dml.tables import DDL, actions_of, rows, rows_of
from tests.each import refuses
from tests.extent import some

FEED = {"delta.enableChangeDataFeed": "true"}
VECTORS = {"delta.enableDeletionVectors": "true"}
INSERTS = ("insert", "update_postimage")
NAMES = ("id", "p", "x", "st")


def made(folder: Path, *properties: dict[str, str], partitioned: bool = False) -> DeltaTable:
    joined = dict(pair for each in (FEED, *properties) for pair in each.items())
    return DeltaTable.create(folder, DDL, ["p"] if partitioned else [], properties=joined)


def counted(found: list[dict[str, Any]]) -> Counter[str]:
    return Counter(str([row[name] for name in NAMES]) for row in found)


def play(table: DeltaTable, seed: int) -> dict[int, Counter[str]]:
    """Random changes; the rows of each version."""
    chance = random.Random(seed)
    known = {0: Counter[str]()}
    first = 0
    for _ in range(10):
        match chance.randrange(6):
            case 0 | 1:
                table.append(rows(range(first, first + 20)))
                first += 20
            case 2:
                table.delete(f"id % {chance.randint(3, 7)} = 1")
            case 3:
                table.update({"x": "x + 1"}, f"id % {chance.randint(2, 5)} = 0")
            case 4:
                where = f"id IN (3, {first}, {first + 1}, {first + 2})"
                table.overwrite(rows(range(first, first + 3)), where=where)
                first += 3
            case _:
                table.restore(version=chance.randint(0, table.version))
        for version in range(max(known) + 1, table.refresh().version + 1):
            known[version] = counted(rows_of(DeltaTable(table.snapshot.root, version)))
    return known


KINDS = [
    {},
    VECTORS,
    {**VECTORS, "delta.columnMapping.mode": "id"},
    {"delta.columnMapping.mode": "name"},
    {**VECTORS, "delta.enableRowTracking": "true", "delta.enableInCommitTimestamps": "true"},
]


@pytest.mark.long(gate=1)
@pytest.mark.parametrize(
    ("properties", "partitioned", "seed"), some(itertools.product(KINDS, [False, True], range(3)), len(KINDS))
)
def test_changes_lead_to_each_version(tmp_path: Path, properties: dict[str, str], partitioned: bool, seed: int) -> None:
    table = made(tmp_path, properties, partitioned=partitioned)
    known = play(table, seed)
    found = table.changes(0).to_arrow().to_pylist()
    times = {entry.version: entry.timestamp_ms for entry in table.history()}
    for version in range(1, table.version + 1):
        own = [row for row in found if row["_commit_version"] == version]
        net = counted([row for row in own if row["_change_type"] in INSERTS])
        net.subtract(counted([row for row in own if row["_change_type"] not in INSERTS]))
        wanted = Counter(known[version])
        wanted.subtract(known[version - 1])
        assert {key: n for key, n in net.items() if n} == {key: n for key, n in wanted.items() if n}
        assert {round(row["_commit_timestamp"].timestamp() * 1000) for row in own} <= {times[version]}
    for where in ("id % 5 = 0", "p = 'a' AND x > 10", "_change_type = 'insert' AND id < 9", "_commit_version = 2"):
        some = table.changes(0, where=where).to_arrow().to_pylist()
        condition = {
            "id % 5 = 0": lambda row: row["id"] % 5 == 0,
            "p = 'a' AND x > 10": lambda row: row["p"] == "a" and (row["x"] or 0) > 10,
            "_change_type = 'insert' AND id < 9": lambda row: row["_change_type"] == "insert" and row["id"] < 9,
            "_commit_version = 2": lambda row: row["_commit_version"] == 2,
        }[where]
        assert sorted(map(str, some)) == sorted(str(row) for row in found if condition(row))


def test_columns_are_those_of_the_last_version(tmp_path: Path) -> None:
    table = made(tmp_path, {"delta.columnMapping.mode": "name"})
    table.append(rows([1, 2]))
    table.alter_sql("RENAME COLUMN x TO y")
    table.alter_sql("DROP COLUMN st")
    table.alter_sql("ADD COLUMN z INT")
    table.append(pa.table({"id": [3], "y": pa.array([7], pa.int32()), "z": pa.array([8], pa.int32())}))
    found = table.changes(0).to_arrow()
    assert found.schema.names == ["id", "p", "y", "z", "_change_type", "_commit_version", "_commit_timestamp"]
    assert [(row["id"], row["y"], row["z"]) for row in found.to_pylist()] == [(1, 1, None), (2, 2, None), (3, 7, 8)]
    older = table.changes(0, 1).to_arrow()
    assert older.schema.names[:4] == ["id", "p", "x", "st"]


def test_files_of_narrower_types_are_read(tmp_path: Path) -> None:
    table = made(tmp_path, {"delta.enableTypeWidening": "true"})
    table.append(rows([1]))
    table.alter_sql("ALTER COLUMN x TYPE BIGINT")
    table.append(rows([2], x=pa.array([1 << 40])))
    assert table.changes(1).to_arrow()["x"].to_pylist() == [1, 1 << 40]


def test_chosen_columns_come_before_those_of_the_feed(tmp_path: Path) -> None:
    table = made(tmp_path)
    table.append(rows([1, 2]))
    found = table.changes(0, columns=["x", "id"], where="p = 'b'").to_arrow()
    assert found.schema.names == ["x", "id", "_change_type", "_commit_version", "_commit_timestamp"]
    assert found["id"].to_pylist() == [1]
    refuses(PredicateError, None, table.changes, 0, columns=["nothing"])


def test_a_feed_is_a_stream_of_arrow_and_compares_strings_under_their_collation(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path, "id BIGINT, c STRING COLLATE UNICODE_CI", properties=FEED)
    table.append(pa.table({"id": [1, 2, 3], "c": ["Ä", "ä", "b"]}))
    table.delete("id = 2")
    feed = table.changes(0, where="c = 'ä'")
    assert feed.to_batches().read_all().num_rows == 3
    changes = sorted((row["id"], row["_change_type"]) for row in pa.table(feed).to_pylist())
    assert changes == [(1, "insert"), (2, "delete"), (2, "insert")]
    assert sorted(feed.to_pandas()["id"]) == [1, 2, 2]


def test_change_files_that_were_vacuumed_are_named(tmp_path: Path) -> None:
    table = made(tmp_path)
    table.append(rows(range(10)))
    table.delete("id < 3")
    for cdc in actions_of(table)["cdc"]:
        (tmp_path / cdc["path"]).unlink()
    refuses(DataFileMissing, "cdc-", lambda: table.changes(0).to_arrow())


def test_predicates_that_only_spark_evaluates_are_refused(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path, "id BIGINT, c CHAR(3)", properties=FEED)
    table.append(pa.table({"id": [1], "c": ["a"]}))
    assert table.changes(0, where="c = 'a'").to_arrow()["c"].to_pylist() == ["a  "]
    refuses(UnsupportedFeature, "to_spark", lambda: table.changes(0, where="nullif(c, 'a') IS NULL").to_arrow())
    refuses(UnsupportedFeature, "to_spark", lambda: table.changes(0, where="to_csv(struct(c)) = 'A000'").to_arrow())
