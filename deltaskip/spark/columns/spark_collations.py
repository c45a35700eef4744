"""Collations of a table in Spark: their names, and the reads that are refused where Spark lacks a collation.

# COLLATIONS RFC, Reader Requirements: the feature is writer-only, so a reader that does not know a collation reads the
strings, and must not evaluate a predicate under another order.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator

from pyspark.sql import types as spark_types

from deltaskip.collations.collation_id import CollationId
from deltaskip.collations.names import spark_equal
from deltaskip.errors import CollationWarning, InvalidCollation, UnsupportedFeature
from deltaskip.log import Snapshot
from deltaskip.reading.session_needs import SessionNeeds
from deltaskip.schema import display_name
from deltaskip.schema.types import STRING, ArrayType, DataType, MapType, StructField, StructType, declared_collation
from deltaskip.warning import warn

_KNOWS_COLLATIONS = "collation" in inspect.signature(spark_types.StringType.__init__).parameters
_PROVIDERS = ("icu", "spark")


def spark_collation(identifier: str) -> str | None:
    """The name in this Spark of the collation with the order of `identifier`; None if it has none."""
    if not _KNOWS_COLLATIONS:
        return None
    try:
        collation = CollationId.named(identifier)
        return spark_equal(collation.name) if collation.provider.lower() in _PROVIDERS else None
    except InvalidCollation:
        return None


def is_utf8_binary(identifier: str) -> bool:
    """Whether the identifier is that of UTF8_BINARY."""
    try:
        return CollationId.parse(identifier).is_binary
    except InvalidCollation:
        return False


def unknown_collations(struct: StructType) -> dict[str, str]:
    """The strings at any depth whose collation this Spark does not have: path → identifier as declared."""
    return {
        path: identifier
        for path, identifier in _declared(struct, "")
        if not is_utf8_binary(identifier) and spark_collation(identifier) is None
    }


def warn_of_unknown(snapshot: Snapshot, spark_version: str) -> None:
    """Warn if the DataFrame of the table compares some of its strings by bytes and not by their collation."""
    unknown = unknown_collations(snapshot.schema)
    if unknown:
        named = ", ".join(f"{path} ({identifier})" for path, identifier in unknown.items())
        warn(
            f"Spark {spark_version} does not have the collation of {named} in {snapshot.table_root} (version "
            f"{snapshot.version}); the DataFrame contains the strings and compares them by their bytes.",
            CollationWarning,
        )


def check_compared(needs: SessionNeeds, spark_version: str) -> None:
    """Raise UnsupportedFeature if a bound predicate compares under a collation that Spark does not have."""
    missing = next((each for each in (*needs.compared, *needs.opaque) if spark_collation(each) is None), None)
    if missing is not None:
        raise UnsupportedFeature(
            f"The predicate compares strings of {needs.table} under the collation {missing}, which Spark "
            f"{spark_version} does not have; list the files with scan.paths(), or compare under another collation, as "
            "in c COLLATE UTF8_BINARY = 'x'."
            if _KNOWS_COLLATIONS
            else f"The predicate compares strings of {needs.table} under the collation {missing}, but Spark "
            f"{spark_version} compares by bytes; use Spark 4.0 or newer."
        )


def _declared(struct: StructType, above: str) -> Iterator[tuple[str, str]]:
    """Path and identifier of every string at any depth that declares a collation."""
    for field in struct.fields:
        yield from _inside(field, field.type, field.name, f"{above}{display_name((field.name,))}")


def _inside(field: StructField, data_type: DataType, path: str, shown: str) -> Iterator[tuple[str, str]]:
    match data_type:
        case StructType():
            yield from _declared(data_type, f"{shown}.")
        case ArrayType(element):
            yield from _inside(field, element, f"{path}.element", f"{shown}.element")
        case MapType(key, value):
            yield from _inside(field, key, f"{path}.key", f"{shown}.key")
            yield from _inside(field, value, f"{path}.value", f"{shown}.value")
        case _ if data_type == STRING:
            identifier = declared_collation(field, path)
            if identifier is not None:
                yield shown, identifier
