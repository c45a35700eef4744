from deltaskip.kernels.compare_binary import Op, compare_binary, in_range_binary, max_may_reach
from deltaskip.kernels.in_range import in_range_double, in_range_int64
from deltaskip.kernels.lane import ArrowArrayExportable, Lane, and_lanes, constant_lane, or_lanes, take_lane

__all__ = [
    "Lane",
    "and_lanes",
    "compare_binary",
    "compare_columns_int64",
    "compare_decimal128",
    "compare_double",
    "compare_int64",
    "constant_lane",
    "in_range_binary",
    "in_range_double",
    "in_range_int64",
    "max_may_reach",
    "or_lanes",
    "take_lane",
]

def compare_int64(values: ArrowArrayExportable, op: Op, literal: int) -> Lane: ...
def compare_double(values: ArrowArrayExportable, op: Op, literal: float) -> Lane: ...
def compare_decimal128(values: ArrowArrayExportable, op: Op, literal: int) -> Lane: ...
def compare_columns_int64(left: ArrowArrayExportable, right: ArrowArrayExportable, op: Op) -> Lane: ...
