"""Rules for tables that can be converted to Apache Iceberg.

# PROTOCOL, Iceberg Compatibility V1 and V2; RFC iceberg-compat-v3
"""

from __future__ import annotations

from typing import NoReturn

from deltaskip.errors import SchemaError
from deltaskip.features.commit_rules import refusal
from deltaskip.features.registry import has_feature
from deltaskip.schema.mapping import NESTED_IDS_KEY, nested_paths
from deltaskip.schema.type_widening import type_changes
from deltaskip.sparkexpr import types as t
from deltaskip.stats.stats_text import num_records, parsed_stats
from deltaskip.txn.validation.candidate import Candidate

_TYPES = frozenset(
    (
        t.BYTE,
        t.SHORT,
        t.INTEGER,
        t.LONG,
        t.FLOAT,
        t.DOUBLE,
        t.STRING,
        t.BINARY,
        t.BOOLEAN,
        t.TIMESTAMP,
        t.TIMESTAMP_NTZ,
        t.DATE,
    )
)


def check_iceberg(candidate: Candidate) -> None:
    """Check a commit to a table on which Iceberg compatibility is enabled."""
    enabled = candidate.properties.iceberg_compat
    if not enabled:
        return
    if candidate.intent.metadata is not None or candidate.intent.protocol is not None:
        _check_features(candidate, enabled)
        _check_types(candidate, enabled[0])
        _check_partitioning(candidate)
    for key, add in candidate.intent.adds.items():
        if candidate.is_new(key) and num_records(parsed_stats(add.stats)) is None:
            raise refusal(
                "iceberg.count",
                f"The file {add.path} in {candidate.place} has no row count (numRecords), which Iceberg compatibility "
                f"needs; deltaskip.stats.compute computes it",
            )


def _check_features(candidate: Candidate, enabled: tuple[int, ...]) -> None:
    version, properties = enabled[0], candidate.properties
    if len(enabled) > 1:
        both = " and ".join(f"icebergCompatV{each}" for each in enabled)
        _refuse(candidate, "iceberg.features", f"enables {both}, of which a table can have one: disable the others")
    if candidate.mode == "none":
        _refuse(candidate, "iceberg.features", f"enables icebergCompatV{version}, which needs column mapping: set "
                "delta.columnMapping.mode to name")  # fmt: skip
    if version == 1 and has_feature(candidate.protocol, "deletionVectors"):
        _refuse(candidate, "iceberg.features", "enables icebergCompatV1 on a table with the feature deletionVectors: "
                "use icebergCompatV2, or drop the feature")  # fmt: skip
    if version == 2 and properties.deletion_vectors:
        _refuse(candidate, "iceberg.features", "enables icebergCompatV2 and delta.enableDeletionVectors: disable one")
    if version == 3 and not properties.row_tracking:
        _refuse(candidate, "iceberg.features", "enables icebergCompatV3, which needs row tracking: set "
                "delta.enableRowTracking to true")  # fmt: skip


def _check_types(candidate: Candidate, version: int) -> None:
    numbers: set[int] = set()
    for field in t.nested_fields(candidate.schema):
        for data_type in t.nested_types(field.type, into_structs=False):
            if not _has_iceberg(data_type, version):
                _refuse(candidate, "iceberg.types", f"has the type {t.simple_string(data_type)} in the column "
                        f"{field.name}, which icebergCompatV{version} does not allow")  # fmt: skip
        try:
            changes = type_changes(field.metadata)
            wrong = next((c for c in changes if not _is_iceberg_s(t.parse_type(f'"{c.from_type}"'),
                                                                  t.parse_type(f'"{c.to_type}"'))), None)  # fmt: skip
        except SchemaError as error:
            _refuse(candidate, "iceberg.types", f"is malformed: {error}")
        if wrong is not None:
            _refuse(candidate, "iceberg.types", f"has changed the type of {field.name} from {wrong.from_type} to "
                    f"{wrong.to_type}, which Iceberg cannot")  # fmt: skip
        if version == 1:
            continue
        known = field.metadata.get(NESTED_IDS_KEY)
        ids = known if isinstance(known, dict) else {}
        for path in nested_paths(field):
            number = ids.get(path)
            if type(number) is not int or number in numbers:
                _refuse(candidate, "iceberg.types", f"needs an id of its own for {path} of the column {field.name} in "
                        f"{NESTED_IDS_KEY}")  # fmt: skip
            numbers.add(number)
    highest = candidate.properties.max_column_id or 0
    if max(numbers, default=0) > highest:
        _refuse(candidate, "iceberg.types", f"has ids in {NESTED_IDS_KEY} above delta.columnMapping.maxColumnId")


def _check_partitioning(candidate: Candidate) -> None:
    before, after = candidate.base.partition_columns, candidate.metadata.partition_columns
    was_enabled = candidate.base.table_properties.well_formed().iceberg_compat
    if was_enabled and list(before) != list(after):
        _refuse(candidate, "iceberg.partitioning", f"changes the partition columns from {', '.join(before) or 'none'} "
                f"to {', '.join(after) or 'none'}, which Iceberg compatibility forbids")  # fmt: skip


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


def _refuse(candidate: Candidate, rule: str, why: str) -> NoReturn:
    candidate.refuse_metadata(rule, why)
