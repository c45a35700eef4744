"""The changes of versions without a change data feed, found by the ids of rows.

The rows of the files that a version adds are compared with those of the files that it removes. A row whose id is on one
side only was inserted or deleted. A row that is on both sides was updated if its row commit version differs, and
otherwise only moved to another file, as the unchanged rows of an UPDATE are.

# PROTOCOL, Row Tracking: a row keeps its id when it is moved, and writers give it their version when they change it
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

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
        positions: The positions of the rows, for files of which only some rows come or go; None for all live rows.
    """

    files: pa.Table
    deleted: pa.StructArray
    positions: Sequence[pa.Int64Array | None]

    def changed(self, snapshot: Snapshot) -> Rows:
        """Return the changed rows, in the order of their versions.

        Raises InvalidArgument if a row has no id.
        """
        if not len(self.files):
            return Rows.joined([])
        versions = numpy_values(one_chunk(self.files["version"]))
        inserts = numpy_values(pc.equal(one_chunk(self.files["change_type"]), arrow_scalar("insert", pa.string())))
        found = []
        for version in np.unique(versions).tolist():
            sides = [
                self._side(snapshot, np.flatnonzero((versions == version) & (inserts == added)), kind)
                for added, kind in ((True, _INSERT), (False, _DELETE))
            ]
            found.append(_of_version(version, *sides))
        return Rows.joined(found)

    def _side(self, snapshot: Snapshot, numbers: npt.NDArray[np.intp], kind: int) -> Rows:
        """The rows of files, with their row commit versions as versions."""
        reader, names = _id_reader(snapshot)
        table = self.files.append_column("deletion_vector", [self.deleted])
        parts = []
        for number in numbers.tolist():
            file, chosen = table.slice(number, 1), self.positions[number]
            base = arrow_scalar(file["base_row_id"][0].as_py(), pa.int64())
            default = arrow_scalar(file["default_row_commit_version"][0].as_py(), pa.int64())
            for _, each in reader.live(file):
                batch = each if chosen is None else each.filter(np.isin(each.positions, numpy_values(chosen)))
                positions = batch.positions
                if not len(positions):
                    continue
                ids, versions = (batch.columns[name] for name in names)
                ids = stable_row_ids(ids, base, arrow_array(positions, pa.int64()))
                versions = stable_commit_versions(versions, default)
                if ids.null_count or versions.null_count:
                    raise InvalidArgument(
                        f"Rows of {file['path'][0].as_py()}, which version {file['version'][0].as_py()} of "
                        f"{snapshot.root} {'adds' if kind == _INSERT else 'removes'}, have no row ids, so its changes "
                        f"are not known: read the changes of later versions."
                    )
                rows = len(positions)
                numbered = numpy_values(ids), numpy_values(versions), np.full(rows, kind), np.full(rows, number)
                parts.append(Rows(*numbered, positions.astype(np.int64)))
        return Rows.joined(parts)


def _id_reader(snapshot: Snapshot) -> tuple[StoredRows, tuple[str, str]]:
    """A reader of the columns with row ids and row commit versions, and their names."""
    names = tuple(
        snapshot.metadata.configuration.get(each.name) or f"no {each.name}"
        for each in (TableProperties.row_id_column, TableProperties.row_commit_version_column)
    )
    extra = [StructField(name, LONG) for name in names]
    return StoredRows(snapshot, StructType(()), snapshot.mapping_mode, (), extra, cure=_CURE), (names[0], names[1])


def _of_version(version: int, added: Rows, removed: Rows) -> Rows:
    """The changed rows among the rows of a version's files."""
    _, new, old = np.intersect1d(added.ids, removed.ids, return_indices=True)
    differ = added.versions[new] != removed.versions[old]
    types_added, types_removed = added.types.copy(), removed.types.copy()
    types_added[new], types_removed[old] = _POSTIMAGE, _PREIMAGE
    keep_added, keep_removed = np.ones(len(added.ids), np.bool_), np.ones(len(removed.ids), np.bool_)
    keep_added[new], keep_removed[old] = differ, differ
    sides = ((added, types_added, keep_added), (removed, types_removed, keep_removed))
    return Rows.joined(
        [
            Rows(side.ids, np.full(len(side.ids), version), types, side.files, side.positions).take(keep)
            for side, types, keep in sides
        ]
    )


def net(rows: Rows, table: Callable[[Rows], pa.Table]) -> Rows:
    """Return one change of each row for all versions together, with the version of its last change.

    A row that was inserted and deleted has none, and neither has a row whose values are in the end as they were.

    Args:
        rows: The changes of each version.
        table: Reads rows: their columns, in the same order.
    """
    before = rows.take((rows.types == _DELETE) | (rows.types == _PREIMAGE))
    after = rows.take((rows.types == _INSERT) | (rows.types == _POSTIMAGE))
    ids, last_version = _last_versions(rows)
    # Whether the first change of a row has an image before it, and its last change one after it.
    first_version = np.full(len(ids), np.iinfo(np.int64).max)
    np.minimum.at(first_version, np.searchsorted(ids, rows.ids), rows.versions)
    firsts = before.take(before.versions == first_version[np.searchsorted(ids, before.ids)])
    lasts = after.take(after.versions == last_version[np.searchsorted(ids, after.ids)])
    old, new = _sorted(firsts), _sorted(lasts)
    _, i, j = np.intersect1d(old.ids, new.ids, assume_unique=True, return_indices=True)
    same = np.zeros(len(i), np.bool_)
    if len(i):
        same = _are_equal(table(old.take(i)), table(new.take(j)))
    old_types, new_types = np.full(len(old.ids), _DELETE), np.full(len(new.ids), _INSERT)
    old_types[i], new_types[j] = _PREIMAGE, _POSTIMAGE
    keep_old, keep_new = np.ones(len(old.ids), np.bool_), np.ones(len(new.ids), np.bool_)
    keep_old[i[same]], keep_new[j[same]] = False, False
    return Rows.joined(
        [
            Rows(side.ids, last_version[np.searchsorted(ids, side.ids)], types, side.files, side.positions).take(keep)
            for side, types, keep in ((old, old_types, keep_old), (new, new_types, keep_new))
        ]
    )


def _last_versions(rows: Rows) -> tuple[_Ints, _Ints]:
    """The ids, ascending, and the version of the last change of each."""
    ids, at = np.unique(rows.ids, return_inverse=True)
    versions = np.full(len(ids), -1, np.int64)
    np.maximum.at(versions, at, rows.versions)
    return ids, versions


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
