"""Changed rows: where they are, what happened to them, and what is left of the changes of several versions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.dml.positions import RowPositions
from deltaskip.records import dataclass
from deltaskip.sparkexpr.values import equal_rows
from deltaskip.sparkexpr.values.arrow_values import arrow_array, numpy_values, one_chunk

ChangeType = Literal["insert", "delete", "update_preimage", "update_postimage"]
_TYPES: tuple[ChangeType, ...] = ("insert", "delete", "update_preimage", "update_postimage")
INSERT, DELETE, PREIMAGE, POSTIMAGE = range(4)
_MOVED = -1
_PAIRS_AT_ONCE = 1 << 18
# Hashes of more rows are paired one share after the other.
_PAIRED_AT_ONCE = 1 << 22
# A table has at most so many places for each number.
_SPAN = 8
_MOST_SHORT = np.iinfo(np.int32).max

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Rows:
    """Changed rows, one of each array for every row.

    Attributes:
        ids: Row ids, or hashes of whole rows.
        versions: The version that changed each row.
        types: Indexes of the types of change: insert, delete, update_preimage, update_postimage.
        files: Indexes of the files that contain the rows.
        positions: Positions of the rows in their files.
    """

    ids: Ints
    versions: Ints
    types: Ints
    files: Ints
    positions: Ints

    def take(self, rows: npt.NDArray[np.intp] | npt.NDArray[np.bool_]) -> Rows:
        """Return some of the rows, by their indexes or a mask."""
        arrays = (self.ids, self.versions, self.types, self.files, self.positions)
        return Rows(*(each[rows] for each in arrays))

    @classmethod
    def joined(cls, parts: Sequence[Rows]) -> Rows:
        """Return the rows of all parts."""
        names = ("ids", "versions", "types", "files", "positions")
        return cls(*(_joined([getattr(part, name) for part in parts]) for name in names))


Values: TypeAlias = Callable[[Rows], pa.Table]
"""Reads rows: their columns, in the same order."""


@dataclass(frozen=True, slots=True)
class FileRows:
    """Rows of a file.

    Attributes:
        file: Index of the file.
        positions: Positions of the rows in it; a range if they follow each other.
        ids: Their row ids, or hashes of whole rows.
        versions: Their row commit versions, or the version of the file.
    """

    file: int
    positions: range | npt.NDArray[np.integer[Any]]
    ids: Ints
    versions: Ints

    def changed(self, at: npt.NDArray[np.intp], types: npt.NDArray[np.integer[Any]], version: int) -> Rows:
        """Return the rows at these indexes as changed by a version."""
        if isinstance(self.positions, range):
            positions = self.positions.start + at
        else:
            positions = self.positions[at].astype(np.int64)
        versions, files = (np.full(len(at), number, np.int64) for number in (version, self.file))
        return Rows(self.ids[at], versions, types.astype(np.int64), files, positions)


def every_row(parts: Iterable[FileRows], kind: int, version: int) -> Rows:
    """Return all rows as changed by a version. Few of them may be left, so that they share the version and the type."""
    found = list(parts)
    counts = [len(part.ids) for part in found]
    positions = [np.arange(p.start, p.stop) if isinstance(p := part.positions, range) else p for part in found]
    versions, types = (np.broadcast_to(np.int64(number), sum(counts)) for number in (version, kind))
    files = np.repeat(np.array([part.file for part in found], np.int64), counts)
    return Rows(_joined([part.ids for part in found]), versions, types, files, _joined(positions))


def _joined(arrays: Sequence[npt.NDArray[np.integer[Any]]]) -> Ints:
    return np.concatenate([np.zeros(0, np.int64), *arrays])


def of_ids(version: int, added: Iterable[FileRows], removed: Iterable[FileRows]) -> Rows:
    """Return the changed rows among those of a version's files; of the added ones one part at a time is in memory."""
    old = list(removed)
    ids, versions = (_joined([getattr(part, name) for part in old]) for name in ("ids", "versions"))
    places = _Places(ids)
    types, found = np.full(len(ids), DELETE, np.int8), list[Rows]()
    for part in added:
        at = places.of(part.ids)
        there = np.flatnonzero(at >= 0)
        at = at[there]
        moved = versions[at] == part.versions[there]
        types[at] = np.where(moved, _MOVED, PREIMAGE)
        own = np.full(len(part.ids), INSERT, np.int8)
        own[there] = np.where(moved, _MOVED, POSTIMAGE)
        left = np.flatnonzero(own != _MOVED)
        found.append(part.changed(left, own[left], version))
    ends = np.cumsum([0, *(len(part.ids) for part in old)])
    for part, own in zip(old, np.split(types, ends[1:-1]) if old else [], strict=True):
        left = np.flatnonzero(own != _MOVED)
        found.append(part.changed(left, own[left], version))
    return Rows.joined(found)


