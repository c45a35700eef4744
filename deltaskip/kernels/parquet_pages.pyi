from collections.abc import Mapping
from typing import Any

import numpy.typing as npt
import pyarrow as pa
from typing_extensions import Buffer

__all__ = ["CODECS", "RowTaker"]

CODECS: Mapping[str, int]

class RowTaker:
    def __init__(
        self,
        positions: Buffer | npt.NDArray[Any] | None,
        rows: int,
        width: int,
        out_width: int,
        big_endian: bool,
        optional: bool,
        most_bytes: int = ...,
        codes: bool = ...,
        views: bool = ...,
        defined: int = ...,
        slot: int = ...,
        repeated: bool = ...,
    ) -> None: ...
    def take_chunk(self, data: Buffer, values: int, codec: int, first_row: int = ...) -> None: ...
    def levels(self) -> tuple[int, pa.Buffer, pa.Buffer]: ...
    def entries_taken(self) -> tuple[pa.Buffer, pa.Buffer]: ...
    def finish(self) -> tuple[pa.Buffer | None, ...]: ...
