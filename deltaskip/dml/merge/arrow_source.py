"""The source of a MERGE without Spark: Arrow data, and the values of its keys, which select files of the table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

import pyarrow as pa

from deltaskip.data_files.data import GivenRows
from deltaskip.dml.arrow_execution import ArrowExecution
from deltaskip.dml.little_data import is_little_to_read
from deltaskip.dml.merge.arrow_merge import ArrowMerge, SourceColumns, columns_of_table, needed_columns
from deltaskip.dml.merge.merge_execution import MatchedRows, MergeJoin, MergeSource, SourceRows
from deltaskip.dml.merge.merge_expressions import MergeExpressions, Scope
from deltaskip.errors import DeltaSkipError
from deltaskip.features.registry import writes_deletion_vectors
from deltaskip.fork_safety import cached_property
from deltaskip.log import Snapshot
from deltaskip.skipping.joins.name_resolution import Names
from deltaskip.skipping.joins.source_keys import KeyValues, SourceKey, key_values
from deltaskip.sparkexpr.meaning import SessionMeaning
from deltaskip.sparkexpr.types import StructType
from deltaskip.sparkexpr.values.calendar import current_micros


class ArrowMergeSource(MergeSource):
    """Arrow data as the source of a merge.

    Args:
        rows: The rows.
        table: The target table, for messages.
        alias: The name of the source in expressions; None for none.
        time_zone: The time zone of expressions.
    """

    def __init__(self, rows: GivenRows, table: str, alias: str | None, time_zone: str) -> None:
        self._given = rows
        self._table = table
        self._alias = alias
        self._time_zone = time_zone
        self._now = current_micros()

    @property
    def time_zone(self) -> str:
        return self._time_zone

    @property
    def is_plain(self) -> bool:
        return True

    def meaning(self, expressions: Iterable[object]) -> SessionMeaning:
        return SessionMeaning(self._time_zone)

    def schema_for(self, table_schema: StructType) -> StructType:
        return self._given.schema_for(table_schema)

    def prepared(self, join: MergeJoin, schema: StructType) -> ArrowSourceRows:
        """The rows, after a merge without rows has checked the expressions."""
        columns = SourceColumns(schema, self._alias, self._time_zone, self._now, is_plain=True)
        ArrowMerge(join, columns, columns.nothing).check()
        return ArrowSourceRows(partial(self._given.table, self._table), columns, join.snapshot)

    def computed(self) -> GivenRows:
        return self._given

    def release(self) -> None:
        """See MergeSource.release."""


class ArrowSourceRows(SourceRows):
    """Rows that this process joins.

    Args:
        read: Reads the rows.
        columns: Their columns.
        target: The table.
    """

    def __init__(self, read: Callable[[], pa.Table], columns: SourceColumns, target: Snapshot) -> None:
        self._read = read
        self.columns = columns
        self._target = target

    @property
    def execution(self) -> ArrowExecution:
        return ArrowExecution(self._target, self.columns.time_zone)

    @cached_property
    def data(self) -> pa.Table:
        """The rows."""
        return self._read()

    def count(self) -> int:
        return len(self.data)

    def key_values(self, keys: Sequence[SourceKey], distinct: bool) -> list[KeyValues]:
        return [self._values(key, distinct) for key in keys]

    def matched(self, join: MergeJoin) -> MatchedRows:
        return ArrowMerge(join, self.columns, self.data).matched()

    def decides_every_row(self, join: MergeJoin) -> bool:
        """Return whether this process can carry out the merge for every row, whatever rows there are.

        It does if rows match by keys, and if every expression, cast and rule has a value for every row. Raises the
        errors of `MergeSource.prepared`, except for parts that are left to Spark.
        """
        try:
            merge = ArrowMerge(join, self.columns, self.columns.nothing)
            if not merge.decides_expressions():
                return False
        except DeltaSkipError:
            # If it is an error in Spark, Spark raises it.
            return False
        merge.check()
        return merge.decides_stored_values()

    def is_little(self, join: MergeJoin, copies_here: Callable[[], bool]) -> bool:
        """Return whether this process carries out a merge in the time that jobs of a cluster take to start.

        copies_here: Whether it would also copy all rows of the files before a job would have.
        """
        snapshot, files = join.snapshot, join.files.listed
        columns = needed_columns(
            join, Names(snapshot.schema, self.columns.schema, join.target_alias, self.columns.alias)
        )
        if join.properties.change_data_feed:
            # Change data files have all columns of the rows before the change.
            columns = set(snapshot.schema.names)
        if not is_little_to_read(snapshot, files, columns):
            return False
        # Without deletion vectors files are rewritten.
        return writes_deletion_vectors(snapshot.protocol, join.properties) or join.inserts_only or copies_here()

    def _values(self, key: SourceKey, distinct: bool) -> KeyValues:
        source, nothing = self.columns, StructType(())
        scope = Scope(Names(nothing, source.schema, None, source.alias), nothing, source.schema, "not matched")
        expressions = MergeExpressions("the source of a merge", scope, source.time_zone, source.now)
        columns = expressions.columns({}, columns_of_table(self.data))
        found = expressions.array(expressions.bound(key.node), columns, self.count())
        return key_values(found, key, distinct)
