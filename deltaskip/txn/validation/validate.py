"""The one validator of commits: every rule, in an order in which each may rely on those before it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from deltaskip.actions import AddCdcFile, AddFile, DomainMetadata, Metadata, Protocol, RemoveFile, Txn
from deltaskip.errors import InvalidArgument, SchemaError, WriteWarning
from deltaskip.features.commit_rules import refusal
from deltaskip.features.enabling import FEATURE_PREFIX, VERSION_PROPERTIES
from deltaskip.features.row_tracking import MATERIALIZED_COLUMNS
from deltaskip.log.commit_times import ENABLEMENT
from deltaskip.schema.properties import (
    CONSTRAINT_PREFIX,
    TableProperties,
    delta_property,
    is_delta_property,
    meant_property,
    parse_property,
)
from deltaskip.sparkexpr.types import LONG_MAX, parse_names
from deltaskip.stats.stats_columns import STATS_COLUMNS
from deltaskip.txn.intent import logged_parameter
from deltaskip.txn.validation.candidate import Candidate
from deltaskip.txn.validation.column_mapping import check_column_mapping
from deltaskip.txn.validation.domains import check_app_versions, check_domains
from deltaskip.txn.validation.files import check_files
from deltaskip.txn.validation.iceberg import check_iceberg
from deltaskip.txn.validation.protocol import check_features, check_protocol, check_uses
from deltaskip.txn.validation.row_ids import check_row_ids, enables_late
from deltaskip.txn.validation.schema import check_schema
from deltaskip.txn.validation.schema_changes import check_changes
from deltaskip.warning import warn

_Action = AddFile | RemoveFile | AddCdcFile | Metadata | Protocol | Txn | DomainMetadata
_PREFIX = "delta."


def validate(candidate: Candidate) -> bool:
    """Check a commit against every rule, without writing anything.

    Returns whether it is valid only for the files of its base, so that other writers must not add any.

    Raises UnsupportedFeature with every feature that prevents the commit, InvalidCommit for the first rule that it
    violates, and SchemaError for a malformed property of the table on which a rule depends.
    """
    _check_info(candidate)
    _check_types(candidate)
    check_protocol(candidate)
    every_file = bool(candidate.intent.dropped_features)
    if candidate.intent.metadata is not None:
        _check_metadata(candidate)
        _check_properties(candidate)
    if candidate.intent.metadata is not None or candidate.intent.protocol is not None:
        check_uses(candidate)
    check_features(candidate)
    if candidate.intent.metadata is not None:
        check_column_mapping(candidate)
        check_schema(candidate)
        every_file |= check_changes(candidate)
        every_file |= enables_late(candidate)
    check_files(candidate)
    check_iceberg(candidate)
    check_row_ids(candidate)
    check_domains(candidate)
    check_app_versions(candidate)
    return every_file


def _check_info(candidate: Candidate) -> None:
    intent = candidate.intent
    if not isinstance(intent.operation, str) or not intent.operation:
        raise refusal("commit.info", f"The operation of {candidate.place} has no name; give it one")
    for name, value in intent.parameters.items():
        try:
            logged_parameter(value)
        except (TypeError, ValueError, RecursionError) as error:
            why = f"The parameter {name} of {intent.operation} in {candidate.place} has no JSON form: {error}"
            raise refusal("commit.info", f"{why}; use texts, numbers, lists and dicts") from error


def _check_types(candidate: Candidate) -> None:
    """Members of every action have the types that the protocol defines, since dataclasses accept any."""
    intent = candidate.intent
    state = [action for action in (intent.protocol, intent.metadata) if action is not None]
    groups: tuple[Iterable[_Action], ...] = (
        state, intent.txns.values(), intent.domains.values(),
        intent.removes.values(), intent.adds.values(), intent.cdc_files.values(),
    )  # fmt: skip
    for actions in groups:
        for action in actions:
            if isinstance(action, AddFile) and _is_plain(action):
                continue
            if isinstance(action, RemoveFile) and _is_plain_remove(action):
                continue
            read: Callable[[Mapping[str, Any]], object] = type(action).from_json
            try:
                read(action.to_json())
            except (InvalidArgument, TypeError, ValueError, AttributeError) as error:
                path = getattr(action, "path", None)
                what = type(action).__name__ + ("" if path is None else f" of {path}")
                raise refusal("commit.actions", f"The {what} in {candidate.place} is malformed: {error}") from error


def _is_plain(add: AddFile) -> bool:
    """Whether the add has members of the usual types; if not, from_json decides. A commit may have very many adds."""
    return (
        type(add.path) is str
        and bool(add.path)
        and add.partition_values is not None
        and _are_texts(add.partition_values)
        and type(add.size) is type(add.modification_time) is int
        and max(add.size, add.modification_time) <= LONG_MAX
        and type(add.data_change) is bool
        and (add.stats is None or type(add.stats) is str)
        and _are_texts(add.tags)
        and (add.deletion_vector, add.clustering_provider) == (None, None)
        and (add.base_row_id, add.default_row_commit_version) == (None, None)
    )


def _is_plain_remove(remove: RemoveFile) -> bool:
    """As `_is_plain`: an overwrite of a large table has as many removes."""
    numbers = [number for number in (remove.deletion_timestamp, remove.size) if number is not None]
    return (
        type(remove.path) is str
        and bool(remove.path)
        and _are_texts(remove.partition_values)
        and _are_texts(remove.tags)
        and all(type(number) is int and abs(number) <= LONG_MAX for number in numbers)
        and type(remove.data_change) is bool
        and (remove.extended_file_metadata is None or type(remove.extended_file_metadata) is bool)
        and (remove.stats is None or type(remove.stats) is str)
        and (remove.deletion_vector, remove.base_row_id, remove.default_row_commit_version) == (None, None, None)
    )


def _are_texts(values: Mapping[str, str | None] | None) -> bool:
    """Whether it is a map of strings, or missing."""
    if values is None or not values:
        return values is None or type(values) is dict
    return (
        type(values) is dict
        and all(type(name) is str for name in values)
        and all(value is None or type(value) is str for value in values.values())
    )


def _check_metadata(candidate: Candidate) -> None:
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


def _check_properties(candidate: Candidate) -> None:
    """Check the properties that a metaData action sets or removes; the table's other properties are not checked."""
    old, new = candidate.base.metadata.configuration, candidate.metadata.configuration
    for name, text in new.items():
        if old.get(name) != text:
            _check_value(candidate, name, text)
    _check_guarded(candidate)


