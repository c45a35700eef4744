"""delta-spark's DeltaMergeBuilder: the clauses of a MERGE, and its result as a DataFrame."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pyspark.errors import AnalysisException

from deltaskip.delta.argument_checks import assignments, condition
from deltaskip.delta.result_frames import merge_frame
from deltaskip.delta.spark_errors import spark_errors
from deltaskip.doors import Unpicklable, door
from deltaskip.table.merge_builder import MergeBuilder

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_AUTO_MERGE = "spark.databricks.delta.schema.autoMerge.enabled"


def merges_schema(spark: SparkSession) -> bool:
    """Return whether the session adds columns of sources to tables, as delta-spark's setting says."""
    return str(spark.conf.get(_AUTO_MERGE, "false")).lower() == "true"


@door
class DeltaMergeBuilder(Unpicklable):
    """The clauses of a MERGE. Each method checks its arguments and returns a builder; `execute` runs the MERGE.

    Made by `DeltaTable.merge`. There may be any number of clauses. A row goes to the first clause of its kind whose
    condition is true; only the last clause of a kind may lack one.
    """

    def __init__(self, spark: SparkSession, begin: Callable[[bool], MergeBuilder]) -> None:
        self._spark = spark
        self._begin = begin
        self._evolves = False
        self._clauses: tuple[Callable[[MergeBuilder], MergeBuilder], ...] = ()

    def whenMatchedUpdate(
        self, condition: str | Column | None = None, set: dict[str, str | Column] | None = None
    ) -> DeltaMergeBuilder:
        """Update columns of rows that match."""
        values, where = self._setting(set, "'set' in whenMatchedUpdate", condition)
        return self._with(lambda builder: builder.when_matched_update(values, where))

    def whenMatchedUpdateAll(self, condition: str | Column | None = None) -> DeltaMergeBuilder:
        """Update all columns of rows that match."""
        where = self._where(condition)
        return self._with(lambda builder: builder.when_matched_update_all(where=where))

    def whenMatchedDelete(self, condition: str | Column | None = None) -> DeltaMergeBuilder:
        """Delete rows that match."""
        where = self._where(condition)
        return self._with(lambda builder: builder.when_matched_delete(where))

    def whenNotMatchedInsert(
        self, condition: str | Column | None = None, values: dict[str, str | Column] | None = None
    ) -> DeltaMergeBuilder:
        """Insert rows of the source that match none."""
        given, where = self._setting(values, "'values' in whenNotMatchedInsert", condition)
        return self._with(lambda builder: builder.when_not_matched_insert(given, where))

    def whenNotMatchedInsertAll(self, condition: str | Column | None = None) -> DeltaMergeBuilder:
        """Insert all columns of rows of the source that match none."""
        where = self._where(condition)
        return self._with(lambda builder: builder.when_not_matched_insert_all(where=where))

    def whenNotMatchedBySourceUpdate(
        self, condition: str | Column | None = None, set: dict[str, str | Column] | None = None
    ) -> DeltaMergeBuilder:
        """Update columns of rows that the source has no match for."""
        values, where = self._setting(set, "'set' in whenNotMatchedBySourceUpdate", condition)
        return self._with(lambda builder: builder.when_not_matched_by_source_update(values, where))

    def whenNotMatchedBySourceDelete(self, condition: str | Column | None = None) -> DeltaMergeBuilder:
        """Delete rows that the source has no match for."""
        where = self._where(condition)
        return self._with(lambda builder: builder.when_not_matched_by_source_delete(where))

    def withSchemaEvolution(self) -> DeltaMergeBuilder:
        """Add columns of the source to the table."""
        builder = self._with()
        builder._evolves = True
        return builder

    def execute(self) -> DataFrame:
        """Run the MERGE, and return the numbers of rows that it changed as a DataFrame of one row."""
        # delta-spark: clauses that are missing, or can never apply, are an AnalysisException.
        with spark_errors(argument=AnalysisException):
            builder = self._begin(self._evolves)
            for add in self._clauses:
                builder = add(builder)
            return merge_frame(self._spark, builder.execute().metrics)

    def _with(self, *clauses: Callable[[MergeBuilder], MergeBuilder]) -> DeltaMergeBuilder:
        builder = DeltaMergeBuilder(self._spark, self._begin)
        builder._evolves, builder._clauses = self._evolves, (*self._clauses, *clauses)
        return builder

    def _where(self, given: Any) -> Any:
        return condition(given)

    def _setting(self, given: Any, name: str, when: Any) -> tuple[dict[str, Any], Any]:
        return assignments(given, name), condition(when)
