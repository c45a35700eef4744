"""Row groups of a checkpoint ruled out by the partition values that its footer bounds."""

from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaskip as ds
from deltaskip.skipping.checkpoint_row_groups import row_groups_to_read
from deltaskip.sparkexpr.types.data_types import DATE, INTEGER, STRING
from tests.builder import TableBuilder, logged

DAYS = [1, 2, 3, 3, 5, None, 7, 8]
"""Two files a row group."""


@pytest.fixture
def table(tmp_path: Path) -> ds.DeltaTable:
    TableBuilder(tmp_path / "t", {"d": DATE, "n": INTEGER, "s": STRING}, ["d", "n", "s"]).commit()
    log = tmp_path / "t" / "_delta_log"
    actions = [line for line in logged(tmp_path / "t", 0) if "protocol" in line or "metaData" in line]
    for action in actions:
        if "metaData" in action:
            action["metaData"] = {**action["metaData"], "configuration": [], "format": {"provider": "parquet"}}
    files = [file(day) for day in DAYS]
    names = pa.list_(pa.string())
    strings = pa.map_(pa.string(), pa.string())
    parsed = pa.struct([("d", pa.date32()), ("n", pa.int32()), ("s", pa.string())])
    schema = pa.schema(
        [
            ("protocol", pa.struct([("minReaderVersion", pa.int32()), ("minWriterVersion", pa.int32()),
                                    ("readerFeatures", names), ("writerFeatures", names)])),
            ("metaData", pa.struct([("id", pa.string()), ("format", pa.struct([("provider", pa.string())])),
                                    ("schemaString", pa.string()), ("partitionColumns", names),
                                    ("configuration", strings)])),
            ("add", pa.struct([("path", pa.string()), ("partitionValues", strings), ("size", pa.int64()),
                               ("modificationTime", pa.int64()), ("dataChange", pa.bool_()),
                               ("partitionValues_parsed", parsed)])),
        ]
    )  # fmt: skip
    rows = pa.Table.from_pylist([*files, *actions], schema)
    pq.write_table(rows, log / f"{0:020}.checkpoint.parquet", row_group_size=2)
    return ds.DeltaTable(tmp_path / "t")


def file(day: int | None) -> dict[str, Any]:
    text = None if day is None else f"2024-01-{day:02}"
    number = None if day is None else str(day)
    parsed = {"d": None if day is None else date(2024, 1, day), "n": day, "s": number}
    values = [("d", text), ("n", number), ("s", number)]
    members = {"size": 1, "modificationTime": 1, "dataChange": True, "partitionValues_parsed": parsed}
    return {"add": {"path": f"f{day}-{id(values)}", "partitionValues": values, **members}}


@pytest.mark.parametrize(
    ("where", "groups", "files"),
    [
        ("d = DATE'2024-01-03'", [1, 2], 2),
        ("d < DATE'2024-01-03'", [0, 2], 2),
        ("n IN (1, 8)", [0, 2, 3], 2),
        ("n > 6 AND d > DATE'2024-01-01'", [2, 3], 2),
        ("n = 2 OR d = DATE'2024-01-08'", [0, 2, 3], 2),
        ("NOT (n <= 6)", [2, 3], 2),
        ("n != 3", [0, 2, 3], 5),
        ("n IS NULL", [0, 1, 2, 3], 1),
        ("n <=> NULL", [0, 1, 2, 3], 1),
        ("n IS NOT NULL", [0, 1, 2, 3], 7),
        ("day(d) = 8", [2, 3], 1),
        ("n + 1 = 8", [2, 3], 1),
        ("n % 2 = 0", [0, 1, 2, 3], 2),
        ("s = '8'", [0, 1, 2, 3], 1),
        ("n = 3 OR s = '8'", [0, 1, 2, 3], 3),
        ("n = 3 AND s = '3'", [1, 2], 2),
        ("n = 99", [2], 0),
    ],
)
def test_row_groups_of_others_are_not_read(table: ds.DeltaTable, where: str, groups: list[int], files: int) -> None:
    scan = table.scan(where)
    [part] = table.snapshot.checkpoint_parts
    found = row_groups_to_read(scan.compiled.program, part, table.snapshot.cache)
    assert set(found) <= set(groups)
    assert len(scan.files()) == files


def test_ranges_do_rule_row_groups_out(table: ds.DeltaTable) -> None:
    [part] = table.snapshot.checkpoint_parts
    read = {
        w: row_groups_to_read(table.scan(w).compiled.program, part, table.snapshot.cache) for w in ("n = 1", "n >= 7")
    }
    assert read == {"n = 1": [0, 2], "n >= 7": [2, 3]}
