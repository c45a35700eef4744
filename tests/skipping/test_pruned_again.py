"""Files that sound proofs may skip, and once were read: doubles without NaN, ranges of doubles, NULL partitions."""

import json
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaskip as ds
from deltaskip.sparkexpr.types.data_types import DOUBLE, FLOAT
from tests.builder import DELTA_RS, TableBuilder, add, bounds, relog, without_statistics

NAN = float("nan")


def rows_of(table: ds.DeltaTable, where: str) -> list[Any]:
    """The ids of the rows that match, read from all files and filtered by Arrow's own evaluation of the id's values."""
    return sorted(table.scan(where).to_arrow()["id"].to_pylist())


def kept(table: ds.DeltaTable, where: str) -> int:
    return len(table.scan(where).files())


def data(number: int, *values: float) -> pa.Table:
    x = pa.array(values)
    return pa.table({"id": pa.array([number] * len(values), pa.int32()), "x": x, "f": x.cast(pa.float32())})


def written(root: Path) -> ds.DeltaTable:
    """Five files of one value each, by different doors, and one with NaN."""
    table = ds.DeltaTable.create(root, "id INT, x DOUBLE, f FLOAT")
    table.append(data(0, 1.5))
    table.append(data(1, 11.5))
    pq.write_table(data(2, 21.5), root / "given.parquet")
    table.add_files([str(root / "given.parquet")])
    table.append(data(3, 0.5))
    table.update({"x": "31.5", "f": "31.5"}, "id = 3")
    (
        table.merge(data(4, 41.5), "t.id = s.id", source_alias="s", target_alias="t")
        .when_not_matched_insert_all()
        .execute()
    )
    table.append(data(5, 2.0, NAN, 3.0))
    return table


def test_ranges_of_doubles_skip_what_was_written_here(tmp_path: Path) -> None:
    table = written(tmp_path / "t")
    files = table.snapshot.num_files
    expected = {"x > 35": [4, 5], "x != 11.5": [0, 2, 3, 4, 5, 5, 5], "x = 11.5": [1], "x = 'NaN'": [5]}
    for state in ("commits", "checkpoint", "without commits"):
        if state != "commits":
            table.checkpoint()
        if state == "without commits":
            for commit in (tmp_path / "t" / "_delta_log").glob("*.json"):
                commit.unlink()
        table = ds.DeltaTable(tmp_path / "t")
        for column in ("x", "f"):
            for where, ids in expected.items():
                assert rows_of(table, where.replace("x", column)) == ids, (state, where)
            assert kept(table, f"{column} > 35") == 2, (state, column)
            assert kept(table, f"{column} >= 41.5") == 2, (state, column)
            assert kept(table, f"{column} != 11.5") == files - 1, (state, column)
            # The maximum of the file with NaN is NaN.
            assert kept(table, f"{column} BETWEEN 10 AND 13") == 2, (state, column)
            assert kept(table, f"{column} = 'NaN'") == 1, (state, column)


def test_a_file_with_nan_is_not_called_free_of_it(tmp_path: Path) -> None:
    table = written(tmp_path / "t")
    for file in table.snapshot.adds(["path", "stats", "tags"]).to_pylist():
        maxima = json.loads(file["stats"])["maxValues"]
        listed = json.loads(dict(file["tags"] or {}).get("deltaskip.stats", '{"withoutNaN":[]}'))["withoutNaN"]
        assert sorted(listed) == sorted([name] for name in ("f", "x") if maxima[name] != "NaN")


