import pyarrow as pa

from deltaskip.sparkexpr.kernels.lane import ArrowArrayExportable

def texts_at(
    texts: ArrowArrayExportable, names: ArrowArrayExportable, indices: ArrowArrayExportable, containers: int = 2
) -> tuple[pa.StringArray, pa.UInt8Array]: ...
def array_lengths(texts: ArrowArrayExportable) -> tuple[pa.Int32Array, pa.UInt8Array]: ...
def parts(
    texts: ArrowArrayExportable, containers: int
) -> tuple[pa.Int32Array, pa.StringArray, pa.StringArray, pa.UInt8Array, pa.UInt8Array]: ...
