import pyarrow as pa

from deltaskip.kernels.lane import ArrowArrayExportable, Lane
from deltaskip.kernels.roaring_encode import encode

__all__ = ["decode", "encode", "live_rows"]

def decode(data: bytes | bytearray | memoryview | pa.Buffer, expected_cardinality: int) -> pa.Int64Array: ...
def live_rows(indexes: ArrowArrayExportable, start: int, length: int) -> Lane: ...
