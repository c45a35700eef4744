"""Parts of a scan that read themselves, in this process or in another one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from deltaskip import arguments
from deltaskip.doors import door
from deltaskip.errors import InvalidArgument
from deltaskip.log import same_table
from deltaskip.reading.arrow_rows import RowReader, arrow_schema_of, row_reads

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow as pa

    from deltaskip.reading.table_scan import TableScan

_Call = tuple[str, tuple[Any, ...]]
"""A method of RowReader, and its arguments."""


@door
class ScanPiece:
    """A part of the rows of a scan, made by `TableScan.pieces`. It can be pickled.

    The pieces of a scan together have its rows, in its order. A process that reads one from a pickle opens the table's
    version again; secrets are in the pickle only if they are in that of the table, see `DeltaTable.with_secrets`.

    Attributes:
        size_in_bytes: Bytes of the files and row groups of the piece.
    """

    def __init__(self, scan: TableScan, size_in_bytes: int, calls: tuple[_Call, ...]) -> None:
        self._scan = scan
        self.size_in_bytes = size_in_bytes
        self._calls = calls

    def __repr__(self) -> str:
        return f"ScanPiece({self._scan!r}, {self.size_in_bytes:,} bytes)"

    def to_batches(self) -> pa.RecordBatchReader:
        """Return a reader of the rows, which holds few of them in memory at a time. Raises as that of the scan."""
        import pyarrow as pa

        return pa.RecordBatchReader.from_batches(arrow_schema_of(self._scan), self._batches())

    def to_arrow(self) -> pa.Table:
        """Return the rows as a table of Arrow. Raises as that of the scan."""
        return self.to_batches().read_all()

    def to_pandas(self, types: str = "numpy", **options: Any) -> pandas.DataFrame:
        """Return the rows as a DataFrame of pandas.

        Args:
            types: As for `TableScan.to_pandas`.
            options: Arguments of `pyarrow.Table.to_pandas`.
        """
        from deltaskip.reading.data_frames import pandas_frame

        return pandas_frame(self.to_arrow(), types, options)

    def to_polars(self) -> polars.DataFrame:
        """Return the rows as a DataFrame of Polars. Raises as that of the scan."""
        from deltaskip.reading.data_frames import frame_of

        return frame_of(self.to_arrow())

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the rows as a stream of the Arrow PyCapsule interface.

        Args:
            requested_schema: The schema that the consumer prefers, as a capsule.
        """
        return self.to_batches().__arrow_c_stream__(requested_schema)

    @door
    def _batches(self) -> Iterator[pa.RecordBatch]:
        reader = RowReader.of(self._scan, len(self._calls))
        with same_table(self._scan.snapshot):
            for name, args in self._calls:
                yield from getattr(reader, name)(*args)


def pieces_of(scan: TableScan, pieces: object) -> list[ScanPiece]:
    """Return the parts of a scan, see `TableScan.pieces`."""
    number = arguments.non_negative("n", pieces)
    wanted = (os.cpu_count() or 1) if number is None else number
    if not wanted:
        raise InvalidArgument("n must be 1 or greater, not 0.")
    if scan.limit is not None:
        raise InvalidArgument(
            f"A scan with a limit has no pieces, since none knows how many rows the others have: leave out "
            f"limit={scan.limit} (table {scan.snapshot.table_root})."
        )
    most = max(1, -(-_bytes(scan) // wanted))
    found: list[tuple[int, list[_Call]]] = []
    for size, read in row_reads(scan, most):
        # `row_reads` returns methods of one reader with their arguments.
        call = read.func.__name__, read.args  # type: ignore[attr-defined]
        if not found or (found[-1][0] + size > most and len(found) < wanted):
            found.append((0, []))
        found[-1] = found[-1][0] + size, [*found[-1][1], call]
    # Without rows, one piece has the schema.
    return [ScanPiece(scan, size, tuple(calls)) for size, calls in found or [(0, [])]]


def _bytes(scan: TableScan) -> int:
    from deltaskip.schema.arrow_values import exact_sum

    return exact_sum(scan.files(columns=["size"])["size"])
