"""Random sequences of appends and overwrites against a plain model of rows, which a Python function overwrites too."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from deltaskip import DeltaTable
from deltaskip.errors import CommitConflict
from tests.dml.tables import DDL, files_below, rows, rows_of
from tests.each import in_threads
from tests.extent import extent

Row = dict[str, Any]

# SQL text, and the same for a row: TRUE, and neither FALSE nor NULL.
PREDICATES: list[tuple[str, Callable[[Row], bool]]] = [
    ("p = 'a'", lambda row: row["p"] == "a"),
    ("p IS NULL", lambda row: row["p"] is None),
    ("NOT (p = 'a')", lambda row: row["p"] is not None and row["p"] != "a"),
    ("id BETWEEN 10 AND 40", lambda row: 10 <= row["id"] <= 40),
    ("x < 25", lambda row: row["x"] is not None and row["x"] < 25),
    ("x IS NULL OR id > 70", lambda row: row["x"] is None or row["id"] > 70),
    ("p <=> 'b' AND st.a % 5 = 2", lambda row: row["p"] == "b" and row["st"]["a"] % 5 == 2),
    ("id IN (1, 2, 3, 5, 8, 13, 21, 34, 55, 89)", lambda row: row["id"] in (1, 2, 3, 5, 8, 13, 21, 34, 55, 89)),
    ("true", lambda _row: True),
    ("false", lambda _row: False),
]
PROPERTIES: list[dict[str, str]] = [
    {},
    {"delta.enableDeletionVectors": "true"},
    {"delta.enableChangeDataFeed": "true", "delta.enableRowTracking": "true"},
    {"delta.columnMapping.mode": "name", "delta.enableDeletionVectors": "true", "delta.enableRowTracking": "true"},
    {"delta.columnMapping.mode": "id", "delta.checkpointInterval": "3"},
]


def table_of(found: list[Row]) -> pa.Table:
    return rows([row["id"] for row in found])


def as_rows(ids: list[int]) -> list[Row]:
    made: list[Row] = rows(ids).to_pylist()
    return made


def in_order(found: list[Row]) -> list[Row]:
    return sorted(found, key=lambda row: row["id"])


@pytest.mark.long(gate=1)
@pytest.mark.parametrize("seed", extent(range(1, 10, 2), range(20)))
def test_a_table_has_the_rows_of_the_model_after_every_step(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    properties, partition_by = PROPERTIES[seed % len(PROPERTIES)], ((), ("p",))[seed // 5 % 2]
    table = DeltaTable.create(tmp_path / "t", DDL, partition_by, properties=properties)
    model: list[Row] = []
    for step in range(12):
        new = as_rows([chance.randrange(100) for _ in range(chance.choice([0, 3, 30]))])
        match chance.choice(["append", "where", "where", "dynamic", "static"] if step % 6 else ["append"]):
            case "append":
                table.append(table_of(new))
                model += new
            case "where":
                text, holds = chance.choice(PREDICATES)
                new = list(filter(holds, new))
                result = table.overwrite(table_of(new), where=text)
                if result.version is not None and "numDeletedRows" in result.metrics:
                    assert result.metrics["numDeletedRows"] == sum(map(holds, model)), text
                model = [row for row in model if not holds(row)] + new
            case "dynamic":
                table.overwrite(table_of(new), partitions="dynamic")
                gone = {row["p"] for row in new}
                model = [row for row in model if partition_by and row["p"] not in gone] + new
            case _:
                table.overwrite(table_of(new))
                model = new
        assert rows_of(table) == in_order(model)
        if step % 4 == 3:
            table = DeltaTable(tmp_path / "t")
            counted = table.scan("id >= 0").count()
            assert counted == len(model)


@pytest.mark.long(gate=1)
@pytest.mark.parametrize("properties", PROPERTIES[:2])
def test_racing_overwrites_of_one_partition_end_in_a_serial_order(tmp_path: Path, properties: dict[str, str]) -> None:
    DeltaTable.create(tmp_path / "t", DDL, ["p"], properties=properties).append(rows(range(30)))
    errors: list[BaseException] = []
    committed: list[tuple[int, int]] = []

    def write(writer: int) -> None:
        table = DeltaTable(tmp_path / "t")
        for number in range(4):
            first = 1000 * writer + 30 * number
            try:
                where = "p = 'a'" if writer % 2 else "p = 'a' AND id >= 0"
                result = table.overwrite(rows([first, first + 3]), where=where)
                committed.append((result.version or -1, first))
            except CommitConflict:
                pass
            except BaseException as error:
                errors.append(error)

    in_threads(write, [3 * i for i in range(1, 4)])
    assert errors == []
    table = DeltaTable(tmp_path / "t")
    last = max(committed)[1]
    assert [row["id"] for row in rows_of(table) if row["p"] == "a"] == [last, last + 3]
    assert [row["id"] for row in rows_of(table) if row["p"] != "a"] == [i for i in range(30) if i % 3]
    assert table.version == 1 + len(committed)
    # What lost deleted its files; those of the versions are there.
    assert len([file for file in files_below(tmp_path / "t") if file.endswith(".parquet")]) == 3 + len(committed)
