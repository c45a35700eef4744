"""Bins: files of one partition that are rewritten together, with about the size of one new file.

# delta-spark, OptimizeTableCommand.filterCandidateFileList and groupFilesIntoBins
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.actions import hadoop_paths
from deltaskip.dml.files_to_change import DataFiles, chosen_files
from deltaskip.errors import StorageError, UnsupportedFeature
from deltaskip.log import Snapshot
from deltaskip.maintenance.optimize.strategy import LEAST_SMALL_FILES, Strategy
from deltaskip.maintenance.optimize.zcubes import LARGEST_CUBE, MOST_DELETED, many_deleted, to_cluster
from deltaskip.records import dataclass
from deltaskip.skipping.add_batches import FileBatch
from deltaskip.skipping.scan import Scan
from deltaskip.sparkexpr.values.arrow_values import arrow_array, filled, numpy_values, one_chunk, tuple_codes
from deltaskip.stats.bloom_filters import lacks_filters
from deltaskip.stats.footer import DAMAGE, Planner, read_footer
from deltaskip.storage import storage_for

# Most of the time to read a footer is spent waiting, if the storage is remote.
_FOOTERS_AT_ONCE = 16

REWRITE_COLUMNS = (
    "path",
    "partition_values",
    "size",
    "deletion_vector",
    "modification_time",
    "tags",
    "clustering_provider",
)
"""Columns of FILE_SCHEMA that are read for files to rewrite."""


@dataclass(frozen=True, slots=True, eq=False)
class Bin:
    """Files of one partition that are rewritten together.

    Attributes:
        files: The files.
        partition: Index of the files' partition in the plan.
        new_files: Number of files to write.
        tries: Number of times that another writer changed one of the files while they were rewritten.
    """

    files: DataFiles
    partition: int
    new_files: int
    tries: int = 0

    @property
    def size_in_bytes(self) -> int:
        """Size of the files."""
        return self.files.size_in_bytes


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """The files of one version of a table that are rewritten.

    Attributes:
        scan: The files of the partitions to optimize.
        strategy: How their rows are ordered.
        bins: The files, grouped by new file or cube.
        considered: Number of files of the partitions to optimize.
        considered_bytes: Size of these files.
        clustered: Number and size of files that are clustered by the same columns, and the ids of their cubes.
    """

    scan: Scan
    strategy: Strategy
    bins: tuple[Bin, ...]
    considered: int
    considered_bytes: int
    clustered: tuple[int, int, frozenset[str]] = field(default=(0, 0, frozenset()))


def binned_plan(scan: Scan, strategy: Strategy) -> Plan:
    """Return the files of a scan that are rewritten, by a predicate on partition columns alone.

    Raises:
        UnsupportedFeature: The log does not decide whether a partition matches the predicate.
    """
    counts = np.zeros(2, np.int64)

    def choose(batch: FileBatch, rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
        _check_decided(scan, batch, rows)
        indices = arrow_array(rows, pa.int64())
        sizes = numpy_values(one_chunk(batch.rows(["size"], indices)[0]))
        # Sums of single elements: threads add to them under the GIL.
        counts[0] += len(rows)
        counts[1] += int(sizes.sum())
        if strategy.kind == "purge":
            [vectors] = batch.rows(["deletion_vector"], indices)
            return np.array(numpy_values(one_chunk(vectors).is_valid()), np.bool_)
        if strategy.kind == "bloom":
            return _lacking_filters(scan.snapshot, batch, indices, strategy)
        if strategy.kind != "compaction":
            return np.ones(len(rows), np.bool_)
        if strategy.auto:
            return np.array(sizes <= strategy.target_bytes // 2, np.bool_)
        found: npt.NDArray[Any] = (sizes < strategy.target_bytes) | _many_deleted(batch, indices)
        return found

    files = chosen_files(scan, REWRITE_COLUMNS, choose)
    considered, considered_bytes = int(counts[0]), int(counts[1])
    if strategy.kind == "clustering":
        chosen = to_cluster(files, strategy)
        cubes = tuple(_ordered_bin(chosen.files.take(numbers), 0, strategy) for numbers in chosen.cubes)
        return Plan(scan, strategy, cubes, considered, considered_bytes, chosen.clustered)
    bins = []
    for partition, numbers in enumerate(_partitions(files)):
        if strategy.auto and len(numbers) < LEAST_SMALL_FILES:
            continue
        if strategy.kind in ("purge", "bloom"):
            bins += [Bin(files.take([number]), partition, 1) for number in numbers.tolist()]
        elif strategy.kind == "zorder":
            sizes = numpy_values(one_chunk(files.logged["size"]))[numbers]
            parts = [numbers[start:end] for start, end in _runs(sizes, LARGEST_CUBE)]
            bins += [_ordered_bin(files.take(part.tolist()), partition, strategy) for part in parts]
        else:
            bins += [Bin(each, partition, 1) for each in _packed(files, numbers, strategy.target_bytes)]
    return Plan(scan, strategy, tuple(bins), considered, considered_bytes)


def _check_decided(scan: Scan, batch: FileBatch, rows: npt.NDArray[Any]) -> None:
    """Refuse a predicate that is not certainly TRUE for every row of the files that it keeps."""
    if scan.where is None or not len(rows):
        return
    unsure = numpy_values(scan.compiled.negated.kept(batch).to_arrow())[rows]
    if unsure.any():
        snapshot = scan.snapshot
        raise UnsupportedFeature(
            f"The predicate {scan.where} cannot be evaluated over the partition values of {snapshot.root} here: "
            f"compare its partition columns with values."
        )


def _lacking_filters(snapshot: Snapshot, batch: FileBatch, rows: pa.Array, strategy: Strategy) -> npt.NDArray[np.bool_]:
    """Files without a Bloom filter of one of the strategy's columns, by their footers."""
    planner = Planner(strategy.filters, snapshot.mapping_mode)
    paths, sizes = batch.rows(["path", "size"], rows)
    places = zip(hadoop_paths(snapshot.table_root, paths).to_pylist(), sizes.to_pylist(), strict=True)

    def lacks(place: tuple[str, int]) -> bool:
        location, size = place
        footer = read_footer(storage_for(location, near=snapshot.storage), location, size)
        try:
            return lacks_filters(footer, planner)
        except DAMAGE as error:
            raise StorageError(f"The footer of {location} is damaged: restore the file from a backup.") from error

    with ThreadPoolExecutor(_FOOTERS_AT_ONCE, "deltaskip") as pool:
        return np.fromiter(pool.map(lacks, places), np.bool_, len(rows))


