"""delta-spark's vacuum, restore, clone, and changes of the protocol, with the settings and errors of its methods."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from datetime import datetime, timedelta

from pyspark.sql import DataFrame, SparkSession

from deltaskip.actions import Protocol
from deltaskip.alter.features import DROPPABLE
from deltaskip.delta.locations import path_in_name
from deltaskip.delta.spark_errors import feature_error
from deltaskip.errors import InvalidArgument, InvalidArgumentType, SchemaError
from deltaskip.features.enabling import FEATURE_PREFIX, READER_VERSION, WRITER_VERSION, with_features, with_versions
from deltaskip.features.registry import FEATURES, feature_named, has_feature, no_feature
from deltaskip.spark.catalog.session_tables import default_location, named_table, register_table
from deltaskip.spark.columns.arrow_frame import arrow_frame
from deltaskip.spark.session.active import time_zone_of
from deltaskip.sparkexpr.values.calendar import EPOCH, parse_timestamp, zone_of
from deltaskip.statements.answers import rows
from deltaskip.storage import scheme_of
from deltaskip.table.delta_rows import RESTORED, restored_row
from deltaskip.table.table import DeltaTable
from deltaskip.txn.result import WriteResult

_CHECKED = "spark.databricks.delta.retentionDurationCheck.enabled"
_USER_METADATA = "spark.databricks.delta.commitInfo.userMetadata"


def hours_or_none(value: object) -> float | None:
    """Return a number of hours, also from text. Raises InvalidArgumentType, or InvalidArgument for NaN and bad text."""
    if value is None:
        return None
    try:
        hours = float(value)  # type: ignore[arg-type]
    except TypeError as error:
        raise InvalidArgumentType.of("retentionHours", "a number", value) from error
    except ValueError as error:
        raise InvalidArgument(f"retentionHours must be a number, not {value!r}.") from error
    if not math.isfinite(hours):
        raise InvalidArgument(f"retentionHours must be a finite number, not {value}.")
    return hours


def vacuum_as_session(spark: SparkSession, table: DeltaTable, hours: float | None) -> DataFrame:
    """Vacuum a table as the session's settings allow it; return an empty DataFrame."""
    enforced = str(spark.conf.get(_CHECKED, "true")).strip().lower() != "false"
    table.vacuum(hours, enforce_retention=enforced)
    return _empty(spark)


def user_metadata(spark: SparkSession) -> str | None:
    """Return the user metadata of the session's commits, from delta-spark's setting."""
    text: str | None = spark.conf.get(_USER_METADATA, None)
    return text


def restored_to_version(spark: SparkSession, table: DeltaTable, version: int) -> DataFrame:
    """Restore a version; return the metrics as a frame of one row, without rows if the table is at that version."""
    return _restored(spark, table.restore(version, user_metadata=user_metadata(spark)))


def restored_to_timestamp(spark: SparkSession, table: DeltaTable, timestamp: str) -> DataFrame:
    """Restore the latest version at a time in the session's time zone; return the metrics as a frame."""
    moment = moment_of(spark, timestamp)
    return _restored(spark, table.restore(timestamp=moment, user_metadata=user_metadata(spark)))


def moment_of(spark: SparkSession, timestamp: str) -> datetime:
    """Return the time that Spark parses from text. Raises SchemaError, as an AnalysisException, for other text."""
    micros = parse_timestamp(timestamp, zone_of(time_zone_of(spark)))
    if micros is None:
        raise SchemaError(
            f"[DELTA_TIMESTAMP_INVALID] The provided timestamp ('{timestamp}') cannot be converted to a valid "
            f"timestamp."
        )
    return EPOCH + timedelta(microseconds=micros)


