"""The source of a MERGE through Spark: a DataFrame, persisted when it is first needed, or collected if it is small."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import partial

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from deltaskip.data_files.data import GivenRows
from deltaskip.dml.execution import RowsOfFiles
from deltaskip.dml.little_data import is_little_source
from deltaskip.dml.merge.arrow_merge import SourceColumns
from deltaskip.dml.merge.arrow_source import ArrowSourceRows
from deltaskip.dml.merge.column_values import expressions_of
from deltaskip.dml.merge.merge_assignments import AssignedExpression
from deltaskip.dml.merge.merge_execution import MatchedRows, MergeJoin, MergeSource, SourceRows
from deltaskip.errors import DeltaSkipError, InvalidArgument, PredicateError, UnsupportedFeature
from deltaskip.log import Snapshot
from deltaskip.predicates import expression_node
from deltaskip.records import dataclass
from deltaskip.schema.user_schema import schema_of
from deltaskip.skipping.joins.name_resolution import Names, default_aliases
from deltaskip.skipping.joins.source_keys import KeyValues, SourceKey
from deltaskip.spark.columns.arrow_frame import arrow_frame
from deltaskip.spark.columns.spark_types import collectable, nullable
from deltaskip.spark.dml.merge_join import MergedFrames
from deltaskip.spark.dml.persisted_rows import SOURCE_ROW, PersistedSource
from deltaskip.spark.dml.spark_execution import SparkExecution
from deltaskip.spark.read.session_meaning import session_meaning
from deltaskip.spark.session.active import time_zone_of
from deltaskip.spark.session.error_conversion import expected_errors, row_errors_named, suppressed_if_too_large
from deltaskip.spark.session.session_settings import described_jobs
from deltaskip.sparkexpr.meaning import SessionMeaning
from deltaskip.sparkexpr.nodes import SessionExpression, columns_of, operations
from deltaskip.sparkexpr.text.sql_text import quoted_path
from deltaskip.sparkexpr.types import GEOSPATIAL, StructField, StructType, fold_name, nested_types
from deltaskip.sparkexpr.values.calendar import current_micros


class SparkMergeSource(MergeSource):
    """A DataFrame as the source of a merge, persisted when it is first needed, or collected if it is small.

    Args:
        spark: A session, classic or Connect.
        data: The DataFrame.
        alias: The name of the source in expressions; None for the DataFrame's alias.
        is_plain: Whether the rows were given as Arrow, whose strings have no collation; columns of DataFrames have one.
    """

    def __init__(self, spark: SparkSession, data: DataFrame, alias: str | None, is_plain: bool = False) -> None:
        self._is_plain = is_plain
        self._spark = spark
        self._data = data
        self._alias = alias
        # The rows are kept for the next plan of the merge.
        self._collected: pa.Table | None = None
        self._persisted: PersistedSource | None = None

    @property
    def time_zone(self) -> str:
        """The time zone of the session."""
        return time_zone_of(self._spark)

    @property
    def is_plain(self) -> bool:
        return self._is_plain

    def meaning(self, expressions: Iterable[object]) -> SessionMeaning:
        return session_meaning(self._spark, expressions)

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
        """The driver collects a small source if it can evaluate the merge for every row."""
        snapshot = join.snapshot
        alias = self._alias if self._alias is not None else self._default_alias(join)
        execution = SparkExecution(self._spark, snapshot)
        if self._persisted is None and (self._collected is not None or self._is_collected_quickly()):
            columns = SourceColumns(schema, alias, self.time_zone, current_micros(), self.is_plain)
            here = ArrowSourceRows(partial(self._collected_rows, snapshot), columns, snapshot)
            known = self._understands(join) and self._names_are_known(join, schema, alias)
            if known and here.decides_every_row(join):
                with suppressed_if_too_large():
                    self._collected_rows(snapshot)
                    return _CollectedRows(here, execution, self)
        jobs = _PersistedRows(self.persisted(join, schema, alias), execution)
        MergedFrames(jobs.source, join, execution).check()
        return jobs

    def persisted(self, join: MergeJoin, schema: StructType, alias: str | None) -> PersistedSource:
        """Return the rows for jobs: the collected rows if they exist, since a source may differ when computed again."""
        if self._persisted is None:
            data = self._data
            if any(isinstance(each, GEOSPATIAL) for f in schema.fields for each in nested_types(f.type)):
                # Spark 4.3, ColumnType: "not support type: GeometryType".
                raise UnsupportedFeature(
                    f"Jobs cannot merge a source with shapes into {join.snapshot.root}, because Spark does not keep "
                    f"them: give the source as Arrow data, with WKB."
                )
            if self._collected is not None:
                data = arrow_frame(self._spark, self._collected, nullable(data.schema))
                if alias is None:
                    own = self._own_names(join, schema)
                    alias = own[0][0] if own else None
            names = Names(join.snapshot.schema, schema, join.target_alias, alias, self.is_plain)
            read = partial(expression_node, meaning=self.meaning(_expressions_in(join)))
            as_literals = (lambda value: names.with_literal_strings(read(value))) if names.is_plain else None
            self._persisted = PersistedSource(self._spark, data, alias, join.snapshot.root, as_literals)
        return self._persisted

    def _collected_rows(self, snapshot: Snapshot) -> pa.Table:
        """The rows, collected once for all plans of the merge."""
        if self._collected is None:
            described = described_jobs(self._spark, f"merge into {snapshot.root}")
            with row_errors_named(self._spark, f"the source of the merge into {snapshot.root}", "read"), described:
                self._collected = collectable(self._data).toArrow()
        given = GivenRows(self._collected)
        given.schema_for(snapshot.schema)
        return given.table(snapshot.root)

    def _default_alias(self, join: MergeJoin) -> str | None:
        """The default name of the source if expressions use it and the DataFrame has no such name."""
        _, default = default_aliases(join.target_alias, None, False)
        used = [parts for parts in _names_in(join) if len(parts) > 1 and fold_name(parts[0]) == default]
        return default if used and not self._has_names(used) else None

    def _own_names(self, join: MergeJoin, schema: StructType) -> list[tuple[str, ...]]:
        """The names in expressions that begin with a qualifier of the DataFrame."""
        names = Names(join.snapshot.schema, schema, join.target_alias, None)
        used = [parts for parts in _names_in(join) if len(parts) > 1]
        return [parts for parts in used if (found := names.side(parts)) is not None and found[0] == "source"]

    def _has_names(self, names: Sequence[tuple[str, ...]]) -> bool:
        """Whether the DataFrame has columns with these qualified names."""
        try:
            with expected_errors():
                _ = self._data.select(*map(F.col, map(quoted_path, names))).schema
        except AnalysisException:
            return False
        return True

    def _names_are_known(self, join: MergeJoin, schema: StructType, alias: str | None) -> bool:
        """Whether all columns have types of Delta, and names in expressions refer to the DataFrame."""
        if len(schema.fields) < len(self._data.schema.fields):
            return False
        # A qualifier that is not the target's is assumed to belong to the DataFrame.
        own = self._own_names(join, schema) if alias is None else []
        return not own or (len({fold_name(parts[0]) for parts in own}) == 1 and self._has_names(own))

    def _understands(self, join: MergeJoin) -> bool:
        """Whether the session understands all expressions as deltaskip does."""
        expressions = _expressions_in(join)
        meaning = self.meaning(expressions)
        if meaning.is_usual or meaning.texts:
            return meaning.is_usual
        read = (expression_node(each, meaning=meaning) for each in expressions)
        return not any(isinstance(part, SessionExpression) for node in read for part in operations(node))

    def _is_collected_quickly(self) -> bool:
        """Whether Spark estimates few rows, and evaluates in the mode in which deltaskip does."""
        java = getattr(self._data, "_jdf", None)
        if java is None or not hasattr(self._data, "toArrow"):
            return False
        settings = {"spark.sql.ansi.enabled": "true", "spark.sql.caseSensitive": "false"}
        if any(str(self._spark.conf.get(name)).lower() != value for name, value in settings.items()):
            return False
        return is_little_source(int(str(java.queryExecution().optimizedPlan().stats().sizeInBytes())))

    def computed(self) -> GivenRows:
        if self._persisted is not None:
            return GivenRows(self._persisted.rows.drop(SOURCE_ROW))
        return GivenRows(arrow_frame(self._spark, self._collected, nullable(self._data.schema)))

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
        files = RowsOfFiles(join.files.listed)
        if self.here.is_little(join, lambda: self.execution.copies_here([files], join.schema)):
            return self.here.matched(join)
        source = self.given.persisted(join, self.here.columns.schema, self.here.columns.alias)
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


def _expressions_in(join: MergeJoin) -> list[object]:
    """Return the conditions and new values of a merge."""
    wheres = [clause.where for clause in join.clauses if clause.where is not None]
    given = (each for c in join.clauses for assigned in c.columns.values() for each in expressions_of(assigned))
    return [join.on, *wheres, *(each.value for each in given if isinstance(each, AssignedExpression))]


def _names_in(join: MergeJoin) -> list[tuple[str, ...]]:
    """Return the names of columns in those expressions of a merge that deltaskip can parse."""
    found: dict[tuple[str, ...], None] = {}
    for value in _expressions_in(join):
        with suppress(PredicateError):
            found |= dict.fromkeys(columns_of(expression_node(value)))
    return list(found)
