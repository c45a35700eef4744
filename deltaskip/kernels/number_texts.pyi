import pyarrow as pa

from deltaskip.kernels.lane import ArrowArrayExportable

def in_base(
    texts: ArrowArrayExportable, sources: ArrowArrayExportable, targets: ArrowArrayExportable
) -> tuple[pa.StringArray, pa.UInt8Array]: ...
