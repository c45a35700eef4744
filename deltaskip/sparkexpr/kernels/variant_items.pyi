import pyarrow as pa

from deltaskip.sparkexpr.kernels.lane import ArrowArrayExportable

def items_at(
    values: ArrowArrayExportable,
    metadata: ArrowArrayExportable,
    names: ArrowArrayExportable,
    indices: ArrowArrayExportable,
    whole: bool = False,
) -> tuple[pa.UInt8Array, pa.Int64Array, pa.Int32Array, pa.BinaryArray]: ...
