"""Rows that deletion vectors delete, in forms that Spark can broadcast."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from deltaskip.records import dataclass
from deltaskip.settings import options

__all__ = ["WORD_SHIFT", "BroadcastDeletions", "deleted_rows"]

# Row `i` is bit `i % 64` of word `i >> WORD_SHIFT`.
WORD_SHIFT = 6

# Bit words need a bit for every row up to the last deleted one; pairs need the path and the number of each deleted row
# (and a hash probe for each row read). With words, the join also proves that every file was found.
_MAX_WORD_BYTES = 32 << 20
_PAIR_BYTES = 64


@dataclass(frozen=True, slots=True)
class BroadcastDeletions:
    """Deleted rows of some files, as bit words or as row numbers.

    words: a list<int64> for each file in which the bits of deleted rows are set; None if row numbers are used instead.
    numbers: deleted row numbers, file after file. counts: number of deleted rows of each file.
    """

    words: pa.Array | None
    numbers: pa.Array
    counts: tuple[int, ...]


def deleted_rows(positions: Sequence[pa.Int64Array]) -> BroadcastDeletions:
    """The form that the option chooses. positions: for each file its deleted row numbers, in ascending order."""
    counts = tuple(len(p) for p in positions)
    lengths = [(p[-1].as_py() >> WORD_SHIFT) + 1 if len(p) else 0 for p in positions]
    smaller = "bits" if sum(lengths) * 8 <= max(_MAX_WORD_BYTES, sum(counts) * _PAIR_BYTES) else "positions"
    if (smaller if options.deleted_rows == "auto" else options.deleted_rows) == "bits":
        words = [_bit_words(p, n) for p, n in zip(positions, lengths, strict=True)]
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
        flat = pa.array(np.concatenate(words) if words else np.empty(0, np.int64), pa.int64())
        return BroadcastDeletions(pa.ListArray.from_arrays(pa.array(offsets), flat), pa.array([], pa.int64()), counts)
    return BroadcastDeletions(None, pa.concat_arrays([p.cast(pa.int64()) for p in positions]), counts)


def _bit_words(positions: pa.Int64Array, length: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    bits = np.zeros(length << WORD_SHIFT, np.uint8)
    bits[positions.to_numpy(zero_copy_only=False)] = 1
    return np.packbits(bits, bitorder="little").view("<i8").astype(np.int64)
