"""The changes of versions without a change data feed, found by the ids of rows.

The rows of the files that a version adds are compared with those of the files that it removes. A row whose id is on one
side only was inserted or deleted. A row that is on both sides was updated if its row commit version differs, and
otherwise only moved to another file, as the unchanged rows of an UPDATE are.

# PROTOCOL, Row Tracking: a row keeps its id when it is moved, and writers give it their version when they change it
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.change_feed.change_rows import chosen_rows
from deltaskip.dml.positions import RowPositions
from deltaskip.errors import InvalidArgument
from deltaskip.features.row_tracking import stable_commit_versions, stable_row_ids
from deltaskip.log import Snapshot
from deltaskip.reading.stored_rows import StoredRows
from deltaskip.records import dataclass
from deltaskip.schema.properties import TableProperties
from deltaskip.sparkexpr.types import LONG, StructField, StructType
from deltaskip.sparkexpr.values import equal_rows
from deltaskip.sparkexpr.values.arrow_values import arrow_array, arrow_scalar, numpy_values, one_chunk

ChangeType = Literal["insert", "delete", "update_preimage", "update_postimage"]
_TYPES: tuple[ChangeType, ...] = ("insert", "delete", "update_preimage", "update_postimage")
_INSERT, _DELETE, _PREIMAGE, _POSTIMAGE = range(4)
_CURE = "Read the changes of versions with the change data feed instead."

_Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Rows:
    """Changed rows, one of each array for every row.

    Attributes:
        ids: Row ids.
        versions: The version that changed each row.
        types: Indexes of the types of change: insert, delete, update_preimage, update_postimage.
        files: Indexes of the files that contain the rows.
        positions: Positions of the rows in their files.
    """

    ids: _Ints
    versions: _Ints
    types: _Ints
    files: _Ints
    positions: _Ints

    def take(self, rows: npt.NDArray[np.intp] | npt.NDArray[np.bool_]) -> Rows:
        """Return some of the rows, by their indexes or a mask."""
        arrays = (self.ids, self.versions, self.types, self.files, self.positions)
        return Rows(*(each[rows] for each in arrays))

    @classmethod
    def joined(cls, parts: Sequence[Rows]) -> Rows:
        """Return the rows of all parts."""
        nothing = np.zeros(0, np.int64)
        names = ("ids", "versions", "types", "files", "positions")
        return cls(*(np.concatenate([nothing, *(getattr(part, name) for part in parts)]) for name in names))


@dataclass(frozen=True, slots=True)
class ComparedFiles:
    """Files that versions add or remove, with the rows of each that the version inserts or deletes, or moves.

    Attributes:
        files: Rows of `ChangeScan.files()`, with the columns `base_row_id` and `default_row_commit_version`.
        deleted: For each file the deletion vector of rows that are no such rows; null for a file without such rows.
        places: For each file the index of its positions; -1 for a file of which all live rows come or go.
        positions: The positions of the rows of other files.
    """

    files: pa.Table
    deleted: pa.StructArray
    places: npt.NDArray[np.int64]
    positions: RowPositions

    def changed(self, snapshot: Snapshot) -> Rows:
        """Return the changed rows, in the order of their versions.

        Raises InvalidArgument if a row has no id.
        """
        versions = numpy_values(one_chunk(self.files["version"]))
        inserts = numpy_values(pc.equal(one_chunk(self.files["change_type"]), arrow_scalar("insert", pa.string())))
        reader = _IdReader(snapshot)
        found = []
        for version in np.unique(versions).tolist():
            sides = [
                self._side(reader, np.flatnonzero((versions == version) & (inserts == added)), kind)
                for added, kind in ((True, _INSERT), (False, _DELETE))
            ]
            found.append(_of_version(version, *sides))
        return Rows.joined(found)

    def _side(self, reader: _IdReader, numbers: npt.NDArray[np.intp], kind: int) -> Rows:
        """The rows of files, with their row commit versions as versions."""
        table = self.files.append_column("deletion_vector", [self.deleted])
        parts = []
        for number in numbers.tolist():
            place = int(self.places[number])
            chosen = None if place < 0 else self.positions[place]
            for ids, versions, positions in reader.rows(table.slice(number, 1), chosen):
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

    def rows(self, file: pa.Table, positions: pa.Int64Array | None) -> Iterator[tuple[_Ints, _Ints, _Ints]]:
        """Yield the ids, row commit versions and positions of rows of a file, as `chosen_rows` does."""
        base, default = (
            arrow_scalar(file[name][0].as_py(), pa.int64()) for name in ("base_row_id", "default_row_commit_version")
        )
        for batch in chosen_rows(self._stored, file, positions):
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


def _of_version(version: int, added: Rows, removed: Rows) -> Rows:
    """The changed rows among the rows of a version's files."""
    _, new, old = np.intersect1d(added.ids, removed.ids, return_indices=True)
    moved = added.versions[new] == removed.versions[old]
    sides = (_paired(added, new, _POSTIMAGE, moved), _paired(removed, old, _PREIMAGE, moved))
    changed = Rows.joined(sides)
    return replace(changed, versions=np.full(len(changed.ids), version))


