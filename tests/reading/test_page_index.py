"""Pages left out by page indexes of several writers, against DuckDB, and indexes that prove nothing."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import deltaskip as ds
from deltaskip.reading.row_group_pruning import RowGroupPruning
from deltaskip.stats.footer import COLUMNS, Footer, OpenSource, read_footer
from deltaskip.stats.page_index import page_statistics, pages_of
from tests.extent import extent
from tests.looped import looped
from tests.reading.test_row_group_pruning import DDL, TYPES, check_against_duckdb, column

PAGE_ROWS, PAGES = 16, 12
ROWS = PAGE_ROWS * PAGES


def table_of(rng: random.Random, number: int, types: dict[str, pa.DataType]) -> pa.Table:
    """Rows of which those of each page are near each other."""
    starts = [rng.randint(-30, 30) for _ in range(PAGES)]
    columns = {name: column(rng, name, types.get(name, type_), starts) for name, type_ in TYPES.items()}
    columns["id"] = pa.array(range(number * ROWS, (number + 1) * ROWS), pa.int64())
    a, t = column(rng, "i", pa.int32(), starts), column(rng, "s", pa.string(), starts)
    columns["st"] = pa.StructArray.from_arrays([a, t], ["a", "t"], mask=pa.array([rng.random() < 0.2] * ROWS))
    columns["later"] = column(rng, "i", pa.int32(), starts)
    return pa.table(columns)


def by_arrow(**options: Any) -> Callable[[pa.Table, Path], None]:
    """A writer of pyarrow, which has pages of 16 rows."""
    sizes = {"write_batch_size": PAGE_ROWS, "max_rows_per_page": PAGE_ROWS, "write_page_index": True}
    return lambda table, path: pq.write_table(table, path, **sizes, **options)


def by_delta_rs(table: pa.Table, path: Path) -> None:
    """The writer of deltalake, which truncates bounds."""
    deltalake = pytest.importorskip("deltalake", reason="deltalake is not installed (test)")
    properties = deltalake.WriterProperties(data_page_row_count_limit=PAGE_ROWS, write_batch_size=PAGE_ROWS)
    folder = path.with_suffix(".deltalake")
    deltalake.write_deltalake(folder, table, writer_properties=properties)
    [file] = folder.glob("*.parquet")
    file.rename(path)


def by_polars(table: pa.Table, path: Path) -> None:
    polars = pytest.importorskip("polars", reason="polars is not installed (test)")
    polars.from_arrow(table).write_parquet(path, data_page_size=64)


def by_duckdb(table: pa.Table, path: Path) -> None:
    """DuckDB, which writes no page index."""
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed (test)")
    duckdb.connect().from_arrow(table).write_parquet(str(path))


WRITERS: dict[str, tuple[Callable[[pa.Table, Path], None], dict[str, pa.DataType]]] = {
    "arrow": (by_arrow(), {}),
    "arrow plain": (by_arrow(use_dictionary=False, compression="none"), {"w": pa.int32(), "n": pa.decimal128(7, 2)}),
    "arrow zstd": (by_arrow(compression="zstd", data_page_version="2.0"), {"ts": pa.timestamp("ms", "UTC")}),
    "arrow int96": (by_arrow(use_deprecated_int96_timestamps=True, dictionary_pagesize_limit=64), {}),
    "arrow lz4": (by_arrow(compression="lz4", row_group_size=ROWS // 2), {}),
    "arrow deltas": (by_arrow(use_dictionary=False, column_encoding={"i": "DELTA_BINARY_PACKED"}), {}),
    "arrow without statistics": (by_arrow(write_statistics=["id", "i"]), {}),
    "delta-rs": (by_delta_rs, {}),
    "polars": (by_polars, {}),
    "duckdb": (by_duckdb, {}),
}
# Those that write page indexes.
INDEXED = {name for name in WRITERS if name != "duckdb"}


@pytest.fixture(autouse=True)
def pages_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small files are read by pages, too, and no byte between them."""
    monkeypatch.setattr("deltaskip.reading.row_group_pruning._SMALL_BYTES", 0)
    monkeypatch.setattr("deltaskip.reading.open_file.ROWS_PER_MATCH", 1)
    monkeypatch.setattr("deltaskip.reading.column_chunks._WHOLE_BYTES", 0)
    monkeypatch.setattr("deltaskip.storage.range_file._GAP_BYTES", 0)
    # Small local files are otherwise read together, by a kernel that needs no footer.
    monkeypatch.setattr("deltaskip.reading.arrow_rows.SMALL_BYTES", 0)


