"""Nested values and bytes in CSV and JSON lines: what `head` writes is what `append` and `merge` read."""

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import deltaskip as ds
from deltaskip.cli.nested_json import without_columns
from tests.cli.conftest import Run
from tests.cli.test_bad_input import sentence_of

COLUMNS = """id INT, s STRUCT<a: INT, ts: TIMESTAMP, n: TIMESTAMP_NTZ, m: DECIMAL(10,2), f: DOUBLE, raw: BINARY>,
    l ARRAY<STRING>, days ARRAY<DATE>, m MAP<STRING, INT>, mi MAP<INT, STRUCT<x: STRING>>, big ARRAY<DECIMAL(38,10)>,
    ll ARRAY<ARRAY<BIGINT>>, fl ARRAY<DOUBLE>, fll ARRAY<ARRAY<DOUBLE>>, raw BINARY, ok ARRAY<BOOLEAN>"""
AT = datetime(2026, 1, 2, 3, 4, 5, 123456)
FULL: dict[str, Any] = {
    "id": 1,
    "s": {"a": 1, "ts": AT.replace(tzinfo=UTC), "n": AT, "m": Decimal("12345678.90"), "f": 0.1, "raw": b"\x00\xff"},
    "l": ['q"u,o\nt\u00e9', None, "", "null", "NaN"],
    "days": [date(1, 1, 1), None],
    "m": [("id", 1), ("z", None)],
    "mi": [(1, {"x": "y"})],
    "big": [Decimal("1234567890123456789012345678.0123456789")],
    "ll": [[1, None], [], None, [9007199254740993]],
    "fl": [1e300, float("nan"), float("-inf"), 0.1],
    "fll": [[1.5, float("nan")], None, []],
    "raw": b"\x00\xff",
    "ok": [True, None],
}
EMPTY = {
    "id": 2,
    "s": {},
    "l": [],
    "days": [],
    "m": [],
    "mi": [],
    "big": [],
    "ll": [],
    "fl": [],
    "fll": [],
    "raw": b"",
    "ok": [],
}


@pytest.fixture
def table(tmp_path: Path) -> ds.DeltaTable:
    made = ds.DeltaTable.create(tmp_path / "t", COLUMNS)
    made.append(pa.Table.from_pylist([FULL, EMPTY, {"id": 3}], made.scan().to_arrow().schema))
    return made


def rows_of(table: str | Path) -> list[str]:
    return [repr(row) for row in ds.DeltaTable(table).scan().to_arrow().sort_by("id").to_pylist()]


def test_what_head_writes_is_appended_and_merged_as_it_is(run: Run, table: ds.DeltaTable, tmp_path: Path) -> None:
    for name in ("rows.csv", "rows.jsonl"):
        file = tmp_path / name
        assert run("head", table.uri, "--output", file).status == 0
        for command, more in (("append", ()), ("merge", ("--on", "id"))):
            copy = tmp_path / f"{name}.{command}"
            ds.DeltaTable.create(copy, COLUMNS)
            assert run(command, copy, file, *more).status == 0
            assert rows_of(copy) == rows_of(table.uri), (name, command)


def test_maps_are_objects_too_and_times_have_the_zone_named(run: Run, table: ds.DeltaTable, tmp_path: Path) -> None:
    row = {"id": 4, "m": {"a": 1}, "mi": {"7": {"X": "y"}}, "s": {"ts": "2026-01-02 03:04:05"}, "raw": "AP8="}
    (tmp_path / "a.jsonl").write_text(json.dumps(row) + "\n\n" + '{"id": 5, "s": {"a": 6}}\n', encoding="utf-8")
    assert run("append", table.uri, tmp_path / "a.jsonl", "--time-zone", "+02:00").status == 0
    [found, other] = ds.DeltaTable(table.uri).scan("id > 3").to_arrow().sort_by("id").to_pylist()
    assert (found["m"], found["mi"], found["raw"]) == ([("a", 1)], [(7, {"x": "y"})], b"\x00\xff")
    assert (str(found["s"]["ts"]), found["s"]["a"], other["s"]["a"]) == ("2026-01-02 01:04:05+00:00", None, 6)


