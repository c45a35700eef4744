import pyarrow as pa

from deltaskip.kernels.lane import ArrowArrayExportable

def texts_at(
    texts: ArrowArrayExportable, names: ArrowArrayExportable, indices: ArrowArrayExportable, whole: bool = True
) -> tuple[pa.StringArray, pa.UInt8Array]: ...
def array_lengths(texts: ArrowArrayExportable) -> tuple[pa.Int32Array, pa.UInt8Array]: ...
