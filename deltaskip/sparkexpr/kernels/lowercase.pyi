import pyarrow as pa

from deltaskip.sparkexpr.kernels.lane import ArrowArrayExportable

class LowercaseTable:
    """Code point → lower case where they differ; A to Z and U+0130 are always lowered."""

    def __init__(self, lower: dict[int, int]) -> None: ...

def lower_keys(
    values: ArrowArrayExportable, table: LowercaseTable | None, trim: bool = False
) -> pa.LargeBinaryArray: ...
def compare_lower(
    values: ArrowArrayExportable, literal: bytes, table: LowercaseTable | None, trim: bool = False
) -> pa.Int8Array: ...
def extremes_lower(
    values: ArrowArrayExportable, table: LowercaseTable | None, trim: bool = False
) -> tuple[int, int] | None: ...
def lower_key(value: bytes, table: LowercaseTable | None, trim: bool = False) -> bytes: ...
