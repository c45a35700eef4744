"""Rows of files at known positions, such as deleted ones: beside the files, or in the form that an engine joins."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from deltaskip.kernels.deletion_vector import decode
from deltaskip.records import dataclass
from deltaskip.settings import options
from deltaskip.sparkexpr.values.arrow_values import arrow_array, numpy_values, one_chunk

WORD_SHIFT = 6
"""Row `i` is bit `i % 64` of word `i >> WORD_SHIFT`."""

# Bit words need a bit for every row up to the last marked one; pairs need the path and the position of each marked row
# (and a hash probe for each row read). With words, the join also proves that every file was found.
_MAX_WORD_BYTES = 32 << 20
_PAIR_BYTES = 64
_CHOSEN = "chosen_rows"


def with_chosen_rows(files: pa.Table, bitmaps: Sequence[bytes], counts: Sequence[int]) -> pa.Table:
    """Return files with the rows to read of each, as StoredRows reads them.

    Args:
        files: The files.
        bitmaps: For each the positions of the rows as a Roaring bitmap, of `kernels.roaring_encode`.
        counts: The numbers of these rows.
    """
    arrays = [arrow_array(bitmaps, pa.large_binary()), arrow_array(counts, pa.int64())]
    return files.append_column(_CHOSEN, [pa.StructArray.from_arrays(arrays, ["bitmap", "count"])])


def chosen_rows(files: pa.Table) -> list[pa.Int64Array] | None:
    """Return the positions of the rows of `with_chosen_rows`, ascending; None if all rows are read."""
    if _CHOSEN not in files.column_names:
        return None
    bitmaps, counts = one_chunk(files[_CHOSEN]).flatten()
    pairs = zip(bitmaps, counts.to_pylist(), strict=True)
    return [decode(bitmap.as_buffer(), count) for bitmap, count in pairs]


@dataclass(frozen=True, slots=True)
class MarkedRows:
    """Marked rows of some files, as bit words or as positions.

    Attributes:
        words: A list<int64> for each file in which the bits of marked rows are set; None if positions are used instead.
        numbers: The positions of marked rows, file after file; empty if words are used.
        counts: The number of marked rows of each file.
    """

    words: pa.ListArray | None
    numbers: pa.Int64Array
    counts: tuple[int, ...]

    @classmethod
    def of(cls, positions: Sequence[pa.Int64Array]) -> MarkedRows:
        """Return marked rows in the form that `options.deleted_rows` selects. positions: Of each file, ascending."""
        counts = tuple(len(p) for p in positions)
        lengths = [(p[-1].as_py() >> WORD_SHIFT) + 1 if len(p) else 0 for p in positions]
        smaller = "bits" if sum(lengths) * 8 <= max(_MAX_WORD_BYTES, sum(counts) * _PAIR_BYTES) else "positions"
        if (smaller if options.deleted_rows == "auto" else options.deleted_rows) == "bits":
            words = [_bit_words(p, n) for p, n in zip(positions, lengths, strict=True)]
            return cls(_lists(words), arrow_array([], pa.int64()), counts)
        return cls(None, pa.concat_arrays([p.cast(pa.int64()) for p in positions]), counts)

    @property
    def files(self) -> pa.Int64Array:
        """The index of the file that each of `numbers` belongs to."""
        return arrow_array(np.repeat(np.arange(len(self.counts)), self.counts), pa.int64())

    def joint_words(self, files: npt.NDArray[np.int64], count: int) -> pa.ListArray:
        """For each of `count` files, the bits set in the words of any entry. files: The file index of each entry."""
        assert self.words is not None
        found: list[npt.NDArray[np.int64]] = [np.zeros(0, np.int64)] * count
        for file, entry in zip(files.tolist(), self.words, strict=True):
            one, other = found[file], numpy_values(entry.values)
            if len(one) < len(other):
                one, other = other, one
            joint = one.copy()
            joint[: len(other)] |= other
            found[file] = joint
        return _lists(found)


def _bit_words(positions: pa.Int64Array, length: int) -> npt.NDArray[np.int64]:
    bits = np.zeros(length << WORD_SHIFT, np.uint8)
    bits[positions.to_numpy(zero_copy_only=False)] = 1
    return np.packbits(bits, bitorder="little").view("<i8").astype(np.int64)


def _lists(words: Iterable[npt.NDArray[np.int64]]) -> pa.ListArray:
    """A list of words for each array."""
    arrays = [np.zeros(0, np.int64), *words]
    offsets = np.cumsum(list(map(len, arrays))).astype(np.int32)
    return pa.ListArray.from_arrays(arrow_array(offsets), arrow_array(np.concatenate(arrays)))
