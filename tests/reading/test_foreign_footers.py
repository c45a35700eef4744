"""Footers of other writers, which pyarrow does not take: the logical type UNKNOWN of groups, no number of rows."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import deltaskip as ds
from tests.builder import TableBuilder, add
from tests.footers import CHILDREN, CONVERTED, LOGICAL, NAME, STRUCT, Element, change_footer
from tests.looped import looped

ROWS = [{"id": 1, "m": [("a", 1)]}, {"id": 2, "m": None}]


def unknown_entries(elements: list[Element], fields: dict[int, Any]) -> None:
    """As parquet-mr 1.11.0 writes maps."""
    for element in elements:
        if element[NAME][1] == b"key_value":
            element.pop(CONVERTED, None)
            element[LOGICAL] = (STRUCT, {11: (STRUCT, {})})


def no_rows(elements: list[Element], fields: dict[int, Any]) -> None:
    fields[3] = (fields[3][0], 0)


def unknown_rows(elements: list[Element], fields: dict[int, Any]) -> None:
    fields[3] = (fields[3][0], -1)


def unknown_lists_and_no_rows(elements: list[Element], fields: dict[int, Any]) -> None:
    for element in elements:
        if element[NAME][1] in (b"key_value", b"list"):
            element.pop(CONVERTED, None)
            element[LOGICAL] = (STRUCT, {11: (STRUCT, {})})
    no_rows(elements, fields)


CHANGES = {
    "unknown": unknown_entries, "no rows": no_rows, "-1 rows": unknown_rows, "both": unknown_lists_and_no_rows,
}  # fmt: skip


def write(path: Path, change: str) -> int:
    columns = {"id": pa.array([1, 2], pa.int64()), "m": pa.array([[("a", 1)], None], pa.map_(pa.string(), pa.int64()))}
    path.parent.mkdir(exist_ok=True)
    pq.write_table(pa.table(columns), path, store_schema=False)
    change_footer(path, CHANGES[change])
    return path.stat().st_size


@looped("change", CHANGES)
def test_the_rows_are_read_changed_added_and_converted(tmp_path: Path, change: str) -> None:
    size = write(tmp_path / "c/f.parquet", change)
    converted = ds.convert_to_delta(tmp_path / "c")
    added = ds.DeltaTable.create(tmp_path / "a", "id BIGINT, m MAP<STRING, BIGINT>")
    write(tmp_path / "a/f.parquet", change)
    added.add_files("f.parquet")
    builder = TableBuilder(tmp_path / "b", {field.name: field.type for field in added.schema.fields})
    write(tmp_path / "b/f.parquet", change)
    builder.commit({"add": {**add("f.parquet")["add"], "size": size}})
    for table in (converted, added, ds.DeltaTable(tmp_path / "b")):
        assert table.scan().to_arrow().to_pylist() == ROWS
        assert table.scan("m['a'] = 1", columns=["id"]).to_arrow().to_pylist() == [{"id": 1}]
        table.recompute_stats()
        table.update({"id": "id + 1"}, "id = 2")
        assert table.scan("id > 2").to_arrow().to_pylist() == [{"id": 3, "m": None}]


def unknown_values(elements: list[Element], fields: dict[int, Any]) -> None:
    for element in elements[1:]:
        if CHILDREN not in element:
            element.pop(CONVERTED, None)
            element[LOGICAL] = (STRUCT, {11: (STRUCT, {})})


@looped("compression", ["none", "zstd"])
def test_values_of_the_type_unknown_are_read_as_by_spark(tmp_path: Path, compression: str) -> None:
    # Spark 4.1.4: a column has the type of Parquet, and pyarrow reads NULL.
    values = {"i": [5, None, 7], "f": [1.5, 2.5, None], "b": [b"a", b"", None], "s": [{"a": 1}, {"a": None}, None]}
    types = {"i": pa.int32(), "f": pa.float64(), "b": pa.binary(), "s": pa.struct([("a", pa.int64())])}
    columns = {name: pa.array(given, types[name]) for name, given in values.items()} | {
        "n": pa.array([None] * 3, pa.int32())
    }
    (tmp_path / "t").mkdir()
    path = tmp_path / "t/f.parquet"
    pq.write_table(pa.table(columns), path, store_schema=False, compression=compression)
    change_footer(path, unknown_values)
    assert pq.read_table(path)["i"].null_count == 3
    table = ds.convert_to_delta(tmp_path / "t")
    rows = pa.table(columns).to_pylist()
    assert table.scan().to_arrow().to_pylist() == rows
    for where, at in (("i = 7", 2), ("f > 2", 1), ("b = X'61'", 0), ("s.a = 1", 0)):
        assert table.scan(where).to_arrow().to_pylist() == [rows[at]]
    assert table.scan().aggregate(m="max(i)", n="count(f)").to_pylist() == [{"m": 7, "n": 2}]
    table.recompute_stats()
    table.update({"n": "i + 1"}, "i = 7")
    rows[2]["n"] = 8
    assert sorted(table.scan().to_arrow().to_pylist(), key=str) == sorted(rows, key=str)


@looped("change, policy", itertools.product(CHANGES, ["classic", "v2"]))
def test_a_checkpoint_is_read(tmp_path: Path, change: str, policy: str) -> None:
    properties = {"delta.checkpointPolicy": policy, "own.key": "x"}
    table = ds.DeltaTable.create(tmp_path / "t", "id BIGINT, p STRING", partition_by=["p"], properties=properties)
    table.append(pa.table({"id": pa.array([1, 2], pa.int64()), "p": ["a", "b"]}))
    table.checkpoint()
    log = tmp_path / "t" / "_delta_log"
    files = list(log.rglob("*.parquet"))
    assert len(files) == 1 if policy == "classic" else files
    for path in files:
        size = path.stat().st_size
        change_footer(path, CHANGES[change])
        for top in log.glob("*.checkpoint.*.json"):
            top.write_text(top.read_text().replace(f":{size},", f":{path.stat().st_size},"))
    for commit in [*log.glob("*.crc"), *(each for each in log.glob("*.json") if "checkpoint" not in each.name)]:
        commit.unlink()
    (log / "_last_checkpoint").unlink(missing_ok=True)
    found = ds.DeltaTable(tmp_path / "t")
    assert found.properties["own.key"] == "x"
    assert sorted(found.scan().to_arrow()["id"].to_pylist()) == [1, 2]
    assert found.scan("p = 'b'").to_arrow()["id"].to_pylist() == [2]
    found.append(pa.table({"id": pa.array([3], pa.int64()), "p": ["b"]}))
    found.checkpoint()
    assert sorted(ds.DeltaTable(tmp_path / "t").scan("p = 'b'").to_arrow()["id"].to_pylist()) == [2, 3]
