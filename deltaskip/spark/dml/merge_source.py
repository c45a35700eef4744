"""The source of a MERGE through Spark: a DataFrame, persisted when it is first needed, or collected if it is small."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from decimal import Decimal
from functools import cached_property
from typing import Any

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from deltaskip.data_files.data import GivenRows
from deltaskip.dml.execution import RowsOfFiles
from deltaskip.dml.merge.arrow_expressions import MergeExpressions, Scope
from deltaskip.dml.merge.arrow_join import divided
from deltaskip.dml.merge.arrow_merge import ArrowMergeSource
from deltaskip.dml.merge.clauses import Kind
from deltaskip.dml.merge.merge_assignments import AssignedExpression, PlannedClause
from deltaskip.dml.merge.merge_execution import MatchedRows, MergeJoin, MergeSource
from deltaskip.dml.merge.names import Names, default_aliases
from deltaskip.dml.merge.source_keys import KeyValues, SourceKey
from deltaskip.dml.merge.values import expressions_of
from deltaskip.errors import DeltaSkipError, InvalidArgument, PredicateError, UnsupportedFeature
from deltaskip.expr.coerce import INTEGRAL_BITS
from deltaskip.expr.evaluation.columns import never_fails
from deltaskip.expr.literal_list import SHORTEST, integers, texts
from deltaskip.expr.nodes import And, FieldRef, Literal, Node, columns_of
from deltaskip.log import Snapshot
from deltaskip.predicates import expression_node
from deltaskip.rows.arrow_layout import stored_type
from deltaskip.schema.arrow_values import arrow_array
from deltaskip.schema.calendar import parse_timestamp_ntz
from deltaskip.schema.given import schema_of
from deltaskip.schema.json import CHAR_VARCHAR_KEY
from deltaskip.schema.resolve import fold_name
from deltaskip.schema.sql_text import quoted_path
from deltaskip.schema.types import (
    BINARY,
    COLLATIONS_KEY,
    DATE,
    DOUBLE,
    FLOAT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VARIANT,
    VOID,
    DataType,
    DecimalType,
    StructField,
    StructType,
    UnknownType,
    nested_types,
)
from deltaskip.settings import options
from deltaskip.spark.columns.to_column import to_column
from deltaskip.spark.dml.execution import SparkExecution
from deltaskip.spark.dml.merge_join import SOURCE_ROW, MergedFrames
from deltaskip.spark.session.failures import row_errors_named
from deltaskip.spark.session.job_descriptions import described_jobs

__all__ = ["SparkMergeSource"]

# Lists up to these lengths prune for less than they cost. Integers and strings stay in one array.
_MOST_VALUES = 250_000
_MOST_LITERALS = 1_000
# A value of a DataFrame in memory, where Spark does not say how large it is.
_VALUE_BYTES = 40

# A side of the join of at most this size is sent to every task.
_BROADCAST_BYTES = 64 << 20


class SparkMergeSource(MergeSource):
    """A DataFrame as the source of a merge, persisted when it is first needed.

    Args:
        spark: A session, classic or Connect.
        data: The DataFrame.
        alias: The name of the source in expressions; None for that of the DataFrame.
    """

    def __init__(self, spark: SparkSession, data: DataFrame, alias: str | None) -> None:
        self._spark = spark
        self._data = data
        self._alias = alias
        self._count: int | None = None
        self._executions: dict[int, SparkExecution] = {}
        self._kept: list[DataFrame] = []
        # The rows in this process, what merges them there, and whether Spark's jobs do so instead.
        self._collected: pa.Table | None = None
        self._here: ArrowMergeSource | None = None
        self._needs_jobs = False

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

    def prepare(self, join: MergeJoin, schema: StructType) -> None:
        """A small source is joined by the driver where it evaluates all as Spark does."""
        if self._alias is None:
            self._take_default_alias(join)
        if not self._can_merge_here(join, schema):
            self._here, self._needs_jobs = None, True
            MergedFrames(self, join, self.row_execution(join.snapshot)).check()
        elif self._here is None:
            described = described_jobs(self._spark, f"merge into {join.snapshot.root}")
            with row_errors_named(self._spark, "the source of a merge"), described:
                self._collected = self._data.toArrow()
            self._here = ArrowMergeSource(GivenRows(self._collected), join.snapshot.root, self._alias, self.time_zone)
        if self._here is not None:
            self._here.schema_for(join.snapshot.schema)

    def _take_default_alias(self, join: MergeJoin) -> None:
        """Take the default name of the source if expressions use it, and the DataFrame knows nothing of that name."""
        _, default = default_aliases(join.target_alias, None, False)
        if default is not None:
            used = [parts for parts in _names_in(join) if len(parts) > 1 and fold_name(parts[0]) == default]
            if used and not self._has_names(used):
                self._alias = default

    def _own_names(self, join: MergeJoin, schema: StructType) -> list[tuple[str, ...]]:
        """The names in expressions that begin with a qualifier of the DataFrame's own."""
        names = Names(join.snapshot.schema, schema, join.target_alias, None)
        used = [parts for parts in _names_in(join) if len(parts) > 1]
        return [parts for parts in used if (found := names.side(parts)) is not None and found[0] == "source"]

    def _has_names(self, names: Sequence[tuple[str, ...]]) -> bool:
        """Whether the DataFrame itself has columns that can be named so."""
        try:
            _ = self._data.select(*map(F.col, map(quoted_path, names))).schema
        except AnalysisException:
            return False
        return True

    def _can_merge_here(self, join: MergeJoin, schema: StructType) -> bool:
        """Whether the driver may carry out the merge. Raises what is wrong with it, as the driver finds it."""
        if self._needs_jobs or not (self._here is not None or self._is_collected_quickly()):
            return False
        if not _can_merge_on_driver(join, schema, self._alias, self.time_zone):
            return False
        if len(schema.fields) < len(self._data.schema.fields):
            return False
        if self._alias is None:
            # Here any qualifier is taken for one that the DataFrame has.
            own = self._own_names(join, schema)
            if own and (len({fold_name(parts[0]) for parts in own}) > 1 or not self._has_names(own)):
                return False
        nothing = pa.table({field.name: pa.nulls(0, stored_type(field.type)) for field in schema.fields})
        checked = ArrowMergeSource(GivenRows(nothing), join.snapshot.root, self._alias, self.time_zone)
        try:
            checked.prepare(join, checked.schema_for(join.snapshot.schema))
        except UnsupportedFeature:
            # A rule of the table that only Spark evaluates.
            return False
        return True

    def _is_collected_quickly(self) -> bool:
        """Whether the rows are few as far as Spark estimates it, and expressions mean what they do here."""
        java = getattr(self._data, "_jdf", None)
        if options.spark_jobs == "always" or java is None or not hasattr(self._data, "toArrow"):
            return False
        settings = {"spark.sql.ansi.enabled": "true", "spark.sql.caseSensitive": "false"}
        if any(str(self._spark.conf.get(name)).lower() != value for name, value in settings.items()):
            return False
        return int(str(java.queryExecution().optimizedPlan().stats().sizeInBytes())) <= options.source_bytes

    def count(self) -> int:
        if self._here is not None:
            return self._here.count()
        if self._count is None:
            self.key_values([], False)
        assert self._count is not None
        return self._count

    def row_execution(self, snapshot: Snapshot) -> SparkExecution:
        known = self._executions.get(snapshot.version)
        if known is None:
            known = self._executions[snapshot.version] = SparkExecution(self._spark, snapshot)
        return known

    def key_values(self, keys: Sequence[SourceKey], distinct: bool) -> list[KeyValues]:
        if self._here is not None:
            return self._here.key_values(keys, distinct)
        described = described_jobs(self._spark, "compute the source of a merge")
        with row_errors_named(self._spark, "the source of a merge"), described:
            self._count, found = _key_values(self.rows, keys, distinct, self._count)
        return found

    def matched(self, join: MergeJoin) -> MatchedRows:
        if self._here is not None:
            try:
                execution = self.row_execution(join.snapshot)
                files = RowsOfFiles(join.files.listed)
                if self._here.is_little(join, lambda: execution.copies_here([files], join.schema)):
                    return self._here.matched(join)
            except UnsupportedFeature:
                # A rule of the table, or a file, that only Spark evaluates or reads.
                pass
            self._take_collected_rows(join)
        return MergedFrames(self, join, self.row_execution(join.snapshot)).matched()

    def _take_collected_rows(self, join: MergeJoin) -> None:
        """Let jobs read the rows that chose the files: a source that is computed again may have others."""
        if self._alias is None:
            own = self._own_names(join, self.schema_for(join.snapshot.schema))
            self._alias = own[0][0] if own else None
        self._data = self._spark.createDataFrame(self._collected, self._data.schema)
        self._here, self._needs_jobs = None, True

    def release(self) -> None:
        for frame in self._kept:
            frame.unpersist()
        self._kept, self._count, self._here, self._collected = [], None, None, None
        self.__dict__.pop("rows", None)

    @cached_property
    def rows(self) -> DataFrame:
        """The persisted rows of the source, each with a number."""
        return self.kept(self.numbered)

    @property
    def numbered(self) -> DataFrame:
        """The rows as they are computed, each with a number."""
        return self._data.select("*", F.monotonically_increasing_id().alias(SOURCE_ROW))

    def named(self, rows: DataFrame) -> DataFrame:
        """These rows under the alias of the source."""
        return rows if self._alias is None else rows.alias(self._alias)

    def kept(self, frame: DataFrame) -> DataFrame:
        """The frame, persisted until `release`."""
        persisted = frame.persist(StorageLevel.MEMORY_AND_DISK)
        self._kept.append(persisted)
        return persisted

    @property
    def session(self) -> SparkSession:
        """The session."""
        return self._spark

    @property
    def is_small(self) -> bool:
        """Whether the source can be sent to every task."""
        self.count()
        return _size_in_bytes(self.rows, self.count()) <= _BROADCAST_BYTES