@pytest.fixture
def left_out(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The number of rows in pages that were left out, of each file."""
    counts: list[int] = []
    found = RowGroupPruning.rows

    def rows(self: RowGroupPruning, source: Any, footer: Footer, groups: Any, one_in: int) -> Any:
        chosen = found(self, source, footer, groups, one_in)
        counts.append(0 if chosen is None else groups.num_rows - len(chosen))
        return chosen

    monkeypatch.setattr(RowGroupPruning, "rows", rows)
    yield counts


def table_with(folder: Path, files: dict[str, pa.Table], write: Callable[[str, pa.Table, Path], None]) -> ds.DeltaTable:
    """A table whose log has row counts only."""
    properties = {
        "delta.enableDeletionVectors": "true",
        "delta.enableTypeWidening": "true",
        "delta.dataSkippingNumIndexedCols": "0",
    }
    table = ds.DeltaTable.create(folder, DDL, properties=properties)
    for name, rows in files.items():
        write(name, rows, folder / f"{name}.parquet")
        table.add_files(f"{name}.parquet")
    table.delete("id % 11 = 3")
    return table


def live_rows(files: dict[str, pa.Table]) -> pa.Table:
    """The rows of `table_with`."""
    types = {**TYPES, "st": pa.struct([("a", pa.int32()), ("t", pa.string())]), "later": pa.int32(), "id": pa.int64()}
    schema = pa.schema(list(types.items()))
    every = pa.concat_tables(rows.select(schema.names).cast(schema, safe=False) for rows in files.values())
    return every.filter(pa.array([number % 11 != 3 for number in every["id"].to_pylist()]))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("staged", "one_in"), [(1, 1), (1 << 40, 1), (1, ROWS), (1 << 40, ROWS)])
@pytest.mark.parametrize("name", WRITERS)
def test_random_predicates_find_the_rows_that_duckdb_finds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, left_out: list[int], name: str, staged: int, one_in: int
) -> None:
    # With many rows to a match, ranges of rows are decoded instead of single rows.
    monkeypatch.setattr("deltaskip.reading.open_file.ROWS_PER_MATCH", one_in)
    monkeypatch.setattr("deltaskip.settings.options.read_staged_bytes", staged)
    write, types = WRITERS[name]
    files = {name: table_of(random.Random(len(name)), 0, types)}
    table = table_with(tmp_path / "t", files, lambda _, rows, path: write(rows, path))
    check_against_duckdb(table, live_rows(files), extent(10, 150))
    assert (sum(left_out) > ROWS // one_in) == (name in INDEXED)


def file_of(folder: Path, **columns: Any) -> tuple[ds.DeltaTable, Path]:
    """A table with one file of pages of 16 rows."""
    rows = pa.table(columns)
    ddl = ", ".join(f"{name} {'STRING' if rows[name].type == pa.string() else 'DOUBLE'}" for name in columns)
    table = ds.DeltaTable.create(folder / "t", ddl, properties={"delta.dataSkippingNumIndexedCols": "0"})
    by_arrow()(rows, folder / "t" / "f.parquet")
    table.add_files("f.parquet")
    return table, folder / "t" / "f.parquet"


def test_nan_and_null_are_found_in_pages_whose_bounds_lack_them(tmp_path: Path, left_out: list[int]) -> None:
    values = np.repeat(np.arange(8.0), PAGE_ROWS)
    values[[20, 40]] = np.nan
    other = pa.array(values, mask=np.arange(8 * PAGE_ROWS) // PAGE_ROWS == 5)
    table, _ = file_of(tmp_path, x=values, y=other)
    # Spark orders NaN last.
    assert len(table.scan("x > 6").to_arrow()) == PAGE_ROWS + 2
    assert len(table.scan("x < 1").to_arrow()) == PAGE_ROWS
    assert len(table.scan("y IS NULL").to_arrow()) == PAGE_ROWS
    assert left_out == [0, 7 * PAGE_ROWS, 7 * PAGE_ROWS]


def test_of_many_rows_the_pages_between_the_first_and_the_last_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, left_out: list[int]
) -> None:
    monkeypatch.setattr("deltaskip.reading.open_file.ROWS_PER_MATCH", 8 * PAGE_ROWS)
    table, _ = file_of(tmp_path, x=np.repeat(np.arange(8.0), PAGE_ROWS), y=np.arange(8.0 * PAGE_ROWS))
    y = np.arange(8 * PAGE_ROWS)
    for where, matches, pages in (
        ("x <= 1", y < 2 * PAGE_ROWS, 2),
        ("x IN (2, 4)", np.isin(y // PAGE_ROWS, [2, 4]), 3),
        ("x <= 2 AND y % 2 = 0", (y < 3 * PAGE_ROWS) & (y % 2 == 0), 3),
    ):
        assert table.scan(where, columns=["y"]).to_arrow()["y"].to_pylist() == y[matches].tolist()
        assert left_out.pop() == (8 - pages) * PAGE_ROWS
    # More than three quarters of the rows: all are decoded.
    assert len(table.scan("x <= 6").to_arrow()) == 7 * PAGE_ROWS
    assert left_out.pop() == 0


def test_pages_of_different_columns_end_at_different_rows(tmp_path: Path, left_out: list[int]) -> None:
    table, path = file_of(tmp_path, x=np.arange(128.0), s=[f"{i:03}" + 40 * "x" for i in range(128)])
    rows = pq.read_table(path)
    pq.write_table(rows, path, write_batch_size=8, write_page_index=True, use_dictionary=False, data_page_size=100)
    with pa.OSFile(str(path)) as source:
        pages = pages_of(source, read_footer(OpenSource(source), ""), 0, [0, 1])
    assert len(pages[0]) != len(pages[1])
    found = table.scan("x >= 20 AND s < '023'").to_arrow()
    assert found["x"].to_pylist() == [20.0, 21.0, 22.0]
    assert left_out[-1] > 90


@looped("seed", range(60))
def test_what_is_no_index_leaves_nothing_out(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    folder = tmp_path_factory.mktemp("damaged")
    table, path = file_of(folder, x=np.arange(128.0), s=[f"{i:03}" for i in range(128)])
    rng = np.random.default_rng(seed)
    data = bytearray(path.read_bytes())
    with pa.OSFile(str(path)) as source:
        footer = read_footer(OpenSource(source), "")
    for chunk in footer.row_groups[0][COLUMNS]:
        for place, size in ((4, 5), (6, 7)):
            start, length = chunk[place], chunk[size]
            match seed % 3:
                case 0:
                    data[start : start + length] = rng.bytes(length)
                case 1:
                    data[start : start + length] = bytes(length)
                case _:
                    cut = int(rng.integers(1, length))
                    data[start + cut : start + length] = b"\xff" * (length - cut)
    path.write_bytes(bytes(data))
    assert table.scan("x BETWEEN 20 AND 22").to_arrow()["s"].to_pylist() == ["020", "021", "022"]
    assert len(table.scan("x BETWEEN 20 AND 90 AND s <> '023'").to_arrow()) == 70


def test_statistics_of_pages_are_those_of_their_rows(tmp_path: Path) -> None:
    rows = pa.table({"i": pa.array([None if i < 40 else i for i in range(160)], pa.int64())})
    by_arrow()(rows, tmp_path / "f.parquet")
    with pa.OSFile(str(tmp_path / "f.parquet")) as source:
        footer = read_footer(OpenSource(source), "")
        pages = pages_of(source, footer, 0, [0])
        found = page_statistics(source, footer, 0, pages)[0]
    first = pages[0].rows.tolist()
    assert first == list(range(0, 161, PAGE_ROWS))
    for (start, end), each in zip(pairwise(first), found, strict=True):
        part = rows["i"].slice(start, end - start)
        assert each[3] == part.null_count
        if part.null_count < len(part):
            bounds = pc.min_max(part)
            assert (each[6], each[5]) == tuple(bounds[side].as_py().to_bytes(8, "little") for side in ("min", "max"))
        else:
            assert set(each) == {3}
