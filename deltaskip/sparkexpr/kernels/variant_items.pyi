import pyarrow as pa

from deltaskip.sparkexpr.kernels.lane import ArrowArrayExportable

def items_at(
    values: ArrowArrayExportable,
    metadata: ArrowArrayExportable,
    names: ArrowArrayExportable,
    indices: ArrowArrayExportable,
    whole: bool = False,
) -> tuple[pa.UInt8Array, pa.Int64Array, pa.Int32Array, pa.BinaryArray]: ...
def members_of(
    values: ArrowArrayExportable, metadata: ArrowArrayExportable, name: ArrowArrayExportable
) -> pa.BinaryArray: ...
def without_members(
    values: ArrowArrayExportable, metadata: ArrowArrayExportable, names: ArrowArrayExportable
) -> pa.BinaryArray: ...