def _key_values(
    rows: DataFrame, keys: Sequence[SourceKey], distinct: bool, count: int | None
) -> tuple[int, list[KeyValues]]:
    """Return the number of rows, and the values of each key.

    Args:
        rows: The persisted rows.
        keys: The keys.
        distinct: Whether to return all values of keys that are compared for equality, if they are few.
        count: The number of rows, if it is known.
    """
    columns = [to_column(key.node) for key in keys]
    wanted = [F.count(F.lit(1))]
    for key, column in zip(keys, columns, strict=True):
        wanted += [_sent(F.min(column), key.type), _sent(F.max(column), key.type), F.count(F.when(column.isNull(), 1))]
    [row] = rows.select(*(wanted if count is None or keys else [F.lit(count)])).limit(1).collect()
    found = []
    for i, key in enumerate(keys):
        least, greatest = (_received(value, key.type) for value in row[1 + 3 * i : 3 + 3 * i])
        most = _MOST_VALUES if key.type in INTEGRAL_BITS or key.type == STRING else _MOST_LITERALS
        values = None
        exact = distinct and key.equal and key.type not in (FLOAT, DOUBLE)
        if exact and row[0] <= max(most, _MOST_LITERALS) and least is not None:
            values = _distinct(rows, columns[i], key.type)
        found.append(KeyValues(least, greatest, row[3 + 3 * i] > 0, values))
    return row[0], found


