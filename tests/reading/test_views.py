"""Polars receives strings as views: its frames have the rows that Arrow tables of the same scans have."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaskip as ds
from deltaskip.errors import UnsupportedFeature
from deltaskip.reading.arrow_rows import arrow_batches, arrow_schema_of
from deltaskip.reading.plain_columns import rows_at
from deltaskip.settings import options
from deltaskip.sparkexpr.types import without_views
from tests.each import each, refuses

if TYPE_CHECKING:
    import polars as pl
else:
    pl = pytest.importorskip("polars")

SCHEMA = (
    "id BIGINT, s STRING, few STRING, b BINARY, c CHAR(4), n STRUCT<t: STRING, v: VOID>, part STRING, l ARRAY<STRING>"
)
TEXTS = ["", "a", "twelve bytes", "thirteen byte", "\xe4\xf6\xfc" * 30, "\u6f22" * 4, "long " * 40, None]
SCANS: dict[str, dict[str, Any]] = {
    "all": {},
    "some rows": {"where": "id % 3 = 0"},
    "few rows": {"where": "id % 97 = 5"},
    "by a string": {"where": "few LIKE 'few-1%'"},
    "by two strings": {"where": "few = 'few-1' AND s IS NOT NULL"},
    "of a partition": {"where": "part = 'x'"},
    "by char": {"where": "c = 'ab'"},
    "of a struct": {"columns": ["n.t", "s"]},
    "strings only": {"columns": ["s", "b"], "where": "id > 100"},
    "a limit": {"limit": 70},
    "nothing": {"where": "id < 0"},
}


def rows_of(first: int, count: int) -> pa.Table:
    chance = random.Random(first)
    texts = [chance.choice(TEXTS) for _ in range(count)]
    ids = range(first, first + count)
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "s": pa.array([f"{text} {i}"[: i % 30] if text and i % 2 else text for i, text in enumerate(texts)]),
            "few": pa.array([f"few-{chance.randrange(20)}" if chance.random() < 0.9 else None for _ in ids]),
            "b": pa.array([None if text is None else text.encode() + b"\xff" for text in texts], pa.binary()),
            "c": pa.array([chance.choice(["ab", "abcd", "", None]) for _ in ids], pa.string()),
            "n": pa.array([{"t": text} for text in texts], pa.struct([("t", pa.string())])),
            "part": pa.array([chance.choice(["x", "y", None]) for _ in ids], pa.string()),
            "l": pa.array([[text, "z"] for text in texts], pa.list_(pa.string())),
        }
    )  # fmt: skip


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> ds.DeltaTable:
    """Files with and without deletion vectors, and files of writers whose strings are large ones or views in memory."""
    folder = tmp_path_factory.mktemp("views")
    properties = {"delta.enableDeletionVectors": "true"}
    made = ds.DeltaTable.create(folder / "t", SCHEMA, ["part"], properties=properties)
    for first in range(0, 4000, 1000):
        made.append(rows_of(first, 1000))
    made.delete("id BETWEEN 500 AND 1900 AND id % 7 = 0")
    for number, kind in enumerate((pa.large_string(), pa.string_view())):
        rows = rows_of(4000 + 500 * number, 500).filter(pa.compute.field("part") == "y").drop_columns("part")
        for name in ("s", "few"):
            rows = rows.set_column(rows.schema.get_field_index(name), name, rows[name].cast(kind))
        pq.write_table(rows, folder / "t" / "part=y" / f"{number}.parquet", row_group_size=200)
        made.add_files([f"part=y/{number}.parquet"])
    return made


@pytest.mark.parametrize("lazy", [True, False])
@pytest.mark.parametrize("staged", [1, 1 << 40])
@pytest.mark.parametrize("together", [1, 1 << 30])
def test_frames_have_the_rows_of_arrow_tables(
    table: ds.DeltaTable, lazy: bool, staged: int, together: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(options, "read_staged_bytes", staged)
    monkeypatch.setattr(options, "read_together_bytes", together)

    def check(name: str) -> None:
        scan = table.scan(**SCANS[name])
        found = scan.to_polars(lazy=True).collect() if lazy else scan.to_polars()
        expected = pl.from_arrow(scan.to_arrow())
        assert isinstance(expected, pl.DataFrame)
        assert found.schema == expected.schema
        assert found.equals(expected), name

    each(SCANS, check)


def test_files_read_one_by_one_have_views(table: ds.DeltaTable, monkeypatch: pytest.MonkeyPatch) -> None:
    """Larger files, of which column chunks are decoded."""
    monkeypatch.setattr("deltaskip.reading.arrow_rows.SMALL_BYTES", 1)

    def check(name: str) -> None:
        scan = table.scan(**SCANS[name])
        expected = pl.from_arrow(scan.to_arrow())
        assert isinstance(expected, pl.DataFrame)
        assert scan.to_polars().equals(expected), name

    each(SCANS, check)


def test_lazy_frames_take_columns_and_filters(table: ds.DeltaTable) -> None:
    rows = pl.from_arrow(table.scan().to_arrow())
    assert isinstance(rows, pl.DataFrame)
    queries: list[Callable[[pl.LazyFrame], pl.LazyFrame]] = [
        lambda frame: frame.filter(pl.col("few") == "few-3").select("s", "part"),
        lambda frame: frame.filter(pl.col("s").str.len_bytes() > 12).select("s"),
        lambda frame: frame.group_by("few").agg(pl.len(), pl.col("s").max()).sort("few"),
        lambda frame: frame.sort("id").select("b").head(60),
    ]
    for query in queries:
        assert query(table.scan().to_polars(lazy=True)).collect().equals(query(rows.lazy()).collect())


def test_every_batch_has_views_that_are_valid(table: ds.DeltaTable) -> None:
    views: set[bool] = set()

    def check(name: str) -> None:
        scan = table.scan(**SCANS[name])
        for batch in arrow_batches(scan, lambda _: None, views=True):
            batch.validate(full=True)
            plain = [without_views(kind) for kind in batch.schema.types]
            assert plain == arrow_schema_of(scan).types
            assert name not in ("all", "strings only") or batch.schema.field("s").type == pa.string_view()
            if name == "all":
                views.add(batch.schema.field("l").type == pa.list_(pa.string_view()))

    each(SCANS, check)
    assert views == {True}


def test_other_layouts_are_decoded_by_the_kernels(table: ds.DeltaTable, monkeypatch: pytest.MonkeyPatch) -> None:
    """pyarrow would read them, too, and take longer."""
    expected = table.scan("id >= 4000", columns=["id", "s", "few"]).to_arrow()
    assert expected.num_rows > 200

    def refused(*_: object, **__: object) -> None:
        raise AssertionError("pyarrow reads columns")

    monkeypatch.setattr("deltaskip.stats.parquet_input.ParquetInput.read_row_groups", refused)
    monkeypatch.setattr("deltaskip.stats.parquet_input.ParquetInput.iter_batches", refused)
    assert table.scan("id >= 4000", columns=["id", "s", "few"]).to_arrow() == expected


def test_a_string_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    """Short and long, in pages with a dictionary and without."""
    for number, (text, dictionary) in enumerate(
        (text, d) for text in (b"\xff", b"x" * 40 + b"\xc3") for d in (True, False)
    ):
        made = ds.DeltaTable.create(tmp_path / str(number), "id BIGINT, s STRING")
        bad = pa.array([b"good", text], pa.binary()).view(pa.string())
        pq.write_table(
            pa.table({"id": [1, 2], "s": bad}), tmp_path / str(number) / "a.parquet", use_dictionary=dictionary
        )
        made.add_files(["a.parquet"])
        # Polars reads the files of the first by itself.
        for scan, said in ((made.scan(), "UTF-8"), (made.scan("id > 0"), "column 's' that is not UTF-8")):
            lazily = (UnsupportedFeature, pl.exceptions.ComputeError)
            refuses(lazily, said, scan.to_polars(lazy=True).collect)
            refuses(UnsupportedFeature, "column 's' that is not UTF-8", scan.to_polars)


def test_rows_of_views() -> None:
    """Nulls, slices, and few rows, whose strings are copied: the others are not kept in memory."""
    texts = ["short", None, "a text that no view has itself", "x" * 13, "y" * 12] * 40
    views = pa.array(texts).cast(pa.string_view())
    for start, positions in ((0, list(range(0, 200, 1))), (3, [0, 0, 5, 190]), (7, []), (1, [7]), (0, [None, 3] * 90)):
        found = rows_at(views.slice(start), pa.array(positions, pa.int64()))
        found.validate(full=True)
        assert without_views(found.type) == pa.string()
        assert found.to_pylist() == [None if at is None else texts[start + at] for at in positions]
    long = pa.array(["z" * 1000] * 200).cast(pa.string_view())
    assert rows_at(long, pa.array([1])).nbytes < 2000