def _paired(rows: Rows, places: npt.NDArray[np.intp], kind: int, left_out: npt.NDArray[np.bool_]) -> Rows:
    """The rows, of which those at places are images of updates, without some of these."""
    types, keep = rows.types.copy(), np.ones(len(rows.ids), np.bool_)
    types[places], keep[places[left_out]] = kind, False
    return replace(rows, types=types).take(keep)


def net(rows: Rows, table: Callable[[Rows], pa.Table]) -> Rows:
    """Return one change of each row for all versions together, with the version of its last change.

    A row that was inserted and deleted has none, and neither has a row whose values are in the end as they were.

    Args:
        rows: The changes of each version.
        table: Reads rows: their columns, in the same order.
    """
    ids, at = np.unique(rows.ids, return_inverse=True)
    first, last = np.full(len(ids), np.iinfo(np.int64).max), np.full(len(ids), -1, np.int64)
    np.minimum.at(first, at, rows.versions)
    np.maximum.at(last, at, rows.versions)
    is_before = np.isin(rows.types, (_DELETE, _PREIMAGE))
    told = replace(rows, versions=last[at])
    # The image before the first change of each row, and the one after its last.
    old = _sorted(told.take(is_before & (rows.versions == first[at])))
    new = _sorted(told.take(~is_before & (rows.versions == last[at])))
    _, i, j = np.intersect1d(old.ids, new.ids, assume_unique=True, return_indices=True)
    same = _are_equal(table(old.take(i)), table(new.take(j))) if len(i) else np.zeros(0, np.bool_)
    old, new = (replace(each, types=np.full(len(each.ids), kind)) for each, kind in ((old, _DELETE), (new, _INSERT)))
    return Rows.joined([_paired(old, i, _PREIMAGE, same), _paired(new, j, _POSTIMAGE, same)])


def _sorted(rows: Rows) -> Rows:
    return rows.take(np.argsort(rows.ids, kind="stable"))


def _are_equal(left: pa.Table, right: pa.Table) -> npt.NDArray[np.bool_]:
    """Whether the rows of two tables have equal values."""
    found = np.ones(len(left), np.bool_)
    for name in left.column_names:
        found &= equal_rows(*(_without_maps(one_chunk(each[name])) for each in (left, right)))
    return found


def _without_maps(array: pa.Array) -> pa.Array:
    """The array with lists of entries in place of maps."""
    kind = array.type
    if pa.types.is_map(kind):
        entries = pa.StructArray.from_arrays([_without_maps(array.keys), _without_maps(array.items)], ["key", "value"])
        return pa.ListArray.from_arrays(array.offsets, entries, mask=array.is_null())
    if pa.types.is_struct(kind):
        fields = [_without_maps(each) for each in array.flatten()]
        names = [kind.field(at).name for at in range(kind.num_fields)]
        return pa.StructArray.from_arrays(fields, names, mask=array.is_null()) if fields else array
    if pa.types.is_list(kind):
        return pa.ListArray.from_arrays(array.offsets, _without_maps(array.values), mask=array.is_null())
    return array


def order_of(rows: Rows) -> npt.NDArray[np.intp]:
    """Return the order in which `as_entries` has the rows."""
    return np.lexsort((rows.positions, rows.types, rows.files, rows.versions))


def as_entries(rows: Rows) -> tuple[_Ints, _Ints, list[ChangeType], RowPositions]:
    """Return the rows by file, type and version: file, version, type, and the positions of the rows in the file."""
    rows = rows.take(order_of(rows))
    keys = np.stack([rows.versions, rows.files, rows.types])
    starts = np.flatnonzero(np.any(np.diff(keys, prepend=-1), axis=0))
    ends = np.append(starts[1:], len(rows.ids))[: len(starts)]
    positions = RowPositions(
        arrow_array(rows.positions[start:end], pa.int64()) for start, end in zip(starts, ends, strict=True)
    )
    types = [_TYPES[number] for number in rows.types[starts].tolist()]
    return rows.files[starts], rows.versions[starts], types, positions
