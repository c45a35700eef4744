"""Spark's hashes of a column; pyarrow has no such functions."""

import numpy as np
import pyarrow as pa

from benchmarks.sizes import sized
from deltaskip.sparkexpr.kernels.hashes import hash_bytes, hash_numbers

ROWS = sized(10_000_000, 100_000)


class Hashes:
    """An int64 or string column to `hash` or `xxhash64`."""

    params = (("long", "string"), ("hash", "xxhash64"))
    param_names = ("type", "function")

    def setup(self, type: str, function: str) -> None:
        numbers = np.arange(ROWS, dtype=np.int64)
        self.values = pa.array(numbers) if type == "long" else pa.array(numbers).cast(pa.string())
        self.seeds = pa.repeat(pa.scalar(42, pa.int64()), ROWS)

    def time_kernel(self, type: str, function: str) -> None:
        wide = function == "xxhash64"
        if type == "long":
            hash_numbers(self.values, self.seeds, 8, wide)
        else:
            hash_bytes(self.values, self.seeds, wide)
