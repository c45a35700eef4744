"""Keep lanes over the statistics of a million files, each beside what pyarrow needs for the same answer."""

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.sizes import sized
from deltaskip.kernels.compare import compare_decimal128, compare_double, compare_int64
from deltaskip.kernels.compare_binary import compare_binary, in_range_binary
from deltaskip.kernels.in_range import in_range_int64
from deltaskip.sparkexpr.kernels.lane import and_lanes

FILES = sized(1_000_000, 1_000)
KINDS = ("int64", "int32", "double", "decimal", "string", "bool")


def _column(kind: str, missing: np.ndarray | None, shift: int = 0) -> pa.Array:
    numbers = np.random.default_rng(1).integers(-1_000_000, 1_000_000, FILES) + shift
    match kind:
        case "int32":
            return pa.array(numbers.astype(np.int32), mask=missing)
        case "double":
            return pa.array(numbers / 7, mask=missing)
        case "decimal":
            return pa.array(numbers, mask=missing).cast(pa.decimal128(19, 0))
        case "string":
            return pa.array([f"key-{n + 1_000_000:08d}" for n in numbers.tolist()], mask=missing)
        case "bool":
            return pa.array(numbers > 0, mask=missing)
        case _:
            return pa.array(numbers, mask=missing)


def _missing(nulls: bool) -> np.ndarray | None:
    return np.random.default_rng(2).random(FILES) < 0.05 if nulls else None


class Compare:
    """value < literal or missing, single-threaded on both sides."""

    params = (KINDS, (False, True))
    param_names = ("kind", "nulls")

    def setup(self, kind: str, nulls: bool) -> None:
        self.values = _column(kind, _missing(nulls))
        literal: Any = {"string": "key-01000000", "double": 0.5, "bool": True, "decimal": Decimal(1234)}.get(kind, 1234)
        self.scalar = pa.scalar(literal, self.values.type)
        kernels = {
            "double": compare_double,
            "decimal": compare_decimal128,
            "string": compare_binary,
        }
        self.kernel: Any = kernels.get(kind, compare_int64)
        self.literal: Any = {"string": b"key-01000000", "double": 0.5, "bool": 1}.get(kind, 1234)

    def time_kernel(self, kind: str, nulls: bool) -> None:
        self.kernel(self.values, "lt", self.literal)

    def time_pyarrow(self, kind: str, nulls: bool) -> None:
        pc.fill_null(pc.less(self.values, self.scalar), True)


class InRange:
    """Some of 100 literals lies within min and max; pyarrow compares each literal with both columns."""

    params = (("int64", "string"),)
    param_names = ("kind",)

    def setup(self, kind: str) -> None:
        self.mins, self.maxs = _column(kind, None), _column(kind, None, 5)
        self.points = self.mins[:: FILES // 100].take(pc.sort_indices(self.mins[:: FILES // 100]))
        self.kernel: Any = in_range_int64 if kind == "int64" else in_range_binary

    def time_kernel(self, kind: str) -> None:
        self.kernel(self.mins, self.maxs, self.points)

    def time_pyarrow(self, kind: str) -> None:
        keep = pa.scalar(False)
        for point in self.points:
            within = pc.and_(pc.less_equal(self.mins, point), pc.greater_equal(self.maxs, point))
            keep = pc.or_(keep, within)


class Lanes:
    """Combining two lanes and listing the kept files. pyarrow's are bitmaps, eight times smaller."""

    def setup(self) -> None:
        values = _column("int64", None)
        self.a, self.b = compare_int64(values, "lt", 0), compare_int64(values, "gt", -500_000)
        self.bits_a, self.bits_b = self.a.to_arrow(), self.b.to_arrow()

    def time_and_kernel(self) -> None:
        and_lanes(self.a, self.b)

    def time_and_pyarrow(self) -> None:
        pc.and_(self.bits_a, self.bits_b)

    def time_indices_kernel(self) -> None:
        self.b.indices()

    def time_indices_pyarrow(self) -> None:
        pc.indices_nonzero(self.bits_b)
