"""Opening of checkpoint files by pyarrow's reader of Parquet, without `pyarrow.parquet` around it.

That module imports every file system of pyarrow and Python's ssl, which takes a tenth of a first plan, and each of its
files builds a dictionary of all columns. Where pyarrow has its reader elsewhere, it is taken from there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    import pyarrow.parquet as pq

__all__ = ["open_reader"]


def open_reader(source: pa.NativeFile, metadata: pq.FileMetaData | None = None, pre_buffer: bool = False) -> Any:
    """Return pyarrow's reader of an open file: `metadata`, `read_row_groups`, `iter_batches`. Raises what pyarrow does.

    Args:
        source: The file.
        metadata: Its footer, if that is known.
        pre_buffer: Whether what is needed is read ahead of its use.
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
