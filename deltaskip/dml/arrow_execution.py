"""Changes of rows without Spark: files are read by pyarrow, and predicates evaluated by deltaskip's own evaluator."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.data_files.parquet_writer import DataFileLayout, write_data_files
from deltaskip.data_files.written_rows import WrittenRows
from deltaskip.dml.arrow_updates import ArrowUpdates
from deltaskip.dml.assignments import Assignments
from deltaskip.dml.changed_rows import ChangedRows
from deltaskip.dml.execution import MARKED, RowExecution, RowsOfFiles
from deltaskip.dml.files_to_change import FilesToChange
from deltaskip.dml.matching import LiveRows, positions_where
from deltaskip.dml.positions import RowPositions
from deltaskip.errors import StorageError, UnsupportedFeature
from deltaskip.expr import top_level_columns
from deltaskip.features.change_data_feed import CHANGE_TYPE
from deltaskip.features.registry import marks_rows
from deltaskip.features.row_tracking import RowIdColumns, stable_commit_versions, stable_row_ids
from deltaskip.log import Snapshot
from deltaskip.reading.matching_rows import MatchingRows, check_decidable
from deltaskip.reading.read_ahead import read_ahead
from deltaskip.reading.row_groups import RowGroups
from deltaskip.reading.stored_rows import SESSION_CURE, StoredBatch, StoredRows
from deltaskip.rows.arrow_conversion import ArrowRows
from deltaskip.rows.plan import RowPlan
from deltaskip.schema import leaves
from deltaskip.schema.arrow_values import arrow_array
from deltaskip.schema.properties import MappingMode
from deltaskip.schema.types import VOID, StructType
from deltaskip.skipping.scan import Scan

# Values of files that are read ahead, at about so many bytes each.
_AHEAD_BYTES = 256 << 20
_VALUE_BYTES = 16
_UNKNOWN = 1 << 62
# Values of files that are kept for the second time that their rows are needed, instead of reading the files again.
_HELD_BYTES = 1 << 20


class ArrowExecution(RowExecution):
    """Reads and writes rows of a table in this process, one file at a time.

    Args:
        snapshot: The table.
        time_zone: The time zone of predicates.
    """

    def __init__(self, snapshot: Snapshot, time_zone: str) -> None:
        self._snapshot = snapshot
        self._time_zone = time_zone
        # Rows of the files whose positions were found last, by URI.
        self._held: dict[str, list[StoredBatch]] = {}

    @property
    def snapshot(self) -> Snapshot:
        """The table."""
        return self._snapshot

    @property
    def time_zone(self) -> str:
        """The time zone in which predicates are evaluated."""
        return self._time_zone

    def planned(self, scan: Scan) -> Scan:
        """The scan in the time zone of the execution. Raises UnsupportedFeature if a part of it is left to Spark."""
        planned = scan.replanned(self._time_zone, scan.collation_version).at_one_time()
        check_decidable(planned.predicate, self._snapshot.root, SESSION_CURE)
        return planned

    def matching(self, scan: Scan, files: pa.Table) -> RowPositions:
        snapshot = self._snapshot
        wanted = top_level_columns(scan.predicate)
        given = scan.predicate, snapshot.schema, snapshot.root, self._time_zone, SESSION_CURE, "Nothing was written."
        matching = MatchingRows(*given, collation_version=scan.collation_version)
        rows = StoredRows(snapshot, snapshot.schema, snapshot.mapping_mode, wanted)
        marks = marks_rows(snapshot.protocol, snapshot.table_properties)
        if not marks and _are_little(files, snapshot.schema):
            try:
                return positions_where(self._held_rows(files), files, matching.mask)
            except (StorageError, UnsupportedFeature):
                # A column that the predicate does not name may be one that cannot be read here.
                self._held = {}
        return positions_where(rows, files, matching.mask)

    def _held_rows(self, files: pa.Table) -> _HeldRows:
        """The rows of files, which are held from now on."""
        snapshot = self._snapshot
        rows = StoredRows(snapshot, snapshot.schema, snapshot.mapping_mode)
        uris = files["uri"].to_pylist()
        self._held = {uri: [batch for _, batch in rows.live(files.slice(i, 1))] for i, uri in enumerate(uris)}
        return _HeldRows(self._held)

    def copies_here(self, parts: Sequence[RowsOfFiles], schema: StructType) -> bool:
        return True

    def write(
        self, parts: Sequence[RowsOfFiles], schema: StructType, row_ids: RowIdColumns | None, layout: DataFileLayout
    ) -> WrittenRows:
        return write_data_files(self.rows(parts, schema, row_ids, layout.mapping_mode), layout, divided=True)

    def write_planned(
        self, files: pa.Table, schema: StructType, plan: RowPlan, row_ids: RowIdColumns | None, layout: DataFileLayout
    ) -> WrittenRows:
        rows = self.rows([RowsOfFiles(files)], schema, row_ids, layout.mapping_mode)
        return write_data_files(ArrowRows(plan, self._time_zone).stream(rows), layout, divided=True)

    def updates(
        self,
        scan: Scan,
        change: FilesToChange,
        assignments: Assignments,
        row_ids: RowIdColumns | None,
        feed: bool,
    ) -> ChangedRows:
        # A new value that is not valid raises before any row is read.
        new = ArrowUpdates(self, assignments)
        partly = change.partly.listed
        found = self.matching(scan, partly) if len(partly) else RowPositions(())
        new.parts = [RowsOfFiles(change.whole.listed), RowsOfFiles(partly, found, only=True)]
        return ChangedRows(change.whole, change.partly, updated=found, new=new, updates_whole=True)

    def rows(
        self, parts: Sequence[RowsOfFiles], schema: StructType, row_ids: RowIdColumns | None, mode: MappingMode
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows that `write` writes. Small files are read ahead."""
        columns = [field.name for field in schema.fields if field.type != VOID]
        snapshot = self._snapshot
        held = self._held if row_ids is None and schema == snapshot.schema and mode == snapshot.mapping_mode else {}
        row_bytes = _VALUE_BYTES * max(1, len(leaves(schema)))

        def reads() -> Iterator[tuple[int, Callable[[], Iterator[pa.RecordBatch]]]]:
            for part in parts:
                extra = () if row_ids is None else row_ids.fields
                stored = StoredRows(self._snapshot, schema, mode, None, extra)
                for number, uri in enumerate(part.files["uri"].to_pylist()):
                    rows: LiveRows = stored
                    if uri in part.copied_groups:
                        rows = _OtherRowGroups(stored, part.copied_groups[uri])
                    elif uri in held:
                        rows = _HeldRows(held)
                    count = part.files["num_records"][number].as_py()
                    yield _UNKNOWN if count is None else count * row_bytes, partial(of_file, part, rows, number)

        def of_file(part: RowsOfFiles, rows: LiveRows, number: int) -> Iterator[pa.RecordBatch]:
            chosen = None if part.positions is None else part.positions[number]
            if chosen is not None and part.only and not len(chosen):
                return
            for _, batch in rows.live(part.files.slice(number, 1)):
                if not part.marked:
                    batch = _chosen(batch, chosen, part.only)
                if len(batch):
                    written = _written(part, number, batch, columns, row_ids)
                    yield written if not part.marked else _marked(written, batch, chosen)

        return read_ahead(reads(), _AHEAD_BYTES, remote=self._snapshot.storage.remote)


