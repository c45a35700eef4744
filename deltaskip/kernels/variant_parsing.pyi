import pyarrow as pa

from deltaskip.kernels.lane import ArrowArrayExportable

def variants_of(texts: ArrowArrayExportable) -> tuple[pa.BinaryArray, pa.BinaryArray, pa.UInt8Array]: ...
