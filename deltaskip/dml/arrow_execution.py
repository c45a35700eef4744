"""Changes of rows without Spark: files are read by pyarrow, and predicates evaluated by deltaskip's own evaluator."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.dml.execution import CHANGE_TYPE, RowExecution, RowIdColumns, RowsOfFiles
from deltaskip.dml.positions import RowPositions
from deltaskip.dml.stored_rows import StoredBatch, StoredRows
from deltaskip.errors import PredicateError, UnsupportedFeature
from deltaskip.expr import EvaluationError, Undecided, columns_of
from deltaskip.expr.render import to_sql
from deltaskip.kernels.deletion_vector import live_rows
from deltaskip.log import Snapshot
from deltaskip.rows.arrow_expressions import row_values, whole_columns
from deltaskip.rows.parquet_files import DataFileLayout, write_data_files
from deltaskip.rows.written import WrittenRows
from deltaskip.schema.arrow_values import FALSE, arrow_array, numpy_values, one_chunk
from deltaskip.schema.json import CHAR_VARCHAR_KEY
from deltaskip.schema.types import VOID, StructType
from deltaskip.skipping.scan import Scan

__all__ = ["ArrowExecution"]


class ArrowExecution(RowExecution):
    """Reads and writes rows of a table in this process, a file after the other.

    Args:
        snapshot: The table.
        time_zone: The time zone of predicates.
    """

    def __init__(self, snapshot: Snapshot, time_zone: str) -> None:
        self._snapshot = snapshot
        self._time_zone = time_zone

    @property
    def time_zone(self) -> str:
        """The time zone in which predicates are evaluated."""
        return self._time_zone

    def planned(self, scan: Scan) -> Scan:
        """The scan itself."""
        return scan

    def matching(self, scan: Scan, files: pa.Table) -> RowPositions:
        """See RowExecution.matching."""
        snapshot = self._snapshot
        wanted = {path[0] for path in columns_of(scan.predicate)}
        self._check_padding(scan, wanted)
        rows = StoredRows(snapshot, snapshot.schema, snapshot.mapping_mode, wanted)

        def found() -> Iterator[pa.Int64Array]:
            for number in range(len(files)):
                batches = (batch for _, batch in rows.live(files.slice(number, 1)))
                matches = [batch.positions[self._mask(scan, batch)] for batch in batches]
                yield arrow_array(np.concatenate([np.zeros(0, np.int64), *matches]))

        return RowPositions(found())

    def write(
        self, parts: Sequence[RowsOfFiles], schema: StructType, row_ids: RowIdColumns | None, layout: DataFileLayout
    ) -> WrittenRows:
        """See RowExecution.write."""
        columns = [field.name for field in schema.fields if field.type != VOID]

        def batches() -> Iterator[pa.RecordBatch]:
            for part in parts:
                extra = () if row_ids is None else row_ids.fields
                rows = StoredRows(self._snapshot, schema, layout.mapping_mode, None, extra)
                for number in range(len(part.files)):
                    chosen = None if part.positions is None else part.positions[number]
                    for _, batch in rows.live(part.files.slice(number, 1)):
                        batch = _chosen(batch, chosen, part.only)
                        if len(batch.positions):
                            yield _written(part, number, batch, columns, row_ids)

        return write_data_files(batches(), layout)

    def _check_padding(self, scan: Scan, columns: Collection[str]) -> None:
        """Refuse predicates on columns of type char(n), which Spark compares padded to their length."""
        declared = {f.name: str(f.metadata.get(CHAR_VARCHAR_KEY, "")) for f in self._snapshot.schema.fields}
        padded = next((name for name in columns if declared[name].lower().startswith("char(")), None)
        if padded is not None:
            raise UnsupportedFeature(
                f"The predicate {to_sql(scan.predicate)} compares {padded} of {self._snapshot.root}, which is "
                f"{declared[padded]} and padded by Spark, so it cannot be evaluated without Spark. Write the rows as a "
                f"DataFrame of a Spark session."
            )

    def _mask(self, scan: Scan, batch: StoredBatch) -> npt.NDArray[Any]:
        """Whether the predicate is TRUE for each row of a batch."""
        node, rows = scan.predicate, len(batch.positions)
        whole = whole_columns(node, batch.columns, rows)
        if isinstance(whole, pa.Scalar):
            return np.full(rows, whole.as_py() is True)
        if whole is not None:
            return numpy_values(pc.fill_null(one_chunk(whole), FALSE))
        try:
            values = row_values(node, batch.columns, rows, self._time_zone, None)
        except Undecided as error:
            raise UnsupportedFeature(
                f"The predicate {to_sql(node)} cannot be evaluated over rows of {self._snapshot.root} without Spark: "
                f"{error} Write the rows as a DataFrame of a Spark session."
            ) from error
        except EvaluationError as error:
            raise PredicateError(
                f"The predicate {to_sql(node)} fails for a row of {self._snapshot.root}: {error} Nothing was written."
            ) from error
        return np.array([value is True for value in values], np.bool_)


def _chosen(batch: StoredBatch, positions: pa.Int64Array | None, only: bool) -> StoredBatch:
    """The rows at these positions of the file, or all others."""
    if positions is None or not len(batch.positions):
        return batch
    first, last = int(batch.positions[0]), int(batch.positions[-1])
    others = numpy_values(live_rows(positions, first, last - first + 1).to_arrow())[batch.positions - first]
    return batch.filter(~others if only else others)


def _written(
    part: RowsOfFiles, number: int, batch: StoredBatch, columns: Sequence[str], row_ids: RowIdColumns | None
) -> pa.RecordBatch:
    arrays = {name: batch.columns[name] for name in columns}
    if row_ids is not None:
        first, version = (part.files[n][number] for n in ("base_row_id", "default_row_commit_version"))
        fresh = pc.add(arrow_array(batch.positions), first)
        arrays[row_ids.row_id] = pc.coalesce(batch.columns[row_ids.row_id], fresh)
        arrays[row_ids.commit_version] = pc.coalesce(batch.columns[row_ids.commit_version], version)
    if part.change is not None:
        kind = arrow_array([part.change], pa.string())
        arrays[CHANGE_TYPE.name] = kind.take(arrow_array(np.zeros(len(batch.positions), np.int64)))
    return pa.RecordBatch.from_arrays(list(arrays.values()), names=list(arrays))
