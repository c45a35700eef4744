"""MERGE without Spark: Arrow data joined with the rows of files by pyarrow, and expressions evaluated by deltaskip.

Files are read one after the other. The source, the rows that change and their new values are in memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.dml.arrow_execution import ArrowExecution
from deltaskip.dml.assignments import is_computed
from deltaskip.dml.merge.arrow_join import joined_rows, keys_and_rest
from deltaskip.dml.merge.arrow_merged_rows import ArrowMergedRows, ArrowPart
from deltaskip.dml.merge.clauses import ClauseKind
from deltaskip.dml.merge.column_values import check_stored, clause_groups, expressions_of, group_plan
from deltaskip.dml.merge.merge_assignments import DEFAULT, Assigned, AssignedExpression, AssignedFields, FromSource
from deltaskip.dml.merge.merge_execution import MatchedRows, MergeJoin, ambiguous_merge
from deltaskip.dml.merge.merge_expressions import MergeExpressions, Scope
from deltaskip.dml.positions import RowPositions
from deltaskip.features.row_tracking import stable_row_ids
from deltaskip.predicates import expression_node
from deltaskip.reading.read_ahead import read_ahead
from deltaskip.reading.stored_rows import StoredBatch, StoredRows
from deltaskip.records import dataclass
from deltaskip.rows.arrow_layout import stored_type
from deltaskip.rows.defaults import default_sql
from deltaskip.rows.store import stores_every_value, written_type
from deltaskip.skipping.joins.name_resolution import Names
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.evaluation import never_fails
from deltaskip.sparkexpr.nodes import And, FieldRef, Node, columns_of
from deltaskip.sparkexpr.types.lengths import declares_char
from deltaskip.sparkexpr.values.arrow_values import arrow_array, nested_value, one_chunk

# The least bytes of rows that are joined at once, and bytes of files that are read ahead.
_AT_ONCE_BYTES = 64 << 20
_AHEAD_BYTES = 256 << 20
# A piece of the table has a share of 1 / _SHARE of the bytes of the source, if the source is large.
_SHARE = 8


@dataclass(frozen=True, slots=True)
class SourceColumns:
    """The columns of a source, as expressions name and see them.

    Attributes:
        schema: Their schema.
        alias: The name of the source in expressions; None for none.
        time_zone: The time zone of expressions.
        now: The time of the merge in microseconds since 1970.
        is_plain: See MergeSource.
    """

    schema: t.StructType
    alias: str | None
    time_zone: str
    now: int
    is_plain: bool = False

    @property
    def nothing(self) -> pa.Table:
        """No rows."""
        return pa.table({field.name: pa.nulls(0, stored_type(field.type)) for field in self.schema.fields})


class ArrowMerge:
    """One execution of a merge.

    Args:
        join: The merge.
        source: The columns of the source.
        data: The rows of the source; `check` needs none.
    """

    def __init__(self, join: MergeJoin, source: SourceColumns, data: pa.Table) -> None:
        self._join = join
        self._columns = source
        self._source = columns_of_table(data)
        self._table = join.snapshot.root
        self._execution = ArrowExecution(join.snapshot, source.time_zone)
        schema = source.schema
        target, nothing = join.snapshot.schema, t.StructType(())
        sides: dict[ClauseKind, tuple[t.StructType, t.StructType]] = {
            "matched": (target, schema),
            "not matched": (nothing, schema),
            "not matched by source": (target, nothing),
        }
        self._scopes = {
            kind: MergeExpressions(
                self._table,
                Scope(Names(*each, join.target_alias, source.alias, source.is_plain), *each, kind),
                source.time_zone,
                source.now,
            )
            for kind, each in sides.items()
        }
        self._rows = len(data)
        # Each join looks at all rows of the source, so a large source is joined with larger pieces.
        self._at_once = max(_AT_ONCE_BYTES, data.nbytes // _SHARE)
        self._met = np.zeros(self._rows, np.bool_)
        self._counts = dict.fromkeys(range(len(join.clauses)), 0)
        self._parts: dict[int, ArrowPart] = {}
        # The types of values, each with the type of the column that stores them.
        self._casts: list[tuple[t.DataType, t.DataType]] = []
        self._wheres = [
            None if each.where is None else self._scopes[each.kind].condition(expression_node(each.where))
            for each in join.clauses
        ]

    def matched(self) -> MatchedRows:
        """The rows that the merge changes and writes."""
        join = self._join
        matching = joined_rows(self._scopes["matched"], expression_node(join.on), self._source, self._rows)
        found = _Changes([], [])
        for rows in self._pieces():
            self._piece(rows, *matching(rows.columns, len(rows.positions)), found)
        inserted = self._insert()
        counts = {n: count for n, count in self._counts.items() if join.clauses[n].action != "insert"}
        parts = [part for _, part in sorted(self._parts.items())]
        new = ArrowMergedRows(self._execution, parts) if parts else None
        if new is not None:
            new.compute()
        files = len(join.files)
        return MatchedRows(_by_file(found.deleted, files), _by_file(found.updated, files), new, inserted, counts)

    def check(self) -> None:
        """Bind the condition and the values, and plan the rows to write. The result does not depend on any row."""
        joined_rows(self._scopes["matched"], expression_node(self._join.on), self._source, 0)
        for number, clause in enumerate(self._join.clauses):
            if clause.action != "delete":
                fields = self._join.snapshot.schema.fields if clause.action == "update" else ()
                old = {field.name: pa.nulls(0, stored_type(field.type)) for field in fields}
                self._write(number, old, {} if clause.kind == "not matched by source" else self._source, 0, None)

    def decides_expressions(self) -> bool:
        """Whether rows match by keys, and deltaskip evaluates every condition and expression for every row."""
        fields = (*self._join.snapshot.schema.fields, *self._columns.schema.fields)
        return (
            not any(map(_is_special, fields))
            and self._matches_by_keys()
            and all(map(self._has_values, range(len(self._join.clauses))))
        )

    def decides_stored_values(self) -> bool:
        """Whether casts and rules of rows to write have a value for every row. `check` must have run."""
        casts = all(stores_every_value(*each) for each in self._casts)
        return casts and all(part.decides_every_row for part in self._parts.values())

    def _matches_by_keys(self) -> bool:
        """Whether rows that match are found by keys, and the rest of the condition has a value for every row."""
        scope = self._scopes["matched"]
        condition = scope.condition(expression_node(self._join.on))
        keys, rest = keys_and_rest(condition.children if isinstance(condition, And) else (condition,), scope)
        nodes = [*rest, *(key.target for key in keys), *(key.source for key in keys)]
        return bool(keys) and all(map(_has_value, nodes))

    def _has_values(self, number: int) -> bool:
        """Whether the condition and the values of a clause have a value for every row."""
        clause, where = self._join.clauses[number], self._wheres[number]
        given = [each for assigned in clause.columns.values() for each in expressions_of(assigned)]
        values: list[Any] = [each.value for each in given if isinstance(each, AssignedExpression)]
        if clause.action == "update":
            defaults = {field.name: default_sql(field) for field in self._join.schema.fields}
            values += [defaults[name] for name, assigned in clause.columns.items() if assigned is DEFAULT]
        bound = map(self._scopes[clause.kind].bound, values)
        return (where is None or _has_value(where)) and all(map(_has_value, bound))

    def _pieces(self) -> Iterator[_TargetRows]:
        """The live rows of some files at a time, with the columns that expressions and updated rows need."""
        join, snapshot = self._join, self._join.snapshot
        columns = needed_columns(join, self._scopes["matched"].names)
        extra = () if join.row_ids is None else join.row_ids.fields[:1]
        rows = StoredRows(snapshot, snapshot.schema, snapshot.mapping_mode, columns, extra)
        names = [*(name for name in snapshot.schema.names if name in columns), *(field.name for field in extra)]
        files = join.files.listed
        sizes = join.files.logged["size"].to_pylist()

        def read(number: int) -> Iterator[_OfFile]:
            return (_OfFile(number, batch, batch.nbytes) for _, batch in rows.live(files.slice(number, 1)))

        reads = ((size, partial(read, number)) for number, size in enumerate(sizes))
        batches: list[_OfFile] = []
        held = 0
        for each in read_ahead(reads, _AHEAD_BYTES, remote=snapshot.storage.remote):
            batches.append(each)
            held += each.nbytes
            if held >= self._at_once:
                yield self._together(batches, names)
                batches, held = [], 0
        if batches:
            yield self._together(batches, names)

    def _together(self, batches: Sequence[_OfFile], names: Sequence[str]) -> _TargetRows:
        """The rows of batches, each with the index of its file."""
        positions = np.concatenate([each.batch.positions for each in batches])
        numbers = np.repeat([each.number for each in batches], [len(each.batch) for each in batches])
        columns = {name: pa.concat_arrays([each.batch.columns[name] for each in batches]) for name in names}
        ids = None
        if self._join.row_ids is not None:
            base = one_chunk(self._join.files.listed["base_row_id"]).take(arrow_array(numbers))
            ids = stable_row_ids(columns.pop(self._join.row_ids.row_id), base, arrow_array(positions))
        return _TargetRows(numbers, positions, columns, ids)

    def _piece(self, batch: _TargetRows, rows: npt.NDArray[Any], partners: npt.NDArray[Any], found: _Changes) -> None:
        """Apply the clauses to pairs: each of `rows` of the batch with the source row in `partners`."""
        join = self._join
        self._met[partners] = True
        if join.inserts_only:
            return
        once, first = np.unique(rows, return_index=True)
        if len(once) < len(rows):
            if not join.may_match_twice:
                counts = np.bincount(rows)
                raise ambiguous_merge(self._table, self._example(batch, int(np.flatnonzero(counts > 1)[0])))
            rows, partners = once, partners[first]
        self._decide("matched", batch, rows, partners, found)
        if join.numbers("not matched by source"):
            left = np.setdiff1d(np.arange(len(batch.positions)), once)
            self._decide("not matched by source", batch, left, None, found)

    def _decide(
        self,
        kind: ClauseKind,
        batch: _TargetRows,
        rows: npt.NDArray[Any],
        partners: npt.NDArray[Any] | None,
        found: _Changes,
    ) -> None:
        scope = self._scopes[kind]
        for number in self._join.numbers(kind):
            if not len(rows):
                return
            target = {name: column.take(arrow_array(rows)) for name, column in batch.columns.items()}
            source = self._taken(partners)
            chosen = scope.mask(self._wheres[number], scope.columns(target, source), len(rows))
            mine = rows[chosen]
            place = batch.numbers[mine], batch.positions[mine]
            self._counts[number] += len(mine)
            if self._join.clauses[number].action == "delete":
                found.deleted.append(place)
            elif len(mine):
                found.updated.append(place)
                every = len(mine) == len(rows)
                own = source if every else {name: column.filter(arrow_array(chosen)) for name, column in source.items()}
                old = target if every else {name: column.filter(arrow_array(chosen)) for name, column in target.items()}
                row_ids = None if batch.row_ids is None else batch.row_ids.take(arrow_array(mine))
                self._write(number, old, own, len(mine), row_ids)
            rows, partners = rows[~chosen], None if partners is None else partners[~chosen]

    def _insert(self) -> bool:
        """Apply the clauses to the rows of the source without a match. Returns whether one is inserted."""
        scope = self._scopes["not matched"]
        any_inserted = False
        unmet = np.flatnonzero(~self._met)
        bytes_of_row = sum(column.nbytes for column in self._source.values()) // max(1, self._rows)
        step = max(1, _AT_ONCE_BYTES // max(1, bytes_of_row))
        for start in range(0, len(unmet), step):
            rows = unmet[start : start + step]
            for number in self._join.numbers("not matched"):
                if not len(rows):
                    break
                source = self._taken(rows)
                chosen = scope.mask(self._wheres[number], scope.columns({}, source), len(rows))
                if chosen.any():
                    any_inserted = True
                    own = {name: column.filter(arrow_array(chosen)) for name, column in source.items()}
                    self._write(number, {}, own, int(chosen.sum()), None)
                rows = rows[~chosen]
        return any_inserted

    def _taken(self, rows: npt.NDArray[Any] | None) -> dict[str, pa.Array]:
        """The columns of the source in these rows."""
        if rows is None:
            return {}
        chosen = arrow_array(rows, pa.int64())
        return {name: column.take(chosen) for name, column in self._source.items()}

    def _write(
        self,
        number: int,
        old: Mapping[str, pa.Array],
        source: Mapping[str, pa.Array],
        rows: int,
        row_ids: pa.Array | None,
    ) -> None:
        """Add rows with the values that a clause gives them."""
        clause = self._join.clauses[number]
        scope = self._scopes[clause.kind]
        columns = scope.columns(old, source)
        [group] = clause_groups(self._join, [number])
        types = {field.name: field.type for field in self._join.snapshot.schema.fields}
        arrays: dict[str, pa.Array] = {}
        fields = []
        for field in group.columns:
            before = (old[field.name], types[field.name]) if field.name in old else None
            values = self._value(field, clause.columns.get(field.name), before, scope, columns, source, rows)
            if values is not None:
                arrays[field.name] = values[0]
                fields.append(t.StructField(field.name, values[1], True, field.metadata))
        if number not in self._parts:
            plan = group_plan(self._join, group, t.StructType(tuple(fields)))
            change = "insert" if clause.action == "insert" else "update"
            computed = [name for name, each in clause.columns.items() if _is_computed(each, scope)]
            self._parts[number] = ArrowPart(change, plan, self._execution.time_zone, scope.now, computed)
        self._parts[number].add(arrays, rows, row_ids)

    def _value(
        self,
        field: t.StructField,
        assigned: Assigned | None,
        old: tuple[pa.Array, t.DataType] | None,
        scope: MergeExpressions,
        columns: Mapping[str, pa.Array],
        source: Mapping[str, pa.Array],
        rows: int,
    ) -> tuple[pa.Array, t.DataType] | None:
        """The values of a column or field and their type; None for a default, which the plan fills in."""
        match assigned:
            case None if old is not None:
                return old
            case AssignedExpression(value):
                return self._stored(*scope.values(value, columns, rows), field, scope)
            case FromSource(path, type_):
                return self._stored(one_chunk(nested_value(source[path[0]], path[1:])), type_, field, scope)
            case AssignedFields():
                return self._fields(field, assigned, old, scope, columns, source, rows)
            case _:
                if assigned is None or old is None:
                    return None
                text = default_sql(field)
                return scope.values(text, {}, rows)

    def _stored(
        self, values: pa.Array, type_: t.DataType, field: t.StructField, scope: MergeExpressions
    ) -> tuple[pa.Array, t.DataType]:
        """The values, cast if the column does not store their type as it is."""
        self._casts.append((type_, field.type))
        if check_stored(type_, field.type, (field.name,), self._table, self._join.evolves):
            return values, type_
        return scope.cast(field.name, values, type_, field.type), field.type

    def _fields(
        self,
        field: t.StructField,
        assigned: AssignedFields,
        old: tuple[pa.Array, t.DataType] | None,
        scope: MergeExpressions,
        columns: Mapping[str, pa.Array],
        source: Mapping[str, pa.Array],
        rows: int,
    ) -> tuple[pa.Array, t.DataType]:
        target = written_type(field.type, (field.name,), self._table)
        assert isinstance(target, t.StructType)
        known = {} if old is None or not isinstance(old[1], t.StructType) else {f.name: f.type for f in old[1].fields}
        arrays, fields = [], []
        inner, nothing = assigned.fields, None
        if assigned.struct is not None:
            nothing = pc.is_null(nested_value(source[assigned.struct.path[0]], assigned.struct.path[1:]))
        for child in target.fields:
            before = None
            if old is not None and child.name in known:
                before = one_chunk(pc.struct_field(old[0], [child.name])), known[child.name]
            values = self._value(child, inner.get(child.name), before, scope, columns, source, rows)
            if values is None:
                values = pa.nulls(rows, pa.null()), t.VOID
            arrays.append(values[0])
            fields.append(t.StructField(child.name, values[1], True, child.metadata))
            if nothing is not None and child.name not in inner:
                nothing = pc.and_(nothing, pc.is_null(values[0]))
        names = [field.name for field in fields]
        return pa.StructArray.from_arrays(arrays, names=names, mask=nothing), t.StructType(tuple(fields))

    def _example(self, batch: _TargetRows, row: int) -> dict[str, object]:
        return {name: batch.columns[name][row].as_py() for name in self._join.keys}


def needed_columns(join: MergeJoin, names: Names) -> set[str]:
    """Return the columns of the target that must be read to carry out a merge in this process.

    names: The names of both sides, as in expressions of matched rows.
    """
    if join.numbers(action="update") and not all(
        field.type == t.VOID or (isinstance(each.columns.get(field.name), FromSource) and each.kind == "matched")
        for each in join.clauses
        if each.action == "update"
        for field in join.snapshot.schema.fields
        if t.GENERATION_KEY not in field.metadata
    ):
        return set(join.snapshot.schema.names)
    texts = [join.on]
    for clause in join.clauses:
        if clause.kind != "not matched":
            texts += [] if clause.where is None else [clause.where]
    found = {side[1][0] for text in texts for parts in columns_of(expression_node(text))
             if (side := names.side(parts)) is not None and side[0] == "target"}  # fmt: skip
    if any(clause.kind == "not matched by source" and clause.where is not None for clause in join.clauses):
        # Their conditions may name columns that both sides have.
        return set(join.snapshot.schema.names)
    return found


def columns_of_table(data: pa.Table) -> dict[str, pa.Array]:
    """Return the columns of a table by name."""
    return {name: one_chunk(column) for name, column in zip(data.schema.names, data.columns, strict=True)}


class _OfFile(NamedTuple):
    """Some rows of a file: the index of the file, the rows, and their bytes."""

    number: int
    batch: StoredBatch
    nbytes: int


@dataclass(frozen=True, slots=True)
class _TargetRows:
    """Rows of files: file indexes, positions, columns, and row ids if the table has row tracking."""

    numbers: npt.NDArray[Any]
    positions: npt.NDArray[Any]
    columns: Mapping[str, pa.Array]
    row_ids: pa.Array | None


@dataclass(slots=True)
class _Changes:
    """Rows that change: file indexes and positions, piece by piece."""

    deleted: list[tuple[npt.NDArray[Any], npt.NDArray[Any]]]
    updated: list[tuple[npt.NDArray[Any], npt.NDArray[Any]]]


def _has_value(node: Node) -> bool:
    """Whether an expression has a value for every row."""
    return isinstance(node, FieldRef) or never_fails(node)


def _is_special(field: t.StructField) -> bool:
    """Whether Spark may read or compare a column differently from deltaskip."""
    types: list[t.DataType] = list(t.nested_types(field.type))
    if any(each in (t.VARIANT, t.VOID) or isinstance(each, t.UnknownType) for each in types):
        return True
    return t.COLLATIONS_KEY in field.metadata or declares_char(field)


def _is_computed(assigned: Assigned, scope: MergeExpressions) -> bool:
    match assigned:
        case AssignedExpression(value):
            return is_computed(scope.bound(value))
        case AssignedFields(fields):
            return any(_is_computed(each, scope) for each in fields.values())
        case _:
            return False


def _by_file(pieces: Sequence[tuple[npt.NDArray[Any], npt.NDArray[Any]]], files: int) -> RowPositions | None:
    """The positions in each file."""
    if not pieces:
        return None
    numbers, positions = (np.concatenate(each) for each in zip(*pieces, strict=True))
    order = np.lexsort((positions, numbers))
    numbers, positions = numbers[order], positions[order].astype(np.int64)
    ends = np.searchsorted(numbers, np.arange(files + 1))
    return RowPositions(arrow_array(positions[ends[i] : ends[i + 1]]) for i in range(files))
