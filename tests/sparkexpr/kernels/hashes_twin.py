"""Spark's hashes in plain Python: the evaluator's, of one value after the other."""

from collections.abc import Sequence
from typing import Any

from deltaskip.sparkexpr.types.data_types import DataType
from deltaskip.sparkexpr.values.hashes import spark_hash, spark_xxhash64


def hashes(values: Sequence[Any], type_: DataType, seeds: Sequence[int], wide: bool) -> list[int | None]:
    one = spark_xxhash64 if wide else spark_hash
    return [seed if value is None else one(value, type_, seed) for value, seed in zip(values, seeds, strict=True)]
