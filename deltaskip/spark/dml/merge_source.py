"""The source of a MERGE through Spark: a DataFrame, persisted when it is first needed, or collected if it is small."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
from deltaskip.dml.merge.arrow_merge import ArrowMergeSource
from deltaskip.dml.merge.merge_execution import MatchedRows, MergeJoin, MergeSource
from deltaskip.dml.merge.names import Names, default_aliases
from deltaskip.dml.merge.on_driver import can_merge_on_driver, names_in
from deltaskip.dml.merge.source_keys import KeyValues, SourceKey
from deltaskip.errors import DeltaSkipError, InvalidArgument, UnsupportedFeature
from deltaskip.expr.coerce import INTEGRAL_BITS
from deltaskip.expr.literal_list import SHORTEST, integers, texts
from deltaskip.expr.nodes import Literal, Node
from deltaskip.log import Snapshot
from deltaskip.rows.arrow_layout import stored_type
from deltaskip.schema.arrow_values import arrow_array
from deltaskip.schema.calendar import parse_timestamp_ntz
from deltaskip.schema.given import schema_of
from deltaskip.schema.resolve import fold_name
from deltaskip.schema.sql_text import quoted_path
from deltaskip.schema.types import (
    BINARY,
    DATE,
    DOUBLE,
    FLOAT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DataType,
    DecimalType,
    StructField,
    StructType,
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
        self._named = "the source of a merge"

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
        self._named = f"the source of the merge into {join.snapshot.root}"
        if self._alias is None:
            self._take_default_alias(join)
        if not self._can_merge_here(join, schema):
            self._here, self._needs_jobs = None, True
            MergedFrames(self, join, self.row_execution(join.snapshot)).check()
        elif self._here is None:
            described = described_jobs(self._spark, f"merge into {join.snapshot.root}")
            with row_errors_named(self._spark, self._named, "read"), described:
                self._collected = self._data.toArrow()
            self._here = ArrowMergeSource(GivenRows(self._collected), join.snapshot.root, self._alias, self.time_zone)
        if self._here is not None:
            self._here.schema_for(join.snapshot.schema)

    def _take_default_alias(self, join: MergeJoin) -> None:
        """Take the default name of the source if expressions use it, and the DataFrame knows nothing of that name."""
        _, default = default_aliases(join.target_alias, None, False)
        if default is not None:
            used = [parts for parts in names_in(join) if len(parts) > 1 and fold_name(parts[0]) == default]
            if used and not self._has_names(used):
                self._alias = default

    def _own_names(self, join: MergeJoin, schema: StructType) -> list[tuple[str, ...]]:
        """The names in expressions that begin with a qualifier of the DataFrame's own."""
        names = Names(join.snapshot.schema, schema, join.target_alias, None)
        used = [parts for parts in names_in(join) if len(parts) > 1]
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
        if not can_merge_on_driver(join, schema, self._alias, self.time_zone):
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
        with row_errors_named(self._spark, self._named, "read"), described:
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
