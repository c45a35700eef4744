import pyarrow as pa

from deltaskip.sparkexpr.kernels.icu_library import IcuCollator
from deltaskip.sparkexpr.kernels.lane import ArrowArrayExportable

def sort_keys(collator: IcuCollator, array: ArrowArrayExportable, rtrim: bool = False) -> pa.LargeBinaryArray: ...
def sort_key(collator: IcuCollator, text: bytes, rtrim: bool = False) -> bytes: ...