@pytest.mark.parametrize("type_", [DOUBLE, FLOAT])
def test_a_range_skips_on_both_sides_whoever_wrote_the_file(tmp_path: Path, type_: Any) -> None:
    """A row in a range is not NaN, so that the maximum of the other values decides, too."""
    table = TableBuilder(tmp_path / "t", {"x": type_})
    table.commit(*(add(f"f{n}", bounds(x=(10.0 * n, 10.0 * n + 5))) for n in range(5)), engine=DELTA_RS)
    opened = ds.DeltaTable(tmp_path / "t")
    expected = {
        "x BETWEEN 21 AND 24": 1,
        "x > 21 AND x < 24": 1,
        "x >= 21 AND x <= 24 AND x != 22": 1,
        "21 <= x AND x IN (22, 43, 50)": 2,
        "x < 24": 3,
        # NaN is greater than every number.
        "x > 21": 5,
        "x > 21 AND x != 22": 5,
        "NOT (x BETWEEN 21 AND 24)": 5,
        "x > 21 AND (x < 24 OR x = 'NaN')": 5,
    }
    assert {where: kept(opened, where) for where in expected} == expected


def hidden(root: Path, schema: str, partition: str, values: list[Any], type_: pa.DataType) -> ds.DeltaTable:
    """A table partitioned by a generated column, with a file for each value, without any statistics."""
    table = ds.DeltaTable.create(root, f"{schema}, {partition}", partition_by=[partition.split()[0]])
    for number, value in enumerate(values):
        table.append(pa.table({"id": pa.array([number], pa.int32()), "c": pa.array([value], type_)}))
    relog(root, without_statistics)
    return ds.DeltaTable(root)


TIMES: list[Any] = [datetime(2020 + n, 1 + n, 3, 4, 5, tzinfo=UTC) for n in range(4)] + [None]
MICROS = pa.timestamp("us", "UTC")
BY_TIME = [
    "y INT GENERATED ALWAYS AS (year(c))",
    "m STRING GENERATED ALWAYS AS (date_format(c, 'yyyy-MM'))",
    "d DATE GENERATED ALWAYS AS (CAST(c AS DATE))",
    "h STRING GENERATED ALWAYS AS (date_format(c, 'yyyy-MM-dd-HH'))",
]


@pytest.mark.long(gate=2)
@pytest.mark.parametrize("partition", BY_TIME)
def test_the_null_partition_of_a_time_is_that_of_null(tmp_path: Path, partition: str) -> None:
    table = hidden(tmp_path / "t", "id INT, c TIMESTAMP", partition, TIMES, MICROS)
    at = "TIMESTAMP'2021-02-03 04:05:00Z'"
    for zone in ("UTC", "America/New_York", "Pacific/Apia"):
        expected = {
            "c IS NULL": [4],
            "c <=> NULL": [4],
            f"c = {at}": [1],
            f"c IN ({at}, NULL)": [1],
            f"NOT (c <=> {at})": [0, 2, 3, 4],
            f"c > {at}": [2, 3],
            f"c IS NULL OR c = {at}": [1, 4],
            "c IS NOT NULL": [0, 1, 2, 3],
        }
        found = {where: table.scan(where, time_zone=zone) for where in expected}
        files = {where: len(scan.files()) for where, scan in found.items()}
        assert {where: sorted(scan.to_arrow()["id"].to_pylist()) for where, scan in found.items()} == expected
        assert (files["c IS NULL"], files["c <=> NULL"]) == (1, 1)
        assert (files[f"c = {at}"], files[f"c IS NULL OR c = {at}"]) == (1, 2)


