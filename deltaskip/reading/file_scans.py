"""The scans by which an engine reads files, chosen by how each learns the partition values of its files."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from deltaskip.reading.marked_rows import MarkedRows
from deltaskip.reading.partition_tuples import PartitionTuples
from deltaskip.records import dataclass
from deltaskip.settings import options
from deltaskip.sparkexpr.types import MappingMode, StructField

_MIN_CONSTANT_SCANS = 8
_MAX_HIVE_SCANS = 8
_BYTES_OF_A_SCAN = 16 << 20
"""Bytes of files whose rows are joined in the time that planning one more scan takes."""


@dataclass(frozen=True, slots=True)
class ConstantScan:
    """Files, by index, that all have the partition values of the tuple `code`, which may be the empty tuple."""

    rows: tuple[int, ...]
    code: int


@dataclass(frozen=True, slots=True)
class HiveScan:
    """Files below the directory `base_path` whose directory names contain their partition values."""

    rows: tuple[int, ...]
    base_path: str


@dataclass(frozen=True, slots=True)
class UnlistedScan:
    """Files that are passed to the engine with their partition values, so that it does not list them.

    Attributes:
        rows: The files.
        sizes: Bytes of each file.
        times: Milliseconds since the epoch at which each was written.
    """

    rows: tuple[int, ...]
    sizes: Sequence[int]
    times: Sequence[int]


@dataclass(frozen=True, slots=True)
class JoinedScan:
    """Files whose partition values, and other values, come from a broadcast join.

    Attributes:
        rows: The files.
        marked: Marked rows of each file; None for no rows.
        only: Whether to read the marked rows, instead of all others.
    """

    rows: tuple[int, ...]
    marked: MarkedRows | None = None
    only: bool = False


@dataclass(frozen=True, slots=True)
class EntryScan:
    """Some rows of files with further values for each entry; several entries may have the same file, or the same row.

    A row is returned once for each entry that has it, without columns beside those of the table.

    Attributes:
        rows: All files of the plan.
        files: For each entry the index of its file.
        marked: For each entry its rows.
        fields: Columns of the table that each entry has a value for.
        values: These values, by the name of the field.
    """

    rows: range
    files: NDArray[np.int64]
    marked: MarkedRows
    fields: Sequence[StructField]
    values: Mapping[str, pa.Array]


FileScan = ConstantScan | HiveScan | UnlistedScan | JoinedScan | EntryScan


def scans_of(
    paths: Sequence[str],
    rows: Sequence[int],
    table: PartitionTuples,
    mode: MappingMode,
    sizes: Sequence[int] | None = None,
) -> list[ConstantScan | HiveScan | JoinedScan]:
    """Return scans of files that the engine lists, which together read each of `rows` once.

    paths: the spark_path of every file of `table`. sizes: bytes of every file; None if they are not known.
    """
    if not rows:
        return []
    codes = {int(table.codes[row]) for row in rows}
    if len(codes) == 1:
        return [ConstantScan(tuple(rows), codes.pop())]
    scans, rest = _hive_scans(paths, rows, table, mode)
    by_code = defaultdict(list)
    for row in rest:
        by_code[int(table.codes[row])].append(row)
    if len(by_code) <= _constant_scans_worth(rest, sizes):
        return [*scans, *(ConstantScan(tuple(members), code) for code, members in by_code.items())]
    large = [scan for scan in scans if sizes is None or _bytes(scan.rows, sizes) >= _BYTES_OF_A_SCAN]
    alone = {row for scan in large for row in scan.rows}
    return [*large, JoinedScan(tuple(row for row in rows if row not in alone))]


def _constant_scans_worth(rows: Sequence[int], sizes: Sequence[int] | None) -> int:
    """How many scans with literals take less time than one scan and a join."""
    if sizes is None:
        return options.partition_scans
    return min(max(_bytes(rows, sizes) // _BYTES_OF_A_SCAN, _MIN_CONSTANT_SCANS), options.partition_scans)


def _bytes(rows: Sequence[int], sizes: Sequence[int]) -> int:
    return sum(sizes[row] for row in rows)


def _hive_scans(
    paths: Sequence[str], rows: Sequence[int], table: PartitionTuples, mode: MappingMode
) -> tuple[list[HiveScan], list[int]]:
    """Scans of the roots with the most files, and the rows that are in none of them."""
    directories = table.directories(mode)
    roots: dict[int, str] = {}
    for row in rows:
        wanted = directories[table.codes[row]]
        folder = paths[row].rpartition("/")[0]
        if wanted is not None and folder.endswith(f"/{wanted}"):
            roots[row] = folder[: -len(wanted) - 1]
    chosen = [root for root, _ in Counter(roots.values()).most_common(_MAX_HIVE_SCANS)]
    members: dict[str, list[int]] = {root: [] for root in chosen}
    rest: list[int] = []
    for row in rows:
        members.get(roots.get(row, ""), rest).append(row)
    return [HiveScan(tuple(found), root) for root, found in members.items()], rest
