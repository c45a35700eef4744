import pyarrow as pa

from deltaskip.kernels.lane import ArrowArrayExportable

def hash_numbers(
    values: ArrowArrayExportable, seeds: ArrowArrayExportable, width: int, wide: bool = False
) -> pa.Int64Array: ...
def hash_decimals(
    values: ArrowArrayExportable, seeds: ArrowArrayExportable, wide: bool = False
) -> pa.Int64Array: ...
def hash_bytes(values: ArrowArrayExportable, seeds: ArrowArrayExportable, wide: bool = False) -> pa.Int64Array: ...
