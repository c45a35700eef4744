import pyarrow as pa

from deltaskip.sparkexpr.kernels.lane import ArrowArrayExportable

def agreed(name: str, values: ArrowArrayExportable) -> tuple[pa.DoubleArray, pa.UInt8Array]: ...
