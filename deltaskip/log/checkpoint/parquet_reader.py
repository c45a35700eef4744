"""Opening of checkpoint files by pyarrow's reader of Parquet, without `pyarrow.parquet` around it.

That module imports every file system of pyarrow and Python's ssl, which takes a tenth of a first plan, and each of its
files builds a dictionary of all columns. Where pyarrow has its reader elsewhere, it is taken from there.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from deltaskip.kernels.parquet_metadata import footer_fits

if TYPE_CHECKING:
    import pyarrow.parquet as pq

_TAIL_BYTES = 64 << 10
_END, _MAGIC = struct.Struct("<I4s"), b"PAR1"


def open_reader(source: pa.NativeFile, metadata: pq.FileMetaData | None = None, pre_buffer: bool = False) -> Any:
    """Return pyarrow's reader of an open file: `metadata`, `read_row_groups`, `iter_batches`. Raises what pyarrow does.

    Args:
        source: The file.
        metadata: Its footer, if that is known.
        pre_buffer: Whether column chunks are read before their use.
    """
    # Spark writes timestamps of stats_parsed as INT96; nanoseconds would wrap before 1678 and after 2262.
    options = {"metadata": metadata, "pre_buffer": pre_buffer, "coerce_int96_timestamp_unit": "us"}
    try:
        from pyarrow._parquet import ParquetReader
    except ImportError:
        import pyarrow.parquet as pq

        return pq.ParquetFile(source, **options).reader
    reader = ParquetReader()
    reader.open(source, **options)
    return reader


def read_metadata(source: pa.NativeFile) -> pq.FileMetaData:
    """Return the footer of an open file, whose column chunks pyarrow can describe. Raises what pyarrow does.

    Raises ValueError if pyarrow would end the process for the metadata of a column chunk.
    """
    size = source.size()
    tail = source.read_at(min(size, _TAIL_BYTES), max(0, size - _TAIL_BYTES))
    length, magic = _END.unpack(tail[-_END.size :]) if len(tail) >= _END.size else (0, b"")
    length += _END.size
    if magic == _MAGIC and length <= size:
        tail = tail if len(tail) >= length else source.read_at(length, size - length)
        if not footer_fits(memoryview(tail)[len(tail) - length : -_END.size]):
            raise ValueError("the column chunks in its footer do not fit its columns")
    return open_reader(pa.BufferReader(tail)).metadata