class _Places:
    """Finds the places of numbers, of which there is one each."""

    def __init__(self, ids: Ints) -> None:
        self._low, high = (int(ids.min()), int(ids.max())) if len(ids) else (0, -1)
        span = high - self._low + 1
        self._order: npt.NDArray[np.intp] | None = None
        if span > _SPAN * len(ids):
            self._order = np.argsort(ids, kind="stable")
            self._sorted = ids[self._order]
        else:
            # Ids are given in sequence, so that few are missing.
            self._table = np.full(span, -1, np.int64 if len(ids) > _MOST_SHORT else np.int32)
            self._table[ids - self._low] = np.arange(len(ids))

    def of(self, ids: Ints) -> npt.NDArray[np.integer[Any]]:
        """Return the place of each number; -1 for none."""
        if self._order is not None:
            at = np.minimum(np.searchsorted(self._sorted, ids), len(self._sorted) - 1)
            return np.where(self._sorted[at] == ids, self._order[at], -1)
        at = ids - self._low
        found = np.full(len(ids), -1, np.int64)
        inside = np.flatnonzero((at >= 0) & (at < len(self._table)))
        found[inside] = self._table[at[inside]]
        return found


def without_equal(added: Rows, removed: Rows, values: Values) -> Rows:
    """Return the rows of each side that the other lacks; every row takes away one row that is equal.

    Of equal rows the first ones are taken away.

    Args:
        added: Rows with their hashes as ids.
        removed: The others.
        values: Reads rows.
    """
    new, old = _pairs(added.ids, removed.ids)
    order = np.lexsort((added.positions[new], added.files[new]))
    new, old = new[order], old[order]
    keep = [np.ones(len(each.ids), np.bool_) for each in (added, removed)]
    for start in range(0, len(new), _PAIRS_AT_ONCE):
        i, j = (each[start : start + _PAIRS_AT_ONCE] for each in (new, old))
        # Different rows may have the same hash.
        same = _are_equal(values(added.take(i)), values(removed.take(j)))
        keep[0][i[same]], keep[1][j[same]] = False, False
    return Rows.joined([added.take(keep[0]), removed.take(keep[1])])


def _pairs(left: Ints, right: Ints) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """The indexes of equal numbers on both sides, each number as often as the side has it that has it less often."""
    shares = 1 + (len(left) + len(right)) // _PAIRED_AT_ONCE
    pairs = []
    for share in range(shares):
        own = [np.flatnonzero(side % shares == share) for side in (left, right)]
        found = _pairs_among(left[own[0]], right[own[1]])
        pairs.append([places[at] for places, at in zip(own, found, strict=True)])
    i, j = (np.concatenate(each) for each in zip(*pairs, strict=True))
    return i, j


def _pairs_among(left: Ints, right: Ints) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """See `_pairs`; this sorts all numbers."""
    if not len(left) or not len(right):
        return np.zeros(0, np.intp), np.zeros(0, np.intp)
    i, j = map(_ascending, (left, right))
    left, right = left[i], right[j]
    at = np.searchsorted(right, left)
    again = np.append(False, left[1:] == left[:-1])
    if again.any():
        # The first of equal numbers belongs to the first of those on the other side, the second to the second.
        starts = np.flatnonzero(~again)
        at += np.arange(len(left)) - np.repeat(starts, np.diff(np.append(starts, len(left))))
    there = at < len(right)
    there[there] = right[at[there]] == left[there]
    partners = np.full(len(left), -1, np.int64)
    partners[i[there]] = j[at[there]]
    found = np.flatnonzero(partners >= 0)
    return found, partners[found]


