"""The task that reads rows of planned files. Runs on executors; it needs this package but not pyspark."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa

from deltaskip.reading.row_groups import RowGroups
from deltaskip.reading.stored_rows import StoredRows, listed_twice

PIECE, PIECES = "__deltaskip_piece", "__deltaskip_pieces"
"""Columns after a file's columns: the index of the share of row groups to read, and the number of shares."""


def rows_runner(
    rows: StoredRows, files: pa.Schema, schema: pa.Schema, table_root: str
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """A function for mapInArrow that returns the rows of files that are not deleted.

    Each piece of a file must be given once. A piece that is given twice to one task raises CorruptLog.

    Args:
        rows: Reads rows of files.
        files: Columns of the file list that it needs; PIECE and PIECES follow in the batches.
        schema: Schema of the rows.
        table_root: URI of the table, for messages.
    """

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        seen: set[tuple[str, int]] = set()
        for batch in batches:
            table = pa.Table.from_batches([batch])
            listed = table.select(files.names).cast(files)
            shares = zip(table[PIECE].to_pylist(), table[PIECES].to_pylist(), strict=True)
            for number, (piece, pieces) in enumerate(shares):
                file = listed.slice(number, 1)
                key = file["uri"][0].as_py(), piece
                if key in seen:
                    raise listed_twice(table_root, key[0])
                seen.add(key)
                groups = None if pieces == 1 else _share(rows, file, piece, pieces)
                if groups is None or groups.numbers:
                    for _, found in rows.live(file, groups):
                        arrays = [_under(found.columns[field.name], field.type) for field in schema]
                        yield pa.RecordBatch.from_arrays(arrays, schema=schema)

    return run


def _under(array: pa.Array, data_type: pa.DataType) -> pa.Array:
    """The array with a type that differs only in field metadata. A cast would keep the old metadata."""
    return array if array.type.equals(data_type, check_metadata=True) else array.view(data_type)


def _share(rows: StoredRows, file: pa.Table, piece: int, pieces: int) -> RowGroups:
    found = rows.row_groups(file)
    count = found.footer.num_row_groups
    return RowGroups.of(found.footer, [number for number in found.numbers if number * pieces // count == piece])
