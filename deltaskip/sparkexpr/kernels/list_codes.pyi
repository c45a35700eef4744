import pyarrow as pa

from deltaskip.sparkexpr.kernels.lane import ArrowArrayExportable

def repeated_codes(lengths: ArrowArrayExportable, codes: ArrowArrayExportable, count: int) -> pa.UInt8Array: ...
def codes_among(
    lengths: ArrowArrayExportable,
    codes: ArrowArrayExportable,
    other_lengths: ArrowArrayExportable,
    other_codes: ArrowArrayExportable,
    count: int,
) -> pa.UInt8Array: ...
