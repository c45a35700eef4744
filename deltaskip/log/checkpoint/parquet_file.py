"""One Parquet file of a checkpoint, written row group by row group."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq

__all__ = ["CheckpointFile"]


class CheckpointFile:
    """Writes a file with one column an action; a context manager. rows: how many it has.

    columns: name and type of each action.
    """

    def __init__(self, name: str, columns: Mapping[str, pa.StructType]) -> None:
        self._schema = pa.schema(list(columns.items()))
        # Arrow's own schema in the footer would tell other readers nothing.
        self._writer: Any = pq.ParquetWriter(name, self._schema, compression="snappy", store_schema=False)
        self.rows = 0

    def write(self, action: str, values: pa.StructArray) -> None:
        """One row group of this action alone, so that a reader who wants others passes over it."""
        if not len(values):
            return
        arrays = [
            values if field.name == action else pa.nulls(len(values), field.type) for field in self._schema
        ]
        self._writer.write_table(pa.table(arrays, schema=self._schema), row_group_size=len(values))
        self.rows += len(values)

    def write_state(self, rows: list[tuple[str, pa.StructArray]]) -> None:
        """One row group of many actions, in their order."""
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
