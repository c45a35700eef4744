"""Rewriting files through Spark: one task writes each new file, and a curve decides which rows it gets.

Literals from a sample of the key columns define the cells of the grid; a broadcast table has the file of each cell.
Rows are shuffled once, and the columns that do not order them are read once. The SQL text uses only functions of Spark
3.5 and newer, and is the same for classic sessions and Spark Connect.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from deltaskip.data_files.parquet_writer import DataFileLayout
from deltaskip.data_files.written_rows import WrittenRows
from deltaskip.dml.execution import RowsOfFiles, copying_plan
from deltaskip.features.row_tracking import RowIdColumns
from deltaskip.fork_safety import new_lock
from deltaskip.log import Snapshot
from deltaskip.maintenance.optimize.curve import SAMPLE_ROWS, places_on, side_bits
from deltaskip.maintenance.optimize.rewriting import Rewriting, RowOrder
from deltaskip.records import dataclass
from deltaskip.spark.columns.arrow_frame import arrow_frame
from deltaskip.spark.columns.to_column import carrier_sql
from deltaskip.spark.dml.spark_execution import SparkExecution
from deltaskip.spark.read.dataframe import can_read
from deltaskip.spark.session.own_texts import own_column
from deltaskip.spark.session.session_settings import described_jobs, is_classic, session_settings
from deltaskip.spark.write.parquet_writes import WRITE_SETTINGS
from deltaskip.spark.write.write_dataframe import field_with_nested_ids, write_dataframe
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.text.sql_text import quoted_name
from deltaskip.sparkexpr.values import spark_hashes
from deltaskip.sparkexpr.values.arrow_values import arrow_array, numpy_values

_CELL = "__deltaskip_cell"
_CELL_KEY = "__deltaskip_cell_key"
_FIRST = "__deltaskip_first_file"
_FILES = "__deltaskip_files"
_TEXT_LENGTH = 64
# Bits of a cell's index: a larger grid balances files better, but takes longer to compile and to send.
_GRID_BITS = 16
_MOST_SIDE_BITS = 8
_RANGE_BITS = 10
_CELLS_PER_FILE = 64
# Building a DataFrame briefly changes settings of the session, so threads must take turns.
_BUILDING = new_lock()


def writing_session(spark: SparkSession) -> AbstractContextManager[None]:
    """Return a context in which several threads may write files through a server, whose session has their settings."""
    return nullcontext() if is_classic(spark) else session_settings(spark, WRITE_SETTINGS)


class SparkRewriting(Rewriting):
    """Rewrites files by Spark jobs.

    Args:
        spark: A session, classic or Connect.
        snapshot: The table.
    """

    def __init__(self, spark: SparkSession, snapshot: Snapshot) -> None:
        self._spark = spark
        self._snapshot = snapshot

    def can_rewrite(self, files: pa.Table, layout: DataFileLayout) -> bool:
        is_readable = can_read(self._spark, self._snapshot.schema, files["uri"].to_pylist())
        return is_readable and field_with_nested_ids(layout) is None

    def rewrite(
        self, files: pa.Table, order: RowOrder | None, row_ids: RowIdColumns | None, layout: DataFileLayout
    ) -> WrittenRows:
        with _BUILDING:
            frame = self._rows(files, row_ids, layout)
            count = 1 if order is None else order.new_files
            frame = frame.coalesce(1) if order is None or count == 1 else self._ordered(frame, files, order)
        extra = [field.name for field in layout.extra]
        plan = copying_plan(self._snapshot.root, layout.schema, layout.partition_columns, extra)
        return write_dataframe(frame, plan, replace(layout, arranged=True))

    def _rows(self, files: pa.Table, row_ids: RowIdColumns | None, layout: DataFileLayout) -> DataFrame:
        execution = SparkExecution(self._spark, self._snapshot)
        if row_ids is not None:
            return execution.part(RowsOfFiles(files), layout.schema, row_ids, layout)
        # Rewriting changes no column.
        return execution.live_rows(files)

    def _ordered(self, frame: DataFrame, files: pa.Table, order: RowOrder) -> DataFrame:
        """The rows in one partition for each new file."""
        count, columns = order.new_files, order.columns[:_GRID_BITS]
        keys = [_key(column) for column in columns]
        named = [own_column(self._spark, key.sql).alias(f"k{i}") for i, key in enumerate(keys)]
        if len(columns) == 1 and count > (1 << _RANGE_BITS) // _CELLS_PER_FILE:
            return frame.repartitionByRange(count, own_column(self._spark, keys[0].sql))
        counts = files["num_records"].to_pylist()
        total = frame.count() if None in counts else sum(counts)
        sample = frame.select(*named)
        if total > SAMPLE_ROWS:
            sample = sample.sample(False, SAMPLE_ROWS / total, 42)
        with described_jobs(self._spark, f"order rows of {self._snapshot.root}"):
            rows = sample.collect()
        bits = _RANGE_BITS if len(columns) == 1 else min(_MOST_SIDE_BITS, side_bits(len(columns), _bits_for(count)))
        sides = [_Side.of([row[i] for row in rows], bits) for i in range(len(columns))]
        cells = [side.cells([row[i] for row in rows]) for i, side in enumerate(sides)]
        first, last = _files_of_cells(order, cells, bits)
        number = " + ".join(
            f"{_part_sql(f'k{i}', side, keys[i])} * {1 << (bits * (len(sides) - 1 - i))}L"
            for i, side in enumerate(sides)
        )
        table = pa.table({_CELL_KEY: np.arange(len(first), dtype=np.int64), _FIRST: first, _FILES: last - first + 1})
        beside = arrow_frame(self._spark, table)
        marked = frame.select("*", *named).select("*", F.expr(number).alias(_CELL))
        joined = marked.join(F.broadcast(beside), F.col(_CELL) == F.col(_CELL_KEY), "left")
        # A hash divides a cell with more rows than a file, and gives the same result in a task that is repeated.
        names = map(quoted_name, _hashed(self._snapshot.schema))
        hashed = f"xxhash64({', '.join(['1', *names])})"
        file = f"CAST(coalesce({_FIRST} + pmod({hashed}, {_FILES}), 0) AS INT)"
        keys_sql = ", ".join(map(str, _partition_keys(count)))
        return joined.repartition(count, own_column(self._spark, f"element_at(array({keys_sql}), {file} + 1)"))


@dataclass(frozen=True, slots=True)
class _SortKey:
    """A column as a value that orders its rows: its SQL text, and the SQL text of a literal of such values."""

    sql: str
    literal: Callable[[Any], str]


@dataclass(frozen=True, slots=True)
class _Side:
    """One side of the grid: ascending cuts, and the number of parts that NULL has before them."""

    cuts: tuple[Any, ...]
    nulls: int

    @classmethod
    def of(cls, values: Sequence[Any], bits: int) -> _Side:
        """The cuts at the quantiles of a sample."""
        there = sorted((value for value in values if value is not None), key=_ascending)
        parts, nulls = 1 << bits, len(values) - len(there)
        before = min(parts - 1, max(1, round(parts * nulls / len(values)))) if nulls else 0
        inside = parts - before
        if not there or inside < 2:
            return cls((), before)
        return cls(tuple(there[(i * len(there)) // inside] for i in range(1, inside)), before)

    def cells(self, values: Sequence[Any]) -> npt.NDArray[np.int64]:
        """The part of each value."""
        keys = [_ascending(cut) for cut in self.cuts]
        return np.array(
            [0 if value is None else bisect_right(keys, _ascending(value)) + self.nulls for value in values], np.int64
        )


def _ascending(value: Any) -> Any:
    """The value as a key in Spark's order: NaN is the greatest number, and strings are in the order of their bytes."""
    if isinstance(value, float):
        return (value != value, 0.0 if value != value else value)
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    return bytes(value) if isinstance(value, (bytes, bytearray)) else value


