from typing import Any

import numpy.typing as npt
import pyarrow as pa
from typing_extensions import Buffer

__all__ = ["ParquetFiles"]

class ParquetFiles:
    def __init__(self, paths: list[bytes]) -> None: ...
    def __len__(self) -> int: ...
    def close(self) -> None: ...
    def key(self, number: int) -> bytes | None: ...
    def rows(self, number: int) -> int: ...
    def plain_size(self, number: int) -> int: ...
    def take(
        self,
        positions: Buffer | npt.NDArray[Any] | None,
        leaf: int,
        width: int,
        out_width: int,
        big_endian: bool,
        optional: bool,
        most_bytes: int = ...,
        views: bool = ...,
    ) -> tuple[pa.Buffer | None, ...]: ...