def _many_deleted(batch: FileBatch, rows: pa.Array) -> npt.NDArray[Any]:
    """Files with many deleted rows, and with an unknown share of them."""
    records, vectors = batch.rows(["num_records", "deletion_vector"], rows)
    deleted = filled(pc.struct_field(one_chunk(vectors), "cardinality"), 0).cast(pa.float64(), safe=False)
    total = filled(one_chunk(records), 0).cast(pa.float64(), safe=False)
    gone, of = numpy_values(deleted), numpy_values(total)
    found: npt.NDArray[Any] = gone > of * MOST_DELETED
    return found


def _partitions(files: DataFiles) -> Iterator[npt.NDArray[Any]]:
    """The indexes of the files of each partition, in the order in which they were written.

    Values are compared by meaning: an instant in two spellings is one partition, and null equals null.
    # PROTOCOL, Partition Value Serialization
    """
    if not len(files):
        return
    values = one_chunk(files.listed["partition_values"])
    codes = tuple_codes((pc.struct_field(values, [i]) for i in range(values.type.num_fields)), len(files))
    times = numpy_values(one_chunk(files.logged["modification_time"]).cast(pa.int64()))
    order = np.lexsort((np.arange(len(files)), times, codes))
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    for start, end in zip(starts, [*starts[1:], len(order)], strict=True):
        yield order[start:end]


def _packed(files: DataFiles, numbers: npt.NDArray[Any], target_bytes: int) -> Iterator[DataFiles]:
    """Groups of neighboring files of about the target size together; a single file only if it has many deleted rows.

    Files that were written one after the other stay together, so that bounds of columns that grow with time stay
    narrow. Files that remain alone are packed again, the smallest first.
    """
    sizes = numpy_values(one_chunk(files.logged["size"]))
    alone: list[int] = []
    for start, end in _runs(sizes[numbers], target_bytes):
        if end - start > 1:
            yield files.take(numbers[start:end].tolist())
        else:
            alone.append(int(numbers[start]))
    rest = np.array(sorted(alone, key=lambda number: sizes[number]), np.int64)
    for start, end in _runs(sizes[rest], target_bytes):
        chosen = files.take(rest[start:end].tolist())
        of_first = (chosen.listed[name][0].as_py() for name in ("num_records", "deletion_vector"))
        if end - start > 1 or many_deleted(*of_first):
            yield chosen


def _runs(sizes: npt.NDArray[Any], most_bytes: int) -> Iterator[tuple[int, int]]:
    """The starts and ends of runs that are no larger than `most_bytes`, or of one file."""
    ends = np.cumsum(sizes, dtype=np.int64)
    start = 0
    while start < len(sizes):
        before = int(ends[start - 1]) if start else 0
        end = max(start + 1, int(np.searchsorted(ends, before + most_bytes, side="right")))
        yield start, end
        start = end


def _ordered_bin(files: DataFiles, partition: int, strategy: Strategy) -> Bin:
    return Bin(files, partition, max(1, files.size_in_bytes // strategy.target_bytes))