def _check_value(candidate: Candidate, name: str, text: str) -> None:
    if name.startswith(CONSTRAINT_PREFIX):
        return
    if not (name.lower().startswith(_PREFIX) or is_delta_property(name)):
        meant = delta_property(_PREFIX + name)
        if meant is not None:
            warn(
                f"Delta ignores the property {name}, which {candidate.place} sets. Did you mean {meant}?", WriteWarning
            )
        return
    if name in VERSION_PROPERTIES or name.startswith(FEATURE_PREFIX):
        why = f"sets the property {name}, which is not a table property: set the protocol action instead"
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
    for name in ENABLEMENT:
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
    for name in MATERIALIZED_COLUMNS:
        if name in old and new.get(name) != old[name] and not (name not in new and "rowTracking" in dropped):
            change = f"changes {name} to {new[name]}" if name in new else f"removes {name}"
            why = f"{change}, but files of the table may have row ids in the column {old[name]}: keep it"
            candidate.refuse_metadata("row-ids.columns", why)
    names = [new[name].lower() for name in MATERIALIZED_COLUMNS if name in new]
    if "" in names or len(set(names)) < len(names):
        why = f"must set {' and '.join(MATERIALIZED_COLUMNS)} to different names of columns"
        candidate.refuse_metadata("row-ids.columns", why)
