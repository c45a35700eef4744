"""Writing one Parquet file of a checkpoint, row group by row group."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq

__all__ = ["CheckpointFile"]


class CheckpointFile:
    """Writer of a Parquet file with one column per action; a context manager.

    columns: name and type of each action. rows: number of rows written.
    """

    def __init__(self, name: str, columns: Mapping[str, pa.StructType]) -> None:
        self._schema = pa.schema(list(columns.items()))
        # Arrow's own schema in the footer is of no use to other readers.
        self._writer: Any = pq.ParquetWriter(name, self._schema, compression="snappy", store_schema=False)
        self.rows = 0

    def write(self, action: str, values: pa.StructArray) -> None:
        """Write a row group with only this action, so that readers of other actions skip it."""
        if not len(values):
            return
        arrays = [values if field.name == action else pa.nulls(len(values), field.type) for field in self._schema]
        self._writer.write_table(pa.table(arrays, schema=self._schema), row_group_size=len(values))
        self.rows += len(values)

    def write_state(self, rows: list[tuple[str, pa.StructArray]]) -> None:
        """Write one row group of several actions, in the given order."""
        if not rows:
            return
        arrays = []
        for field in self._schema:
            pieces = [values if name == field.name else pa.nulls(len(values), field.type) for name, values in rows]
            arrays.append(pa.concat_arrays(pieces))
        self._writer.write_table(pa.table(arrays, schema=self._schema))
        self.rows += sum(len(values) for _, values in rows)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._writer.close()
