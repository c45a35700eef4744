"""A scan that reads its rows in this process, as Arrow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deltaskip.doors import door
from deltaskip.log.doors import of_one_table
from deltaskip.skipping.scan import Scan

if TYPE_CHECKING:
    import pandas
    import pyarrow as pa
    import pyarrow.dataset

    from deltaskip.reading.metrics import ScanMetrics

__all__ = ["TableScan"]


@door
@of_one_table
class TableScan(Scan):
    """A scan of a table: the files that can contain rows matching a predicate, and the rows that match.

    Created by `DeltaTable.scan`. `to_spark` reads the rows through Spark; `to_arrow`, `to_batches`, `to_pandas` and
    `__arrow_c_stream__` read them in this process without Spark, so that DuckDB and Polars take a scan as it is:

        duckdb.sql("SELECT count(*) FROM scan")
        polars.DataFrame(scan)

    Rows are exactly those that Spark returns for the predicate in the scan's `time_zone`, with strings compared under
    the scan's `collation_version`. They come in the order of the files in the log. What only Spark can read or evaluate
    raises UnsupportedFeature. Every method of these raises

    * UnsupportedFeature for dates before 1582 of old writers, and expressions that only Spark knows,
    * PredicateError if the predicate fails for a row, as a division by zero does,
    * DataFileMissing and StorageError for files that cannot be read.
    """

    @property
    def metrics(self) -> ScanMetrics | None:
        """What the last finished read in this process has read and skipped, and its time; None before the first.

        The logger `deltaskip` gets the same as a line at level INFO.
        """
        found: ScanMetrics | None = self.__dict__.get("_metrics")
        return found

    def _finished(self, metrics: ScanMetrics) -> None:
        self._metrics = metrics

    def _repr_html_(self) -> str:
        metrics = self.metrics
        return super()._repr_html_() + ("" if metrics is None else metrics._repr_html_())

    def to_arrow(self) -> pa.Table:
        """Return the rows that match the predicate as a table of Arrow, with the selected columns and the limit."""
        import pyarrow as pa

        from deltaskip.reading.arrow_rows import arrow_batches, arrow_schema_of

        schema = arrow_schema_of(self)
        return pa.Table.from_batches(arrow_batches(self, self._finished), schema)

    def to_batches(self) -> pa.RecordBatchReader:
        """Return a reader of the rows, which holds few of them in memory at a time.

        Files are read ahead by threads. Iterating over the reader yields record batches.
        """
        import pyarrow as pa

        from deltaskip.reading.arrow_rows import arrow_batches, arrow_schema_of

        return pa.RecordBatchReader.from_batches(arrow_schema_of(self), arrow_batches(self, self._finished))

    def to_pandas(self, **options: Any) -> pandas.DataFrame:
        """Return the rows as a DataFrame of pandas.

        Args:
            options: Arguments of `pyarrow.Table.to_pandas`, such as types_mapper.
        """
        return self.to_arrow().to_pandas(**options)

    def to_dataset(self) -> pyarrow.dataset.Dataset:
        """Return the rows as a dataset of pyarrow, which reads columns and filters of its own when it is used.

        Its fragments are the files that can contain matching rows, each with its partition values. The footer of every
        file is read. What pyarrow does not read as Spark does is refused: deletion vectors, renamed columns, limits,
        and predicates that are not certain for every row of a file.

        Raises:
            UnsupportedFeature: The rows would not be those of the scan. The message names the reason.
            DataFileMissing: A file does not exist.
            StorageError: A file cannot be read.
        """
        from deltaskip.reading.dataset import arrow_dataset

        return arrow_dataset(self)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the rows as a stream of the Arrow PyCapsule interface, see `to_batches`.

        Args:
            requested_schema: The schema that the consumer prefers, as a capsule.
        """
        return self.to_batches().__arrow_c_stream__(requested_schema)
