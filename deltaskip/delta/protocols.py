"""Versions and features of a table's protocol, raised as delta-spark's methods do."""

from __future__ import annotations

from collections.abc import Mapping

from deltaskip.actions import Protocol
from deltaskip.alter.features import DROPPABLE
from deltaskip.delta.spark_errors import feature_error
from deltaskip.features.enabling import with_features, with_versions
from deltaskip.features.registry import FEATURES, has_feature, no_feature
from deltaskip.table.table import DeltaTable

_FEATURE = "delta.feature."


def upgrade(table: DeltaTable, reader: int, writer: int) -> None:
    """Raise the versions of the table's protocol; nothing is committed if it has them.

    A table with features gets those that the versions imply. Versions 3 and 7 imply none, and list features only.

    Raises InvalidArgument for versions that the protocol does not have.
    """
    before = table.refresh().protocol
    after = with_versions(before, reader, writer)
    versions = {"delta.minReaderVersion": str(reader), "delta.minWriterVersion": str(writer)}
    _commit(table, before, after, versions)


def add_feature(table: DeltaTable, name: str) -> None:
    """Add a feature, by its name in any letter case; nothing is committed if the table has it.

    Raises InvalidArgument, with the class of the JVM's error, if there is no such feature.
    """
    known = _known(name)
    if known is None:
        raise feature_error("DELTA_UNSUPPORTED_FEATURES_IN_CONFIG", no_feature(name, table.uri))
    before = table.refresh().protocol
    _commit(table, before, with_features(before, [known]), {f"{_FEATURE}{known}": "supported"})


def drop_feature(table: DeltaTable, name: str, truncate_history: bool) -> None:
    """Drop a feature from the table, by its name in any letter case.

    Raises InvalidArgument, with the class of the JVM's error, if it cannot be dropped, or the history need not be
    truncated for it.
    """
    known = _known(name)
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


def _known(name: str) -> str | None:
    return next((each for each in FEATURES if each.lower() == name.lower()), None)


def _commit(table: DeltaTable, before: Protocol, after: Protocol, properties: Mapping[str, str]) -> None:
    if after == before:
        return
    with table.transaction(operation="SET TBLPROPERTIES", parameters={"properties": dict(properties)}) as transaction:
        transaction.set_protocol(after)
    table.refresh()
