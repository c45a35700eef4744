"""deltaskip append: what it writes, what it refuses, and what a dry run shows."""

import gzip
import io
import json
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaskip as ds
from deltaskip.actions import decode_path
from tests.cli.conftest import Run
from tests.looped import looped

COLUMNS = "id BIGINT, code STRING, day DATE, at TIMESTAMP, price DECIMAL(10,2)"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A table of columns with types that text does not tell."""
    ds.DeltaTable.create(tmp_path / "t", COLUMNS)
    return tmp_path / "t"


def rows_of(table: Path) -> list[dict[str, Any]]:
    opened = ds.DeltaTable(table)
    paths = [table / decode_path(path) for path in opened.snapshot.adds(["path"])["path"].to_pylist()]
    found = [row for path in paths for row in pq.ParquetFile(path).read().to_pylist()]
    return sorted(found, key=lambda row: str(row["id"]))


def test_values_of_csv_have_the_types_of_the_table(run: Run, table: Path, tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text(
        "ID,code,day,at,price\n1,007,2026-01-04,2026-01-04 10:00:00,1.5\n2,,,,\n"
        '3,"",2026-01-05,2026-01-04T10:00:00+02:00,2\n',
        encoding="utf-8",
    )
    ran = run("append", table, file)
    assert (ran.status, ran.err) == (0, ""), ran
    assert ran.out.startswith("version 1: appended 3 rows of 1 file as 1 data file")
    rows = rows_of(table)
    assert [row["code"] for row in rows] == ["007", None, ""]
    assert [str(row["day"]) for row in rows] == ["2026-01-04", "None", "2026-01-05"]
    assert [str(row["at"]) for row in rows] == ["2026-01-04 10:00:00+00:00", "None", "2026-01-04 08:00:00+00:00"]
    assert [str(row["price"]) for row in rows] == ["1.50", "None", "2.00"]


def test_times_without_a_zone_are_in_the_one_that_is_named(run: Run, table: Path, tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("id,at\n1,2026-01-04 10:00:00\n", encoding="utf-8")
    assert run("append", table, file, "--time-zone", "+02:00").status == 0
    assert str(rows_of(table)[0]["at"]) == "2026-01-04 08:00:00+00:00"
    assert run("append", table, file, "--time-zone", "Nowhere").status == 2


def test_json_lines_compressed_and_with_different_keys(run: Run, table: Path, tmp_path: Path) -> None:
    lines = [{"id": 1, "code": "007"}, {"id": 2, "day": "2026-01-04"}, {"Id": 3, "price": 1.25}, {"id": 4}]
    with gzip.open(tmp_path / "a.jsonl.gz", "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines[:2])
    (tmp_path / "b.ndjson").write_text("".join(json.dumps(line) + "\n" for line in lines[3:]), encoding="utf-8")
    ran = run("append", table, tmp_path / "*.*n*")
    assert (ran.status, ran.err) == (0, ""), ran
    assert [(row["id"], row["code"], str(row["day"])) for row in rows_of(table)] == [
        (1, "007", "None"), (2, None, "2026-01-04"), (4, None, "None")
    ]  # fmt: skip


def test_a_key_inside_of_an_object_is_no_column(run: Run, tmp_path: Path) -> None:
    made = ds.DeltaTable.create(tmp_path / "t", "id BIGINT, x INT DEFAULT 7, st STRUCT<x: INT>")
    (tmp_path / "a.json").write_text('{"id": 1, "st": {"x": 5}}\n', encoding="utf-8")
    assert run("append", tmp_path / "t", tmp_path / "a.json").status == 0
    assert rows_of(tmp_path / "t") == [{"id": 1, "x": 7, "st": {"x": 5}}]
    assert made.version == 0


def test_blocks_of_lines_are_complete(run: Run, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deltaskip.cli.input_files._lines.__defaults__", (100,))
    lines = "".join(json.dumps({"id": i, "code": "x" * (i % 90)}) + "\n" for i in range(500))
    (tmp_path / "a.json").write_text(lines.rstrip("\n"), encoding="utf-8")
    assert run("append", table, tmp_path / "a.json").status == 0
    assert sorted(row["id"] for row in rows_of(table)) == list(range(500))


def test_a_parquet_file_of_nested_dictionaries_in_several_row_groups(run: Run, table: Path, tmp_path: Path) -> None:
    codes = pa.StructArray.from_arrays([pa.array(["x", None, "x"]).dictionary_encode()], ["a"])
    pq.write_table(pa.table({"id": [1, 2, 3], "s": codes}), tmp_path / "a.parquet", row_group_size=1)
    assert run("create", tmp_path / "new", tmp_path / "a.parquet").status == 0
    assert run("append", tmp_path / "new", tmp_path / "a.parquet").status == 0
    found = ds.DeltaTable(tmp_path / "new").scan().to_arrow().sort_by("id")
    assert found["s"].to_pylist() == [{"a": "x"}, {"a": None}, {"a": "x"}]


def test_parquet_files_of_several_schemas(run: Run, table: Path, tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": pa.array([1], pa.int32())}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"id": pa.array([2], pa.int64()), "code": ["x"]}), tmp_path / "b.parquet")
    found = json.loads(run("append", table, tmp_path / "a.parquet", tmp_path / "b.parquet", "--json").out)
    assert (found["version"], found["files_read"], found["metrics"]["numOutputRows"]) == (1, 2, 2)
    assert [(row["id"], row["code"]) for row in rows_of(table)] == [(1, None), (2, "x")]


def test_standard_input_needs_a_format(run: Run, table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"id;code\n1;007\n")))
    assert run("append", table, "-").status == 2
    ran = run("append", table, "-", "--format", "csv", "--delimiter", ";")
    assert (ran.status, ran.err) == (0, ""), ran
    assert rows_of(table)[0]["code"] == "007"
    assert run("append", table, "-", "--format", "parquet").status == 2


def test_a_version_of_an_application_is_appended_once(run: Run, table: Path, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id\n1\n", encoding="utf-8")
    assert run("append", table, tmp_path / "a.csv", "--txn", "job:a:7").status == 0
    assert "appended nothing" in run("append", table, tmp_path / "a.csv", "--txn", "job:a:7").out
    assert ds.DeltaTable(table).app_versions == {"job:a": 7}
    assert run("append", table, tmp_path / "a.csv", "--txn", "job").status == 2


def test_a_dry_run_reads_and_checks_all_rows_and_writes_nothing(run: Run, tmp_path: Path) -> None:
    where = tmp_path / "t"
    ds.DeltaTable.create(where, "id BIGINT NOT NULL, d INT DEFAULT 7, g BIGINT GENERATED ALWAYS AS (id + 1), n INT")
    (tmp_path / "a.csv").write_text("id,new\n1,x\n2,y\n", encoding="utf-8")
    before = sorted(map(str, where.rglob("*")))
    ran = run("append", where, tmp_path / "a.csv", "--dry-run", "--schema-mode", "merge")
    assert (ran.status, ran.err) == (0, ""), ran
    assert ran.out.startswith("would append 2 rows of 1 file to version 0 of ")
    assert "generated: id + 1" in ran.out
    assert "every row satisfies NOT NULL of id" in ran.out
    found = json.loads(run("append", where, tmp_path / "a.csv", "--dry-run", "--schema-mode", "merge", "--json").out)
    assert [(each["name"], each["origin"], each["new"]) for each in found["columns"]] == [
        ("id", "given", False), ("d", "default", False), ("g", "generated", False), ("n", "null", False),
        ("new", "given", True),
    ]  # fmt: skip
    (tmp_path / "b.csv").write_text('id\n1\n""\n', encoding="utf-8")
    refused = run("append", where, tmp_path / "b.csv", "--dry-run")
    assert refused.status == 2 or refused.status == 1
    assert sorted(map(str, where.rglob("*"))) == before


@looped(
    "name, text, status, says",
    [
        ("a.csv", 'id,code\n1,"a\nb"\nx,1\n', 2, "line 4 has 'x' in the column id, which is not of type BIGINT"),
        ("a.csv", "id,price\n1,1\n\n2,1.555\n", 2, "'1.555' in the column price, which is not of type DECIMAL.10,2."),
        ("a.csv", "id,day\n1,2026-13-45\n", 2, "line 2 has '2026-13-45' in the column day, which is not of type DATE"),
        ("a.csv", "id,at\n1,noon\n", 2, "line 2 has 'noon' in the column at, which is not of type TIMESTAMP"),
        ("a.csv", "id,code\n1,2\n1,2,3\n", 2, "line 3 has 3 values, and the header has 2 columns"),
        ("a.csv", "id,code\n1,caf\udce9\n", 2, "line 2 is not UTF-8: .* iconv -f LATIN1"),
        ("a.csv", "id,\udce9\n1,2\n", 2, "line 1 is not UTF-8"),
        ("a.csv", "id,other\n1,2\n", 1, "has no column other"),
        ("a.csv", "", 1, "is empty"),
        ("a.csv", "id;price\n1;1,5\n", 1, "the one column 'id;price': pass --delimiter ';'"),
        ("a.json", "{\n", 2, "a.json cannot be read: line 1 is not JSON"),
        ("a.json", '{"id": 1}\n\n{"id": "x"}\n', 2, 'line 3 has "x" in the column id, which is not of type BIGINT'),
        ("a.json", '{"id": 1}\n{"day": "x"}\n', 2, "line 2 has 'x' in the column day, which is not of type DATE"),
        ("a.json", '{"id": 1}\n{"code": "\udce9"}\n', 2, "line 2 is not UTF-8"),
        ("a.json", '[{"id": 1}]\n', 2, "line 1 begins a JSON array: write one object a line"),
        ("a.json", '{"id": 1}\n{"id": 1, "id": 2}\n', 2, "line 2: .*specified twice"),
        ("a.parquet", "no parquet", 2, "a.parquet cannot be read"),
        ("a.txt", "x", 2, "format of .*a.txt is not known"),
    ],
)
def test_files_that_do_not_fit_are_named_in_one_line(
    run: Run, table: Path, tmp_path: Path, name: str, text: str, status: int, says: str
) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8", errors="surrogateescape")
    before = sorted(table.rglob("*.parquet"))
    ran = run("append", table, tmp_path / name)
    assert ran.status == status, ran
    assert ran.err.count("\n") == 1
    assert pytest.importorskip("re").search(says, ran.err), ran.err
    assert ds.DeltaTable(table).version == 0
    assert sorted(table.rglob("*.parquet")) == before


def test_names_that_are_no_files(run: Run, table: Path, tmp_path: Path) -> None:
    for name, says in ((tmp_path / "none.csv", "There is no file"), (tmp_path / "*.none", "No file matches"),
                       (tmp_path, "is a folder")):  # fmt: skip
        ran = run("append", table, name)
        assert (ran.status, says in ran.err) == (2, True), ran
    (tmp_path / "a.csv").write_text("id\n1\n", encoding="utf-8")
    (tmp_path / "b.json").write_text('{"id": 1}\n', encoding="utf-8")
    ran = run("append", table, tmp_path / "a.csv", tmp_path / "b.json")
    assert "csv and json" in ran.err
