"""Choice of the scans that read a file list with its partition values: the cheapest that are provably correct.

All files without deletion vectors are read by as few scans as possible. Spark reads partition values from directory
names only if these are exactly the values in the log. Otherwise the log's values become literals, with one scan for
each tuple. If there are many tuples, the values come from a broadcast join on the file path: planning one more scan
takes as long as joining the rows of some megabytes, and a plan of hundreds of scans neither shares splits nor compiles.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from deltaskip.records import dataclass
from deltaskip.schema.properties import MappingMode
from deltaskip.settings import options
from deltaskip.spark.read.partitions import PartitionTable, hive_directory

MIN_CONSTANT_SCANS = 8
MAX_HIVE_SCANS = 8
BYTES_OF_A_SCAN = 16 << 20
"""Bytes of files whose rows are joined in the time in which one more scan is planned."""


@dataclass(frozen=True, slots=True)
class ConstantScan:
    """Files, by row number, that all have the partition values of the tuple `code`, which may be the empty tuple."""

    rows: tuple[int, ...]
    code: int


@dataclass(frozen=True, slots=True)
class HiveScan:
    """Files below the directory `base_path` whose directory names contain their partition values."""

    rows: tuple[int, ...]
    base_path: str


@dataclass(frozen=True, slots=True)
class JoinedScan:
    """Files whose partition values come from a broadcast join."""

    rows: tuple[int, ...]


Shape = ConstantScan | HiveScan | JoinedScan


def shapes_of(
    paths: Sequence[str],
    rows: Sequence[int],
    table: PartitionTable,
    mode: MappingMode,
    sizes: Sequence[int] | None = None,
) -> list[Shape]:
    """Scans that together read each of `rows` once.

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
    large = [scan for scan in scans if sizes is None or _bytes(scan.rows, sizes) >= BYTES_OF_A_SCAN]
    alone = {row for scan in large for row in scan.rows}
    return [*large, JoinedScan(tuple(row for row in rows if row not in alone))]


def _constant_scans_worth(rows: Sequence[int], sizes: Sequence[int] | None) -> int:
    """The number of scans with literals of these files that take less time than one scan and a join."""
    if sizes is None:
        return options.partition_scans
    return min(max(_bytes(rows, sizes) // BYTES_OF_A_SCAN, MIN_CONSTANT_SCANS), options.partition_scans)


def _bytes(rows: Sequence[int], sizes: Sequence[int]) -> int:
    return sum(sizes[row] for row in rows)


def _hive_scans(
    paths: Sequence[str], rows: Sequence[int], table: PartitionTable, mode: MappingMode
) -> tuple[list[HiveScan], list[int]]:
    """Scans of the roots with the most files, and the rows that are in none of them."""
    directories = {code: hive_directory(table, code, mode) for code in {int(table.codes[row]) for row in rows}}
    roots: dict[int, str] = {}
    for row in rows:
        wanted = directories[int(table.codes[row])]
        folder = paths[row].rpartition("/")[0]
        if wanted is not None and folder.endswith(f"/{wanted}"):
            roots[row] = folder[: -len(wanted) - 1]
    chosen = [root for root, _ in Counter(roots.values()).most_common(MAX_HIVE_SCANS)]
    members: dict[str, list[int]] = {root: [] for root in chosen}
    rest: list[int] = []
    for row in rows:
        members.get(roots.get(row, ""), rest).append(row)
    return [HiveScan(tuple(found), root) for root, found in members.items()], rest
