"""The rows that a caller gives: a DataFrame of Spark, or Arrow data of any library."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from deltaskip.engine import engine, is_column
from deltaskip.errors import InvalidArgumentType
from deltaskip.rows.arrow import ArrowRows
from deltaskip.rows.arrow_store import incoming_schema
from deltaskip.rows.parquet_files import DataFileLayout, write_data_files
from deltaskip.rows.plan import RowPlan
from deltaskip.rows.written import WrittenRows
from deltaskip.schema.given import schema_of
from deltaskip.schema.types import StructType

__all__ = ["GivenRows"]


class GivenRows:
    """Rows to be written, with their schema.

    Args:
        data: A DataFrame of PySpark, classic or Connect, or an object with `__arrow_c_stream__`: tables, batches and
            readers of pyarrow, and DataFrames of pandas, polars and DuckDB.

    Raises:
        InvalidArgumentType: `data` is none of these.
    """

    def __init__(self, data: Any) -> None:
        self._frame = self._reader = None
        self._data = data
        if is_column(data) and hasattr(data, "sparkSession"):
            self._frame = data
            return
        if isinstance(data, pa.RecordBatch):
            data = self._data = pa.Table.from_batches([data])
        if not hasattr(data, "__arrow_c_stream__"):
            raise InvalidArgumentType.of("data", "a Spark DataFrame, or Arrow data with __arrow_c_stream__", data)
        self._reader = pa.RecordBatchReader.from_stream(data)

    def schema_for(self, table_schema: StructType) -> StructType:
        """Return the schema of the rows, for a plan of a table with this schema.

        Raises SchemaError for a column whose type has no counterpart in Delta.
        """
        if self._frame is not None:
            return schema_of(self._frame.schema)
        reader = self._opened()
        self._reader = reader
        return incoming_schema(reader.schema, table_schema)

    @property
    def repeatable(self) -> bool:
        """Whether the rows can be read a second time, which a stream cannot."""
        return not isinstance(self._data, pa.RecordBatchReader)

    def write(self, plan: RowPlan, layout: DataFileLayout) -> WrittenRows:
        """Write the rows as data files. After an error no file is left.

        Raises:
            RowViolation: A row violates a rule of the table, or a value does not fit its column.
            UnsupportedFeature: An expression of the table needs a Spark session.
            StorageError: The files cannot be written.
        """
        if self._frame is not None:
            written: WrittenRows = engine(f"Writing a DataFrame to {plan.table}").write_dataframe(
                self._frame, plan, layout
            )
            return written
        rows = ArrowRows(plan, layout.time_zone)
        files = write_data_files(rows.stream(self._batches()), layout)
        return WrittenRows(tuple(files), rows.identities)

    def _opened(self) -> pa.RecordBatchReader:
        return pa.RecordBatchReader.from_stream(self._data) if self._reader is None else self._reader

    def _batches(self) -> Iterator[pa.RecordBatch]:
        reader, self._reader = self._opened(), None
        yield from reader
