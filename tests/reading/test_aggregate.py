"""Totals: those of a plain loop over all rows, from the log where it proves them."""

from __future__ import annotations

import random
import tempfile
import warnings
from functools import cmp_to_key
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import deltaskip as ds
from deltaskip.reading import arrow_rows
from deltaskip.sparkexpr.values.arrow_values import domain_values
from tests.each import refuses
from tests.extent import extent, seed
from tests.reading.random_rows import columns_of, compared, keys_at, table_with_files
from tests.skipping.random_predicates import random_predicate

TOTALS_PER_TABLE = 16


@pytest.fixture(autouse=True)
def as_of_a_large_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small tables are not read as a whole."""
    monkeypatch.setattr(arrow_rows, "LITTLE_BYTES", 0)


def random_aggregates(rng: random.Random, columns: list[str]) -> dict[str, str]:
    """Some aggregates of random columns, by their names."""
    found = {}
    for number in range(rng.randint(1, 4)):
        column = rng.choice(columns)
        forms = ["count(*)", "count({})", "min({})", "max({})", "count_if({} IS NULL)", "count_if({} IS NOT NULL)"]
        found[f"a{number}"] = rng.choice(forms).format(column)
    return found


def plain_total(text: str, columns: dict[str, list[Any]], rows: list[int]) -> Any:
    """The aggregate of rows by a loop."""
    if text == "count(*)":
        return len(rows)
    function, _, inside = text.rstrip(")").partition("(")
    values = [columns[inside.partition(" IS ")[0]][row] for row in rows]
    some = [value for value in values if value is not None]
    match function:
        case "count":
            return len(some)
        case "count_if":
            return len(some) if inside.endswith("NOT NULL") else len(values) - len(some)
        case "min":
            return min(some, key=cmp_to_key(compared), default=None)
    return max(some, key=cmp_to_key(compared), default=None)


def check_totals(number: int) -> tuple[int, int, int]:
    """Random totals of a random table; how many were compared, how many files were read, and how many there were."""
    rng = random.Random(number)
    count = read = files = 0
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made, table = table_with_files(rng, Path(folder) / "t")
        for _ in range(TOTALS_PER_TABLE):
            where = random_predicate(rng, made, depth=1) if rng.random() < 0.6 else None
            try:
                columns = columns_of(table.scan(where).to_arrow())
            except (ds.UnsupportedFeature, ds.PredicateError):
                continue
            by = list(made.partition_columns) if rng.random() < 0.6 else []
            wanted = random_aggregates(rng, sorted(columns))
            total = len(next(iter(columns.values())))
            groups: dict[tuple[str, ...], list[int]] = {} if by else {(): list(range(total))}
            keys = keys_at([columns[name] for name in by], list(range(total)))
            for row, key in enumerate(keys if by else []):
                groups.setdefault(key, []).append(row)
            plain = {
                key: keys_at([[plain_total(text, columns, rows)] for text in wanted.values()], [0])[0]
                for key, rows in groups.items()
            }
            scan = table.scan(where)
            answer = scan.aggregate(by, **wanted)
            found = {name: domain_values(answer[name]) for name in answer.column_names}
            places = list(range(len(answer)))
            got = keys_at([found[name] for name in by], places) if by else [()]
            values = keys_at([found[name] for name in wanted], places)
            assert dict(zip(got, values, strict=True)) == plain, f"seed {number}: {wanted} BY {by} WHERE {where}"
            count += 1
            assert scan.metrics is not None
            read += scan.metrics.files
            files += len(table.scan(where).files())
    return count, read, files


@pytest.mark.parametrize("little", [0, 1 << 20])
def test_totals_are_those_of_a_loop_over_all_rows(monkeypatch: pytest.MonkeyPatch, little: int) -> None:
    monkeypatch.setattr(arrow_rows, "LITTLE_BYTES", little)
    first = seed()
    seeds = range(first, first + extent(8 if little else 30, 2000))
    count, read, files = map(sum, zip(*map(check_totals, seeds), strict=True))
    assert count > (30 if little else 150)
    assert little or read < 0.8 * files


@pytest.fixture
def table(tmp_path: Path) -> ds.DeltaTable:
    """Ten files of ten rows in five partitions: numbers in order, times that end within a millisecond, some NULLs."""
    made = ds.DeltaTable.create(
        tmp_path / "t",
        "id INT, at TIMESTAMP, x DOUBLE, s STRING, st STRUCT<a: INT>, p INT",
        ["p"],
        properties={"delta.enableDeletionVectors": "true"},
    )
    for number in range(10):
        ids = range(number * 10, number * 10 + 10)
        made.append(
            pa.table(
                {
                    "id": pa.array(ids, pa.int32()),
                    "at": pa.array([each * 1_000_001 for each in ids], pa.timestamp("us", "UTC")),
                    "x": [None if each % 5 == 0 else each / 4 for each in ids],
                    "s": [f"{each:02}" + "y" * 40 for each in ids],
                    "st": [{"a": each} for each in ids],
                    "p": pa.array([number // 2] * 10, pa.int32()),
                }
            )
        )
    return ds.DeltaTable(tmp_path / "t")


def answer(scan: ds.TableScan, files: int, by: Any = (), **aggregates: str) -> list[dict[str, Any]]:
    """The rows of an answer; so many files were read for it."""
    found: list[dict[str, Any]] = scan.aggregate(by, **aggregates).to_pylist()
    assert scan.metrics is not None
    assert scan.metrics.files == files
    return found


def test_what_the_log_proves_is_not_read(table: ds.DeltaTable) -> None:
    counts = {"n": "count(*)", "x": "COUNT( x )", "none": "count_if(x IS NULL)", "some": "count_if(x is not null)"}
    assert answer(table.scan(), 0, **counts) == [{"n": 100, "x": 80, "none": 20, "some": 80}]
    assert answer(table.scan("id >= 50"), 0, **counts) == [{"n": 50, "x": 40, "none": 10, "some": 40}]
    assert answer(table.scan("p = 7"), 0, **counts) == [{"n": 0, "x": 0, "none": 0, "some": 0}]
    assert answer(table.scan(), 0, low="min(id)", high="max(`st`.a)", p="max(p)") == [{"low": 0, "high": 99, "p": 4}]
    assert answer(table.scan("p = 7"), 0, low="min(id)", high="max(at)") == [{"low": None, "high": None}]
    assert answer(table.scan("p > 2"), 0, "p", n="count(1)", high="max(id)") == [
        {"p": 3, "n": 20, "high": 79},
        {"p": 4, "n": 20, "high": 99},
    ]
    assert answer(table.scan(), 0, {"half": "p div 3"}, n="count(*)") == [{"half": 0, "n": 60}, {"half": 1, "n": 40}]
    assert answer(table.scan(), 0, ds.col("p") * 0, n="count(*)") == [{"p * 0": 0, "n": 100}]
    assert answer(table.scan(), 0, ["p"]) == [{"p": each} for each in range(5)]


def test_only_files_that_decide_are_read(table: ds.DeltaTable) -> None:
    # Both ends of a range, and the file with the greatest time, which the log has cut.
    between = table.scan("id BETWEEN 15 AND 72")
    assert answer(between, 2, n="count(*)", high="max(id)", none="count_if(x IS NULL)") == [
        {"n": 58, "high": 72, "none": 12}
    ]
    [found] = answer(table.scan(), 1, last="max(at)")
    assert found["last"].microsecond == 99
    [found] = answer(table.scan("id < 95"), 1, last="max(at)", n="count(*)")
    assert (found["last"].microsecond, found["n"]) == (94, 95)
    assert "max(at), count(*): 1 file was read" in str(between_explained(table))
    # The greatest strings may be longer than the log says; the least are cut, too.
    assert answer(table.scan(), 2, a="min(s)", b="max(s)") == [{"a": "00" + "y" * 40, "b": "99" + "y" * 40}]
    # An extreme within the range is that of a file that matches as a whole.
    assert answer(table.scan("id < 95"), 0, low="min(id)") == [{"low": 0}]
    assert len(answer(table.scan(), 10, "p", last="max(at)", first="min(at)")) == 5


def between_explained(table: ds.DeltaTable) -> ds.Explain:
    scan = table.scan("id < 95")
    scan.aggregate(last="max(at)", n="count(*)")
    return scan.explain()


def test_deleted_rows_do_not_count(table: ds.DeltaTable) -> None:
    table.delete("id IN (0, 99, 5)")
    table.delete("p = 2")
    table.refresh()
    assert answer(table.scan(), 0, n="count(*)") == [{"n": 77}]
    # Bounds and null counts may be those of deleted rows.
    assert answer(table.scan(), 2, low="min(id)", high="max(id)") == [{"low": 1, "high": 98}]
    assert answer(table.scan(), 2, x="count(x)") == [{"x": 63}]
    assert [row["p"] for row in answer(table.scan(), 0, ["p"], n="count(*)")] == [0, 1, 3, 4]
    table.delete("p = 0 AND id >= 0")
    table.refresh()
    assert [row["p"] for row in answer(table.scan(), 0, ["p"], n="count(*)")] == [1, 3, 4]


def test_a_nan_that_a_writer_left_out_is_found(tmp_path: Path) -> None:
    table = ds.DeltaTable.create(tmp_path / "t", "x DOUBLE, f FLOAT")
    rows = [[1.0, float("nan"), 3.0], [5.0, -0.0, None], [0.0, 2.0, 4.0]]
    for number, values in enumerate(rows):
        pq.write_table(
            pa.table({"x": values, "f": pa.array(values, pa.float32())}), tmp_path / "t" / f"{number}.parquet"
        )
    table.add_files([f"{number}.parquet" for number in range(3)])
    scan = ds.DeltaTable(tmp_path / "t").scan()
    [found] = scan.aggregate(a="max(x)", b="min(x)", c="max(f)", d="count(x)").to_pylist()
    assert found["a"] != found["a"] and found["c"] != found["c"]
    assert (found["b"], found["d"]) == (0.0, 8)
    assert scan.aggregate(b="min(f)")["b"].type == pa.float32()


@pytest.mark.parametrize(
    ("by", "aggregates", "error", "said"),
    [
        ((), {"a": "sum(id)"}, ds.UnsupportedFeature, r"sum\(id\).*only count.*agg"),
        ((), {"a": "avg(x)"}, ds.UnsupportedFeature, r"avg\(x\)"),
        ((), {"a": "count(DISTINCT id)"}, ds.UnsupportedFeature, "DISTINCT"),
        ((), {"a": "max(id + 1)"}, ds.UnsupportedFeature, r"max\(id \+ 1\)"),
        ((), {"a": "count_if(id > 3)"}, ds.UnsupportedFeature, "count_if"),
        ((), {"a": "max(id) + 1"}, ds.UnsupportedFeature, "only"),
        ((), {"a": "max(id), min(id)"}, ds.UnsupportedFeature, "only"),
        ((), {"a": "max(st)"}, ds.UnsupportedFeature, "STRUCT"),
        ((), {"a": "id"}, ds.UnsupportedFeature, "only"),
        ((), {"a": "max(none)"}, ds.PredicateError, "none"),
        ((), {"a": "max('x"}, ds.PredicateError, "quote"),
        ((), {"a": 5}, ds.InvalidArgumentType, "a must be an aggregate"),
        ((), {}, ds.InvalidArgument, "needs an aggregate"),
        (["id"], {"a": "count(*)"}, ds.UnsupportedFeature, "id is not a partition column"),
        (["p + id"], {"a": "count(*)"}, ds.UnsupportedFeature, "id is not a partition column"),
        (["1"], {"a": "count(*)"}, ds.UnsupportedFeature, "names no column"),
        (["p"], {"p": "count(*)"}, ds.InvalidArgument, "p is used twice"),
        (5, {"a": "count(*)"}, ds.InvalidArgumentType, "by must be"),
    ],
)
def test_what_is_not_computed_is_refused_by_name(
    table: ds.DeltaTable, by: Any, aggregates: dict[str, Any], error: Any, said: str
) -> None:
    refuses(error, said, lambda: table.scan().aggregate(by, **aggregates))


def test_totals_of_a_limit_and_of_collated_strings_are_refused(tmp_path: Path) -> None:
    table = ds.DeltaTable.create(
        tmp_path / "t", "s STRING COLLATE UNICODE_CI, c CHAR(2), p STRING COLLATE UNICODE_CI", ["p"]
    )
    table.append(pa.table({"s": ["a", None, "B"], "c": ["b", "a", "ab"], "p": ["x", "x", "X"]}))
    scan = ds.DeltaTable(tmp_path / "t").scan()
    with pytest.raises(ds.InvalidArgument, match="leave it out"):
        ds.DeltaTable(tmp_path / "t").scan(limit=1).aggregate(n="count(*)")
    refuses(ds.UnsupportedFeature, "collation", scan.aggregate, a="max(s)")
    refuses(ds.UnsupportedFeature, "collation", scan.aggregate, ["p"], n="count(*)")
    assert scan.aggregate(n="count(s)", low="min(c)", high="max(c)").to_pylist() == [
        {"n": 2, "low": "a ", "high": "b "}
    ]


def test_renamed_and_widened_columns_are_found_by_their_files_names(tmp_path: Path) -> None:
    properties = {"delta.columnMapping.mode": "name", "delta.enableTypeWidening": "true"}
    table = ds.DeltaTable.create(tmp_path / "t", "id INT, x FLOAT, p INT", ["p"], properties=properties)
    for number in range(3):
        ids = pa.array([number * 2, number * 2 + 1], pa.int32())
        xs = pa.array([0.1 * number, None], pa.float32())
        table.append(pa.table({"id": ids, "x": xs, "p": pa.array([number % 2] * 2, pa.int32())}))
    table.alter(
        ds.RenameColumn("id", "key"), ds.RenameColumn("p", "part"), ds.UpdateColumn("key", "BIGINT"),
        ds.UpdateColumn("x", "DOUBLE"),
    )  # fmt: skip
    table = ds.DeltaTable(tmp_path / "t")
    table.append(pa.table({"key": [1 << 40], "x": [0.2], "part": pa.array([0], pa.int32())}))
    scan = ds.DeltaTable(tmp_path / "t").scan()
    assert answer(scan, 0, "part", n="count(*)", high="max(key)", x="count(x)") == [
        {"part": 0, "n": 5, "high": 1 << 40, "x": 3},
        {"part": 1, "n": 2, "high": 3, "x": 1},
    ]
    # A bound of the narrower type is no value of the wider one.
    rows = scan.to_arrow()["x"]
    assert scan.aggregate(a="max(x)").to_pylist() == [{"a": pc.max(rows).as_py()}]
    assert scan.top(2, "key DESC").to_arrow()["key"].to_pylist() == [1 << 40, 5]
    assert scan.top(1, "x DESC").to_arrow()["x"].to_pylist() == [pc.max(rows).as_py()]
    assert scan.top(3, "part DESC, key").to_arrow()["key"].to_pylist() == [2, 3, 0]


def test_executors_have_other_calls(table: ds.DeltaTable) -> None:
    scan: Any = table.scan(engine="spark")
    for call, cure in ((lambda: scan.top(1, "id"), "orderBy"), (lambda: scan.aggregate(n="count(*)"), "groupBy")):
        refuses(ds.UnsupportedFeature, cure, call)
    here: Any = table.scan()
    for name, instead in (("sort", r"top\(n, by"), ("group_by", r"aggregate\(by")):
        with pytest.raises(AttributeError, match=instead):
            getattr(here, name)("id")
