import pyarrow as pa

from deltaskip.sparkexpr.kernels.lane import ArrowArrayExportable, Lane

__all__ = ["decode", "live_rows"]

def decode(data: bytes | bytearray | memoryview | pa.Buffer, expected_cardinality: int) -> pa.Int64Array: ...
def live_rows(indexes: ArrowArrayExportable, start: int, length: int) -> Lane: ...
