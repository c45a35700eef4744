import pyarrow as pa

from deltaskip.sparkexpr.kernels.icu_library import IcuCollator
from deltaskip.sparkexpr.kernels.lane import ArrowArrayExportable

def compare(
    collator: IcuCollator, array: ArrowArrayExportable, literal: bytes, rtrim: bool = False
) -> pa.Int8Array: ...
def min_max(collator: IcuCollator, array: ArrowArrayExportable, rtrim: bool = False) -> tuple[int, int] | None: ...
def compare_texts(collator: IcuCollator, left: bytes, right: bytes, rtrim: bool = False) -> int: ...
