"""The rows of a MERGE's source that Spark jobs join, persisted when they are first needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from deltaskip.fork_safety import cached_property
from deltaskip.lazy_regex import regex
from deltaskip.skipping.joins.source_keys import KeyValues, SourceKey, key_literals, most_values
from deltaskip.spark.columns.to_column import to_column
from deltaskip.spark.session.error_conversion import row_errors_named
from deltaskip.spark.session.releases import persisted_rows
from deltaskip.spark.session.session_settings import described_jobs
from deltaskip.sparkexpr import ColumnExpr, to_node
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.nodes import Node
from deltaskip.sparkexpr.values import exactly
from deltaskip.sparkexpr.values.arrow_values import arrow_array
from deltaskip.sparkexpr.values.calendar import parse_timestamp_ntz

SOURCE_ROW = "__deltaskip_source_row"
"""The index of a row of the source."""

# Bytes of a value of a DataFrame in memory, if Spark does not report them.
_VALUE_BYTES = 40

# Spark 4.1, JavaUtils.byteStringAsBytes
_SIZE = regex(r"\s*(\d+)([kmgtp]?)b?\s*")
_UNITS = ("", "k", "m", "g", "t", "p")

# A side of the join of at most this size is sent to every task.
_BROADCAST_BYTES = 64 << 20


class PersistedSource:
    """A DataFrame whose rows are numbered and persisted, so that every job of a merge reads the same rows.

    Args:
        session: The session, classic or Connect.
        data: The DataFrame.
        alias: The name of the source in expressions; None for the DataFrame's alias.
        table: The table that is merged into, for messages.
        as_literals: Returns an expression that compares strings of the source as literals; None for no change.
    """

    def __init__(
        self,
        session: SparkSession,
        data: DataFrame,
        alias: str | None,
        table: str,
        as_literals: Callable[[Any], Node] | None = None,
    ) -> None:
        self.session = session
        self._as_literals = as_literals
        self._table = table
        self._data = data
        self._alias = alias
        self._count: int | None = None
        self._kept: list[Callable[[], object]] = []

    @cached_property
    def rows(self) -> DataFrame:
        """The persisted rows, each with its index."""
        return self.kept(self.numbered)

    @property
    def numbered(self) -> DataFrame:
        """The rows without persistence, each with its index."""
        return self._data.select("*", F.monotonically_increasing_id().alias(SOURCE_ROW))

    def named(self, rows: DataFrame) -> DataFrame:
        """Return rows under the alias of the source."""
        return rows if self._alias is None else rows.alias(self._alias)

    def column(self, value: Any) -> Column:
        """Return an expression of the caller as a Column."""
        value = value if self._as_literals is None else self._as_literals(value)
        if isinstance(value, str):
            return F.expr(value)
        found: Column = to_column(to_node(value)) if isinstance(value, ColumnExpr | Node) else value
        return found

    def kept(self, frame: DataFrame) -> DataFrame:
        """Return the frame, persisted until `release`."""
        rows, release = persisted_rows(frame)
        self._kept.append(release)
        return rows

    def count(self) -> int:
        """Return the number of rows."""
        if self._count is None:
            self.key_values([], False)
        assert self._count is not None
        return self._count

    @property
    def join_hint(self) -> str | None:
        """The hint for a join with the source: whether to send it to every task; None if Spark is to decide.

        Spark collects a side before it sends it, which it must not do if the driver may not have as many bytes.
        """
        self.count()
        size = _size_in_bytes(self.rows, self.count())
        if size > _BROADCAST_BYTES:
            return None
        return "broadcast" if size <= _most_collected(self.session) // 2 else "merge"

    def key_values(self, keys: Sequence[SourceKey], distinct: bool) -> list[KeyValues]:
        """Return the least and greatest value of each key, with all values if `distinct` and they are few."""
        described = described_jobs(self.session, "compute the source of a merge")
        with row_errors_named(self.session, f"the source of the merge into {self._table}", "read"), described:
            self._count, found = _key_values(self.rows, keys, distinct, self._count)
        return found

    def release(self) -> None:
        """Release the persisted rows."""
        for release in self._kept:
            release()


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
        values = None
        exact = distinct and key.equal and key.type not in t.FLOATING
        if exact and row[0] <= most_values(key.type) and least is not None:
            values = _distinct(rows, columns[i], key.type)
        found.append(KeyValues(least, greatest, row[3 + 3 * i] > 0, values))
    return row[0], found


def _size_in_bytes(rows: DataFrame, count: int) -> int:
    """Return the size of persisted rows in memory, as Spark measured it or, through Spark Connect, estimated."""
    java = getattr(rows, "_jdf", None)
    if java is None:
        return count * len(rows.columns) * _VALUE_BYTES
    return int(str(java.queryExecution().optimizedPlan().stats().sizeInBytes()))


def _most_collected(spark: SparkSession) -> int:
    """Return the most bytes that jobs of a session may return to the driver."""
    found = _SIZE.fullmatch(str(spark.conf.get("spark.driver.maxResultSize", "1g")).lower())
    size = 0 if found is None else int(found[1]) << (10 * _UNITS.index(found[2]))
    # 0 is no limit.
    return size or 1 << 62


def _distinct(rows: DataFrame, column: Column, type_: t.DataType) -> Sequence[Node] | None:
    values = rows.select(column.alias("key")).where(F.col("key").isNotNull()).distinct()
    sent = values.select(_sent(F.col("key"), type_).alias("key"))
    return key_literals(_collected(sent), type_, lambda found: [_received(each, type_) for each in found.to_pylist()])


def _collected(frame: DataFrame) -> pa.Array:
    if hasattr(frame, "toArrow"):
        return frame.toArrow()["key"].combine_chunks()
    return arrow_array([row[0] for row in frame.collect()])


def _sent(column: Column, type_: t.DataType) -> Column:
    """A value in a type that does not depend on time zones."""
    if type_ in t.INTEGRAL_BITS:
        return column.cast("bigint")
    if type_ == t.DATE:
        return F.unix_date(column).cast("bigint")
    if type_ == t.TIMESTAMP:
        return F.unix_micros(column)
    if type_ == t.TIMESTAMP_NTZ or isinstance(type_, t.DecimalType):
        return column.cast("string")
    return column.cast("string") if type_ == t.STRING else column


def _received(value: Any, type_: t.DataType) -> Any:
    """A value in the value domain."""
    if value is None:
        return None
    converted: Callable[[Any], Any] | None = None
    if isinstance(type_, t.DecimalType):
        converted = exactly
    elif type_ == t.TIMESTAMP_NTZ:
        converted = parse_timestamp_ntz
    elif type_ == t.BINARY:
        converted = bytes
    return value if converted is None else converted(value)