def _size_in_bytes(rows: DataFrame, count: int) -> int:
    """Return the size of persisted rows in memory, as Spark measured it or, through Spark Connect, estimated."""
    java = getattr(rows, "_jdf", None)
    if java is None:
        return count * len(rows.columns) * _VALUE_BYTES
    return int(str(java.queryExecution().optimizedPlan().stats().sizeInBytes()))


def _distinct(rows: DataFrame, column: Column, type_: DataType) -> Sequence[Node] | None:
    values = rows.select(column.alias("key")).where(F.col("key").isNotNull()).distinct()
    sent = values.select(_sent(F.col("key"), type_).alias("key"))
    array = _collected(sent)
    if len(array) > (_MOST_VALUES if type_ in INTEGRAL_BITS or type_ == STRING else _MOST_LITERALS):
        return None
    if len(array) >= SHORTEST and type_ in INTEGRAL_BITS:
        return integers(array)
    if len(array) >= SHORTEST and type_ == STRING:
        return texts(array)
    return tuple(Literal(_received(value, type_), type_) for value in array.to_pylist())


def _collected(frame: DataFrame) -> pa.Array:
    if hasattr(frame, "toArrow"):
        return frame.toArrow()["key"].combine_chunks()
    return arrow_array([row[0] for row in frame.collect()])


def _sent(column: Column, type_: DataType) -> Column:
    """A value in a form that does not depend on time zones."""
    if type_ in INTEGRAL_BITS:
        return column.cast("bigint")
    if type_ == DATE:
        return F.unix_date(column).cast("bigint")
    if type_ == TIMESTAMP:
        return F.unix_micros(column)
    if type_ == TIMESTAMP_NTZ or isinstance(type_, DecimalType):
        return column.cast("string")
    return column.cast("string") if type_ == STRING else column


def _received(value: Any, type_: DataType) -> Any:
    """A value in the value domain."""
    if value is None:
        return None
    converted: Callable[[Any], Any] | None = None
    if isinstance(type_, DecimalType):
        converted = Decimal
    elif type_ == TIMESTAMP_NTZ:
        converted = parse_timestamp_ntz
    elif type_ == BINARY:
        converted = bytes
    return value if converted is None else converted(value)


# It is where expressions are evaluated by whole columns of Arrow exactly as Spark does, and where source and files are
# small enough to be read here.
def _can_merge_on_driver(join: MergeJoin, source: StructType, source_alias: str | None, time_zone: str) -> bool:
    """Return whether every expression of a merge can be evaluated by whole columns, and matches are found by keys.

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
        # Spark says what is wrong with it.
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
        """Whether rows that match are found by keys, and what else the condition says by whole columns."""
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
    """Whether Spark reads or compares a column in a way of its own."""
    types: list[DataType] = list(nested_types(field.type))
    if any(each in (VARIANT, VOID) or isinstance(each, UnknownType) for each in types):
        return True
    return COLLATIONS_KEY in field.metadata or "char(" in str(field.metadata.get(CHAR_VARCHAR_KEY, "")).lower()