def _hashed(schema: t.StructType) -> list[str]:
    """Names of the columns that every version of Spark can hash."""
    found = (column for column in t.leaves(schema) if len(column.logical) == 1 and t.collation_of(column) is None)
    unfit = (t.VARIANT, t.VOID)
    return [c.logical[0] for c in found if c.type not in unfit and not isinstance(c.type, (t.ArrayType, t.MapType))]


def _bits_for(count: int) -> int:
    """The bits of a grid with enough cells for this number of files."""
    return max(_GRID_BITS - 4, min(_GRID_BITS, (count * _CELLS_PER_FILE).bit_length()))


def _key(column: t.Resolved) -> _SortKey:
    name, kind = ".".join(quoted_name(part) for part in column.logical), column.type
    if kind == t.BOOLEAN:
        return _SortKey(f"CAST({name} AS INT)", str)
    if kind in t.FLOATING or isinstance(kind, t.DecimalType):
        return _SortKey(f"CAST({name} AS DOUBLE)", carrier_sql)
    if kind == t.DATE:
        return _SortKey(f"unix_date({name})", str)
    if kind in (t.TIMESTAMP, t.TIMESTAMP_NTZ):
        return _SortKey(f"unix_micros(CAST({name} AS TIMESTAMP_LTZ))", carrier_sql)
    if kind == t.STRING:
        # Spark has no function for the key of a collation. Near to its order is that of small letters.
        text = name if t.collation_of(column) is None else f"lower({name})"
        return _SortKey(f"substring(CAST({text} AS BINARY), 1, {_TEXT_LENGTH})", _binary)
    if kind == t.BINARY:
        return _SortKey(f"substring({name}, 1, {_TEXT_LENGTH})", _binary)
    return _SortKey(f"CAST({name} AS BIGINT)", carrier_sql)