def test_only_members_of_lines_are_taken_out_and_the_rest_stays_as_written() -> None:
    lines = '{"id": 1.50, "st": {"m": 5}}\n\n{ "st":{"n":[{}]} ,"m" : {"a": 1}, "x":"}" }\n{}\n'
    rest, found = without_columns(lines, {"m", "n"})
    assert rest == '{"id": 1.50, "st": {"m": 5}}\n{"st":{"n":[{}]}, "x":"}"}\n{}\n'
    assert found == {"m": [None, {"a": 1}, None]}
    for line in ("[]", "{", '{"a": 1', '{"a" 1}', '{"a": 1,}', '{"a": 1}}', '{"a": 1} {}', '"a"', "{'a': 1}", "{]"):
        with pytest.raises(ValueError):
            without_columns(line, {"m"})


def test_values_that_do_not_fit_are_named_with_their_line(run: Run, table: ds.DeltaTable, tmp_path: Path) -> None:
    for ending, text, says in (
        ("json", '{"id": 1}\n{"m": [1]}', "line 2 has [1] in the column m, which is not of type map<string,int>."),
        ("json", '{"m": 5}', "line 1 has 5 in the column m, which is not of type map<string,int>."),
        ("json", '{"m": {"a": "1"}}',
            'has {"a": "1"} in the column m, which is not of type map<string,int>: value is "1", which'),
        ("json", '{"m": {"a": 1.5}}', "value is 1.5, which is not of type int."),
        ("json", '{"m": {"a": 3000000000}}', "value is 3000000000, which is not of type int."),
        ("json", '{"s": {"b": 2}}', "it has the field b, which the column lacks."),
        ("json", '{"s": {"ts": "12:00"}}', "'12:00' is a time without a date."),
        ("json", '{"s": {"raw": "!"}}', 'has {"raw": "!"} in the column s'),
        ("json", '{"m": {"a": 1}', "line 1 is not JSON"),
        ("json", '{"m": {"a": 1}, "m": {}}', "line 1: it has the name m twice."),
        ("csv", 'id,l\n1,\n2,"[1,x]"', "'[1,x]' in the column l, which is not of type array<string>: it is not JSON."),
        ("csv", "id,ll\n1,[5]", "'[5]' in the column ll, which is not of type array<array<bigint>>: element is 5"),
        ("csv", "id,big\n1,[0.00000000001]", "element is 1E-11, which is not of type decimal(38,10)."),
        ("csv", "id,raw\n1,a!", "line 2 has 'a!' in the column raw, which is not of type BINARY."),
    ):  # fmt: skip
        (tmp_path / f"a.{ending}").write_text(text, encoding="utf-8")
        assert says in sentence_of(run("append", table.uri, tmp_path / f"a.{ending}")), text
    assert ds.DeltaTable(table.uri).version == 1


def test_variants_are_read_from_parquet_only(run: Run, tmp_path: Path) -> None:
    ds.DeltaTable.create(tmp_path / "t", "id INT, v VARIANT")
    for name, text in (("a.csv", "id,v\n1,2\n"), ("a.json", '{"id": 1, "v": {"a": 1}}\n')):
        (tmp_path / name).write_text(text, encoding="utf-8")
        said = sentence_of(run("append", tmp_path / "t", tmp_path / name))
        assert said == "The column v has type VARIANT, which is read from Parquet only: write Parquet."


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.jsonl", "null\n", "line 1 is not a JSON object"),
        ("a.jsonl", '{"id": 1}\n null \n', "line 2 is not a JSON object"),
        ("a.csv", 'id,s\n1,a\n2,"open\n3,b\n', "a value in line 3 begins with a quote that is not closed"),
        ("a.csv", "id,s,id\n1,a,2\n", "has the column 'id' twice"),
        ("a.csv", 'id,m\n1,"[[null, 1]]"\n', "it has a key that is NULL"),
    ],
)
def test_files_that_would_lose_values_are_refused(run: Run, tmp_path: Path, name: str, text: str, said: str) -> None:
    made = ds.DeltaTable.create(tmp_path / "t", "id INT, s STRING, m MAP<STRING, INT>")
    (tmp_path / name).write_text(text)
    assert said in sentence_of(run("append", made.uri, tmp_path / name))
    assert ds.DeltaTable(made.uri).version == 0


def test_quotes_inside_of_values_are_read(run: Run, tmp_path: Path) -> None:
    made = ds.DeltaTable.create(tmp_path / "t", "id INT, s STRING")
    (tmp_path / "a.csv").write_text('id,s\n1,5" pipe\n2,"a ""b"" \n c"\n')
    assert run("append", made.uri, tmp_path / "a.csv").status == 0
    assert ds.DeltaTable(made.uri).scan().to_arrow()["s"].to_pylist() == ['5" pipe', 'a "b" \n c']
