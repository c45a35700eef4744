"""The source of a MERGE through Spark: a DataFrame, persisted when it is first needed, or collected if it is small."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from deltaskip.data_files.data import GivenRows
from deltaskip.dml.execution import RowsOfFiles
from deltaskip.dml.little_data import is_little_source
from deltaskip.dml.merge.arrow_join import divided
from deltaskip.dml.merge.arrow_merge import ArrowMergeSource, ArrowSourceRows
from deltaskip.dml.merge.clauses import Kind
from deltaskip.dml.merge.column_values import expressions_of
from deltaskip.dml.merge.merge_assignments import AssignedExpression, PlannedClause
from deltaskip.dml.merge.merge_execution import MatchedRows, MergeJoin, MergeSource, SourceRows
from deltaskip.dml.merge.merge_expressions import MergeExpressions, Scope
from deltaskip.dml.merge.name_resolution import Names, default_aliases
from deltaskip.dml.merge.source_keys import KeyValues, SourceKey
from deltaskip.errors import DeltaSkipError, InvalidArgument, PredicateError, UnsupportedFeature
from deltaskip.expr.evaluation.columns import never_fails
from deltaskip.expr.nodes import And, FieldRef, Node, columns_of
from deltaskip.predicates import expression_node
from deltaskip.records import dataclass
from deltaskip.rows.arrow_layout import stored_type
from deltaskip.schema.lengths import declares_char
from deltaskip.schema.resolve import fold_name
from deltaskip.schema.sql_text import quoted_path
from deltaskip.schema.types import (
    COLLATIONS_KEY,
    VARIANT,
    VOID,
    DataType,
    StructField,
    StructType,
    UnknownType,
    nested_types,
)
from deltaskip.schema.user_schema import schema_of
from deltaskip.spark.dml.merge_join import MergedFrames
from deltaskip.spark.dml.persisted_source import PersistedSource
from deltaskip.spark.dml.spark_execution import SparkExecution
from deltaskip.spark.session.error_conversion import expected_errors, row_errors_named
from deltaskip.spark.session.session_settings import described_jobs


class SparkMergeSource(MergeSource):
    """A DataFrame as the source of a merge, persisted when it is first needed, or collected if it is small.

    Args:
        spark: A session, classic or Connect.
        data: The DataFrame.
        alias: The name of the source in expressions; None for that of the DataFrame.
    """

    def __init__(self, spark: SparkSession, data: DataFrame, alias: str | None) -> None:
        self._spark = spark
        self._data = data
        self._alias = alias
        # Both sources keep their rows for the next plan of the merge.
        self._collected: pa.Table | None = None
        self._persisted: PersistedSource | None = None

    @property
    def time_zone(self) -> str:
        """The time zone of the session."""
        return str(self._spark.conf.get("spark.sql.session.timeZone"))

    def schema_for(self, table_schema: StructType) -> StructType:
        """Columns of types that Delta does not have are left out."""
        try:
            schema = self._data.schema
        except Exception as error:
            raise InvalidArgument(f"Spark cannot determine the columns of the source: {error}") from error
        found: list[StructField] = []
        for column in schema.fields:
            try:
                found += schema_of(type(schema)([column])).fields
            except DeltaSkipError:
                continue
        return StructType(tuple(found))

    def prepared(self, join: MergeJoin, schema: StructType) -> SourceRows:
        """The driver joins a small source if it evaluates every expression as Spark does."""
        alias = self._alias if self._alias is not None else self._default_alias(join)
        execution = SparkExecution(self._spark, join.snapshot)
        if self._persisted is None and self._can_merge_here(join, schema, alias):
            here = self._collected_source(join, alias)
            return _CollectedRows(here.prepared(join, here.schema_for(join.snapshot.schema)), execution, self)
        jobs = _PersistedRows(self.persisted(join, schema, alias), execution)
        MergedFrames(jobs.source, join, execution).check()
        return jobs

    def persisted(self, join: MergeJoin, schema: StructType, alias: str | None) -> PersistedSource:
        """Return the rows for jobs: those that were collected, if any were, as a source computed again may differ."""
        if self._persisted is None:
            data = self._data
            if self._collected is not None:
                data = self._spark.createDataFrame(self._collected, data.schema)
                if alias is None:
                    own = self._own_names(join, schema)
                    alias = own[0][0] if own else None
            self._persisted = PersistedSource(self._spark, data, alias, join.snapshot.root)
        return self._persisted

    def _collected_source(self, join: MergeJoin, alias: str | None) -> ArrowMergeSource:
        if self._collected is None:
            described = described_jobs(self._spark, f"merge into {join.snapshot.root}")
            with row_errors_named(self._spark, f"the source of the merge into {join.snapshot.root}", "read"), described:
                self._collected = self._data.toArrow()
        return ArrowMergeSource(GivenRows(self._collected), join.snapshot.root, alias, self.time_zone)

    def _default_alias(self, join: MergeJoin) -> str | None:
        """The default name of the source if expressions use it and the DataFrame has no such name."""
        _, default = default_aliases(join.target_alias, None, False)
        used = [parts for parts in _names_in(join) if len(parts) > 1 and fold_name(parts[0]) == default]
        return default if used and not self._has_names(used) else None

    def _own_names(self, join: MergeJoin, schema: StructType) -> list[tuple[str, ...]]:
        """The names in expressions that begin with a qualifier of the DataFrame's own."""
        names = Names(join.snapshot.schema, schema, join.target_alias, None)
        used = [parts for parts in _names_in(join) if len(parts) > 1]
        return [parts for parts in used if (found := names.side(parts)) is not None and found[0] == "source"]

    def _has_names(self, names: Sequence[tuple[str, ...]]) -> bool:
        """Whether the DataFrame itself has columns with this qualifier."""
        try:
            with expected_errors():
                _ = self._data.select(*map(F.col, map(quoted_path, names))).schema
        except AnalysisException:
            return False
        return True

    def _can_merge_here(self, join: MergeJoin, schema: StructType, alias: str | None) -> bool:
        """Whether the driver may carry out the merge. Raises the errors that the driver finds in it."""
        if self._collected is None and not self._is_collected_quickly():
            return False
        if not _can_merge_on_driver(join, schema, alias, self.time_zone):
            return False
        if len(schema.fields) < len(self._data.schema.fields):
            return False
        if alias is None:
            # Any qualifier is assumed here to be one of the DataFrame.
            own = self._own_names(join, schema)
            if own and (len({fold_name(parts[0]) for parts in own}) > 1 or not self._has_names(own)):
                return False
        nothing = pa.table({field.name: pa.nulls(0, stored_type(field.type)) for field in schema.fields})
        checked = ArrowMergeSource(GivenRows(nothing), join.snapshot.root, alias, self.time_zone)
        try:
            checked.prepared(join, checked.schema_for(join.snapshot.schema))
        except UnsupportedFeature:
            # A rule of the table that only Spark evaluates.
            return False
        return True

    def _is_collected_quickly(self) -> bool:
        """Whether Spark estimates few rows, and evaluates expressions under its settings as deltaskip does."""
        java = getattr(self._data, "_jdf", None)
        if java is None or not hasattr(self._data, "toArrow"):
            return False
        settings = {"spark.sql.ansi.enabled": "true", "spark.sql.caseSensitive": "false"}
        if any(str(self._spark.conf.get(name)).lower() != value for name, value in settings.items()):
            return False
        return is_little_source(int(str(java.queryExecution().optimizedPlan().stats().sizeInBytes())))

    def release(self) -> None:
        if self._persisted is not None:
            self._persisted.release()
        self._collected = self._persisted = None