class _HeldRows:
    """The rows of files that were read before, in place of StoredRows."""

    def __init__(self, held: Mapping[str, Sequence[StoredBatch]]) -> None:
        self._held = held

    def live(self, files: pa.Table) -> Iterator[tuple[int, StoredBatch]]:
        for number, uri in enumerate(files["uri"].to_pylist()):
            for batch in self._held[uri]:
                yield number, batch


class _OtherRowGroups:
    """The rows of a file without some of its row groups, in place of StoredRows."""

    def __init__(self, stored: StoredRows, without: Collection[int]) -> None:
        self._stored = stored
        self._without = frozenset(without)

    def live(self, files: pa.Table) -> Iterator[tuple[int, StoredBatch]]:
        """See StoredRows.live."""
        with self._stored.open(files) as opened:
            footer = opened.parquet.metadata
            numbers = [number for number in range(footer.num_row_groups) if number not in self._without]
            yield from self._stored.live(files, RowGroups.of(footer, numbers), opened)


def _are_little(files: pa.Table, schema: StructType) -> bool:
    """Whether the values of the files fit into the memory for rows that are held."""
    records = files["num_records"]
    if records.null_count:
        return False
    return (pc.sum(records).as_py() or 0) * _VALUE_BYTES * max(1, len(leaves(schema))) <= _HELD_BYTES


def _chosen(batch: StoredBatch, positions: pa.Int64Array | None, only: bool) -> StoredBatch:
    """The rows at these positions of the file, or all others."""
    if positions is None or not len(batch):
        return batch
    others = batch.not_at(positions)
    return batch.filter(~others if only else others)


def _marked(written: pa.RecordBatch, batch: StoredBatch, positions: pa.Int64Array | None) -> pa.RecordBatch:
    """Rows as they are written, with the column MARKED."""
    marks = np.ones(len(batch), np.bool_) if positions is None else ~batch.not_at(positions)
    return written.append_column(MARKED, arrow_array(marks))


def _written(
    part: RowsOfFiles, number: int, batch: StoredBatch, columns: Sequence[str], row_ids: RowIdColumns | None
) -> pa.RecordBatch:
    arrays = {name: batch.columns[name] for name in columns}
    if row_ids is not None:
        first, version = (part.files[n][number] for n in ("base_row_id", "default_row_commit_version"))
        ids, versions = row_ids.row_id, row_ids.commit_version
        arrays[ids] = stable_row_ids(batch.columns[ids], first, arrow_array(batch.positions))
        arrays[versions] = stable_commit_versions(batch.columns[versions], version)
    if part.change is not None:
        kind = arrow_array([part.change], pa.string())
        arrays[CHANGE_TYPE] = kind.take(arrow_array(np.zeros(len(batch), np.int64)))
    return pa.RecordBatch.from_arrays(list(arrays.values()), names=list(arrays))
