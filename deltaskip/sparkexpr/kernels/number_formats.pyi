import pyarrow as pa

from deltaskip.sparkexpr.kernels.lane import ArrowArrayExportable

def written_in(
    texts: ArrowArrayExportable, scale: int, tokens: bytes, counts: ArrowArrayExportable, whole: int, part: int
) -> pa.StringArray: ...
def read_in(
    texts: ArrowArrayExportable, tokens: bytes, counts: ArrowArrayExportable, whole: int, part: int
) -> tuple[pa.Int64Array, pa.UInt8Array]: ...
