"""Rules for tables that can be converted to Apache Iceberg.

# PROTOCOL, Iceberg Compatibility V1 and V2; RFC iceberg-compat-v3
"""

from __future__ import annotations

from collections.abc import Iterator

from deltaskip.errors import SchemaError
from deltaskip.features.violation import Violation
from deltaskip.schema.mapping import NESTED_IDS_KEY, nested_paths
from deltaskip.schema.type_widening import type_changes
from deltaskip.sparkexpr import types as t
from deltaskip.txn.validation.commit_facts import CommitFacts

_TYPES = frozenset(
    (t.BYTE, t.SHORT, t.INTEGER, t.LONG, t.FLOAT, t.DOUBLE, t.STRING, t.BINARY, t.BOOLEAN, t.TIMESTAMP,
     t.TIMESTAMP_NTZ, t.DATE)
)  # fmt: skip


def for_iceberg(facts: CommitFacts) -> bool:
    """Whether Iceberg compatibility is enabled after the commit."""
    return bool(facts.properties.iceberg_compat)


def state_violations(facts: CommitFacts) -> Iterator[Violation]:
    """A protocol, type or partitioning that Iceberg compatibility forbids."""
    if facts.changes_state:
        yield from _features(facts, facts.properties.iceberg_compat)
        yield from _types(facts, facts.properties.iceberg_compat[0])
        yield from _partitioning(facts)


def missing_counts(facts: CommitFacts) -> Iterator[Violation]:
    """A new file without a row count."""
    for key, add in facts.intent.adds.items():
        if facts.is_new(key) and facts.rows(key) is None:
            yield Violation(
                "iceberg.count",
                f"The file {add.path} in {facts.place} has no row count (numRecords), which Iceberg compatibility "
                f"needs; deltaskip.stats.compute computes it",
            )


def _features(facts: CommitFacts, enabled: tuple[int, ...]) -> Iterator[Violation]:
    rule, version, properties = "iceberg.features", enabled[0], facts.properties
    if len(enabled) > 1:
        both = " and ".join(f"icebergCompatV{each}" for each in enabled)
        yield facts.of_metadata(rule, f"enables {both}, of which a table can have one: disable the others")
    if facts.mode == "none":
        why = f"enables icebergCompatV{version}, which needs column mapping: set delta.columnMapping.mode to name"
        yield facts.of_metadata(rule, why)
    if version == 1 and "deletionVectors" in facts.features:
        why = "enables icebergCompatV1 on a table with the feature deletionVectors"
        yield facts.of_metadata(rule, f"{why}: use icebergCompatV2, or drop the feature")
    if version == 2 and properties.deletion_vectors:
        yield facts.of_metadata(rule, "enables icebergCompatV2 and delta.enableDeletionVectors: disable one")
    if version == 3 and not properties.row_tracking:
        why = "enables icebergCompatV3, which needs row tracking: set delta.enableRowTracking to true"
        yield facts.of_metadata(rule, why)


def _types(facts: CommitFacts, version: int) -> Iterator[Violation]:
    rule = "iceberg.types"
    numbers: set[int] = set()
    for field in t.nested_fields(facts.schema):
        for data_type in t.nested_types(field.type, into_structs=False):
            if not _has_iceberg(data_type, version):
                why = f"has the type {t.simple_string(data_type)} in the column {field.name}"
                yield facts.of_metadata(rule, f"{why}, which icebergCompatV{version} does not allow")
        try:
            changes = type_changes(field.metadata)
            wrong = next((c for c in changes if not _is_iceberg_s(t.parse_type(f'"{c.from_type}"'),
                                                                  t.parse_type(f'"{c.to_type}"'))), None)  # fmt: skip
        except SchemaError as error:
            yield facts.of_metadata(rule, f"is malformed: {error}")
            return
        if wrong is not None:
            why = (
                f"has changed the type of {field.name} from {wrong.from_type} to {wrong.to_type}, which Iceberg cannot"
            )
            yield facts.of_metadata(rule, why)
        if version == 1:
            continue
        known = field.metadata.get(NESTED_IDS_KEY)
        ids = known if isinstance(known, dict) else {}
        for path in nested_paths(field):
            number = ids.get(path)
            if type(number) is not int or number in numbers:
                why = f"needs an id of its own for {path} of the column {field.name} in {NESTED_IDS_KEY}"
                yield facts.of_metadata(rule, why)
                return
            numbers.add(number)
    highest = facts.properties.max_column_id or 0
    if max(numbers, default=0) > highest:
        yield facts.of_metadata(rule, f"has ids in {NESTED_IDS_KEY} above delta.columnMapping.maxColumnId")


def _partitioning(facts: CommitFacts) -> Iterator[Violation]:
    before, after = facts.base.partition_columns, facts.metadata.partition_columns
    if facts.properties_before.iceberg_compat and list(before) != list(after):
        why = f"changes the partition columns from {', '.join(before) or 'none'} to {', '.join(after) or 'none'}"
        yield facts.of_metadata("iceberg.partitioning", f"{why}, which Iceberg compatibility forbids")


def _has_iceberg(data_type: t.DataType, version: int) -> bool:
    if isinstance(data_type, t.StructType | t.DecimalType) or data_type in _TYPES:
        return True
    if isinstance(data_type, t.ArrayType | t.MapType):
        return version > 1
    return version > 2 and data_type == t.VARIANT


def _is_iceberg_s(old: t.DataType, new: t.DataType) -> bool:
    """Whether Iceberg also allows the change of types."""
    match old, new:
        case t.DecimalType(_, scale), t.DecimalType(_, wider):
            return scale == wider
        case _, t.DecimalType():
            return False
        case _ if old in t.INTEGRAL_BITS:
            return new in t.INTEGRAL_BITS
        case _:
            return (old, new) == (t.FLOAT, t.DOUBLE)
