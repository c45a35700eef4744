"""Row groups skipped by the Bloom filters of several writers: what is there is found, what is not there is not read."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import deltaskip as ds
from deltaskip.sparkexpr.types.data_types import BINARY
from deltaskip.stats.bloom_filters import block_has, has_filter
from deltaskip.stats.footer import Footer, OpenSource, read_footer
from tests.reading.test_row_group_pruning import pruned
from tests.sparkexpr.kernels import hashes_twin
from tests.storage.counted import server, stored_at
from tests.storage.slow_s3 import SlowS3

__all__ = ["pruned", "server"]

DDL = (
    "i INT, w BIGINT, h SMALLINT, y TINYINT, s STRING, d DATE, ts TIMESTAMP, n DECIMAL(9,2), m DECIMAL(30,4), "
    "x DOUBLE, l STRING COLLATE UTF8_LCASE, st STRUCT<a: INT>"
)
GROUP_ROWS, GROUPS = 2_048, 4
ROWS = GROUP_ROWS * GROUPS
DAY, MOMENT = date(2020, 1, 1), datetime(2020, 1, 1, tzinfo=UTC)
# Even numbers are there, and odd ones are not: bounds exclude none of them.
SQL: dict[str, Callable[[int], str]] = {
    "i": str,
    "w": str,
    "h": str,
    "y": lambda k: str(k % 128),
    "s": lambda k: f"'v{k}'",
    "d": lambda k: f"DATE '{DAY + timedelta(days=k)}'",
    "ts": lambda k: f"TIMESTAMP '{(MOMENT + timedelta(milliseconds=k)).strftime('%Y-%m-%d %H:%M:%S.%f')}Z'",
    "n": lambda k: f"{k}.25",
    "m": lambda k: f"{k}.0625",
    "st.a": str,
}
NARROWER = {"w": pa.int32(), "n": pa.decimal128(7, 2), "ts": pa.timestamp("ms", "UTC")}


def rows_of(number: int, types: dict[str, pa.DataType]) -> pa.Table:
    """Rows of 512 even numbers in each row group, which differ from those of the other files."""
    chance = random.Random(number)
    some = [2 * chance.randrange(5_000) for _ in range(512)]
    numbers = [chance.choice(some) for _ in range(ROWS)]
    columns = {
        "i": pa.array(numbers, pa.int32()),
        "w": pa.array(numbers, types.get("w", pa.int64())),
        "h": pa.array(numbers, pa.int16()),
        "y": pa.array([k % 128 for k in numbers], pa.int8()),
        "s": pa.array([f"v{k}" for k in numbers]),
        "d": pa.array([DAY + timedelta(days=k) for k in numbers]),
        "ts": pa.array(
            [MOMENT + timedelta(milliseconds=k) for k in numbers], types.get("ts", pa.timestamp("us", "UTC"))
        ),
        "n": pa.array([Decimal(k) + Decimal("0.25") for k in numbers], types.get("n", pa.decimal128(9, 2))),
        "m": pa.array([Decimal(k) + Decimal("0.0625") for k in numbers], pa.decimal128(30, 4)),
        "x": pa.array([chance.choice([0.0, -0.0, 2.0, float("nan")]) for _ in numbers]),
        "l": pa.array([f"v{k}" for k in numbers]),
    }
    columns["st"] = pa.StructArray.from_arrays([columns["i"]], ["a"])
    return pa.table(columns)


def by_arrow(**options: Any) -> Callable[[pa.Table, Path], None]:
    paths = [*(name for name in SQL if name != "st.a"), "x", "l", "st.a"]
    filters = {path: {"ndv": 512, "fpp": 0.001} for path in paths}
    return lambda table, path: pq.write_table(
        table, path, row_group_size=GROUP_ROWS, bloom_filter_options=filters, **options
    )


def by_duckdb(table: pa.Table, path: Path) -> None:
    """DuckDB, whose footers do not say how long filters are, of columns that are dictionaries."""
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed (test)")
    connection = duckdb.connect()
    connection.register("every", table)
    options = f"ROW_GROUP_SIZE {GROUP_ROWS}, DICTIONARY_SIZE_LIMIT 1024, BLOOM_FILTER_FALSE_POSITIVE_RATIO 0.001"
    connection.execute(f"COPY every TO '{path}' (FORMAT parquet, {options})")


def by_delta_rs(table: pa.Table, path: Path) -> None:
    deltalake = pytest.importorskip("deltalake", reason="deltalake is not installed (test)")
    filters = deltalake.BloomFilterProperties(set_bloom_filter_enabled=True, fpp=0.001, ndv=512)
    properties = deltalake.WriterProperties(
        max_row_group_size=GROUP_ROWS,
        default_column_properties=deltalake.ColumnProperties(bloom_filter_properties=filters),
    )
    folder = path.with_suffix(".deltalake")
    deltalake.write_deltalake(folder, table, writer_properties=properties)
    [file] = folder.glob("*.parquet")
    file.rename(path)


WRITERS: dict[str, tuple[Callable[[pa.Table, Path], None], dict[str, pa.DataType]]] = {
    "arrow": (by_arrow(), {}),
    "arrow, other types": (by_arrow(use_dictionary=False, write_statistics=False), NARROWER),
    "arrow, decimals as integers": (by_arrow(store_decimal_as_integer=True), NARROWER),
    "duckdb": (by_duckdb, {}),
    "delta-rs": (by_delta_rs, {}),
}


def table_of(folder: Path, write: Callable[[pa.Table, Path], None], rows: pa.Table) -> ds.DeltaTable:
    """A table of one file, whose log has row counts only."""
    properties = {"delta.dataSkippingNumIndexedCols": "0", "delta.enableTypeWidening": "true"}
    table = ds.DeltaTable.create(folder, DDL, properties=properties)
    write(rows, folder / "f.parquet")
    table.add_files("f.parquet")
    return table


@pytest.mark.parametrize("name", WRITERS)
def test_what_is_there_is_found_and_what_is_not_there_is_not_read(
    tmp_path: Path, pruned: Counter[str], name: str
) -> None:
    write, types = WRITERS[name]
    rows = rows_of(len(name), types)
    table = table_of(tmp_path / "t", write, rows)
    numbers = rows["i"].to_numpy()
    path = tmp_path / "t" / "f.parquet"
    with pa.OSFile(str(path)) as source:
        footer = read_footer(OpenSource(source), "")
    groups = len(footer.row_groups)
    assert groups == GROUPS
    parquet = pq.ParquetFile(path).schema
    leaves = {parquet.column(leaf).path: leaf for leaf in range(len(parquet))}
    there, asked, skipped = sorted(set(numbers.tolist()))[:400:200], 0, Counter[str]()
    for column, text in SQL.items():
        filtered = has_filter(footer, 0, leaves[column])
        assert filtered or name == "duckdb", column
        for k in there:
            expected = int((numbers % 128 == k % 128).sum() if column == "y" else (numbers == k).sum())
            assert len(table.scan(f"{column} = {text(k)}", columns=["i"]).to_arrow()) == expected, (column, k)
            pruned.clear()
            absent = [f"{column} = {text(k + 1)}", f"{column} IN ({', '.join(text(k + j) for j in range(1, 23, 2))})"]
            absent.append(f"{column} <=> {text(k + 1)} OR {column} = {text(k + 3)} AND w < 1e6")
            for where in absent:
                assert len(table.scan(where, columns=["i"]).to_arrow()) == 0, where
            asked += len(absent) * groups
            skipped[column] += pruned["seen"] - pruned["read"]
        # A filter takes few values for there that are not, here in every row group; DuckDB has none for some types.
        assert not filtered or skipped[column] > 0.5 * len(there) * len(absent) * groups, (column, skipped)
    assert skipped.total() > asked / 3


def test_what_no_filter_decides_reads_the_row_groups(tmp_path: Path, pruned: Counter[str]) -> None:
    rows = rows_of(1, {})
    table = table_of(tmp_path / "t", by_arrow(), rows)
    values, numbers = rows["x"].to_numpy(), rows["i"].to_numpy()
    some, absent = int(numbers[0]), 5_001
    expected = {
        # Zeros are equal, and so is every NaN.
        "x = 0.0": int((values == 0).sum()),
        "x = -0.0": int((values == 0).sum()),
        "x = CAST('NaN' AS DOUBLE)": int(np.isnan(values).sum()),
        f"l = 'V{some}'": int((numbers == some).sum()),
        f"i >= {some} AND i <= {some}": int((numbers == some).sum()),
        f"i = {absent} OR i < 4": int((numbers < 4).sum()),
        f"i <> {absent}": ROWS,
        f"NOT (i = {some} AND s = 'v1')": ROWS,
        f"i IN ({', '.join(map(str, range(1, 999, 2)))}, {some})": int((numbers == some).sum()),
        f"i + 1 = {some + 1} AND w = {some}": int((numbers == some).sum()),
    }
    for where, count in expected.items():
        assert len(table.scan(where, columns=["i"]).to_arrow()) == count, where
    pruned.clear()
    for where in (f"l = 'V{absent}'", "x = 1.0", f"i = {absent} OR x = 1.0"):
        assert len(table.scan(where, columns=["i"]).to_arrow()) == 0
    assert pruned["read"] == pruned["seen"] == 3 * GROUPS


def test_what_is_no_filter_skips_nothing(tmp_path: Path, pruned: Counter[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Each damage to a header, to the place of a filter and to its length, and filters that end with the file."""
    rows = rows_of(2, {})
    table = table_of(tmp_path / "t", by_arrow(), rows)
    path = tmp_path / "t" / "f.parquet"
    data = path.read_bytes()
    with pa.OSFile(str(path)) as source:
        footer = read_footer(OpenSource(source), "")
    offsets = [footer.column_chunk(group, 0)[14] for group in range(GROUPS)]
    length = footer.column_chunk(0, 0)[15]
    absent, some = "i = 5001", f"i = {rows['i'][0]}"
    count = int((rows["i"].to_numpy() == rows["i"][0].as_py()).sum())
    assert len(table.scan(absent).to_arrow()) == 0
    assert pruned == {"seen": GROUPS, "read": 0}

    def check(read: int) -> None:
        pruned.clear()
        assert len(table.scan(absent).to_arrow()) == 0
        assert pruned["read"] == read
        assert len(table.scan(some).to_arrow()) == count

    for at in range(length % 32):
        for bit in (at % 3, 7):
            changed = bytearray(data)
            for offset in offsets:
                changed[offset + at] ^= 1 << bit
            path.write_bytes(changed)
            check(GROUPS)
    path.write_bytes(data)
    places: list[tuple[dict[int, Any], int]] = [
        ({14: 0}, GROUPS),
        ({14: -5}, GROUPS),
        ({14: len(data) - 4}, GROUPS),
        ({14: len(data) - 4, 15: None}, GROUPS),
        ({14: 1 << 62}, GROUPS),
        ({15: 0}, GROUPS),
        ({15: -1}, GROUPS),
        ({15: length - 32}, GROUPS),
        ({15: length + 32}, GROUPS),
        ({15: 1 << 40}, GROUPS),
        ({15: b"1"}, GROUPS),
        ({15: None}, 0),
        ({14: b"1"}, GROUPS),
    ]
    found, damage = Footer.column_chunk, dict[int, Any]()

    def damaged(self: Footer, group: int, leaf: int) -> dict[int, Any]:
        meta = {**found(self, group, leaf), **(damage if leaf == 0 else {})}
        return {number: value for number, value in meta.items() if value is not None}

    monkeypatch.setattr(Footer, "column_chunk", damaged)
    for fields, read in places:
        damage = fields
        check(read)


