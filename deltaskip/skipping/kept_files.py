"""The files that a predicate keeps, in the order of the log, whose columns are read for those that are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

import numpy as np
import pyarrow as pa

from deltaskip.records import dataclass
from deltaskip.skipping.add_batches import FileBatch, candidates
from deltaskip.skipping.file_list import batch_files, files_schema
from deltaskip.skipping.file_predicates import CompiledPredicate
from deltaskip.sparkexpr.values.arrow_values import arrow_array, no_rows, numpy_values


@dataclass(slots=True)
class KeptFiles:
    """Files of several batches. The place of a file is its number among them.

    Attributes:
        predicate: The predicate that keeps them.
        batches: The batches that have some of them.
        rows: For each batch the positions of its files in it, ascending.
        starts: For each batch the place of its first file, and the number of all files.
    """

    predicate: CompiledPredicate
    batches: list[FileBatch] = field(default_factory=list)
    rows: list[pa.Array] = field(default_factory=list)
    starts: list[int] = field(default_factory=lambda: [0])

    def __len__(self) -> int:
        return self.starts[-1]

    def add(self, batch: FileBatch) -> pa.Array:
        """Add the files of a batch that are kept and part of the snapshot, and return their positions in it."""
        kept = self.predicate.listed(batch)
        kept = arrow_array(np.arange(batch.num_rows, dtype=np.int64)) if kept is None else kept
        if len(kept):
            self.batches.append(batch)
            self.rows.append(kept)
            self.starts.append(self.starts[-1] + len(kept))
        return kept

    def listed(self, places: np.ndarray, columns: Sequence[str]) -> pa.Table:
        """Return columns of the file list for some of the files, in the order of the log.

        Args:
            places: The places of the files, ascending.
            columns: Names of the columns.
        """
        tables = [no_rows(files_schema(self.predicate.snapshot, columns))]
        ends = np.searchsorted(places, self.starts)
        for number, batch in enumerate(self.batches):
            chosen = places[ends[number] : ends[number + 1]] - self.starts[number]
            if len(chosen):
                rows = self.rows[number].take(arrow_array(chosen))
                tables.append(batch_files(batch, rows, columns, self.predicate.portable.time_zone))
        return pa.concat_tables(tables)

    def kept_by(self, predicate: CompiledPredicate) -> np.ndarray:
        """Return a mask of the files that another predicate on the same snapshot keeps, too."""
        found = np.zeros(len(self), bool)
        numbers = {batch.scope: number for number, batch in enumerate(self.batches)}
        for batch in candidates(predicate.snapshot, predicate.program):
            number = numbers.get(batch.scope)
            if number is None:
                continue
            kept = predicate.matching(batch)
            mask = np.ones(batch.num_rows, bool)
            if kept is not None:
                mask[:] = False
                mask[numpy_values(kept)] = True
            found[self.starts[number] : self.starts[number + 1]] = mask[numpy_values(self.rows[number])]
        return found