def cloned(
    spark: SparkSession,
    table: DeltaTable,
    target: str,
    shallow: bool,
    replace: bool,
    properties: dict[str, str] | None,
    at: int | datetime | None = None,
) -> tuple[DeltaTable, str | None]:
    """Clone a version of a table, and return the clone and its name in the session's catalog.

    Args:
        spark: The session.
        table: The source.
        target: A path, ``delta.`/path` ``, or a name for the session's catalog.
        shallow: Whether files are not copied; must be true.
        replace: Whether to replace a table at the target.
        properties: Properties of the clone.
        at: The version or the time; None for the latest version.

    Raises:
        InvalidArgument: Files would have to be copied.
        DeltaSkipError: As DeltaTable.clone does.
    """
    if not shallow:
        raise InvalidArgument(
            "[DELTA_UNSUPPORTED_DEEP_CLONE] Deep clone is not supported: pass isShallow=True, or copy the rows."
        )
    table.refresh()
    version, timestamp = (at, None) if isinstance(at, int) else (None, at)
    note = user_metadata(spark)
    path = target if os.path.isabs(target) or scheme_of(target) else path_in_name(spark, target)
    if path is not None:
        return table.clone(path, version, timestamp, replace=replace, properties=properties, user_metadata=note), None
    known = named_table(spark, target)
    location = default_location(spark, target) if known is None or known.location is None else known.location
    made = table.clone(location, version, timestamp, replace=replace, properties=properties, user_metadata=note)
    if known is None:
        register_table(spark, target, made.uri, managed=True)
        known = named_table(spark, target)
    return made, target if known is None else known.name


def _restored(spark: SparkSession, result: WriteResult) -> DataFrame:
    row = restored_row(result)
    return _empty(spark) if row is None else arrow_frame(spark, rows(RESTORED, [row]))


def _empty(spark: SparkSession) -> DataFrame:
    return spark.range(0).drop("id")


def upgrade(table: DeltaTable, reader: int, writer: int) -> None:
    """Raise the versions of the table's protocol; nothing is committed if the protocol has them.

    A table with features gets the features that the versions imply. Versions 3 and 7 imply no features, but list them.

    Raises InvalidArgument for versions that the protocol does not have.
    """
    before = table.refresh().protocol
    after = with_versions(before, reader, writer)
    versions = {READER_VERSION: str(reader), WRITER_VERSION: str(writer)}
    _commit(table, before, after, versions)


def add_feature_support(table: DeltaTable, name: str) -> None:
    """Add a feature by its name in any letter case; nothing is committed if the table has the feature.

    Raises InvalidArgument, with the class of the JVM's error, if the feature does not exist.
    """
    known = feature_named(name)
    if known is None:
        raise feature_error("DELTA_UNSUPPORTED_FEATURES_IN_CONFIG", no_feature(name, table.uri))
    before = table.refresh().protocol
    _commit(table, before, with_features(before, [known]), {f"{FEATURE_PREFIX}{known}": "supported"})


def drop_feature_support(table: DeltaTable, name: str, truncate_history: bool) -> None:
    """Drop a feature from the table, by its name in any letter case.

    Raises InvalidArgument, with the class of the JVM's error, if the feature cannot be dropped, or if its removal does
    not need a truncated history.
    """
    known = feature_named(name)
    if known is None:
        raise feature_error(
            "DELTA_FEATURE_DROP_UNSUPPORTED_CLIENT_FEATURE",
            f"Cannot drop {name} from {table.uri}, because there is no such table feature.",
        )
    if not has_feature(table.refresh().protocol, known):
        raise feature_error(
            "DELTA_FEATURE_DROP_FEATURE_NOT_PRESENT", f"Cannot drop {name}: {table.uri} does not have this feature."
        )
    if known not in DROPPABLE:
        raise feature_error(
            "DELTA_FEATURE_DROP_NONREMOVABLE_FEATURE", f"Cannot drop {name} from {table.uri}: it cannot be dropped."
        )
    if truncate_history and FEATURES[known].kind == "writer" and known != "checkpointProtection":
        raise feature_error(
            "DELTA_FEATURE_DROP_HISTORY_TRUNCATION_NOT_ALLOWED",
            f"Dropping {name} from {table.uri} requires no truncation of the history: leave truncateHistory out.",
        )
    table.drop_feature(known, truncate_history=truncate_history)


def _commit(table: DeltaTable, before: Protocol, after: Protocol, properties: Mapping[str, str]) -> None:
    if after == before:
        return
    with table.transaction(operation="SET TBLPROPERTIES", parameters={"properties": dict(properties)}) as transaction:
        transaction.set_protocol(after)
    table.refresh()