@pytest.mark.long(gate=7)
@pytest.mark.parametrize(
    ("schema", "partition", "values", "type_", "where", "files"),
    [
        # hash(NULL) is 42: NULL has a bucket like any other value.
        ("c INT", "b INT GENERATED ALWAYS AS (pmod(hash(c), 64))", [1, 2, None], pa.int32(), "c = 1", 1),
        ("c INT", "b INT GENERATED ALWAYS AS (pmod(hash(c), 64))", [1, 2, None], pa.int32(), "c IS NULL", 1),
        ("c INT", "w INT GENERATED ALWAYS AS (c - pmod(c, 10))", [1, 12, None], pa.int32(), "c = 12", 1),
        ("c INT", "w INT GENERATED ALWAYS AS (c - pmod(c, 10))", [1, 12, None], pa.int32(), "c IS NULL", 1),
        ("c INT", "i INT GENERATED ALWAYS AS (c)", [1, 2, None], pa.int32(), "c > 1", 1),
        # The log has NULL for the empty string, so that its partition is that of NULL, too.
        ("c STRING", "t STRING GENERATED ALWAYS AS (substring(c, 0, 2))", ["abc", "", None], pa.string(), "c = ''", 2),
        ("c STRING", "t STRING GENERATED ALWAYS AS (c)", ["abc", "", None], pa.string(), "c < 'b'", 3),
        ("c STRING", "t STRING GENERATED ALWAYS AS (c)", ["abc", "", None], pa.string(), "c IS NULL", 2),
        # TRY_CAST is NULL of texts that are no number.
        ("c STRING", "n INT GENERATED ALWAYS AS (TRY_CAST(c AS INT))", ["7", "x", None], pa.string(), "c = 'x'", 2),
    ],
)
def test_null_partitions_of_other_expressions(
    tmp_path: Path, schema: str, partition: str, values: list[Any], type_: pa.DataType, where: str, files: int
) -> None:
    table = hidden(tmp_path / "t", f"id INT, {schema}", partition, values, type_)
    matching = {"c = 1": 1, "c = 12": 1, "c > 1": 1, "c = ''": 1, "c < 'b'": 2, "c IS NULL": 1, "c = 'x'": 1}
    assert len(table.scan(where).to_arrow()) == matching[where]
    assert kept(table, where) == files


TEXTS: list[Any] = ["abcd", "abx", " ", "", None, "Zoë"]


@pytest.mark.long(gate=2)
@pytest.mark.parametrize("expression", ["c", "substring(c, 0, 2)", "left(c, 2)", "upper(c)", "trim(c)", "concat(c, c)"])
def test_the_null_partition_of_a_text_is_that_of_null_and_of_the_empty_string(tmp_path: Path, expression: str) -> None:
    table = hidden(
        tmp_path / "t", "id INT, c STRING", f"t STRING GENERATED ALWAYS AS ({expression})", TEXTS, pa.string()
    )
    expected = {
        "c = 'abcd'": [0],
        "c IN ('abcd', NULL)": [0],
        "c = 'abcd' OR c = 'Zoë'": [0, 5],
        "c IN ('abx', '')": [1, 3],
        "c = ' '": [2],
        "c < 'Z'": [2, 3],
        "c LIKE 'ab%'": [0, 1],
        "c > 'abc'": [0, 1],
        "c IS NULL OR c = 'abx'": [1, 4],
        "c <=> 'abcd'": [0],
        f"{expression} = ''": [2, 3] if expression == "trim(c)" else [3],
        f"length({expression}) < 1": [2, 3] if expression == "trim(c)" else [3],
    }
    found = {where: table.scan(where) for where in expected}
    assert {where: sorted(scan.to_arrow()["id"].to_pylist()) for where, scan in found.items()} == expected
    first = {"c": 1, "upper(c)": 1, "trim(c)": 1, "concat(c, c)": 1}.get(expression, 2)
    files = {where: len(scan.files()) for where, scan in found.items()}
    assert [files[where] for where in ("c = 'abcd'", "c IN ('abcd', NULL)", "c <=> 'abcd'")] == [first] * 3
    assert files["c = 'abcd' OR c = 'Zoë'"] == first + 1
    if expression in ("c", "substring(c, 0, 2)", "left(c, 2)"):
        assert files["c LIKE 'ab%'"] == 2
        # NULL and the empty string.
        assert files[f"{expression} = ''"] == 2


@pytest.mark.parametrize(
    ("partition", "where"),
    [
        ("t STRING GENERATED ALWAYS AS (element_at(split(c, 'b'), 1))", "c = 'abcd'"),
        ("t STRING GENERATED ALWAYS AS (CAST(TRY_CAST(c AS INT) AS STRING))", "c = '7'"),
    ],
)
def test_a_text_that_may_be_null_elsewhere_keeps_its_null_partition(tmp_path: Path, partition: str, where: str) -> None:
    table = hidden(tmp_path / "t", "id INT, c STRING", partition, ["abcd", "7", None], pa.string())
    kept_values = [values["t"] for values in table.scan(where).files()["partition_values"].to_pylist()]
    assert None in kept_values


