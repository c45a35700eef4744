import pyarrow as pa

from deltaskip.sparkexpr.kernels.lane import ArrowArrayExportable

def of_numbers(typed: ArrowArrayExportable, value: ArrowArrayExportable | None = None) -> pa.LargeBinaryArray: ...
def of_texts(
    typed: ArrowArrayExportable, value: ArrowArrayExportable | None = None, uuid: bool = False
) -> pa.LargeBinaryArray: ...
def of_lists(
    lengths: ArrowArrayExportable, elements: ArrowArrayExportable, value: ArrowArrayExportable | None = None
) -> pa.LargeBinaryArray: ...
