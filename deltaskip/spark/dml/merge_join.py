"""The join of a MERGE through Spark: source and target are joined once, and the result is persisted.

Spark resolves each expression over the rows that it may name: expressions of WHEN MATCHED over the join, of WHEN NOT
MATCHED over the source, and of WHEN NOT MATCHED BY SOURCE over the target.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from functools import partial, reduce
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from deltaskip.dml.merge.column_values import ClauseGroup, clause_groups, column_text, expressions_of, group_plan
from deltaskip.dml.merge.merge_assignments import DEFAULT, AssignedExpression, FromSource
from deltaskip.dml.merge.merge_execution import MatchedRows, MergeJoin, ambiguous_merge
from deltaskip.dml.positions import RowPositions
from deltaskip.reading.read_plan import ReadPlan
from deltaskip.records import dataclass
from deltaskip.rows.plan import RowPlan
from deltaskip.schema.user_schema import schema_of
from deltaskip.spark.columns.spark_types import logical_type
from deltaskip.spark.dml.persisted_rows import (
    FILE,
    POSITION,
    ROW_ID,
    SOURCE_ROW,
    PersistedRows,
    PersistedSource,
    target_rows,
)
from deltaskip.spark.dml.spark_execution import SparkExecution
from deltaskip.spark.read.bitmaps import BLOCK_ROWS, grouped, positions_of_blocks
from deltaskip.spark.read.dataframe import with_declared_lengths
from deltaskip.spark.read.parquet_scans import with_values_of_files
from deltaskip.spark.session.error_conversion import predicate_errors_named, row_errors_named
from deltaskip.spark.session.own_texts import own_column
from deltaskip.spark.session.session_settings import described_jobs
from deltaskip.spark.write.checked_rows import check_default, violation_of
from deltaskip.sparkexpr.text.sql_text import quoted_name, quoted_path
from deltaskip.sparkexpr.types import DataType, StructField
from deltaskip.sparkexpr.values.arrow_values import arrow_array, one_chunk

_TARGET = "__deltaskip_target"
_CLAUSE = "__deltaskip_clause"
_PATH = "__deltaskip_target_path"
_BASE = "__deltaskip_target_base"


@dataclass(frozen=True, slots=True)
class _ChangedPositions:
    """The positions of the target rows that change, and their number by clause."""

    deleted: RowPositions | None = None
    updated: RowPositions | None = None
    counts: Mapping[int, int] = field(default_factory=dict)


class MergedFrames:
    """The join of a source with the files of a target."""

    def __init__(self, source: PersistedSource, join: MergeJoin, execution: SparkExecution) -> None:
        self._source = source
        self._join = join
        self._execution = execution
        self._table = join.snapshot.table_root
        self._updates = clause_groups(join, join.numbers(action="update"))
        self._inserts = clause_groups(join, join.numbers("not matched"))
        self._fields = join.snapshot.schema.fields
        self._read: ReadPlan | None = None
        self._given = source.named(source.numbered)
        self._hint: str | None = None
        self._old = {field.name: f"__deltaskip_t{i}" for i, field in enumerate(self._fields)}
        # Names of the columns with the values of the clauses' expressions, and their types.
        self._raw: dict[tuple[int, int], str] = {}
        self._types: dict[str, DataType] = {}
        self._taken: dict[tuple[str, ...], str] = {}

    def matched(self) -> MatchedRows:
        """The rows that the merge changes and writes."""
        join, updated, found = self._join, [], _ChangedPositions()
        with predicate_errors_named(self._table, "an expression of the merge"):
            self._given = self._source.named(self._source.rows)
            self._hint = self._source.join_hint
            changed = self._changed(self._pairs()) if len(join.files) else None
            if changed is not None and not join.inserts_only:
                changed = self._source.kept(changed)
                updated = [self._updated(group, changed) for group in self._updates]
            inserted = [self._inserted(group, changed) for group in self._inserts]
        if changed is not None and not join.inserts_only:
            found = self._found(changed, [plan for _, plan in updated])
        if not any(found.counts.get(number) for group in self._updates for number in group.numbers):
            updated = []
        parts = [*(("update", *each) for each in updated), *(("insert", *each) for each in inserted)]
        new = None
        if parts:
            new = _MergedRows(self._execution, parts, bool(join.properties.change_data_feed))
            most = 0 if found.updated is None else sum(found.updated.counts)
            new.most_rows = most + (self._source.count() if inserted else 0)
        return MatchedRows(found.deleted, found.updated, new, bool(inserted), found.counts)

    def check(self) -> None:
        """Let Spark resolve all expressions and types, without a job."""
        with predicate_errors_named(self._table, "an expression of the merge"):
            self._check_conditions()
            changed = self._changed(self._pairs())
            _ = changed.schema
            if not self._join.inserts_only:
                for group in self._updates:
                    self._updated(group, changed)
            for group in self._inserts:
                self._inserted(group, changed)

    def _check_conditions(self) -> None:
        """Let Spark refuse an expression that cannot be a condition, such as a random number."""
        nothing = self._source.session.range(0).select(F.col("id").alias("__deltaskip_nothing"))
        target = self._execution.no_rows().alias(self._join.target_alias or _TARGET)
        for kind, side in (("not matched", self._given), ("not matched by source", target)):
            wheres = self._conditions(kind)
            if wheres:
                _ = side.join(nothing, _any(wheres)).schema

    def _conditions(self, kind: str) -> list[Column]:
        return [
            self._source.column(each.where)
            for each in self._join.clauses
            if each.kind == kind and each.where is not None
        ]

    def _pairs(self) -> DataFrame:
        """The join: the matched pairs, and the target rows without a match if clauses apply to them.

        The join has the columns of both sides under their names, the stored values of target columns, and the columns
        that clauses take from the source by name.
        """
        join = self._join
        target = self._target()
        taken = self._taken_columns("matched")
        source = self._given.select("*", *taken)
        side = target.alias(join.target_alias or _TARGET)
        how = "left" if join.numbers("not matched by source") else "inner"
        if self._hint is not None:
            source = source.hint(self._hint)
        wheres = self._conditions("matched")
        if wheres:
            # The condition of a join must be deterministic, and so must the conditions of clauses.
            _ = side.join(source, self._source.column(join.on) & _any(wheres)).schema
        return side.join(source, self._source.column(join.on), how)

    def _target(self) -> DataFrame:
        """The rows of the target with the path of their file, their position, and the stored values of columns."""
        join = self._join
        if len(join.files):
            target, self._read = self._execution.rows_by_path(join.files.listed, join.row_ids, _PATH, POSITION)
        else:
            target = self._execution.no_rows().select(
                "*",
                F.lit("").alias(_PATH),
                *(F.lit(0).cast("bigint").alias(name) for name in (POSITION, *self._stored_ids)),
            )
        again = [F.col(quoted_name(name)).alias(old) for name, old in self._old.items()]
        beside = [_PATH, POSITION, *self._stored_ids, *self._old.values()]
        return with_declared_lengths(target.select("*", *again), join.snapshot.schema, _columns(beside))

    @property
    def _stored_ids(self) -> list[str]:
        """The column of files with materialized row ids, if the table has row tracking."""
        return [] if self._join.row_ids is None else [self._join.row_ids.row_id]

    def _numbered(self, rows: DataFrame, others: Sequence[Column]) -> DataFrame:
        """The rows with the index of their file, their position and row id, and other columns."""
        files = self._join.files.listed
        if self._read is None:
            ids = [] if self._join.row_ids is None else [F.lit(0).cast("bigint").alias(ROW_ID)]
            return rows.select(F.lit(0).cast("bigint").alias(FILE), POSITION, *ids, *others)
        values: dict[str, pa.Array] = {FILE: arrow_array(np.arange(len(files), dtype=np.int64))}
        ids = []
        if self._join.row_ids is not None:
            values[_BASE] = one_chunk(files["base_row_id"])
            ids = [own_column(self._source.session, self._join.row_ids.row_id_sql(_BASE, POSITION)).alias(ROW_ID)]
        found = with_values_of_files(rows, self._read, _PATH, values)
        return found.select(FILE, POSITION, *ids, *others)

    def _taken_columns(self, kind: str) -> list[Column]:
        """Columns that clauses of a kind take from the source by name, under generated names."""
        found = []
        for clause in self._join.clauses:
            if clause.kind != kind:
                continue
            for assigned in clause.columns.values():
                for each in expressions_of(assigned):
                    if isinstance(each, FromSource) and each.path not in self._taken:
                        name = f"__deltaskip_s{len(self._taken)}"
                        self._taken[each.path] = name
                        self._types[name] = each.type
        for path, name in self._taken.items():
            found.append(F.col(quoted_path(path)).alias(name))
        return found

    def _changed(self, pairs: DataFrame) -> DataFrame:
        """The rows of the join with the index of their clause, and for updates the new values.

        Unmatched target rows to which no clause applies are left out. All matched pairs are kept, because they show
        which source rows have a match, and which target rows have several.
        """
        join = self._join
        if join.inserts_only:
            return pairs.select(SOURCE_ROW)
        place = [_PATH, POSITION, *self._stored_ids, SOURCE_ROW]
        beside = [*place, *self._old.values(), *self._taken.values()]
        rows = pairs.select("*", self._clause("matched", F.col(SOURCE_ROW).isNotNull()))
        rows = rows.select(*_columns(beside), _CLAUSE, *self._computed("matched"))
        if join.numbers("not matched by source"):
            rows = self._without_source(rows)
        self._read_types(rows)
        names = sorted({field.name for group in self._updates for field in group.columns})
        fields = [field for field in join.schema.fields if field.name in names]
        rows = rows.select(*_columns(place), _CLAUSE, *map(self._value, fields))
        return self._numbered(rows, _columns([SOURCE_ROW, _CLAUSE, *(field.name for field in fields)]))

    def _without_source(self, rows: DataFrame) -> DataFrame:
        """The rows, with the index of the clause for target rows without a match."""
        names = [F.col(old).alias(name) for name, old in self._old.items()]
        beside = rows.columns
        there = rows.select(*_columns(beside), *names)
        there = with_declared_lengths(there, self._join.snapshot.schema, _columns(beside))
        there = there.alias(self._join.target_alias or _TARGET)
        left = self._clause("not matched by source", F.col(SOURCE_ROW).isNull(), "__deltaskip_left")
        found = there.select("*", left)
        both = F.coalesce(F.col(_CLAUSE), F.col("__deltaskip_left")).alias(_CLAUSE)
        others = _columns([name for name in beside if name != _CLAUSE])
        found = found.select("*", both.alias("__deltaskip_both"))
        computed = self._computed("not matched by source", "__deltaskip_both")
        found = found.where(F.col(SOURCE_ROW).isNotNull() | F.col("__deltaskip_both").isNotNull())
        return found.select(*others, F.col("__deltaskip_both").alias(_CLAUSE), *computed)

    def _clause(self, kind: str, when: Column, name: str = _CLAUSE) -> Column:
        """The index of the first clause of a kind whose condition is TRUE; NULL for other rows."""
        found: Any = None
        for number, clause in enumerate(self._join.clauses):
            if clause.kind != kind:
                continue
            condition = when if clause.where is None else when & self._source.column(clause.where)
            found = F.when(condition, number) if found is None else found.when(condition, number)
        return (F.lit(None) if found is None else found).cast("int").alias(name)

    def _computed(self, kind: str, clause_column: str = _CLAUSE) -> Iterator[Column]:
        """The values of the clauses' expressions. Each is computed only in the rows of its clause."""
        for number, clause in enumerate(self._join.clauses):
            if clause.kind != kind:
                continue
            expressions = [each for assigned in clause.columns.values() for each in expressions_of(assigned)]
            for each in expressions:
                if isinstance(each, AssignedExpression):
                    name = f"__deltaskip_v{len(self._raw)}"
                    self._raw[number, id(each)] = name
                    yield F.when(F.col(clause_column) == number, self._source.column(each.value)).alias(name)

    def _read_types(self, rows: DataFrame) -> None:
        """Store the types of the columns that expressions have computed."""
        schema = rows.schema
        for name in self._raw.values():
            if name in schema.names and name not in self._types:
                self._types[name] = schema_of(type(schema)([schema[name]])).fields[0].type

    def _value(self, field: StructField) -> Column:
        """The value of a column in updated rows; NULL in other rows."""
        before = next((each for each in self._fields if each.name == field.name), None)
        old = None if before is None else (self._old[before.name], before.type)
        numbers = [n for group in self._updates if field in group.columns for n in group.numbers]
        return self._chosen(field, numbers, old).alias(field.name)

    def _chosen(self, field: StructField, numbers: Sequence[int], old: tuple[str, DataType] | None) -> Column:
        """The value that the clause of each row assigns to a column."""
        declared = logical_type(field)
        collated = "collate" in declared.simpleString()
        by_text: dict[str, list[int]] = {}
        for number in numbers:
            assigned = self._join.clauses[number].columns.get(field.name)
            raw = partial(self._raw_value, number)
            if assigned is DEFAULT or (assigned is None and old is None):
                check_default(self._source.session, field, self._join.snapshot)
            text = column_text(field, assigned, raw, old, self._table, self._join.evolves)
            by_text.setdefault(text, []).append(number)
        found: Any = None
        for text, members in by_text.items():
            value = own_column(self._source.session, text)
            value = value.cast(declared) if collated else value
            condition = F.col(_CLAUSE).isin(*members)
            found = F.when(condition, value) if found is None else found.when(condition, value)
        return F.lit(None).cast(declared) if found is None else found

    def _raw_value(self, number: int, each: AssignedExpression | FromSource) -> tuple[str, DataType]:
        name = self._taken[each.path] if isinstance(each, FromSource) else self._raw[number, id(each)]
        return name, self._types[name]

    def _updated(self, group: ClauseGroup, changed: DataFrame) -> tuple[DataFrame, RowPlan]:
        """The rows that clauses of a group update, and the plan by which they are written."""
        ids = [] if self._join.row_ids is None else [F.col(ROW_ID)]
        columns = [F.col(quoted_name(field.name)) for field in group.columns]
        rows = changed.where(F.col(_CLAUSE).isin(*group.numbers)).select(*columns, *ids)
        return rows, self._plan(group, rows)

    def _inserted(self, group: ClauseGroup, changed: DataFrame | None) -> tuple[DataFrame, RowPlan]:
        """The rows that clauses of a group insert: rows of the source without a match."""
        rows = self._given.select("*", *self._taken_columns("not matched"))
        if changed is not None:
            met = changed.where(F.col(SOURCE_ROW).isNotNull()).select(F.col(SOURCE_ROW).alias("__deltaskip_met"))
            rows = rows.join(met, F.col(SOURCE_ROW) == F.col("__deltaskip_met"), "left_anti")
        rows = rows.select("*", self._clause("not matched", F.lit(True)))
        rows = rows.where(F.col(_CLAUSE).isin(*group.numbers))
        rows = rows.select(_CLAUSE, *self._taken.values(), *self._computed("not matched"))
        self._read_types(rows)
        nothing = [] if self._join.row_ids is None else [F.lit(None).cast("bigint").alias(ROW_ID)]
        values = [self._chosen(field, group.numbers, None).alias(field.name) for field in group.columns]
        rows = rows.select(*values, *nothing)
        return rows, self._plan(group, rows)

    def _plan(self, group: ClauseGroup, rows: DataFrame) -> RowPlan:
        schema = rows.schema
        incoming = schema_of(type(schema)([field for field in schema.fields if field.name != ROW_ID]))
        return group_plan(self._join, group, incoming)

    def _found(self, changed: DataFrame, plans: Sequence[RowPlan]) -> _ChangedPositions:
        """Run the join, and return the positions of changed rows. Tasks return a bit for each row of a block."""
        join = self._join
        numbers = [n for n, clause in enumerate(join.clauses) if clause.kind != "not matched"]
        has_source = F.col(SOURCE_ROW).isNotNull()
        bit = F.col(POSITION) % BLOCK_ROWS
        kinds = {action: join.numbers(action=action) for action in ("delete", "update")}
        aggregates = (
            F.count(F.when(has_source, 1)),
            F.bitmap_count(F.bitmap_construct_agg(F.when(has_source, bit))),
            *(_bits(F.col(_CLAUSE).isin(*members), bit) for members in kinds.values()),
            *(F.count(F.when(F.col(_CLAUSE) == number, 1)) for number in numbers),
        )
        found = grouped(changed, [F.col(FILE), F.expr(f"{POSITION} DIV {BLOCK_ROWS}")], aggregates)
        spark = self._source.session
        with row_errors_named(spark, self._table), described_jobs(spark, f"merge into {self._table}"):
            try:
                rows = found.collect()
            except Exception as error:
                violation = violation_of(error, *plans) if plans else None
                if violation is None:
                    raise
                raise violation from error
        pairs, matched = sum(row[2] for row in rows), sum(row[3] for row in rows)
        if pairs > matched and not join.may_match_twice:
            raise ambiguous_merge(self._table, self._example(changed))
        counts = {number: sum(row[6 + i] for row in rows) for i, number in enumerate(numbers)}
        if pairs > matched:
            [only] = join.numbers("matched")
            counts[only] = matched
        files = len(join.files)
        deleted, updated = (
            positions_of_blocks(files, ((row[0], row[1], row[column]) for row in rows if row[column] is not None))
            if members
            else None
            for column, members in zip((4, 5), kinds.values(), strict=True)
        )
        return _ChangedPositions(deleted, updated, counts)

    def _example(self, changed: DataFrame) -> Mapping[str, object]:
        """The values of the ON condition's columns for a target row that several source rows match."""
        matched = changed.where(F.col(SOURCE_ROW).isNotNull())
        rows = grouped(matched, [F.col(FILE), F.col(POSITION)], [F.count(F.lit(1)) > 1])
        first = rows.where(F.col(rows.columns[-1])).head()
        if first is None or not self._join.keys:
            return {}
        file = self._join.files.listed.slice(first[0], 1)
        columns = [F.col(quoted_name(name)) for name in self._join.keys]
        found = target_rows(self._execution, file, None).where(F.col(POSITION) == first[1]).select(*columns).head()
        return {} if found is None else found.asDict()