@pytest.mark.parametrize("as_json", ["true", "false"])
def test_a_float_that_became_a_double_is_found_through_a_struct_of_its_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, as_json: str
) -> None:
    """As delta-spark writes its checkpoint: the text 0.1 of the float, parsed as the double that the column is now."""
    forms = {"delta.checkpoint.writeStatsAsStruct": "true", "delta.checkpoint.writeStatsAsJson": as_json}
    properties = {"delta.enableTypeWidening": "true", **forms}
    table = ds.DeltaTable.create(tmp_path / "t", "id INT, f FLOAT", properties=properties)
    for number, value in enumerate((0.1, 0.3, 16777216.0)):
        table.append(pa.table({"id": pa.array([number], pa.int32()), "f": pa.array([value], pa.float32())}))
    table.alter_sql("ALTER COLUMN f TYPE DOUBLE")
    monkeypatch.setattr("deltaskip.log.checkpoint.action_structs._once_floats", lambda *_: iter(()))
    table.checkpoint()
    monkeypatch.undo()
    table = ds.DeltaTable(tmp_path / "t")
    stored = pq.read_table(next((tmp_path / "t" / "_delta_log").glob("*.checkpoint.parquet")))["add"]
    maxima = [each["stats_parsed"]["maxValues"]["f"] for each in stored.to_pylist() if each is not None]
    assert 0.1 in maxima
    expected = {
        "f > 0.1D": [0, 1, 2],
        "f = 0.1D": [],
        "f = 0.10000000149011612D": [0],
        "f <= 0.1D": [],
        "f < 0.30000001192092896D": [0],
        "f >= 16777216": [2],
        "f BETWEEN 0.1D AND 0.2D": [0],
    }
    for where, ids in expected.items():
        assert rows_of(table, where) == ids, where
        with suppress(ds.NotProvable):
            assert table.scan(where).count() == len(ids), where
    assert kept(table, "f > 1") == 1
    table.delete("f = 0.10000000149011612D")
    assert rows_of(table, "f > 0") == [1, 2]
    # Our own checkpoint of it, and what later commits say from that.
    table.checkpoint()
    table = ds.DeltaTable(tmp_path / "t")
    assert rows_of(table, "f > 0.3D") == [1, 2]
    table.update({"id": "7"}, "f > 0.3D AND f < 1")
    assert rows_of(table, "f > 0") == [2, 7]


def test_statistics_of_columns_that_are_no_longer_indexed_stay(tmp_path: Path) -> None:
    properties = {"delta.checkpoint.writeStatsAsStruct": "true", "delta.checkpoint.writeStatsAsJson": "false"}
    schema = "a INT, b INT, s STRUCT<c: INT, d: STRING>, e BOOLEAN"
    table = ds.DeltaTable.create(tmp_path / "t", schema, properties=properties)
    for number in range(3):
        inner = pa.array([{"c": number, "d": f"v{number}"}], pa.struct([("c", pa.int32()), ("d", pa.string())]))
        ints = pa.array([number], pa.int32())
        table.append(pa.table({"a": ints, "b": ints, "s": inner, "e": [True]}))
    before = sorted(table.snapshot.adds(["stats"])["stats"].to_pylist())
    table.alter(ds.SetProperty("delta.dataSkippingNumIndexedCols", "1"))
    for _ in range(2):
        table.checkpoint()
        table = ds.DeltaTable(tmp_path / "t")
        after = sorted(table.snapshot.adds(["stats"])["stats"].to_pylist())
        assert [json.loads(text) for text in after] == [json.loads(text) for text in before]
        for where in ("a = 1", "b = 1", "s.c = 1", "s.d = 'v1'"):
            assert kept(table, where) == 1, where
        table.alter(ds.SetProperty("delta.dataSkippingNumIndexedCols", "0"))
