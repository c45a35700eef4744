"""The doors through which Arrow, Polars and DuckDB take the rows of scans."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, cast, overload

from deltaskip import arguments
from deltaskip.as_frames import AsFrames

if TYPE_CHECKING:
    import duckdb
    import polars
    import pyarrow as pa

    from deltaskip.sparkexpr.types import StructField


class RowsAsArrow(AsFrames):
    """Base class of objects whose rows are read in batches of one schema. It returns them as Arrow."""

    if TYPE_CHECKING:

        def row_batches(self) -> Iterator[pa.RecordBatch]: ...

    def _arrow_schema(self) -> pa.Schema:
        from deltaskip.reading.arrow_rows import arrow_schema_of

        return arrow_schema_of(cast(Any, self))

    def to_arrow(self) -> pa.Table:
        """Return the rows as an Arrow table, read in this process without Spark.

        Raises:
            DataFileMissing: A data file does not exist.
            UnsupportedFeature: Only Spark can read a file, or evaluate the predicate.
            PredicateError: The predicate fails for a row.
            StorageError: A file cannot be read.
        """
        import pyarrow as pa

        batches = list(self.row_batches())
        return pa.Table.from_batches(batches, batches[0].schema if batches else self._arrow_schema())

    def to_batches(self) -> pa.RecordBatchReader:
        """Return a reader of the rows of `to_arrow`, which holds few of them in memory at a time.

        Files are read ahead by threads. Iterating over the reader yields record batches. It raises as `to_arrow` does,
        while it is read.
        """
        import pyarrow as pa

        return pa.RecordBatchReader.from_batches(self._arrow_schema(), self.row_batches())

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the rows as a stream of the Arrow PyCapsule interface, see `to_batches`.

        Args:
            requested_schema: The schema that the consumer prefers, as a capsule.
        """
        return self.to_batches().__arrow_c_stream__(requested_schema)


class ScanFrames(RowsAsArrow):
    """Base class of scans. Polars and DuckDB read what a query over them needs."""

    @property
    def columns_of_files(self) -> Sequence[StructField]:
        """The columns that local files have under the names by which the scan returns them.

        There are none if the scan has a limit, is not of the files of one version, or returns a field of a column.
        """
        return ()

    @overload
    def to_polars(self, lazy: Literal[False] = False) -> polars.DataFrame: ...

    @overload
    def to_polars(self, lazy: Literal[True]) -> polars.LazyFrame: ...

    def to_polars(self, lazy: bool = False) -> polars.DataFrame | polars.LazyFrame:
        """Return the rows as a Polars DataFrame, or as a LazyFrame, which reads when it is collected.

        A LazyFrame reads the columns and rows that its query needs: comparisons of a column with constants, IN lists
        and NULL tests skip files and row groups. Polars applies every filter itself, so that its rows are those of
        `to_polars().lazy()`, and reads local files itself where its reader has the same rows of all of them.
        It reads the same version or versions each time, in bounded memory with
        `collect(engine="streaming")`, `collect_batches` and sinks. If changes of rows are found by comparison, a filter
        is pushed down only where the scan has no predicate.

        Args:
            lazy: Whether to return a LazyFrame.

        Raises:
            UnsupportedFeature: Polars is not installed.
        """
        from deltaskip.reading.data_frames import data_frame, lazy_frame

        scan = cast(Any, self)
        return lazy_frame(scan) if arguments.flag("lazy", lazy) else data_frame(scan)

    def to_duckdb(self, connection: Any = None, name: str | None = None) -> duckdb.DuckDBPyRelation:
        """Return the rows as a relation of DuckDB, and make a view of them if a name is given.

        A query over it reads the columns that it needs, and only files and row groups that its filters on single
        columns leave, in bounded memory. Every query reads the same version or versions of the table.

        Args:
            connection: The connection. The default is DuckDB's default connection.
            name: Name of a temporary view to create in the connection; a view of this name is replaced.

        Raises:
            UnsupportedFeature: DuckDB is not installed.
            InvalidArgument: `name` is empty, or a table of the connection has that name.
            InvalidArgumentType: `connection` is not a connection of DuckDB, or `name` is not a str.
        """
        from deltaskip.reading.scan_dataset import duckdb_relation

        return duckdb_relation(cast(Any, self), connection, arguments.text_or_none("name", name))