@given(st.lists(st.binary(max_size=40), max_size=40), st.lists(st.binary(max_size=40), max_size=40))
def test_blocks_have_what_a_slow_filter_has(inside: list[bytes], asked: list[bytes]) -> None:
    salts = (0x47B6137B, 0x44974D91, 0x8824AD5B, 0xA2B7289D, 0x705495C7, 0x2DF1424B, 0x9EFC4947, 0x5C6BFB31)

    def bits(value: bytes) -> list[int]:
        [hashed] = hashes_twin.hashes([value], BINARY, [0], True)
        return [((hashed & 0xFFFFFFFF) * salt & 0xFFFFFFFF) >> 27 for salt in salts]

    words = [0] * 8
    for value in inside:
        words = [word | 1 << bit for word, bit in zip(words, bits(value), strict=True)]
    expected = [all(word >> bit & 1 for word, bit in zip(words, bits(value), strict=True)) for value in asked]
    hashes = np.array(hashes_twin.hashes(asked, BINARY, [0] * len(asked), True), np.int64).view(np.uint64)
    found = block_has(np.tile(np.array(words, np.uint32), (len(asked), 1)), hashes)
    assert found.tolist() == expected
    assert all(each for each, value in zip(found, asked, strict=True) if value in inside)


def test_of_a_remote_file_blocks_of_filters_are_read_instead_of_pages(server: SlowS3) -> None:
    folder = server.folder / "bucket" / "filters"
    chance = np.random.default_rng(5)
    rows = 400_000
    table = ds.DeltaTable.create(folder, "k BIGINT, v DOUBLE", properties={"delta.dataSkippingNumIndexedCols": "0"})
    keys = chance.permutation(rows) * 2
    filters = {"k": {"ndv": rows // 4, "fpp": 0.01}}
    data = pa.table({"k": keys, "v": chance.random(rows)})
    pq.write_table(data, folder / "f.parquet", row_group_size=rows // 4, bloom_filter_options=filters)
    table.add_files("f.parquet")
    remote = stored_at(server, "filters")
    sizes = {}
    for where, count in (
        ("k = 100001", 0),
        ("k IN (100001, 200001)", 0),
        ("k = 100000", 1),
        ("k = 100001 OR v = 0.5", 0),
    ):
        server.begin()
        assert len(remote.scan(where).to_arrow()) == count
        requests = [each for each in server.log if "f.parquet" in each]
        sizes[where] = server.bytes, len(requests)
    absent, every = sizes["k = 100001"], sizes["k = 100001 OR v = 0.5"]
    # The end of the file, and of the filter of each row group its header and a block.
    assert absent[0] < 70_000 < every[0] / 10
    assert absent[1] <= 1 + 2 * 4
    assert sizes["k = 100000"][0] < every[0] / 2