@dataclass(frozen=True, slots=True)
class _CollectedRows:
    """Rows that the driver joins if there are few files; otherwise jobs join them. given: the source of the merge."""

    here: ArrowSourceRows
    execution: SparkExecution
    given: SparkMergeSource

    def count(self) -> int:
        return self.here.count()

    def key_values(self, keys: Sequence[SourceKey], distinct: bool) -> list[KeyValues]:
        return self.here.key_values(keys, distinct)

    def matched(self, join: MergeJoin) -> MatchedRows:
        try:
            files = RowsOfFiles(join.files.listed)
            if self.here.is_little(join, lambda: self.execution.copies_here([files], join.schema)):
                return self.here.matched(join)
        except UnsupportedFeature:
            # A rule of the table, or a file, that only Spark evaluates or reads.
            pass
        schema = self.given.schema_for(join.snapshot.schema)
        source = self.given.persisted(join, schema, self.here.alias)
        return MergedFrames(source, join, self.execution).matched()


@dataclass(frozen=True, slots=True)
class _PersistedRows:
    """Rows that jobs join."""

    source: PersistedSource
    execution: SparkExecution

    def count(self) -> int:
        return self.source.count()

    def key_values(self, keys: Sequence[SourceKey], distinct: bool) -> list[KeyValues]:
        return self.source.key_values(keys, distinct)

    def matched(self, join: MergeJoin) -> MatchedRows:
        return MergedFrames(self.source, join, self.execution).matched()


