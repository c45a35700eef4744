import pyarrow as pa

from deltaskip.sparkexpr.kernels.lane import ArrowArrayExportable

def compute(
    left: ArrowArrayExportable,
    right: ArrowArrayExportable,
    left_scale: int,
    right_scale: int,
    op: str,
    precision: int,
    scale: int,
) -> tuple[pa.Decimal128Array, pa.UInt8Array]: ...
def rescale(
    values: ArrowArrayExportable, old_scale: int, precision: int, scale: int, rounding: str = "half up", zeros: int = 0
) -> tuple[pa.Decimal128Array, pa.UInt8Array]: ...
