"""Decoding and encoding deletion vectors, beside pyroaring (CRoaring)."""

import struct
from array import array

import numpy as np
import pyarrow as pa
from pyroaring import BitMap64

from benchmarks.sizes import sized
from deltaskip.kernels.deletion_vector import decode
from deltaskip.kernels.roaring_encode import encode

ROWS = sized(10_000_000, 100_000)
SHAPES = ("few", "array", "bitmap", "runs")
_MAGIC = struct.pack("<I", 1681511377)


def _deleted(shape: str) -> np.ndarray:
    """Rows deleted of ten million: 10 of them, 1 in 100, 1 in 4, or 100 stretches of 50,000."""
    random = np.random.default_rng(3)
    match shape:
        case "few":
            return np.sort(random.choice(ROWS, 10, replace=False))
        case "array":
            return np.flatnonzero(random.random(ROWS) < 0.01)
        case "bitmap":
            return np.flatnonzero(random.random(ROWS) < 0.25)
        case _:
            return np.concatenate([np.arange(ROWS // 200) + i * (ROWS // 100) for i in range(100)])


class Decode:
    """Serialised bytes to an int64 column."""

    params = (SHAPES,)
    param_names = ("shape",)

    def setup(self, shape: str) -> None:
        rows = _deleted(shape)
        self.count = len(rows)
        self.data = encode(pa.array(rows))

    def time_kernel(self, shape: str) -> None:
        decode(self.data, self.count)

    def time_pyroaring(self, shape: str) -> None:
        rows = BitMap64.deserialize(self.data[4:]).to_array()
        pa.Array.from_buffers(pa.int64(), len(rows), [None, pa.py_buffer(rows)])


class Encode:
    """An int64 column to serialised bytes."""

    params = (SHAPES,)
    param_names = ("shape",)

    def setup(self, shape: str) -> None:
        self.rows = pa.array(_deleted(shape))
        # The one form that pyroaring takes without a loop in Python.
        self.items = array("Q", self.rows.buffers()[1].to_pybytes())

    def time_kernel(self, shape: str) -> None:
        encode(self.rows)

    def time_pyroaring(self, shape: str) -> None:
        bitmap = BitMap64(self.items)
        bitmap.run_optimize()
        _ = _MAGIC + bitmap.serialize()
