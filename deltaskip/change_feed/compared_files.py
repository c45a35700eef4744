"""The changes of versions without a change data feed: the rows of files that they add and remove are compared.

By the ids of rows, a row that is on one side only was inserted or deleted. A row that is on both sides was updated if
its row commit version differs, and otherwise only moved to another file, as the unchanged rows of an UPDATE are.
Without ids, rows are compared by all their values: equal rows on both sides only moved, and an update is a delete and
an insert.

# PROTOCOL, Row Tracking: a row keeps its id when it is moved, and writers give it their version when they change it
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.change_feed import row_changes
from deltaskip.change_feed.row_changes import DELETE, INSERT, FileRows, Rows
from deltaskip.dml.positions import RowPositions
from deltaskip.errors import InvalidArgument
from deltaskip.features.change_data_feed import FEED_NAMES
from deltaskip.features.row_tracking import stable_commit_versions, stable_row_ids
from deltaskip.log import Snapshot
from deltaskip.reading.read_ahead import read_ahead
from deltaskip.reading.stored_rows import StoredRows
from deltaskip.records import dataclass
from deltaskip.schema.properties import TableProperties
from deltaskip.sparkexpr.types import LONG, StructField, StructType
from deltaskip.sparkexpr.values import row_hashes
from deltaskip.sparkexpr.values.arrow_values import arrow_array, arrow_scalar, exact_sum, numpy_values, one_chunk

_CURE = "Read the changes of versions with the change data feed instead."
# Versions are compared together up to this number of rows, and so many files are opened together.
_ROWS_TOGETHER = 1 << 18
_FILES_TOGETHER = 32
_AHEAD_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class ComparedFiles:
    """Files that versions add or remove, with the rows of each that the version inserts or deletes, or moves.

    Attributes:
        files: Rows of `ChangeScan.files()`, with the columns `base_row_id` and `default_row_commit_version`.
        deleted: For each file the deletion vector of rows that are no such rows; null for a file without such rows.
        places: For each file the index of its positions; -1 for a file of which all live rows come or go.
        positions: The positions of the rows of other files.
        may: Whether each file can have a row that matches the predicate of the scan.
        by_values: Versions whose rows are compared by their values, because they have no ids.
    """

    files: pa.Table
    deleted: pa.StructArray
    places: npt.NDArray[np.int64]
    positions: RowPositions
    may: npt.NDArray[np.bool_]
    by_values: Set[int]

    def changed(
        self, snapshot: Snapshot, values: row_changes.Values, among: npt.NDArray[np.int64] | None = None
    ) -> Iterator[Rows]:
        """Yield the changed rows of each version, in the order of the versions.

        Of versions that are compared by values, rows of files that cannot match are left out on both sides.

        Args:
            snapshot: The snapshot of the files.
            values: Reads rows.
            among: The versions; None for all.

        Raises InvalidArgument if a row has no id.
        """
        versions = numpy_values(one_chunk(self.files["version"]))
        inserts = numpy_values(pc.equal(one_chunk(self.files["change_type"]), arrow_scalar("insert", pa.string())))
        by_ids, by_hashes = _IdReader(snapshot), _ValueReader(snapshot)
        for some in self._together(versions, versions if among is None else among):
            by_values = some[0] in self.by_values
            reader = by_hashes if by_values else by_ids
            chosen = np.isin(versions, some) & (self.may | (not by_values))
            added, removed = (self._rows(reader, np.flatnonzero(chosen & side)) for side in (inserts, ~inserts))
            if by_values:
                new = row_changes.every_row(added, INSERT, some[0])
                yield row_changes.without_equal(new, row_changes.every_row(removed, DELETE, some[0]), values)
            elif len(some) == 1:
                yield row_changes.of_ids(some[0], added, removed)
            else:
                sides_of = [_by_version(each, versions) for each in (added, removed)]
                yield Rows.joined([row_changes.of_ids(each, *(side[each] for side in sides_of)) for each in some])

    def _together(self, versions: npt.NDArray[np.int64], among: npt.NDArray[np.int64]) -> Iterator[list[int]]:
        """Yield these versions in their order: those with few rows together, and each that is compared by values alone.

        versions: The version of each file.
        """
        counts = pc.fill_null(one_chunk(self.files["num_rows"]), arrow_scalar(_ROWS_TOGETHER, pa.int64()))
        every, at = np.unique(versions, return_inverse=True)
        rows, wanted = np.bincount(at, numpy_values(counts), len(every)).tolist(), set(among.tolist())
        some, total = list[int](), 0
        for version, count in zip(every.tolist(), rows, strict=True):
            if version not in wanted:
                continue
            alone = version in self.by_values or (some and some[-1] in self.by_values)
            if some and (alone or total + count > _ROWS_TOGETHER):
                yield some
                some, total = [], 0
            some.append(version)
            total += count
        if some:
            yield some

    def _rows(self, reader: _IdReader | _ValueReader, numbers: npt.NDArray[np.intp]) -> Iterator[FileRows]:
        """The rows of files: of whole ones, then of those of which some rows come or go."""
        files = self.files.append_column("deletion_vector", [self.deleted])
        numbers = numbers[np.argsort(self.places[numbers] >= 0, kind="stable")]
        partly = self.places[numbers] >= 0
        starts = np.flatnonzero(np.diff(partly, prepend=~partly[:1]) | (np.arange(len(numbers)) % _FILES_TOGETHER == 0))

        def reads() -> Iterator[tuple[int, Callable[[], Iterator[FileRows]]]]:
            for own in np.split(numbers, starts[1:]) if len(numbers) else ():
                table = files.take(arrow_array(own, pa.int64())).combine_chunks()
                if self.places[own[0]] >= 0:
                    table = self.positions.take(self.places[own].tolist()).beside(table)
                yield exact_sum(table["size"]), partial(reader.rows, table, own.tolist())

        return read_ahead(reads(), _AHEAD_BYTES, remote=reader.stored.storage.remote)


def _by_version(rows: Iterable[FileRows], versions: npt.NDArray[np.int64]) -> Mapping[int, Sequence[FileRows]]:
    found: defaultdict[int, list[FileRows]] = defaultdict(list)
    for each in rows:
        found[int(versions[each.file])].append(each)
    return found


class _IdReader:
    """Reads row ids and row commit versions."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._root = snapshot.root
        self._names = [
            snapshot.metadata.configuration.get(each.name) or f"no {each.name}"
            for each in (TableProperties.row_id_column, TableProperties.row_commit_version_column)
        ]
        extra = [StructField(name, LONG) for name in self._names]
        self.stored = StoredRows(snapshot, StructType(()), snapshot.mapping_mode, (), extra, cure=_CURE)

    def rows(self, files: pa.Table, numbers: Sequence[int]) -> Iterator[FileRows]:
        """Yield rows of files with these indexes, with their ids and row commit versions."""
        bases, defaults = (one_chunk(files[name]) for name in ("base_row_id", "default_row_commit_version"))
        for at, batch in self.stored.live_of_many(files):
            ids, versions = (batch.columns[name] for name in self._names)
            ids = stable_row_ids(ids, bases[at], arrow_array(batch.positions, pa.int64()))
            versions = stable_commit_versions(versions, defaults[at])
            if ids.null_count or versions.null_count:
                act = "adds" if files["change_type"][at].as_py() == "insert" else "removes"
                raise InvalidArgument(
                    f"Rows of {files['path'][at].as_py()}, which version {files['version'][at].as_py()} of "
                    f"{self._root} {act}, have no row ids, so its changes are not known: read the changes of later "
                    f"versions."
                )
            yield FileRows(numbers[at], batch.rows, numpy_values(ids), numpy_values(versions))


class _ValueReader:
    """Reads the hashes of whole rows."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._names = [name for name in snapshot.schema.names if name not in FEED_NAMES]
        schema = StructType(tuple(field for field in snapshot.schema.fields if field.name not in FEED_NAMES))
        self.stored = StoredRows(snapshot, schema, snapshot.mapping_mode, cure=_CURE)

    def rows(self, files: pa.Table, numbers: Sequence[int]) -> Iterator[FileRows]:
        """Yield rows of files with these indexes, with the hashes of all their values."""
        for at, batch in self.stored.live_of_many(files):
            hashes = row_hashes((batch.columns[name] for name in self._names), len(batch))
            yield FileRows(numbers[at], batch.rows, hashes, hashes)