class _MergedRows(PersistedRows):
    """The rows that a merge writes: updated rows of the persisted join, and inserted rows of the persisted source.

    Args:
        execution: Reads and writes rows of the table.
        parts: Kind of change, rows and plan.
        feed: Whether the table has a change data feed.
    """

    def __init__(self, execution: SparkExecution, parts: Sequence[tuple[str, DataFrame, RowPlan]], feed: bool) -> None:
        super().__init__(execution, parts[0][1])
        self._parts = parts
        self._feed = feed

    def parts(self) -> Iterator[tuple[str, DataFrame, RowPlan]]:
        yield from self._parts

    def is_read_again(self, change: str, plan: RowPlan) -> bool:
        """Inserted rows are not persisted."""
        return (self._feed and change == "insert") or super().is_read_again(change, plan)


def _columns(names: Sequence[str]) -> list[Column]:
    return [F.col(quoted_name(name)) for name in names]


def _bits(condition: Column, bit: Column) -> Column:
    """A bit for each row of a block for which the condition is true; NULL without such rows."""
    chosen = F.when(condition, bit)
    return F.when(F.count(chosen) > 0, F.bitmap_construct_agg(chosen))


def _any(conditions: Sequence[Column]) -> Column:
    return reduce(lambda one, other: one | other, conditions)