def _binary(value: bytes) -> str:
    return f"X'{bytes(value).hex()}'"


def _part_sql(name: str, side: _Side, key: _SortKey) -> str:
    """SQL text of the index of the part that contains a value: a tree of comparisons with distinct cuts."""
    firsts: dict[Any, int] = {}
    for i, cut in enumerate(side.cuts):
        firsts[_ascending(cut)] = i
    # A value equal to a repeated cut is after its last occurrence.
    ends = sorted(firsts.values())

    def below(low: int, high: int) -> str:
        if low == high:
            return f"{side.nulls + (ends[low - 1] + 1 if low else 0)}L"
        middle = (low + high) // 2
        literal = key.literal(side.cuts[ends[middle]])
        return f"IF({name} < {literal}, {below(low, middle)}, {below(middle + 1, high)})"

    return f"IF({name} IS NULL, 0L, {below(0, len(ends))})"


def _files_of_cells(
    order: RowOrder, cells: Sequence[npt.NDArray[np.int64]], bits: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The first and the last file of each cell of the grid, so that files get about the same number of rows."""
    count, sides = order.new_files, len(cells)
    places = np.sort(places_on(order.curve, cells, bits))
    grid = np.arange(1 << (bits * sides), dtype=np.int64)
    mask = (1 << bits) - 1
    every = places_on(order.curve, [(grid >> (bits * (sides - 1 - i))) & mask for i in range(sides)], bits)
    if not len(places):
        return np.zeros(len(grid), np.int64), np.full(len(grid), count - 1)
    ends = places[(np.arange(1, count) * len(places)) // count]
    last = np.searchsorted(ends, every, side="right").astype(np.int64)
    first = np.searchsorted(ends, every, side="left").astype(np.int64)
    # A cell with one end inside shares a file with its neighbors; its rows are in the file after that end.
    return np.where(last - first > 1, first, last), last


def _partition_keys(count: int) -> npt.NDArray[np.int32]:
    """Integers that Spark's hash partitioning puts into partition 0, 1, …"""
    values = np.arange(64 * count, dtype=np.int32)
    hashes = numpy_values(spark_hashes([(arrow_array(values), t.INTEGER)], len(values)))
    found, firsts = np.unique(hashes % count, return_index=True)
    assert len(found) == count
    return values[firsts]
