"""Rules for the metaData action itself: its id and format, and the table properties.

# PROTOCOL, Change Metadata, Table Properties
"""

from __future__ import annotations

from deltaskip.errors import SchemaError
from deltaskip.schema.column_names import parse_names
from deltaskip.schema.properties import (
    CONSTRAINT_PREFIX,
    TableProperties,
    is_delta_property,
    meant_property,
    parse_property,
)
from deltaskip.stats.stats_columns import STATS_COLUMNS
from deltaskip.txn.validation.candidate import Candidate

_PREFIX = "delta."
_FEATURE_PREFIX = "delta.feature."
_IN_PROTOCOL = ("delta.minReaderVersion", "delta.minWriterVersion")
# A commit sets them itself.
_ENABLEMENT = (
    TableProperties.in_commit_timestamps_version.name,
    TableProperties.in_commit_timestamps_since_ms.name,
)
_MATERIALIZED = (TableProperties.row_id_column.name, TableProperties.row_commit_version_column.name)


def check_metadata(candidate: Candidate) -> None:
    """Check the id and the format of a metaData action."""
    base, metadata = candidate.base, candidate.metadata
    if metadata.id != base.metadata.id:
        candidate.refuse_metadata("metadata.id", f"must keep the table's id, {base.metadata.id}")
    for name, text in metadata.configuration.items():
        if not isinstance(name, str) or not isinstance(text, str):
            candidate.refuse_metadata("commit.actions", f"sets the property {name!r} to {text!r}, which must be texts")
    if metadata.format.provider.lower() != "parquet":
        why = f"has the format {metadata.format.provider!r}; data files of Delta tables are Parquet"
        candidate.refuse_metadata("metadata.format", why)


def check_properties(candidate: Candidate) -> None:
    """Check the properties that a metaData action sets or removes; those that the table has already are not checked."""
    old, new = candidate.base.metadata.configuration, candidate.metadata.configuration
    for name, text in new.items():
        if old.get(name) != text:
            _check_value(candidate, name, text)
    _check_guarded(candidate)


def _check_value(candidate: Candidate, name: str, text: str) -> None:
    if name.startswith(CONSTRAINT_PREFIX) or not (name.lower().startswith(_PREFIX) or is_delta_property(name)):
        return
    if name in _IN_PROTOCOL or name.startswith(_FEATURE_PREFIX):
        why = f"sets the property {name}, which is no table property: set the protocol action instead"
        candidate.refuse_metadata("properties.unknown", why)
    if not is_delta_property(name):
        why = (
            f"sets the property {name}, which Delta does not define: use another prefix than {_PREFIX!r} for your "
            f"own.{meant_property(name)}"
        )
        candidate.refuse_metadata("properties.unknown", why)
    try:
        parse_property(name, text)
        if name == STATS_COLUMNS:
            parse_names(text, name)
    except SchemaError as error:
        candidate.refuse_metadata("properties.values", f"has a malformed property: {error}")


def _check_guarded(candidate: Candidate) -> None:
    old, new = candidate.base.metadata.configuration, candidate.metadata.configuration
    rule, dropped = "properties.guarded", candidate.intent.dropped_features
    for name in _ENABLEMENT:
        if name in new and new[name] != old.get(name):
            candidate.refuse_metadata(rule, f"sets {name}, which the commit itself sets: leave it out")
    both = candidate.properties.row_tracking and candidate.properties.row_tracking_suspended
    before = candidate.base.table_properties.well_formed()
    if both and before.row_tracking and not before.row_tracking_suspended:
        suspended = TableProperties.row_tracking_suspended.name
        why = f"sets {suspended} while {TableProperties.row_tracking.name} is true: unset that in the same transaction"
        candidate.refuse_metadata("row-ids.enabling", why)
    protected = TableProperties.checkpoint_protection_version
    highest = before.checkpoint_protection_version
    if candidate.properties.checkpoint_protection_version < highest and "checkpointProtection" not in dropped:
        why = f"lowers {protected.name} below {highest}, which protects the log of earlier versions"
        candidate.refuse_metadata(rule, f"{why}: keep it")
    for name in _MATERIALIZED:
        if name in old and new.get(name) != old[name] and not (name not in new and "rowTracking" in dropped):
            change = f"changes {name} to {new[name]}" if name in new else f"removes {name}"
            why = f"{change}, but files of the table may have row ids in the column {old[name]}: keep it"
            candidate.refuse_metadata("row-ids.columns", why)
    names = [new[name].lower() for name in _MATERIALIZED if name in new]
    if "" in names or len(set(names)) < len(names):
        why = f"must set {' and '.join(_MATERIALIZED)} to different names of columns"
        candidate.refuse_metadata("row-ids.columns", why)
