"""The changes of versions without a change data feed: the rows of files that they add and remove are compared.

By the ids of rows, a row that is on one side only was inserted or deleted. A row that is on both sides was updated if
its row commit version differs, and otherwise only moved to another file, as the unchanged rows of an UPDATE are.
Without ids, rows are compared by all their values: equal rows on both sides only moved, and an update is a delete and
an insert.

# PROTOCOL, Row Tracking: a row keeps its id when it is moved, and writers give it their version when they change it
"""

from __future__ import annotations

from collections.abc import Iterator, Set

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.change_feed import row_changes
from deltaskip.change_feed.row_changes import DELETE, INSERT, Ints, Rows
from deltaskip.dml.positions import RowPositions
from deltaskip.errors import InvalidArgument
from deltaskip.features.change_data_feed import FEED_NAMES
from deltaskip.features.row_tracking import stable_commit_versions, stable_row_ids
from deltaskip.log import Snapshot
from deltaskip.reading.stored_rows import StoredRows
from deltaskip.records import dataclass
from deltaskip.schema.properties import TableProperties
from deltaskip.sparkexpr.types import LONG, StructField, StructType
from deltaskip.sparkexpr.values import row_hashes
from deltaskip.sparkexpr.values.arrow_values import arrow_array, arrow_scalar, numpy_values, one_chunk

_CURE = "Read the changes of versions with the change data feed instead."


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

    def changed(self, snapshot: Snapshot, values: row_changes.Values) -> Iterator[Rows]:
        """Yield the changed rows of each version, in the order of the versions.

        Of versions that are compared by values, rows of files that cannot match are left out on both sides.

        Args:
            snapshot: The snapshot of the files.
            values: Reads rows.

        Raises InvalidArgument if a row has no id.
        """
        versions = numpy_values(one_chunk(self.files["version"]))
        inserts = numpy_values(pc.equal(one_chunk(self.files["change_type"]), arrow_scalar("insert", pa.string())))
        for version in np.unique(versions).tolist():
            by_values = version in self.by_values
            reader = _ValueReader(snapshot) if by_values else _IdReader(snapshot)
            chosen = (versions == version) & (self.may | (not by_values))
            added = self._side(reader, np.flatnonzero(chosen & inserts), INSERT)
            removed = self._side(reader, np.flatnonzero(chosen & ~inserts), DELETE)
            if by_values:
                yield row_changes.without_equal(added, removed, values)
            else:
                yield row_changes.of_ids(version, added, removed)

    def _side(self, reader: _IdReader | _ValueReader, numbers: npt.NDArray[np.intp], kind: int) -> Rows:
        """The rows of files."""
        table = self.files.append_column("deletion_vector", [self.deleted])
        parts = []
        for number in numbers.tolist():
            place, file = int(self.places[number]), table.slice(number, 1)
            file = file if place < 0 else self.positions[place : place + 1].beside(file)
            for ids, versions, positions in reader.rows(file):
                rows = len(positions)
                parts.append(Rows(ids, versions, np.full(rows, kind), np.full(rows, number), positions))
        return Rows.joined(parts)


class _IdReader:
    """Reads row ids and row commit versions."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._root = snapshot.root
        self._names = [
            snapshot.metadata.configuration.get(each.name) or f"no {each.name}"
            for each in (TableProperties.row_id_column, TableProperties.row_commit_version_column)
        ]
        extra = [StructField(name, LONG) for name in self._names]
        self._stored = StoredRows(snapshot, StructType(()), snapshot.mapping_mode, (), extra, cure=_CURE)

    def rows(self, file: pa.Table) -> Iterator[tuple[Ints, Ints, Ints]]:
        """Yield the ids, row commit versions and positions of rows of a file."""
        base, default = (
            arrow_scalar(file[name][0].as_py(), pa.int64()) for name in ("base_row_id", "default_row_commit_version")
        )
        for _, batch in self._stored.live(file):
            places = batch.positions.astype(np.int64)
            ids, versions = (batch.columns[name] for name in self._names)
            ids = stable_row_ids(ids, base, arrow_array(places, pa.int64()))
            versions = stable_commit_versions(versions, default)
            if ids.null_count or versions.null_count:
                act = "adds" if file["change_type"][0].as_py() == "insert" else "removes"
                raise InvalidArgument(
                    f"Rows of {file['path'][0].as_py()}, which version {file['version'][0].as_py()} of {self._root} "
                    f"{act}, have no row ids, so its changes are not known: read the changes of later versions."
                )
            yield numpy_values(ids), numpy_values(versions), places


class _ValueReader:
    """Reads the hashes of whole rows, with the version of their file."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._names = [name for name in snapshot.schema.names if name not in FEED_NAMES]
        schema = StructType(tuple(field for field in snapshot.schema.fields if field.name not in FEED_NAMES))
        self._stored = StoredRows(snapshot, schema, snapshot.mapping_mode, cure=_CURE)

    def rows(self, file: pa.Table) -> Iterator[tuple[Ints, Ints, Ints]]:
        """Yield the hashes, versions and positions of rows of a file."""
        version = file["version"][0].as_py()
        for _, batch in self._stored.live(file):
            hashes = row_hashes((batch.columns[name] for name in self._names), len(batch))
            yield hashes, np.full(len(batch), version), batch.positions.astype(np.int64)