def _ascending(numbers: Ints) -> npt.NDArray[np.intp]:
    """The order of numbers, in which equal ones stay in their order."""
    order = np.argsort(numbers)
    ascending = numbers[order]
    # Few numbers are equal, and a sort that keeps their order takes three times as long.
    return np.argsort(numbers, kind="stable") if (ascending[1:] == ascending[:-1]).any() else order


def _matched(left: Ints, right: Ints) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """The indexes of equal numbers on both sides, which each side has once."""
    found = pc.index_in(arrow_array(left, pa.int64()), value_set=arrow_array(right, pa.int64()))
    at = np.flatnonzero(numpy_values(found.is_valid()))
    return at, numpy_values(found.drop_null()).astype(np.intp)


def _paired(rows: Rows, places: npt.NDArray[np.intp], kind: int, left_out: npt.NDArray[np.bool_]) -> Rows:
    """The rows, of which those at places are images of updates, without some of these."""
    types, keep = rows.types.copy(), np.ones(len(rows.ids), np.bool_)
    types[places], keep[places[left_out]] = kind, False
    return replace(rows, types=types).take(keep)


def net(rows: Rows, values: Values) -> Rows:
    """Return one change of each row for all versions together, with the version of its last change.

    A row that was inserted and deleted has none, and neither has a row whose values are in the end as they were.

    Args:
        rows: The changes of each version.
        values: Reads rows.
    """
    ids, at = np.unique(rows.ids, return_inverse=True)
    first, last = np.full(len(ids), np.iinfo(np.int64).max), np.full(len(ids), -1, np.int64)
    np.minimum.at(first, at, rows.versions)
    np.maximum.at(last, at, rows.versions)
    is_before = np.isin(rows.types, (DELETE, PREIMAGE))
    told = replace(rows, versions=last[at])
    # The image before the first change of each row, and the one after its last.
    old = _sorted(told.take(is_before & (rows.versions == first[at])))
    new = _sorted(told.take(~is_before & (rows.versions == last[at])))
    i, j = _matched(old.ids, new.ids)
    same = _are_equal(values(old.take(i)), values(new.take(j))) if len(i) else np.zeros(0, np.bool_)
    old, new = (replace(each, types=np.full(len(each.ids), kind)) for each, kind in ((old, DELETE), (new, INSERT)))
    return Rows.joined([_paired(old, i, PREIMAGE, same), _paired(new, j, POSTIMAGE, same)])


def net_of_values(rows: Rows, values: Values) -> Rows:
    """Return the inserts and deletes of `net` for rows without ids, of which equal ones take each other away.

    Args:
        rows: The inserted and deleted rows of each version, in the order of the versions.
        values: Reads rows.
    """
    return without_equal(rows.take(rows.types == INSERT), rows.take(rows.types == DELETE), values)


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
    """Return the order of `as_entries`. Files of one type often have one schema, so that they are read together."""
    return np.lexsort((rows.positions, rows.files, rows.versions, rows.types))


def as_entries(rows: Rows) -> tuple[Ints, Ints, list[ChangeType], RowPositions]:
    """Return the rows by type, version and file: file, version, type, and the positions of the rows in the file."""
    rows = rows.take(order_of(rows))
    keys = np.stack([rows.versions, rows.files, rows.types])
    starts = np.flatnonzero(np.any(np.diff(keys, prepend=-1), axis=0))
    ends = np.append(starts[1:], len(rows.ids))[: len(starts)]
    positions = RowPositions(
        arrow_array(rows.positions[start:end], pa.int64()) for start, end in zip(starts, ends, strict=True)
    )
    types = [_TYPES[number] for number in rows.types[starts].tolist()]
    return rows.files[starts], rows.versions[starts], types, positions
