import pyarrow as pa

from deltaskip.sparkexpr.kernels.lane import ArrowArrayExportable

def digests(values: ArrowArrayExportable, bits: int, instructions: bool = True) -> pa.StringArray: ...