def _can_merge_on_driver(join: MergeJoin, source: StructType, source_alias: str | None, time_zone: str) -> bool:
    """Whether every expression of a merge is evaluated by whole columns, as Spark does, and matches are found by keys.

    Args:
        join: The merge.
        source: The schema of the source.
        source_alias: The name of the source in expressions.
        time_zone: The time zone of expressions.
    """
    target, nothing = join.snapshot.schema, StructType(())
    aliases = join.target_alias, source_alias
    if any(map(_is_special, (*target.fields, *source.fields))):
        return False
    sides: dict[Kind, tuple[StructType, StructType]] = {
        "matched": (target, source),
        "not matched": (nothing, source),
        "not matched by source": (target, nothing),
    }
    scopes = {kind: _Scope(*each, aliases, kind, time_zone) for kind, each in sides.items()}
    try:
        return scopes["matched"].joins_by_keys(join.on) and all(
            scopes[clause.kind].takes(clause) for clause in join.clauses
        )
    except DeltaSkipError:
        # Spark raises the error for it.
        return False


def _names_in(join: MergeJoin) -> list[tuple[str, ...]]:
    """Return the names of columns in the expressions of a merge, as far as they are understood here."""
    wheres = [clause.where for clause in join.clauses if clause.where is not None]
    given = (each for c in join.clauses for assigned in c.columns.values() for each in expressions_of(assigned))
    found: dict[tuple[str, ...], None] = {}
    for value in (join.on, *wheres, *(each.value for each in given if isinstance(each, AssignedExpression))):
        with suppress(PredicateError):
            found |= dict.fromkeys(columns_of(expression_node(value)))
    return list(found)


class _Scope:
    """The expressions that clauses of one kind may have."""

    def __init__(
        self,
        target: StructType,
        source: StructType,
        aliases: tuple[str | None, str | None],
        kind: Kind,
        time_zone: str,
    ) -> None:
        scope = Scope(Names(target, source, *aliases), target, source, kind)
        self._expressions = MergeExpressions("the table", scope, time_zone, 0)
        self._columns = {field.name: pa.nulls(0, stored_type(field.type)) for field in scope.schema.fields}

    def joins_by_keys(self, on: Any) -> bool:
        """Whether rows that match are found by keys, and the rest of the condition is evaluated by whole columns."""
        condition = self._expressions.condition(expression_node(on))
        parts = condition.children if isinstance(condition, And) else (condition,)
        keys, rest = divided(parts, self._expressions)
        nodes = [*rest, *(key.target for key in keys), *(key.source for key in keys)]
        return bool(keys) and all(map(self._is_whole, nodes))

    def takes(self, clause: PlannedClause) -> bool:
        """Whether the condition and the values of a clause are evaluated by whole columns."""
        where = clause.where
        if where is not None and not self._is_whole(self._expressions.condition(expression_node(where))):
            return False
        given = (each for assigned in clause.columns.values() for each in expressions_of(assigned))
        return all(self._is_whole(self._expressions.bound(e.value)) for e in given if isinstance(e, AssignedExpression))

    def _is_whole(self, node: Node) -> bool:
        return isinstance(node, FieldRef) or never_fails(node)


def _is_special(field: StructField) -> bool:
    """Whether Spark reads or compares a column in another way than deltaskip."""
    types: list[DataType] = list(nested_types(field.type))
    if any(each in (VARIANT, VOID) or isinstance(each, UnknownType) for each in types):
        return True
    return COLLATIONS_KEY in field.metadata or declares_char(field)
