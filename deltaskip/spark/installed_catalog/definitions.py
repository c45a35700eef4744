"""Columns, transforms and properties of tables, converted between Spark's interfaces and this package."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from pyspark.sql import types as spark_types

from deltaskip.alter.table_changes import ClusterBy
from deltaskip.errors import UnsupportedFeature
from deltaskip.json_text import parse_json
from deltaskip.lazy_regex import regex
from deltaskip.records import dataclass
from deltaskip.schema.properties import CONSTRAINT_PREFIX
from deltaskip.schema.user_schema import schema_of
from deltaskip.spark.columns.spark_types import logical_type
from deltaskip.spark.session.jvm import Jvm
from deltaskip.sparkexpr import types as t
from deltaskip.table.table import DeltaTable
from deltaskip.transforms import Bucket, Date, DateHour, Identity, Month, Transform, Truncate, Year
from deltaskip.transforms.parse_transforms import parse_transform

_EXISTENCE_DEFAULT = "EXISTS_DEFAULT"
# Properties that Spark adds to the user's properties.
_OF_SPARK = ("owner", "is_managed_location", "table_type")
_OPTION_PREFIX = "option."
_LOCAL = regex(r"file:(?://)?(?=/)")


def read_order(fields: Iterable[t.StructField], table: DeltaTable) -> list[t.StructField]:
    """Return columns in the order in which readers return them: partition columns come last."""
    return sorted(fields, key=lambda field: field.name in table.partition_columns)


def spark_columns(fields: Iterable[t.StructField], lengths: bool = True) -> spark_types.StructType:
    """Return columns as Spark plans with them: nullable, with comment, default and declared length.

    A default is declared with NULL for the rows that are older than the column, since Spark otherwise ignores it.

    Args:
        fields: The columns.
        lengths: Whether Spark pads values of char(n), and checks the lengths of new values.
    """
    found = []
    kept = (t.COMMENT_KEY, t.CHAR_VARCHAR_KEY) if lengths else (t.COMMENT_KEY,)
    for field in fields:
        metadata = {key: field.metadata[key] for key in kept if key in field.metadata}
        if t.DEFAULT_KEY in field.metadata:
            metadata |= {t.DEFAULT_KEY: field.metadata[t.DEFAULT_KEY], _EXISTENCE_DEFAULT: "NULL"}
        found.append(spark_types.StructField(field.name, logical_type(field), True, metadata))
    return spark_types.StructType(found)


@dataclass(frozen=True, slots=True)
class Definition:
    """The description of a new table by a statement.

    Attributes:
        schema: The columns.
        partitions: The partitioning or clustering.
        properties: The table properties.
    """

    schema: t.StructType
    partitions: list[Transform | ClusterBy]
    properties: dict[str, str]


def described(jvm: Jvm, given: Sequence[Any]) -> Definition:
    """Return the definition of a new table by a statement.

    Args:
        jvm: The session's JVM.
        given: A TableInfo of Spark; or in Spark 4.0 the columns, transforms and properties.

    Raises:
        InvalidArgument: Tables cannot have one of the transforms.
        UnsupportedFeature: A constraint is not a CHECK.
    """
    if len(given) == 1:
        (info,) = given
        columns, transforms, properties = info.columns(), info.partitions(), info.properties()
        constraints = dict(map(_check, info.constraints()))
    else:
        columns, transforms, properties = given
        constraints = {}
    texts = {str(name): str(value) for name, value in properties.items()}
    kept = {
        name: value for name, value in texts.items() if name not in _OF_SPARK and not name.startswith(_OPTION_PREFIX)
    }
    if "location" in kept:
        # Spark has decoded the location, and a local path must not be decoded twice.
        kept["location"] = _LOCAL.sub("", kept["location"], count=1)
    return Definition(_schema(jvm, columns), [_transform(each) for each in transforms], {**kept, **constraints})


def partitioning_of(jvm: Jvm, transforms: Iterable[Transform]) -> Any:
    """Return an array of Spark's transforms."""
    return jvm.array(jvm.view.org.apache.spark.sql.connector.expressions.Transform, (
        _spark_transform(jvm, each) for each in transforms
    ))  # fmt: skip


def shown_properties(table: DeltaTable) -> dict[str, str]:
    """Return the properties of a table that Spark shows, with its provider, location and comment."""
    found = {**table.properties, "provider": "delta", "location": table.uri}
    if table.metadata.description:
        found["comment"] = table.metadata.description
    return found


def _schema(jvm: Jvm, columns: Any) -> t.StructType:
    """The schema of an array of Spark's columns, with their expressions and identity."""
    util = jvm.view.org.apache.spark.sql.connector.catalog.CatalogV2Util
    schema = parse_json(util.v2ColumnsToStructType(columns).json())
    for field, column in zip(schema["fields"], columns, strict=True):
        metadata = field["metadata"]
        metadata.pop(_EXISTENCE_DEFAULT, None)
        if column.generationExpression() is not None:
            metadata[t.GENERATION_KEY] = str(column.generationExpression())
        numbered = column.identityColumnSpec()
        if numbered is not None:
            metadata[f"{t.IDENTITY_PREFIX}start"] = int(numbered.getStart())
            metadata[f"{t.IDENTITY_PREFIX}step"] = int(numbered.getStep())
            metadata[f"{t.IDENTITY_PREFIX}allowExplicitInsert"] = bool(numbered.isAllowExplicitInsert())
    return schema_of(json.dumps(schema))


def _check(constraint: Any) -> tuple[str, str]:
    """The property of a CHECK constraint."""
    if constraint.getClass().getSimpleName() != "Check":
        raise UnsupportedFeature(f"Delta tables support only CHECK constraints, not {constraint.toDDL()}.")
    return f"{CONSTRAINT_PREFIX}{constraint.name().lower()}", str(constraint.predicateSql())


def _transform(transform: Any) -> Transform | ClusterBy:
    # The latter is of delta-spark's parser, where a session has it.
    if transform.name() in ("cluster_by", "temp_cluster_by"):
        return ClusterBy(*(tuple(map(str, each.fieldNames())) for each in transform.arguments()))
    return parse_transform(str(transform.toString()))


def _spark_transform(jvm: Jvm, transform: Transform) -> Any:
    expressions = jvm.view.org.apache.spark.sql.connector.expressions.Expressions
    match transform:
        case Identity():
            return expressions.identity(transform.source)
        case Year():
            return expressions.years(transform.source)
        case Month():
            return expressions.months(transform.source)
        case Date():
            return expressions.days(transform.source)
        case DateHour():
            return expressions.hours(transform.source)
        case Bucket(buckets=count):
            return expressions.bucket(count, jvm.strings([transform.source]))
        case Truncate(width=width):
            of = jvm.view.org.apache.spark.sql.connector.expressions.Expression
            arguments = expressions.literal(width), expressions.column(transform.source)
            return expressions.apply("truncate", jvm.array(of, arguments))
    return expressions.identity(transform.source)
