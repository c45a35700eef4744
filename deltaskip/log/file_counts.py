"""What a version checksum says about all files of a version: their sizes and deleted rows, and histograms of both.

# today's protocol, Version Checksum File; delta-spark: FileSizeHistogram, DeletedRecordCountsHistogram
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.sparkexpr.values.arrow_values import numpy_values, one_chunk

_MIB = 1 << 20
SIZE_BOUNDS = (
    0,
    *(1 << power for power in range(13, 23)),
    *(
        mebibytes * _MIB
        for steps in (
            range(8, 41, 4),
            range(48, 121, 8),
            range(124, 145, 4),
            range(160, 577, 16),
            range(640, 1409, 64),
            range(1536, 2049, 128),
            range(2304, 4097, 256),
        )
        for mebibytes in steps
    ),
    *(1 << power for power in range(33, 39)),
)
"""The least size of each bin of the histogram of file sizes, as delta-spark has them, in bytes."""

_DELETED_BOUNDS = (0, *(10**power for power in range(8)), (1 << 31) - 1)
VECTOR_COUNTS = ("numDeletedRecordsOpt", "numDeletionVectorsOpt", "deletedRecordCountsHistogramOpt")
"""Members of the checksum that only tables with deletion vectors have."""


class FileCounts:
    """Counts of files, which are added batch by batch."""

    def __init__(self) -> None:
        self._sizes = np.array(SIZE_BOUNDS, np.int64)
        self._files = np.zeros(len(SIZE_BOUNDS), np.int64)
        self._bytes = np.zeros(len(SIZE_BOUNDS), np.int64)
        self._deleted = np.zeros(len(_DELETED_BOUNDS), np.int64)
        self.vectors = self.deleted_rows = 0

    @classmethod
    def of(cls, batches: Iterable[pa.RecordBatch | pa.Table]) -> FileCounts:
        """Return the counts of files with the columns size and deletion_vector of FILE_SCHEMA."""
        found = cls()
        for batch in batches:
            found.add(one_chunk(batch["size"]), one_chunk(batch["deletion_vector"]))
        return found

    def add(self, sizes: pa.Array, vectors: pa.StructArray) -> None:
        """Add files. sizes: in bytes. vectors: their deletion vectors."""
        numbers = numpy_values(sizes)
        bins = np.maximum(np.searchsorted(self._sizes, numbers, side="right") - 1, 0)
        np.add.at(self._files, bins, 1)
        np.add.at(self._bytes, bins, numbers)
        there = len(vectors) - vectors.null_count
        self.vectors += there
        self._deleted[0] += len(vectors) - there
        if there:
            rows = numpy_values(pc.struct_field(vectors, "cardinality").drop_null())
            self.deleted_rows += int(rows.sum())
            np.add.at(self._deleted, np.searchsorted(_DELETED_BOUNDS, rows, side="right") - 1, 1)

    def members(self, with_vectors: bool) -> Iterator[tuple[str, Any]]:
        """Yield the members of a checksum. with_vectors: also those that only tables with deletion vectors have."""
        yield "fileSizeHistogram", self.sizes
        if with_vectors:
            values = self.deleted_rows, self.vectors, {"deletedRecordCounts": self._deleted.tolist()}
            yield from zip(VECTOR_COUNTS, values, strict=True)

    @property
    def sizes(self) -> Mapping[str, list[int]]:
        """The histogram of sizes as a checksum has it."""
        return {
            "sortedBinBoundaries": list(SIZE_BOUNDS),
            "fileCounts": self._files.tolist(),
            "totalBytes": self._bytes.tolist(),
        }
