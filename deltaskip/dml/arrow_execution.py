"""Changes of rows without Spark: files are read by pyarrow, and predicates evaluated by deltaskip's own evaluator."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cache, partial
from itertools import chain

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.data_files.data_file import viewed
from deltaskip.data_files.parquet_writer import DataFileLayout, write_data_files
from deltaskip.data_files.written_rows import WrittenRows
from deltaskip.dml.assignments import Assignments, Fields, NewValue, is_computed, sources
from deltaskip.dml.changed_rows import ChangedRows, NewRows
from deltaskip.dml.execution import MARKED, RowExecution, RowsOfFiles
from deltaskip.dml.files_to_change import DataFiles, FilesToChange
from deltaskip.dml.matching import LiveRows, positions_where
from deltaskip.dml.positions import RowPositions
from deltaskip.dml.unchanged_columns import copy_unchanged_columns
from deltaskip.errors import PredicateError, StorageError, UnsupportedFeature
from deltaskip.features.change_data_feed import CHANGE_TYPE
from deltaskip.features.registry import writes_deletion_vectors
from deltaskip.features.row_tracking import RowIdColumns, stable_commit_versions, stable_row_ids
from deltaskip.log import Snapshot
from deltaskip.predicates import in_quotes, new_value_node
from deltaskip.reading.matching_rows import MatchingRows, check_decidable
from deltaskip.reading.read_ahead import read_ahead
from deltaskip.reading.row_groups import RowGroups
from deltaskip.reading.stored_rows import SESSION_CURE, StoredBatch, StoredRows
from deltaskip.rows.arrow_conversion import ArrowRows, RunningCollations
from deltaskip.rows.plan import RowPlan
from deltaskip.skipping.scan import Scan
from deltaskip.sparkexpr import PASS_SESSION, to_sql
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.coerce import type_of
from deltaskip.sparkexpr.evaluation import column_at
from deltaskip.sparkexpr.local_expression import EvaluationPlace, LocalExpression, bound
from deltaskip.sparkexpr.meaning import SessionMeaning
from deltaskip.sparkexpr.nodes import Column, top_level_columns
from deltaskip.sparkexpr.values.arrow_values import arrow_array, numpy_values
from deltaskip.sparkexpr.values.calendar import current_micros

# Bytes of files' values that are read ahead, and the estimated bytes of a value.
_AHEAD_BYTES = 256 << 20
_VALUE_BYTES = 16
_UNKNOWN = 1 << 62
# Bytes of files' values that are cached, because their rows are needed a second time.
_HELD_BYTES = 1 << 20

_Bound = dict[str, "LocalExpression | _Bound"]


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

    def meaning(self, where: str) -> None:
        return None

    def planned(self, scan: Scan) -> Scan:
        """The scan in the time zone of the execution. Raises UnsupportedFeature if a part of it is left to Spark."""
        meaning = SessionMeaning(self._time_zone, scan.in_ansi)
        planned = scan.replanned(meaning, scan.collation_version).at_one_time()
        check_decidable(planned.predicate, self._snapshot.root, SESSION_CURE)
        return planned

    def matching(self, scan: Scan, files: pa.Table) -> RowPositions:
        snapshot = self._snapshot
        wanted = top_level_columns(scan.predicate)
        given = scan.predicate, snapshot.schema, snapshot.root, self._time_zone, SESSION_CURE, "Nothing was written."
        matching = MatchingRows(*given, collation_version=scan.collation_version)
        marks = writes_deletion_vectors(snapshot.protocol, snapshot.table_properties)
        if not marks and _are_little(files, snapshot.schema):
            try:
                return positions_where(self._held_rows(files), files, matching.mask)
            except (StorageError, UnsupportedFeature):
                # This process may be unable to read a column that the predicate does not name.
                self._held = {}
        rows = StoredRows(snapshot, snapshot.schema, snapshot.mapping_mode, wanted)
        return positions_where(rows, files, matching.mask)

    def _held_rows(self, files: pa.Table) -> _HeldRows:
        """The rows of files, which are cached from now on."""
        snapshot = self._snapshot
        rows = StoredRows(snapshot, snapshot.schema, snapshot.mapping_mode)
        uris = files["uri"].to_pylist()
        self._held = {uri: [batch for _, batch in rows.live(files.slice(i, 1))] for i, uri in enumerate(uris)}
        return _HeldRows(self._held)

    def copies_here(self, parts: Sequence[RowsOfFiles], schema: t.StructType) -> bool:
        return True

    def write(
        self, parts: Sequence[RowsOfFiles], schema: t.StructType, row_ids: RowIdColumns | None, layout: DataFileLayout
    ) -> WrittenRows:
        return write_data_files(self.rows(parts, schema, row_ids, layout.mapping_mode), layout, divided=True)

    def write_planned(
        self, files: pa.Table, schema: t.StructType, plan: RowPlan, row_ids: RowIdColumns | None, layout: DataFileLayout
    ) -> WrittenRows:
        rows = self.rows([RowsOfFiles(files)], schema, row_ids, layout.mapping_mode)
        return write_data_files(ArrowRows(plan, self._time_zone).stream(rows), layout, divided=True)

    def updates(
        self, scan: Scan, change: FilesToChange, assignments: Assignments, row_ids: RowIdColumns | None, feed: bool
    ) -> ChangedRows:
        # A new value that is not valid raises before any row is read.
        new = ArrowUpdates(self, assignments)
        partly = change.partly.listed
        found = self.matching(scan, partly) if len(partly) else RowPositions(())
        new.parts = [
            (change.whole, RowsOfFiles(change.whole.listed)),
            (change.partly, RowsOfFiles(partly, found, only=True)),
        ]
        return ChangedRows(change.whole, change.partly, updated=found, new=new, updates_whole=True)

    def rows(
        self, parts: Sequence[RowsOfFiles], schema: t.StructType, row_ids: RowIdColumns | None, mode: t.MappingMode
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows that `write` writes. Small files are read ahead."""
        columns = [field.name for field in schema.fields if field.type != t.VOID]
        snapshot = self._snapshot
        held = self._held if row_ids is None and schema == snapshot.schema and mode == snapshot.mapping_mode else {}
        row_bytes = cache(lambda: _VALUE_BYTES * max(1, len(t.leaves(schema))))
        extra = () if row_ids is None else row_ids.fields
        stored = cache(partial(StoredRows, snapshot, schema, mode, None, extra))

        def reads() -> Iterator[tuple[int, Callable[[], Iterator[pa.RecordBatch]]]]:
            for part in parts:
                for number, uri in enumerate(part.files["uri"].to_pylist()):
                    if uri in held and uri not in part.copied_groups:
                        yield 0, partial(of_file, part, _HeldRows(held), number)
                        continue
                    rows: LiveRows = stored()
                    if uri in part.copied_groups:
                        rows = _OtherRowGroups(stored(), part.copied_groups[uri])
                    count = part.files["num_records"][number].as_py()
                    yield _UNKNOWN if count is None else count * row_bytes(), partial(of_file, part, rows, number)

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


