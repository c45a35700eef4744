import pyarrow as pa

from deltaskip.sparkexpr.kernels.lane import ArrowArrayExportable

def variants_of(texts: ArrowArrayExportable) -> tuple[pa.BinaryArray, pa.BinaryArray, pa.UInt8Array]: ...
