"""Statistics out of Parquet: footers, a scan of all values, collated bounds; kernels beside pyarrow. One thread.

The peers do less than a footer or a scan must: pyarrow's null counts and extremes know nothing of NaN, of Delta's JSON
and of what a footer proves.
"""

import random
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.sizes import sized
from deltaskip.kernels.extremes import binary_extremes, decimal_extremes, float_extremes, integer_extremes
from deltaskip.stats import compute

FILES = sized(500, 5)
ROWS_OF_SMALL = 1000
ROWS = sized(1_000_000, 1_000)
_FOLDER = tempfile.TemporaryDirectory(prefix="deltaskip-bench-")


def _table(rows: int, seed: int = 1) -> pa.Table:
    """Eight columns: key, clustered timestamps, doubles, decimals, dates, few and many strings."""
    numbers = np.random.default_rng(seed)
    letters = random.Random(seed)
    names = ["".join(letters.choices("abcdefghijklmnopqrstuvwxyzABCDEFGHIJ ", k=16)) for _ in range(min(rows, 200_000))]
    price = pa.array(numbers.integers(0, 10**8, rows)).cast(pa.decimal128(19, 0))
    return pa.table(
        {
            "id": np.arange(rows),
            "k": numbers.integers(0, 1000, rows).astype("int32"),
            "ts": pa.array(1_700_000_000_000_000 + np.arange(rows) * 1000).view(pa.timestamp("us", "UTC")),
            "x": numbers.random(rows),
            "price": price,
            "day": pa.array(numbers.integers(0, 3650, rows).astype("int32")).view(pa.date32()),
            "country": pa.array(["AT", "BE", "CH", "DE", "DK"]).take(pa.array(numbers.integers(0, 5, rows))),
            "name": pa.array(names).take(pa.array(numbers.integers(0, len(names), rows))),
        }
    )


@cache
def _small_files() -> tuple[list[str], pa.Schema]:
    table = _table(ROWS_OF_SMALL)
    paths = [str(Path(_FOLDER.name) / f"small-{i}.parquet") for i in range(FILES)]
    for path in paths:
        pq.write_table(table, path)
    return paths, table.schema


@cache
def _large_file(plain: bool = False) -> tuple[str, pa.Schema]:
    path = str(Path(_FOLDER.name) / f"large-{plain}.parquet")
    table = _table(ROWS)
    pq.write_table(table, path, row_group_size=ROWS // 4, use_dictionary=not plain)
    return path, table.schema


class Footers:
    """500 local files of eight columns."""

    def setup(self) -> None:
        self.paths, self.schema = _small_files()

    def time_footers(self) -> None:
        compute(self.paths, self.schema, mode="footer")

    def time_pyarrow_metadata(self) -> None:
        for path in self.paths:
            groups = pq.read_metadata(path)
            for column in range(groups.num_columns):
                statistics = groups.row_group(0).column(column).statistics
                assert statistics is None or statistics.min is not None


class Scan:
    """A million rows, all columns; pyarrow reads them and takes null counts, minima and maxima."""

    def setup(self) -> None:
        self.path, self.schema = _large_file()

    def time_scan(self) -> None:
        compute([self.path], self.schema, mode="scan")

    def time_auto(self) -> None:
        compute([self.path], self.schema)

    def time_pyarrow(self) -> None:
        for batch in pq.ParquetFile(self.path).iter_batches(1 << 18, use_threads=False):
            for column in batch.columns:
                pc.min_max(column)


class CollatedScan:
    """One ASCII column of a million strings: its bounds in binary order, and in a collation's."""

    params = (
        (False, True),
        ("country", "name"),
        ("binary", "icu.UNICODE_CI.77.1", "icu.de.77.1", "spark.UTF8_LCASE.77.1"),
    )
    param_names = ("plain", "column", "order")

    def setup(self, plain: bool, column: str, order: str) -> None:
        self.path, self.schema = _large_file(plain)

    def time_scan(self, plain: bool, column: str, order: str) -> None:
        if order == "binary":
            compute([self.path], self.schema, columns=[column], mode="scan")
        else:
            compute([self.path], self.schema, columns=[column], collations={column: [order]})


class Kernels:
    """Extremes of a million values, without nulls and with a few."""

    params = (("id", "k", "x", "price", "name"), (False, True))
    param_names = ("column", "nulls")

    def setup(self, column: str, nulls: bool) -> None:
        array = _table(ROWS)[column].combine_chunks()
        if nulls:
            array = pc.if_else(pa.array(np.arange(ROWS) % 50 != 7), array, pa.scalar(None, array.type))
        self.array = array
        kernels: dict[str, Any] = {"x": float_extremes, "price": decimal_extremes, "name": binary_extremes}
        self.kernel = kernels.get(column, integer_extremes)

    def time_kernel(self, column: str, nulls: bool) -> None:
        self.kernel(self.array)

    def time_pyarrow(self, column: str, nulls: bool) -> None:
        pc.min_max(self.array)
