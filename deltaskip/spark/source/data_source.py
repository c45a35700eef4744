"""The Python data source of the format `deltaskip`, which creates its readers, writers and streams."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from pyspark.sql import datasource
from pyspark.sql import types as spark_types
from pyspark.sql.datasource import DataSource, DataSourceReader

from deltaskip.change_feed.change_scan import ChangeScan
from deltaskip.errors import DeltaSkipError, InvalidArgument, UnsupportedFeature
from deltaskip.reading.table_scan import TableScan
from deltaskip.spark.columns.spark_types import check_given_to_python, check_returned_by_python, spark_schema
from deltaskip.spark.source.batch_read import BatchReader, FilteringReader
from deltaskip.spark.source.batch_write import BatchWriter
from deltaskip.spark.source.options import SourceOptions, option_words
from deltaskip.spark.source.source_write_options import SourceWriteOptions
from deltaskip.spark.source.stream_read import ChangeStreamReader, StreamReader
from deltaskip.spark.source.workers import HIDE_TRACEBACK, SentToWorkers, keeps_reads_apart, pushes_filters
from deltaskip.sparkexpr.types import StructType

_Method = TypeVar("_Method", bound=Callable[..., Any])


def _says(method: _Method) -> _Method:
    """Let Spark show only the message of a deltaskip error, and the traceback of every other error."""

    @wraps(method)
    def call(*args: Any, **named: Any) -> Any:
        os.environ.pop(HIDE_TRACEBACK, None)
        try:
            with option_words():
                return method(*args, **named)
        except DeltaSkipError:
            os.environ[HIDE_TRACEBACK] = "1"
            raise

    return call  # type: ignore[return-value]


class DeltaSkipDataSource(SentToWorkers, DataSource):  # type: ignore[misc]
    """Reads and writes Delta tables: `spark.read.format("deltaskip").option("where", "id > 9").load(path)`.

    Spark creates an instance in a Python process of the driver for each step of planning.
    """

    @_says
    def __init__(self, options: dict[str, str]) -> None:
        super().__init__(options)
        self._options = SourceOptions.of(dict(options))

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return "deltaskip"

    @_says
    def schema(self) -> spark_types.StructType:
        """The columns of the rows."""
        self._options.refuse_options_of_writes()
        options = self._options
        return _columns_of(options.change_columns() if options.reads_changes else options.scan())

    @_says
    def reader(self, schema: spark_types.StructType) -> DataSourceReader:
        """The reader of the rows.

        Raises InvalidArgument for a schema that is not the table's.
        """
        scan = self._scan()
        wanted = _columns_of(scan)
        if wanted.simpleString() != schema.simpleString():
            raise InvalidArgument(
                f"The table {self._options.path} has the columns {wanted.simpleString()}, not {schema.simpleString()}: "
                f"leave out schema(), and choose columns with the option columns or with select."
            )
        reader = FilteringReader if pushes_filters() and keeps_reads_apart() else BatchReader
        return reader(self._options, scan)

    # Errors keep their traceback: Spark's next calls fail again, and would otherwise hide the first error.
    def streamReader(self, schema: spark_types.StructType) -> StreamReader:
        """The reader that follows the table.

        Raises InvalidArgument for an option that a stream does not take.
        """
        self._options.refuse_options_of_writes()
        self._options.refuse_options_of_batches()
        return (ChangeStreamReader if self._options.reads_changes else StreamReader)(self._options, schema)

    @_says
    def writer(self, schema: spark_types.StructType, overwrite: bool) -> BatchWriter:
        """The writer of the rows.

        Raises as `PlannedWrite.of` does, and UnsupportedFeature for a type that tasks do not write.
        """
        check_given_to_python(schema, self._options.path)
        return BatchWriter(SourceWriteOptions(self._options, overwrite), schema)

    @_says
    def streamWriter(self, schema: spark_types.StructType, overwrite: bool) -> Any:
        """The writer of the rows of a stream.

        Raises UnsupportedFeature for the output mode complete, for a type that tasks do not write, and for Spark 4.0.
        """
        path = self._options.path
        if overwrite:
            raise UnsupportedFeature(
                f"The format deltaskip does not support the output mode complete: call DeltaTable({path!r}).overwrite "
                f"in the function of foreachBatch."
            )
        if not hasattr(datasource, "DataSourceStreamArrowWriter"):
            raise UnsupportedFeature(
                f"Streams into the format deltaskip need Spark 4.1 or newer: call DeltaTable({path!r}).append_batch in "
                f"the function of foreachBatch."
            )
        from deltaskip.spark.source.stream_write import StreamWriter

        check_given_to_python(schema, path)

        return StreamWriter(SourceWriteOptions(self._options, overwrite), schema)

    def _scan(self) -> TableScan | ChangeScan:
        options = self._options
        return options.changes() if options.reads_changes else options.scan()


def _columns_of(scan: TableScan | ChangeScan) -> spark_types.StructType:
    """The columns of the rows of a scan."""
    fields = {field.name: field for field in scan.snapshot.schema.fields}
    names = list(fields) if scan.columns is None else dict.fromkeys(scan.columns)
    chosen = tuple(fields[name] for name in names)
    check_returned_by_python(chosen, scan.snapshot.table_root, "read it with DeltaTable.scan().to_spark(spark).")
    return spark_schema(StructType(chosen))
