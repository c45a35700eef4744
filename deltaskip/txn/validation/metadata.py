"""Rules for the actions of a commit by themselves, and for the metadata and its properties."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from deltaskip.actions import AddCdcFile, AddFile, DomainMetadata, Metadata, Protocol, RemoveFile, Txn
from deltaskip.errors import InvalidArgument, SchemaError, WriteWarning
from deltaskip.features.enabling import FEATURE_PREFIX, VERSION_PROPERTIES
from deltaskip.features.row_tracking import MATERIALIZED_COLUMNS
from deltaskip.features.violation import Violation
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
from deltaskip.txn.validation.commit_facts import CommitFacts
from deltaskip.warning import warn

_Action = AddFile | RemoveFile | AddCdcFile | Metadata | Protocol | Txn | DomainMetadata
_PREFIX = "delta."


def sets_metadata(facts: CommitFacts) -> bool:
    """Whether the commit sets the metadata."""
    return facts.intent.metadata is not None


def info_violations(facts: CommitFacts) -> Iterator[Violation]:
    """An operation without a name, or with a parameter that has no JSON form."""
    intent = facts.intent
    if not isinstance(intent.operation, str) or not intent.operation:
        yield Violation("commit.info", f"The operation of {facts.place} has no name; give it one")
    for name, value in intent.parameters.items():
        try:
            logged_parameter(value)
        except (TypeError, ValueError, RecursionError) as error:
            why = f"The parameter {name} of {intent.operation} in {facts.place} has no JSON form: {error}"
            yield Violation("commit.info", f"{why}; use texts, numbers, lists and dicts", cause=error)


def malformed_actions(facts: CommitFacts) -> Iterator[Violation]:
    """An action with a member that has not the type that the protocol defines, since dataclasses accept any."""
    intent = facts.intent
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
                yield Violation("commit.actions", f"The {what} in {facts.place} is malformed: {error}", cause=error)


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


def metadata_violations(facts: CommitFacts) -> Iterator[Violation]:
    """Another id, another format than Parquet, a property that is no text, or a schema that cannot be parsed."""
    before, metadata = facts.base.metadata, facts.metadata
    if metadata.id != before.id:
        yield facts.of_metadata("metadata.id", f"must keep the table's id, {before.id}")
    for name, text in metadata.configuration.items():
        if not isinstance(name, str) or not isinstance(text, str):
            yield facts.of_metadata("commit.actions", f"sets the property {name!r} to {text!r}, which must be texts")
    if metadata.format.provider.lower() != "parquet":
        why = f"has the format {metadata.format.provider!r}; data files of Delta tables are Parquet"
        yield facts.of_metadata("metadata.format", why)
    try:
        _ = facts.schema
    except SchemaError as error:
        yield facts.of_metadata("schema.json", f"has a schema that cannot be read: {error}")


def property_violations(facts: CommitFacts) -> Iterator[Violation]:
    """A property that the commit must not set or remove; the table's other properties are not checked."""
    old, new = facts.base.metadata.configuration, facts.metadata.configuration
    for name, text in new.items():
        if old.get(name) != text:
            yield from _of_property(facts, name, text)
    yield from _of_guarded(facts)


def _of_property(facts: CommitFacts, name: str, text: str) -> Iterator[Violation]:
    if name.startswith(CONSTRAINT_PREFIX):
        return
    if not (name.lower().startswith(_PREFIX) or is_delta_property(name)):
        meant = delta_property(_PREFIX + name)
        if meant is not None:
            warn(f"Delta ignores the property {name}, which {facts.place} sets. Did you mean {meant}?", WriteWarning)
        return
    if name in VERSION_PROPERTIES or name.startswith(FEATURE_PREFIX):
        why = f"sets the property {name}, which is not a table property: set the protocol action instead"
        yield facts.of_metadata("properties.unknown", why)
    if not is_delta_property(name):
        why = (
            f"sets the property {name}, which Delta does not define: use another prefix than {_PREFIX!r} for your "
            f"own.{meant_property(name)}"
        )
        yield facts.of_metadata("properties.unknown", why)
    try:
        parse_property(name, text)
        if name == STATS_COLUMNS:
            parse_names(text, name)
    except SchemaError as error:
        yield facts.of_metadata("properties.values", f"has a malformed property: {error}")


def _of_guarded(facts: CommitFacts) -> Iterator[Violation]:
    old, new = facts.base.metadata.configuration, facts.metadata.configuration
    rule, dropped = "properties.guarded", facts.intent.dropped_features
    for name in ENABLEMENT:
        if name in new and new[name] != old.get(name):
            yield facts.of_metadata(rule, f"sets {name}, which the commit itself sets: leave it out")
    before, after = facts.properties_before, facts.properties
    both = after.row_tracking and after.row_tracking_suspended
    if both and before.row_tracking and not before.row_tracking_suspended:
        suspended = TableProperties.row_tracking_suspended.name
        why = f"sets {suspended} while {TableProperties.row_tracking.name} is true: unset that in the same transaction"
        yield facts.of_metadata("row-ids.enabling", why)
    protected = TableProperties.checkpoint_protection_version
    highest = before.checkpoint_protection_version
    if after.checkpoint_protection_version < highest and "checkpointProtection" not in dropped:
        why = f"lowers {protected.name} below {highest}, which protects the log of earlier versions"
        yield facts.of_metadata(rule, f"{why}: keep it")
    for name in MATERIALIZED_COLUMNS:
        if name in old and new.get(name) != old[name] and not (name not in new and "rowTracking" in dropped):
            change = f"changes {name} to {new[name]}" if name in new else f"removes {name}"
            why = f"{change}, but files of the table may have row ids in the column {old[name]}: keep it"
            yield facts.of_metadata("row-ids.columns", why)
    names = [new[name].lower() for name in MATERIALIZED_COLUMNS if name in new]
    if "" in names or len(set(names)) < len(names):
        why = f"must set {' and '.join(MATERIALIZED_COLUMNS)} to different names of columns"
        yield facts.of_metadata("row-ids.columns", why)
