"""Rules of the protocol and metadata of the latest version: those of a commit that creates such a table."""

from __future__ import annotations

from collections.abc import Iterator

from deltaskip.actions import Protocol
from deltaskip.errors import CorruptLog, DeltaSkipError, SchemaError, UnsupportedFeature
from deltaskip.features.registry import has_feature
from deltaskip.features.row_tracking import MATERIALIZED_COLUMNS
from deltaskip.features.violation import Violation
from deltaskip.log.new_table import before_creation
from deltaskip.maintenance.verify.table_facts import TableFacts
from deltaskip.maintenance.verify.table_rule import Found
from deltaskip.schema.properties import TableProperties, is_delta_property, parse_property
from deltaskip.txn.changes import Changes
from deltaskip.txn.validation import column_mapping, domains, iceberg, metadata, protocol, schema
from deltaskip.txn.validation.commit_facts import CommitFacts
from deltaskip.txn.validation.commit_rules import RULES

# Each may be asked without the others, since a verification does not end with the first violation.
_CHECKS = (
    protocol.protocol_violations,
    metadata.metadata_violations,
    protocol.unlisted_uses,
    column_mapping.mapping_violations,
    schema.new_problems,
    domains.domain_violations,
)
# What only a commit can violate.
_OF_COMMITS = ("domains.reserved", "mapping.reuse", "protocol.lowered", "metadata.id")
STATE_RULES = tuple(
    RULES[name]
    for name in (
        "protocol.versions", "protocol.both-lists", "protocol.required", "protocol.unlisted", "metadata.format",
        "metadata.partitioning", "properties.values", "schema.json", "schema.duplicates", "schema.names",
        "schema.reserved", "schema.types", "schema.collations", "schema.identity", "schema.expressions", "mapping.ids",
        "mapping.highest-id", "domains.clustering", "domains.collations", "iceberg.features", "iceberg.types",
        "iceberg.partitioning",
    )
)  # fmt: skip
"""The rules of commits that also apply to the state of a table by itself."""


def state_violations(facts: TableFacts) -> Iterator[Found]:
    """A protocol, metadata or domains that contradict themselves or each other."""
    state = facts.state
    if state is None:
        if facts.error is not None and isinstance(facts.error, CorruptLog):
            yield Found("log.state", str(facts.error))
        return
    for name, action in (("protocol", state.protocol), ("metaData", state.metadata)):
        if action is None:
            yield Found("log.state", f"The log up to version {facts.version} has no {name} action; restore its files")
    if state.protocol is None or state.metadata is None:
        return
    version = [] if facts.version is None else [facts.version]
    for violation in _violations(facts):
        if violation.rule not in _OF_COMMITS:
            yield Found(violation.rule, _of_table(violation.message, facts.root), version)


def _violations(facts: TableFacts) -> Iterator[Violation]:
    state = facts.state
    assert state is not None
    assert state.protocol is not None
    assert state.metadata is not None
    base = before_creation(facts.storage, facts.root, Protocol(1, 1), state.metadata.id)
    changes = Changes(base, "CREATE TABLE", {})
    changes.protocol, changes.metadata = state.protocol, state.metadata
    changes.domains = {name: each for name, each in state.domains.items() if not each.removed}
    commit = CommitFacts(changes.intent(), base, {})
    checks = list(_CHECKS)
    try:
        _ = commit.schema
    except SchemaError as error:
        yield Violation("schema.json", str(error))
        checks = [protocol.protocol_violations]
    for name, text in state.metadata.configuration.items():
        try:
            if is_delta_property(name):
                parse_property(name, text)
        except SchemaError as error:
            yield Violation("properties.values", f"The table has a malformed property: {error}")
            # Other rules depend on the properties.
            checks = [protocol.protocol_violations]
    if len(checks) > 1 and iceberg.for_iceberg(commit):
        checks.append(iceberg.state_violations)
    for check in checks:
        try:
            yield from check(commit)
        except UnsupportedFeature as error:
            facts.not_checked.append(str(error))
        except DeltaSkipError as error:
            rule = getattr(error, "rule", None) or "domains.clustering"
            yield Violation(rule, str(error))


def _of_table(message: str, root: str) -> str:
    """The message of a rule of commits, said of the table."""
    for of, said in ((f"a commit to the new table {root}", "the table"), (f"the new table {root}", "the table")):
        message = message.replace(of, said)
    return message


def row_tracking_violations(facts: TableFacts) -> Iterator[Found]:
    """Row tracking without names for the columns of row ids."""
    state = facts.state
    if state is None or state.protocol is None or state.metadata is None:
        return
    properties = TableProperties(state.metadata.configuration, facts.root).well_formed()
    if properties.row_tracking and has_feature(state.protocol, "rowTracking"):
        lacking = [name for name in MATERIALIZED_COLUMNS if name not in state.metadata.configuration]
        if lacking:
            message = f"Row tracking is enabled, but the property {lacking[0]} is not set"
            yield Found("row-ids.columns", message)
