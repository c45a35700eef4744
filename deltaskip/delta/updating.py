"""delta-spark's update: rows that match are deleted, and added with new values, in one commit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from deltaskip.errors import SchemaError, UnsupportedFeature
from deltaskip.rows.identity import identity_of
from deltaskip.schema.resolve import fold_name
from deltaskip.schema.sql_text import quoted_name
from deltaskip.schema.types import GENERATION_KEY
from deltaskip.table.table import DeltaTable

__all__ = ["update"]


def update(spark: SparkSession, table: DeltaTable, condition: Any, assignments: Mapping[str, Any]) -> None:
    """Set columns of the rows for which a condition is true; nothing is committed if there is none.

    Rows that match are written anew; other rows of their files stay, by deletion vectors or by copying. Generated
    columns are computed again.

    Raises:
        SchemaError: There is no such column, or it is generated.
        UnsupportedFeature: The table has the change data feed, row tracking or identity columns that rows must not
            have values for: updated rows would lose their images, their ids or their numbers.
        RowViolation: An updated row violates a rule of the table.
        CommitConflict: Another writer changed rows that match.
    """
    table.refresh()
    _check(table)
    rows = _updated(spark, table, condition, assignments)
    if rows.isEmpty():
        return
    predicate = [] if condition is None else [str(condition)]
    transaction = table.transaction(operation="UPDATE", parameters={"predicate": predicate})
    with transaction:
        transaction.delete(condition, spark)
        transaction.append(rows)
    table.refresh()


def _check(table: DeltaTable) -> None:
    properties = table.snapshot.table_properties
    identities = (identity_of(field) for field in table.schema.fields)
    for what, is_used in (
        ("the change data feed", properties.change_data_feed),
        ("row tracking", properties.row_tracking),
        ("GENERATED ALWAYS AS IDENTITY", any(each is not None and not each.explicit for each in identities)),
    ):
        if is_used:
            raise UnsupportedFeature(
                f"Rows of {table.uri} cannot be updated in deltaskip yet, because the table uses {what}: run UPDATE in "
                f"a session with delta-spark."
            )


def _updated(spark: SparkSession, table: DeltaTable, condition: Any, assignments: Mapping[str, Any]) -> DataFrame:
    """The rows that match, with their new values and without generated columns."""
    fields = {fold_name(field.name): field for field in table.schema.fields}
    given: dict[str, Column] = {}
    for name, value in assignments.items():
        field = fields.get(fold_name(name))
        if field is None:
            raise SchemaError(f"{table.uri} has no column {name}; columns to set are {', '.join(table.schema.names)}.")
        if GENERATION_KEY in field.metadata:
            raise SchemaError(f"The column {field.name} of {table.uri} is generated: set the columns it is made of.")
        given[fold_name(name)] = F.expr(value) if isinstance(value, str) else value
    rows = table.scan(condition).to_spark(spark)
    kept = [field for field in table.schema.fields if GENERATION_KEY not in field.metadata]
    return rows.select(
        *(given.get(fold_name(field.name), F.col(quoted_name(field.name))).alias(field.name) for field in kept)
    )
