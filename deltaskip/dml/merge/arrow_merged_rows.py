"""The rows that a MERGE in this process writes: computed once, kept in memory, and written by the table's rules."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain

import pyarrow as pa

from deltaskip.data_files.parquet_writer import DataFileLayout, write_data_files
from deltaskip.data_files.written_rows import WrittenRows
from deltaskip.dml.arrow_execution import ArrowExecution
from deltaskip.dml.changed_rows import NewRows
from deltaskip.dml.execution import RowsOfFiles
from deltaskip.features.change_data_feed import CHANGE_TYPE
from deltaskip.features.identity_columns import IdentityColumn
from deltaskip.features.row_tracking import RowIdColumns
from deltaskip.rows.arrow_conversion import ArrowRows
from deltaskip.rows.plan import RowPlan
from deltaskip.sparkexpr.values.arrow_values import arrow_array


class ArrowPart:
    """Rows that one clause writes.

    Args:
        change: The kind of change: update or insert.
        plan: The plan by which they are written.
        time_zone: The time zone of casts.
        now: The time of the statement, in microseconds since the epoch.
        computed: As for ArrowRows.

    Attributes:
        stored: The rows as they are stored, each batch with the row ids that its rows keep.
    """

    def __init__(self, change: str, plan: RowPlan, time_zone: str, now: int, computed: Collection[str]) -> None:
        self.change = change
        self._rules = ArrowRows(plan, time_zone, now_micros=now, computed=computed)
        self._given: list[tuple[pa.RecordBatch, pa.Array | None]] = []
        self.stored: list[tuple[pa.RecordBatch, pa.Array | None]] = []

    @property
    def decides_every_row(self) -> bool:
        """Whether no row is left to Spark, whatever rows are added."""
        return self._rules.decides_every_row

    def add(self, columns: Mapping[str, pa.Array], rows: int, row_ids: pa.Array | None) -> None:
        """Add rows, with their row ids if the table has row tracking."""
        given = pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
        assert not columns or len(given) == rows
        self._given.append((given, row_ids))

    def store(
        self, identities: Mapping[str, IdentityColumn], has_warned: bool
    ) -> tuple[Mapping[str, IdentityColumn], bool]:
        """Compute the rows as they are stored, starting from these states of identity columns and the warning."""
        rules = self._rules
        rules.has_warned = has_warned
        rules.identities = {name: identities.get(name, state) for name, state in rules.identities.items()}
        self._given.reverse()
        while self._given:
            given, ids = self._given.pop()
            self.stored.append((rules.convert(given), ids))
        return {**identities, **rules.identities}, rules.has_warned


class ArrowMergedRows(NewRows):
    """The rows of all clauses.

    Args:
        execution: Reads rows of the table's files.
        parts: The rows by clause.
    """

    def __init__(self, execution: ArrowExecution, parts: Sequence[ArrowPart]) -> None:
        self._execution = execution
        self._parts = parts
        self._identities: Mapping[str, IdentityColumn] = {}

    @property
    def has_old_values(self) -> bool:
        return False

    def release(self) -> None:
        """See NewRows.release."""

    def compute(self) -> None:
        """Compute the rows as they are stored.

        Raises:
            RowViolation: A row violates a rule of the table, or a value does not fit its column.
            UnsupportedFeature: A rule can only be evaluated by Spark.
        """
        identities: Mapping[str, IdentityColumn] = {}
        has_warned = False
        for part in self._parts:
            identities, has_warned = part.store(identities, has_warned)
        self._identities = identities

    def write(self, copied: RowsOfFiles | None, row_ids: RowIdColumns | None, layout: DataFileLayout) -> WrittenRows:
        stays = [] if copied is None else [copied]
        kept = self._execution.rows(stays, layout.schema, row_ids, layout.mapping_mode)
        replaced = sum(len(part.files) for part in stays)
        rows = chain(kept, self._with_ids(row_ids))
        written = write_data_files(rows, layout, divided=True, replaced=replaced)
        return WrittenRows(written.files, written.rows, self._identities, written.folder)

    def write_changes(self, before: Sequence[RowsOfFiles], layout: DataFileLayout) -> WrittenRows:
        images = self._execution.rows(before, layout.schema, None, layout.mapping_mode)
        return write_data_files(chain(images, self._images()), layout)

    def _with_ids(self, row_ids: RowIdColumns | None) -> Iterator[pa.RecordBatch]:
        for part in self._parts:
            for batch, ids in part.stored:
                if row_ids is None:
                    yield batch
                    continue
                nothing = pa.nulls(len(batch), pa.int64())
                arrays = [*batch.columns, nothing if ids is None else ids, nothing]
                yield pa.RecordBatch.from_arrays(arrays, names=[*batch.schema.names, *(f.name for f in row_ids.fields)])

    def _images(self) -> Iterator[pa.RecordBatch]:
        for part in self._parts:
            kind = "update_postimage" if part.change == "update" else part.change
            for batch, _ in part.stored:
                change = pa.repeat(arrow_array([kind], pa.string())[0], len(batch))
                names = [*batch.schema.names, CHANGE_TYPE]
                yield pa.RecordBatch.from_arrays([*batch.columns, change], names=names)