class ArrowUpdates(NewRows):
    """Updated rows of files with their new values. Each evaluation of an expression returns the same value.

    Args:
        execution: Reads the rows.
        assignments: The new values of their columns.

    Attributes:
        parts: Files and the rows of them.

    Raises:
        PredicateError: A new value is not a valid expression.
        SchemaError: A new value has a type that its column cannot store.
        UnsupportedFeature: A new value can only be computed by Spark.
    """

    def __init__(self, execution: ArrowExecution, assignments: Assignments) -> None:
        self.parts: Sequence[tuple[DataFiles, RowsOfFiles]] = ()
        self._execution = execution
        self._assignments = assignments
        self._table = execution.snapshot.root
        # The time that current_timestamp() returns in every row.
        self._now = current_micros()
        self._collations = RunningCollations()
        fields = {field.name: field for field in assignments.schema.fields}
        self._values = {name: self._bound(value, fields[name].type) for name, value in assignments.values.items()}
        incoming = [
            t.StructField(field.name, self._type(self._values[field.name], field.type))
            if field.name in self._values
            else field
            for field in assignments.given
        ]
        plan = assignments.plan(t.StructType(tuple(incoming)))
        self._rules = self._rules_of(plan)

    def _rules_of(self, plan: RowPlan) -> ArrowRows:
        computed = [name for name, value in self._values.items() if _is_computed(value)]
        return ArrowRows(plan, self._execution.time_zone, now_micros=self._now, computed=computed)

    @property
    def has_old_values(self) -> bool:
        return False

    def release(self) -> None:
        """See NewRows.release."""

    def write(self, copied: RowsOfFiles | None, row_ids: RowIdColumns | None, layout: DataFileLayout) -> WrittenRows:
        parts = list(self.parts)
        if copied is not None and copied.copied_groups:
            parts = [(files, replace(part, copied_groups=copied.copied_groups)) for files, part in parts]
        kept: list[WrittenRows] = []
        try:
            if row_ids is None:
                some = cache(self._restricted)
                for i, (files, part) in enumerate(parts):
                    # The other rows of a file that is not rewritten stay in it.
                    if copied is not None or part.positions is None:
                        written, left, others = copy_unchanged_columns(
                            self._execution.snapshot,
                            files,
                            part,
                            self._assignments.changed,
                            lambda one: some()._in_place([one], None),
                            layout,
                        )
                        kept.append(written)
                        parts[i] = others, left
            rest = [part for _, part in parts if len(part.files)]
            # Rows stay where they were in files that are rewritten.
            rows = self._rows(rest, row_ids) if copied is None else self._in_place(rest, row_ids)
            if rest:
                kept.append(
                    write_data_files(rows, layout, divided=True, replaced=sum(len(each.files) for each in rest))
                )
        except BaseException:
            for written in kept:
                written.delete(layout.storage, layout.root)
            raise
        return WrittenRows(tuple(chain.from_iterable(each.files for each in kept)), sum(each.rows for each in kept))

    def write_changes(self, before: Sequence[RowsOfFiles], layout: DataFileLayout) -> WrittenRows:
        images = self._execution.rows(before, layout.schema, None, layout.mapping_mode)
        parts = [part for _, part in self.parts]
        return write_data_files(chain(images, self._rows(parts, None, "update_postimage")), layout)

    def _restricted(self) -> ArrowUpdates:
        """These updates of the columns that are set, with the columns alone that they and the table's rules need."""
        schema, plan = self._assignments.schema, self._rules.plan
        used = {t.fold_name(name) for value in self._values.values() for name in _columns_in(value)}
        used.update(t.fold_name(field.name) for field in self._assignments.changed)
        for rule in plan.rules:
            used.update(
                [t.fold_name(rule.path[0][1])] if rule.kind in ("not null", "length") else sources(rule.sql, schema)
            )
        for field in schema.fields:
            if field.name in self._assignments.computed:
                used.update(sources(str(field.metadata[t.GENERATION_KEY]), schema))
        fields = tuple(field for field in schema.fields if t.fold_name(field.name) in used)
        found = copy(self)
        found._assignments = replace(self._assignments, schema=t.StructType(fields))
        columns = tuple(column for column in plan.columns if t.fold_name(column.field.name) in used)
        found._rules = self._rules_of(replace(plan, columns=columns))
        return found

    def _rows(
        self, parts: Sequence[RowsOfFiles], row_ids: RowIdColumns | None, change: str | None = None
    ) -> Iterator[pa.RecordBatch]:
        """The updated rows as they are stored, with their row ids or their kind of change."""
        for batch in self._read(parts, row_ids):
            stored = self._stored(batch, row_ids)
            if change is not None:
                kind = pa.repeat(arrow_array([change], pa.string())[0], len(batch))
                stored = stored.append_column(CHANGE_TYPE, kind)
            yield stored

    def _in_place(self, parts: Sequence[RowsOfFiles], row_ids: RowIdColumns | None) -> Iterator[pa.RecordBatch]:
        """All rows of the files as they are stored, updated or not, in order, without copied row groups."""
        changed = {field.name for field in self._assignments.changed}
        if row_ids is not None:
            changed.add(row_ids.commit_version)
        for batch in self._read([replace(part, marked=True) for part in parts], row_ids):
            marks = numpy_values(batch.column(MARKED))
            old = batch.drop_columns([MARKED])
            if marks.all():
                yield self._stored(old, row_ids)
                continue
            if not marks.any():
                yield old
                continue
            new = self._stored(old.filter(arrow_array(marks)), row_ids)
            names = new.schema.names
            columns = [
                _with_values(old.column(name), marks, new.column(name)) if name in changed else old.column(name)
                for name in names
            ]
            yield pa.RecordBatch.from_arrays(columns, names=names)

    def _read(self, parts: Sequence[RowsOfFiles], row_ids: RowIdColumns | None) -> Iterator[pa.RecordBatch]:
        return self._execution.rows(parts, self._assignments.schema, row_ids, self._assignments.mapping_mode)

    def _stored(self, batch: pa.RecordBatch, row_ids: RowIdColumns | None) -> pa.RecordBatch:
        """Updated rows as they are stored, with their row ids."""
        stored = self._rules.convert(self._updated(batch))
        arrays = dict(zip(stored.schema.names, stored.columns, strict=True))
        if row_ids is not None:
            arrays[row_ids.row_id] = batch.column(row_ids.row_id)
            arrays[row_ids.commit_version] = pa.nulls(len(batch), pa.int64())
        return pa.RecordBatch.from_arrays(list(arrays.values()), names=list(arrays))

    def _updated(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The columns that the plan takes."""
        columns = dict(zip(batch.schema.names, batch.columns, strict=True))
        types = {field.name: field.type for field in self._assignments.schema.fields}
        arrays = {
            field.name: self._computed(self._values[field.name], (field.name,), types[field.name], columns, len(batch))
            if field.name in self._values
            else columns[field.name]
            for field in self._assignments.given
            if field.type != t.VOID
        }
        return pa.RecordBatch.from_arrays(list(arrays.values()), names=list(arrays))

    def _computed(
        self,
        value: LocalExpression | _Bound,
        path: tuple[str, ...],
        data_type: t.DataType,
        columns: Mapping[str, pa.Array],
        rows: int,
    ) -> pa.Array:
        if isinstance(value, LocalExpression):
            return value.values(columns, rows)
        assert isinstance(data_type, t.StructType)
        inner = {
            field.name: self._computed(value[field.name], (*path, field.name), field.type, columns, rows)
            if field.name in value
            else column_at(columns, (*path, field.name))
            for field in data_type.fields
            if field.type != t.VOID
        }
        return pa.StructArray.from_arrays(list(inner.values()), names=list(inner))

    def _bound(self, value: NewValue | Fields, data_type: t.DataType) -> LocalExpression | _Bound:
        """The new value with its columns resolved; for a struct, the new values of its fields."""
        if isinstance(value, Fields):
            assert isinstance(data_type, t.StructType)
            types = {field.name: field.type for field in data_type.fields}
            return {name: self._bound(each, types[name]) for name, each in value.values.items()}
        node = new_value_node(value, self._table)
        schema, zone = self._assignments.schema, self._execution.time_zone
        try:
            found = bound(node, schema, zone, self._now, False)
        except PredicateError as error:
            cure = in_quotes(value) if isinstance(node, Column) and isinstance(value, str) else ""
            raise PredicateError(
                f"The new value {to_sql(node)} for {self._table} is not valid: {error}{cure}"
            ) from error
        place = EvaluationPlace(self._table, PASS_SESSION, what="The new value")
        return LocalExpression(found, schema, place, time_zone=zone, collations=self._collations)

    def _type(self, value: LocalExpression | _Bound, data_type: t.DataType) -> t.DataType:
        """The type of a new value."""
        if isinstance(value, LocalExpression):
            return type_of(value.node) or t.VOID
        assert isinstance(data_type, t.StructType)
        fields = (
            t.StructField(f.name, self._type(value[f.name], f.type), True, f.metadata) if f.name in value else f
            for f in data_type.fields
            if f.type != t.VOID
        )
        return t.StructType(tuple(fields))


def _with_values(column: pa.Array, marks: npt.NDArray[np.bool_], new: pa.Array) -> pa.Array:
    """The column with new values in the rows that are marked."""
    new = new if new.type == column.type else viewed(new, column.type)
    places = np.arange(len(column))
    places[marks] = len(column) + np.arange(len(new))
    return pa.concat_arrays([column, new]).take(arrow_array(places))


def _columns_in(value: LocalExpression | _Bound) -> set[str]:
    """The top-level columns that a new value is computed from."""
    if isinstance(value, LocalExpression):
        return top_level_columns(value.node)
    return set().union(*map(_columns_in, value.values()))


def _is_computed(value: LocalExpression | _Bound) -> bool:
    return any(map(_is_computed, value.values())) if isinstance(value, dict) else is_computed(value.node)


class _HeldRows:
    """The cached rows of files, instead of StoredRows."""

    def __init__(self, held: Mapping[str, Sequence[StoredBatch]]) -> None:
        self._held = held

    def live(self, files: pa.Table) -> Iterator[tuple[int, StoredBatch]]:
        for number, uri in enumerate(files["uri"].to_pylist()):
            for batch in self._held[uri]:
                yield number, batch


class _OtherRowGroups:
    """The rows of a file without some of its row groups, instead of StoredRows."""

    def __init__(self, stored: StoredRows, without: Collection[int]) -> None:
        self._stored = stored
        self._without = frozenset(without)

    def live(self, files: pa.Table) -> Iterator[tuple[int, StoredBatch]]:
        """See StoredRows.live."""
        with self._stored.open(files) as opened:
            footer = opened.parquet.metadata
            numbers = [number for number in range(footer.num_row_groups) if number not in self._without]
            yield from self._stored.live(files, RowGroups.of(footer, numbers), opened)


def _are_little(files: pa.Table, schema: t.StructType) -> bool:
    """Whether the values of the files fit into the cache."""
    records = files["num_records"]
    if records.null_count:
        return False
    return (pc.sum(records).as_py() or 0) * _VALUE_BYTES * max(1, len(t.leaves(schema))) <= _HELD_BYTES


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
