"""Spark's hashes of a column, beside one value after the other in Python; pyarrow has no such functions."""

import numpy as np
import pyarrow as pa

from benchmarks.sizes import sized
from deltaskip.sparkexpr.kernels.hashes import hash_bytes, hash_numbers
from deltaskip.sparkexpr.types.data_types import LONG, STRING
from deltaskip.sparkexpr.values.hashes import spark_hash, spark_xxhash64

ROWS = sized(10_000_000, 100_000)
_SOME = ROWS // 1000


class Hashes:
    """An int64 or string column to `hash` or `xxhash64`; `time_python` takes a thousandth of the rows."""

    params = (("long", "string"), ("hash", "xxhash64"))
    param_names = ("type", "function")

    def setup(self, type: str, function: str) -> None:
        numbers = np.arange(ROWS, dtype=np.int64)
        self.values = pa.array(numbers) if type == "long" else pa.array(numbers).cast(pa.string())
        self.seeds = pa.repeat(pa.scalar(42, pa.int64()), ROWS)
        self.some = self.values.slice(0, _SOME).to_pylist()

    def time_kernel(self, type: str, function: str) -> None:
        wide = function == "xxhash64"
        if type == "long":
            hash_numbers(self.values, self.seeds, 8, wide)
        else:
            hash_bytes(self.values, self.seeds, wide)

    def time_python(self, type: str, function: str) -> None:
        one = spark_hash if function == "hash" else spark_xxhash64
        for value in self.some:
            one(value, LONG if type == "long" else STRING)
