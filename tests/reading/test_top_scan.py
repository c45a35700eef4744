"""The first rows of an order: as a plain sort of all rows finds them, from as few files as the bounds allow."""

from __future__ import annotations

import itertools
import pickle
import random
import tempfile
import warnings
from copy import copy
from functools import cmp_to_key
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import deltaskip as ds
from deltaskip.reading import arrow_rows
from tests.each import each, refuses
from tests.extent import extent, seed
from tests.reading.random_rows import columns_of, compared, keys_at, sorted_positions, table_with_files
from tests.skipping.random_predicates import random_predicate

ORDERS_PER_TABLE = 16


@pytest.fixture(autouse=True)
def as_of_a_large_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small tables are not read as a whole."""
    monkeypatch.setattr(arrow_rows, "LITTLE_BYTES", 0)


def check_orders(number: int) -> tuple[int, int, int]:
    """Random orders of a random table; how many were compared, how many files were read, and how many there were."""
    rng = random.Random(number)
    count = read = files = 0
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made, table = table_with_files(rng, Path(folder) / "t")
        for _ in range(ORDERS_PER_TABLE):
            where = random_predicate(rng, made, depth=1) if rng.random() < 0.5 else None
            try:
                rows = table.scan(where).to_arrow()
            except (ds.UnsupportedFeature, ds.PredicateError):
                continue
            columns = columns_of(rows)
            names = rng.sample(sorted(columns), k=min(len(columns), rng.choice([1, 1, 2, 3])))
            orders = [(rng.random() < 0.5, rng.random() < 0.5) for _ in names]
            terms = [
                f"{name} {'DESC' if down else 'ASC'} NULLS {'FIRST' if first else 'LAST'}"
                for name, (down, first) in zip(names, orders, strict=True)
            ]
            number = rng.choice([0, 1, 1, 2, 3, 5, 40])
            keys = [columns[name] for name in names]
            wanted = keys_at(keys, sorted_positions(keys, orders)[:number])
            scan = table.scan(where).top(number, ", ".join(terms))
            found = columns_of(scan.to_arrow())
            got = keys_at([found[name] for name in names], list(range(len(wanted))))
            assert got == wanted, f"seed {number}: {where} ORDER BY {terms} LIMIT {number}"
            assert all(len(values) == len(wanted) for values in found.values()), f"seed {number}"
            count += 1
            if scan.metrics is not None:
                read += scan.metrics.files
                files += len(table.scan(where).files())
                assert arrow_rows.LITTLE_BYTES or scan.metrics.files <= len(scan.files())
    return count, read, files


@pytest.mark.parametrize("little", [0, 1 << 20])
def test_the_first_rows_are_those_of_a_sort_of_all_rows(monkeypatch: pytest.MonkeyPatch, little: int) -> None:
    monkeypatch.setattr(arrow_rows, "LITTLE_BYTES", little)
    first = seed()
    seeds = range(first, first + extent(8 if little else 30, 2000))
    compared, read, files = map(sum, zip(*map(check_orders, seeds), strict=True))
    assert compared > (20 if little else 100)
    assert little or read < 0.8 * files


@pytest.fixture
def table(tmp_path: Path) -> ds.DeltaTable:
    """Ten files of ten rows, of which the times of neighbors overlap by one row."""
    made = ds.DeltaTable.create(
        tmp_path / "t", "id INT, at TIMESTAMP, x DOUBLE, st STRUCT<a: INT, b: STRING>, value INT"
    )
    for number in range(10):
        ids = range(number * 10, number * 10 + 10)
        made.append(
            pa.table(
                {
                    "id": pa.array(ids, pa.int32()),
                    "at": pa.array([(each - (each % 10 == 0)) * 1_000_001 for each in ids], pa.timestamp("us", "UTC")),
                    "x": [float("nan") if each % 10 == 9 else None if each % 10 == 8 else each / 4 for each in ids],
                    "st": [{"a": each % 7, "b": f"b{each}"} for each in ids],
                    "value": pa.array([each % 3 for each in ids], pa.int32()),
                }
            )
        )
    return ds.DeltaTable(tmp_path / "t")


def ids(rows: Any) -> list[int]:
    found: list[int] = pa.table(rows)["id"].to_pylist()
    return found


def test_every_door_returns_the_rows_in_order(table: ds.DeltaTable) -> None:
    duckdb, pl = pytest.importorskip("duckdb"), pytest.importorskip("polars")

    scan = table.scan("id < 95", columns=["id", "x", "st.b"]).top(3, "id DESC")
    assert scan.to_arrow().to_pydict() == {"id": [94, 93, 92], "x": [23.5, 23.25, 23.0], "b": ["b94", "b93", "b92"]}
    doors: list[Any] = [
        scan.to_batches().read_all(),
        pa.Table.from_pandas(scan.to_pandas(types="arrow"), preserve_index=False),
        scan.to_polars(),
        scan.to_polars(lazy=True).collect(),
        scan.to_duckdb(duckdb.connect()).to_arrow_table(),
        scan,
        scan.head(9),
        pickle.loads(pickle.dumps(scan)),
        copy(scan),
    ]
    each(doors, lambda found: check_rows(found, [94, 93, 92]))
    assert ids(scan.head(2)) == [94, 93]
    # Filters apply to the first rows, as in a subquery.
    assert scan.to_polars(lazy=True).filter(pl.col("id") < 93).collect()["id"].to_list() == [92]
    assert scan.to_duckdb(duckdb.connect()).filter("id < 93").fetchall() == [(92, 23.0, "b92")]
    assert scan.to_polars(lazy=True).select("b").collect().to_dict(as_series=False) == {"b": ["b94", "b93", "b92"]}
    assert (scan.count(), table.scan("id < 2").top(5, "id").count(), scan.estimated_rows()) == (3, 2, 3)
    assert "top=3" in repr(scan) and "id DESC NULLS LAST" in repr(scan)


def check_rows(found: Any, wanted: list[int]) -> None:
    assert ids(found) == wanted


@pytest.mark.parametrize(
    ("by", "wanted"),
    [
        ("at DESC, id", [99, 98, 97]),
        (["at DESC", "id"], [99, 98, 97]),
        ("value, id DESC", [99, 96, 93]),
        (ds.col("id").desc(), [99, 98, 97]),
        ([ds.col("x").asc_nulls_last(), "id"], [0, 1, 2]),
        ("x DESC, id", [9, 19, 29]),
        ("x, id", [8, 18, 28]),
        (ds.SortOrder("id", descending=True), [99, 98, 97]),
        ("st.a DESC NULLS LAST, id DESC", [97, 90, 83]),
        ("id % 50 desc, -id", [99, 49, 98]),
        ("`id` DESC", [99, 98, 97]),
    ],
    ids=str,
)
def test_every_form_of_an_order(table: ds.DeltaTable, by: Any, wanted: list[int]) -> None:
    assert ids(table.scan(columns=["id"]).top(3, by)) == wanted


@pytest.mark.parametrize(
    ("number", "by", "error", "said"),
    [
        (-1, "id", ds.InvalidArgument, "n must not be negative|n must be"),
        ("2", "id", ds.InvalidArgumentType, "n must be"),
        (None, "id", ds.InvalidArgumentType, "n must be an int"),
        (1, "", ds.InvalidArgument, "by is empty"),
        (1, [], ds.InvalidArgument, "by is empty"),
        (1, "1 DESC", ds.InvalidArgument, "must name columns"),
        (1, 5, ds.InvalidArgumentType, "by must be"),
        (1, "none", ds.PredicateError, "none"),
        (1, "id,, x", ds.PredicateError, "has no expression"),
        (1, "id DESC, (x", ds.PredicateError, "parse"),
        (1, "id 'x", ds.PredicateError, "quote"),
    ],
)
def test_what_is_no_order_is_refused(table: ds.DeltaTable, number: Any, by: Any, error: Any, said: str) -> None:
    refuses(error, said, lambda: table.scan().top(number, by))


def test_what_has_no_meaning_for_first_rows_is_refused(table: ds.DeltaTable) -> None:
    scan = table.scan().top(2, "id")
    for call in (
        scan.pieces,
        scan.negated,
        lambda: scan.top(1, "id"),
        lambda: table.scan(limit=3).top(1, "id"),
        lambda: scan.aggregate(n="count(*)"),
    ):
        refuses(ds.InvalidArgument, None, call)
    refuses(ds.UnsupportedFeature, None, scan.to_dataset)
    refuses(ds.NotProvable, None, scan.min, "id")
    refuses(ds.UnsupportedFeature, r"STRUCT.*to_spark", lambda: table.scan().top(2, "st").to_arrow())
    made = ds.DeltaTable.create(Path(table.uri.removeprefix("file://")) / "maps", "m MAP<STRING, INT>")
    refuses(ds.PredicateError, "does not sort values of type MAP", lambda: made.scan().top(1, "m"))


def test_the_log_leaves_out_files_and_the_rows_leave_out_more(table: ds.DeltaTable) -> None:
    scan = table.scan().top(5, "at DESC")
    # One file has five certain rows; its least time is in the file before it, too.
    assert len(scan.files()) == len(scan.paths()) == scan.explain().kept_files == 2
    assert "at >= TIMESTAMP" in str(scan.explain())
    assert ids(scan) == [99, 98, 97, 96, 95]
    assert scan.metrics is not None and scan.metrics.files == 1
    assert "the first 5 by at DESC NULLS LAST: 1 file was read" in str(scan.explain())
    # Of two terms, rows that are equal in the first one decide.
    assert len(table.scan().top(5, "at DESC, id").files()) == 2
    # NaN is in every file.
    assert len(table.scan().top(5, "x DESC, id").files()) == 10
    assert len(table.scan().top(5, "x DESC NULLS FIRST, id").files()) == 10


def test_no_certain_row_no_threshold(table: ds.DeltaTable) -> None:
    scan = table.scan("value = 1").top(3, "id DESC")
    assert len(scan.files()) == 10
    assert ids(scan) == [97, 94, 91]
    assert scan.metrics is not None and scan.metrics.files == 1
    assert ids(table.scan("value = 1 AND id > 50").top(100, "id")) == list(range(52, 100, 3))
    assert ids(table.scan("id > 1000").top(3, "id")) == []


def test_files_without_statistics_are_read(tmp_path: Path) -> None:
    made = ds.DeltaTable.create(tmp_path / "t", "id INT, x INT", properties={"delta.dataSkippingStatsColumns": "id"})
    for number in range(4):
        made.append(pa.table({"id": pa.array([number], pa.int32()), "x": pa.array([-number], pa.int32())}))
    scan = ds.DeltaTable(tmp_path / "t").scan().top(1, "x")
    assert len(scan.files()) == 4
    assert ids(scan) == [3]
    assert scan.metrics is not None and scan.metrics.files == 4


def test_padded_strings_sort_as_they_are_read(tmp_path: Path) -> None:
    made = ds.DeltaTable.create(tmp_path / "t", "id INT, c CHAR(3)")
    for number, text in enumerate(["b", "a\x01", "a", "", "ab"]):
        made.append(pa.table({"id": pa.array([number], pa.int32()), "c": [text]}))
    scan = ds.DeltaTable(tmp_path / "t").scan()
    assert ids(scan.top(5, "c")) == [3, 1, 2, 4, 0]
    assert ids(scan.top(2, "c DESC")) == [0, 4]


@pytest.mark.parametrize("collation", ["UNICODE_CI", "UTF8_LCASE", "UTF8_BINARY"])
def test_random_strings_sort_by_their_collation(tmp_path: Path, collation: str) -> None:
    rng = random.Random(5)
    words = ["a", "A", "ä", "b", "B", "ss", "z", "Z", "", "aa", "Aa", "éa", "x" * 40, "x" * 40 + "A", None]
    made = ds.DeltaTable.create(tmp_path / "t", f"id INT, s STRING COLLATE {collation}")
    for number in range(6):
        texts = [rng.choice(words) for _ in range(4)]
        made.append(pa.table({"id": pa.array(range(number * 4, number * 4 + 4), pa.int32()), "s": texts}))
    table = ds.DeltaTable(tmp_path / "t")
    of_spark = {"UNICODE_CI": "icu.UNICODE_CI", "UTF8_LCASE": "spark.UTF8_LCASE"}
    order = ds.collation(of_spark[collation]) if collation in of_spark else None
    compare = compared if order is None else order.compare_values
    for where in (None, "id % 2 = 0", "s > 'aa'"):
        rows = table.scan(where).to_arrow().to_pylist()
        for descending, first in itertools.product((False, True), (False, True)):
            some = sorted((row for row in rows if row["s"] is not None), key=lambda row: row["id"])
            some.sort(key=cmp_to_key(lambda one, other: compare(one["s"], other["s"])), reverse=descending)
            nulls = sorted((row for row in rows if row["s"] is None), key=lambda row: row["id"])
            by = f"s {'DESC' if descending else 'ASC'} NULLS {'FIRST' if first else 'LAST'}, id"
            wanted = [row["id"] for row in (nulls + some if first else some + nulls)]
            assert ids(table.scan(where).top(5, by)) == wanted[:5], (where, by)
