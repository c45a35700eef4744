"""Positions of rows that a job finds, returned by its tasks as a bit for each row of a block of a file."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from deltaskip.dml.positions import RowPositions
from deltaskip.sparkexpr.values.arrow_values import arrow_array

BLOCK_ROWS = 32768
"""Rows that one value of bitmap_construct_agg covers, a bit for each."""


def collected_positions(
    frame: DataFrame, file: str, position: str, kind: str | None, files: int, kinds: Collection[str] = ("",)
) -> dict[str, RowPositions]:
    """Return, for each kind of row, the positions of the rows in each of the files.

    Args:
        frame: One row for each row of a file.
        file: Name of the column with the index of the file, from 0 to `files` - 1.
        position: Name of the column with the position of the row in the file.
        kind: Name of the column with the kind of row; None if all rows are of the only kind in `kinds`.
        files: Number of files.
        kinds: The kinds to return.
    """
    found: dict[str, list[list[tuple[int, Any]]]] = {each: [[] for _ in range(files)] for each in kinds}
    [only, *_] = kinds
    block = F.expr(f"{position} DIV {BLOCK_ROWS}")
    bits = F.bitmap_construct_agg(F.col(position) % BLOCK_ROWS)
    of_kind = F.lit(only) if kind is None else F.col(kind)
    for row in grouped(frame, [of_kind, F.col(file), block], [bits]).collect():
        if row[0] in found:
            found[row[0]][row[1]].append((row[2], row[3]))
    return {each: RowPositions(map(_positions, blocks)) for each, blocks in found.items()}


def grouped(frame: DataFrame, keys: Sequence[Column], aggregates: Sequence[Column]) -> DataFrame:
    """Return a row for each group: its keys, then the aggregates, also where spark.sql.retainGroupColumns is false."""
    named = [each.alias(f"__deltaskip_{n}") for n, each in enumerate((*map(F.min, keys), *aggregates))]
    by = (key.alias(f"__deltaskip_key_{n}") for n, key in enumerate(keys))
    return frame.groupBy(*by).agg(*named).select(*(f"__deltaskip_{n}" for n in range(len(named))))


def positions_of_blocks(files: int, blocks: Iterable[tuple[int, int, Any]]) -> RowPositions:
    """Return the positions of the bits that are set.

    Args:
        files: Number of files.
        blocks: For each block the index of the file, the index of the block in the file, and the bits of its rows.
    """
    found: list[list[tuple[int, Any]]] = [[] for _ in range(files)]
    for file, block, bits in blocks:
        found[file].append((block, bits))
    return RowPositions(map(_positions, found))


def _positions(blocks: Sequence[tuple[int, Any]]) -> pa.Int64Array:
    """The positions of the bits that are set in the blocks of one file."""
    found: list[npt.NDArray[Any]] = []
    for number, bits in sorted(blocks, key=lambda block: block[0]):
        inside = np.flatnonzero(np.unpackbits(np.frombuffer(bytes(bits), np.uint8), bitorder="little"))
        found.append(inside.astype(np.int64) + number * BLOCK_ROWS)
    return arrow_array(np.concatenate(found) if found else np.zeros(0, np.int64))
