from typing import Literal

from deltaskip.sparkexpr.kernels.lane import ArrowArrayExportable, Lane

Op = Literal["lt", "le", "gt", "ge", "eq", "ne"]

def compare_binary(values: ArrowArrayExportable, op: Op, literal: bytes) -> Lane: ...
def max_may_reach(values: ArrowArrayExportable, literal: bytes, cut_from: int, strict: bool = False) -> Lane: ...
def in_range_binary(
    mins: ArrowArrayExportable, maxs: ArrowArrayExportable, points: ArrowArrayExportable, cut_from: int | None = None
) -> Lane: ...
