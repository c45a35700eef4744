"""The files that the key index rules out for a predicate: the one place where key sets prune by an index.

A file is ruled out if a part knows it, by path, size and time of its add action, and has none of the values that one
row of the file must have (skipping.sought_values). A part has the keys of all rows that a file contains, also of those
that a deletion vector deletes, so a new deletion vector leaves it true. All other files are kept. What holds for every
row of a file is never proved by the index (CompiledPredicate.negated): it is a hint which files need not be read.
Delta's own index, of tables that have one, is asked at the same place (key_index.record_index).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from deltaskip.actions import table_keys
from deltaskip.fork_safety import new_lock
from deltaskip.log import Snapshot
from deltaskip.records import dataclass
from deltaskip.skipping.add_batches import FileBatch
from deltaskip.skipping.evaluate import PartitionEvaluator
from deltaskip.skipping.key_index.folder import KeyFolder
from deltaskip.skipping.key_index.key_columns import kind_of, possible_columns, sought_hashes
from deltaskip.skipping.key_index.part import KNOWN_FILES, KeyPart, known_numbers
from deltaskip.skipping.program import Program
from deltaskip.skipping.sought_values import Sought, SoughtValues
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.values.arrow_values import arrow_array, numpy_values
from deltaskip.stats.cache_keys import CacheKey
from deltaskip.stats.stats_columns import StatColumn

if TYPE_CHECKING:
    from deltaskip.skipping.key_index.record_index import RecordLookup

# A look-up of many values takes 15 microseconds for each, and most files have one of more values than these.
_MOST_VALUES = 50_000
# Fewer files are not worth a look-up: one is read anyway, to see whether the row is there.
_FEWEST = 2
# If fewer of the files are kept by statistics, only their paths are read, and nothing is cached.
_FEW = 0.125

_Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class _Found:
    """What a part says about the values that a predicate seeks. has: For each of its files, whether it may have one."""

    part: KeyPart
    has: _Mask


class KeyLookup:
    """The look-up of the values that a predicate seeks. Safe to share between threads.

    Args:
        snapshot: The table.
        sought: The predicate, with the values that it seeks.
        columns: The columns that may have an index, by physical names.
        records: The look-up in the index of records; None if the table has none.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        sought: SoughtValues,
        columns: dict[tuple[str, ...], StatColumn],
        records: RecordLookup | None,
    ) -> None:
        self._snapshot = snapshot
        self._sought = sought
        self._columns = columns
        self._records = records
        self._lock = new_lock()
        self._found: dict[int, list[_Found]] = {}

    @classmethod
    def of(cls, snapshot: Snapshot, program: Program) -> KeyLookup | None:
        """Return the look-up for a program; None if the table has no index, or the predicate seeks no values in it."""
        properties = snapshot.table_properties.well_formed()
        if not properties.key_index_columns and not properties.record_index:
            return None
        sought = SoughtValues.of(program.root, _MOST_VALUES)
        if sought is None:
            return None
        records = _records(snapshot, sought) if properties.record_index else None
        tops = {each.field.physical[0] for each in sought.every} if properties.key_index_columns else ()
        columns = {each.physical: each for each in possible_columns(snapshot, tops)}
        if records is None and not any(_column(each, columns) for each in sought.every):
            return None
        return cls(snapshot, sought, columns, records)

    @property
    def names(self) -> list[str]:
        """The columns with parts that were asked, as SQL."""
        asked = [each for each in self._sought.every if self._found.get(id(each))]
        columns = [_column(each, self._columns) for each in asked]
        names = [t.display_name(each.logical) for each in columns if each is not None]
        return list(dict.fromkeys((*names, *(self._records.names if self._records is not None else ()))))

    def kept(self, batch: FileBatch, by_statistics: _Mask, partitions: PartitionEvaluator) -> _Mask | None:
        """Return the files of a batch that the index does not rule out; None if it rules out none.

        Args:
            batch: The files.
            by_statistics: The files that statistics keep.
            partitions: As for `keep_mask`.
        """
        if int(np.count_nonzero(by_statistics)) < _FEWEST:
            return None
        by_records = self._records.kept(batch) if self._records is not None else None
        by_parts = self._in_parts(batch, by_statistics, partitions)
        return by_records if by_parts is None else by_parts if by_records is None else by_parts & by_records

    def _in_parts(self, batch: FileBatch, by_statistics: _Mask, partitions: PartitionEvaluator) -> _Mask | None:
        found = [(each, self._of(each)) for each in self._sought.every]
        if not any(parts for _, parts in found):
            return None
        rows = np.flatnonzero(by_statistics)
        some = rows if len(rows) < _FEW * len(by_statistics) else None
        numbers: dict[str, npt.NDArray[np.int32]] = {}
        masks = {}
        for sought, parts in found:
            mask = np.ones(len(by_statistics), np.bool_)
            for each in parts:
                path = each.part.info.path
                if path not in numbers:
                    numbers[path] = self._numbers(batch, each.part, some)
                known = np.flatnonzero(numbers[path] >= 0)
                without = known[~each.has[numbers[path][known]]]
                mask[without if some is None else some[without]] = False
            masks[id(sought)] = mask
        if all(mask.all() for mask in masks.values()):
            return None
        return self._sought.evaluated(masks, batch.statistics, partitions)

    def _of(self, sought: Sought) -> list[_Found]:
        with self._lock:
            if id(sought) not in self._found:
                self._found[id(sought)] = self._looked_up(sought)
            return self._found[id(sought)]

    def _looked_up(self, sought: Sought) -> list[_Found]:
        column = _column(sought, self._columns)
        if column is None:
            return []
        folder, keys = KeyFolder.of(self._snapshot), sought_hashes(sought.values, column.type)
        found = []
        for part in folder.parts(self._snapshot, column.physical, kind_of(column.type)):
            has = folder.containing(self._snapshot, part, keys)
            if has is not None:
                found.append(_Found(part, has))
        return found

    def _numbers(self, batch: FileBatch, part: KeyPart, some: npt.NDArray[np.int64] | None) -> npt.NDArray[np.int32]:
        """The numbers in a part of the files of a batch, or of some of them; -1 for each that it does not know."""

        def numbers(rows: pa.Array | None) -> npt.NDArray[np.int32]:
            paths, sizes, times = batch.rows(["path", "size", "modification_time"], rows)
            columns = [table_keys(self._snapshot.table_root, paths), sizes, times]
            return known_numbers(pa.table(columns, schema=KNOWN_FILES), part.files)

        if some is not None:
            return numbers(arrow_array(some, pa.int64()))
        key: CacheKey = ("known files", batch.scope, part.info.path)
        return numpy_values(batch.cache.array(key, lambda: arrow_array(numbers(None))))


def _records(snapshot: Snapshot, sought: SoughtValues) -> RecordLookup | None:
    from deltaskip.skipping.key_index.record_index import RecordLookup

    return RecordLookup.of(snapshot, sought, _MOST_VALUES)


def _column(sought: Sought, columns: dict[tuple[str, ...], StatColumn]) -> StatColumn | None:
    """The column of values that an index may have; None for values of parts and expressions, and other types."""
    column = columns.get(sought.field.physical) if sought.field.is_column else None
    return column if column is not None and column.type == sought.field.type else None
