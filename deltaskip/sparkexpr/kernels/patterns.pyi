from collections.abc import Mapping, Sequence

import pyarrow as pa
from typing_extensions import Buffer

from deltaskip.sparkexpr.kernels.lane import ArrowArrayExportable

PLACES: Mapping[str, int]

class Program:
    def __init__(
        self,
        code: list[tuple[object, ...]],
        sets: Sequence[tuple[Sequence[tuple[int, int]], Sequence[tuple[int, int]]]],
        groups: int,
        first: bytes | None,
        anchored: bool,
    ) -> None: ...

def search(
    texts: ArrowArrayExportable, program: Program, groups: list[int], most: int
) -> tuple[pa.Int64Array, pa.Int64Array, pa.UInt8Array]: ...
def joined(
    data: Buffer, starts: ArrowArrayExportable, ends: ArrowArrayExportable, offsets: ArrowArrayExportable
) -> tuple[pa.Buffer, pa.Buffer]: ...
