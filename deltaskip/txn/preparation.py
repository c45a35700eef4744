"""One attempt of a transaction: check it against the rules of the table, and serialize it as the text of a commit."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed_version
from typing import Any

from deltaskip.actions import Action, CommitInfo, DomainMetadata, Metadata, Protocol, RemoveFile, to_line
from deltaskip.errors import InvalidCommit
from deltaskip.features import CommitSummary, check_readable, check_writable
from deltaskip.features.clustering import CLUSTERING_DOMAIN, check_clustering
from deltaskip.log import Snapshot
from deltaskip.log.in_commit_timestamps import next_in_commit_timestamp, with_enablement
from deltaskip.schema import StructType, parse_schema, physical_name, physical_schema
from deltaskip.schema.properties import IsolationLevel, TableProperties
from deltaskip.txn.file_actions import FileRules, check_cdc_files, check_files, is_uri
from deltaskip.txn.intent import Intent
from deltaskip.txn.known_files import Known, known_files
from deltaskip.txn.operation_parameters import logged_parameter
from deltaskip.txn.protocol_and_metadata_change import (
    NewState,
    check_metadata,
    check_protocol,
    check_uses,
    file_dependence,
)
from deltaskip.txn.row_ids import assign_row_ids, check_enabling, check_given_ids, tracks_rows

__all__ = ["Prepared", "commit_text", "engine_info", "prepare"]


@dataclass(frozen=True, slots=True)
class Prepared:
    """A transaction all of whose actions are allowed on its snapshot.

    known: what the snapshot contains for the files that are removed or added again. protocol, metadata: those after the
    commit. every_file: whether the transaction is valid only for the files of its snapshot, so that every new file
    conflicts.
    """

    intent: Intent
    known: Mapping[str, Known]
    protocol: Protocol
    metadata: Metadata
    isolation: IsolationLevel
    every_file: bool

    @property
    def properties(self) -> TableProperties:
        """The table's properties after the commit."""
        return TableProperties(self.metadata.configuration, self.intent.base.root)


def prepare(intent: Intent) -> Prepared:
    """Check the transaction against its snapshot, without writing anything.

    Raises UnsupportedFeature with every feature that prevents the commit, and InvalidCommit for actions that the
    protocol does not allow.
    """
    known = _known(intent)
    state = _check_state(intent, _summary(intent, known))
    rules = FileRules.of(intent, state.protocol, state.metadata, state.schema)
    check_files(intent, known, rules)
    check_cdc_files(intent, rules, state.properties.change_data_feed)
    if tracks_rows(state.protocol, state.properties):
        check_given_ids(intent.base, intent.adds.values())
    every_file = _check_files_of(intent, state)
    _check_clustering(intent, state)
    isolation = state.properties.isolation_level
    return Prepared(intent, known, state.protocol, state.metadata, isolation, every_file)


def commit_text(prepared: Prepared, latest: Snapshot, txn_id: str) -> bytes:
    """The commit that follows `latest`, as JSON lines; commitInfo comes first, as in-commit timestamps require.

    Row ids, row commit versions and the in-commit timestamp are assigned for this version.
    """
    intent, version = prepared.intent, latest.version + 1
    now = time.time_ns() // 1_000_000
    enabled = prepared.properties.in_commit_timestamps
    timestamp = next_in_commit_timestamp(latest, now) if enabled else None
    metadata = intent.metadata
    if metadata is not None and timestamp is not None:
        configuration = with_enablement(metadata.configuration, latest, version, timestamp)
        metadata = replace(metadata, configuration=configuration)
    adds, mark = list(intent.adds.values()), None
    if adds and tracks_rows(prepared.protocol, prepared.properties):
        adds, mark = assign_row_ids(adds, prepared.known, intent.adds, latest, version)
    info = _commit_info(prepared, txn_id, now, timestamp)
    domains: list[DomainMetadata] = [*intent.domains.values(), *([mark] if mark else [])]
    state = [action for action in (intent.protocol, metadata) if action is not None]
    removes = [_completed(remove, prepared.known[key], now) for key, remove in intent.removes.items()]
    actions: list[Action] = [info, *state, *intent.txns.values(), *domains, *removes, *adds, *intent.cdc_files.values()]
    try:
        return "".join(f"{to_line(action)}\n" for action in actions).encode()
    except UnicodeEncodeError as error:
        raise InvalidCommit(
            f"A commit to {intent.base.root} contains the unpaired surrogate "
            f"{error.object[error.start : error.end]!r}, which cannot be encoded as UTF-8: correct the text."
        ) from error


@cache
def engine_info() -> str:
    """The name and version of this package as commits record it: `deltaskip/0.2.0`."""
    try:
        return f"deltaskip/{installed_version('deltaskip')}"
    except PackageNotFoundError:
        return "deltaskip"


def _completed(remove: RemoveFile, known: Known, now: int) -> RemoveFile:
    """The remove with the row ids of the path's last add, and a deletion timestamp, without which it would be expired.

    # PROTOCOL, Row Tracking; Action Reconciliation
    """
    return replace(
        remove,
        base_row_id=known.base_row_id,
        default_row_commit_version=known.default_row_commit_version,
        deletion_timestamp=now if remove.deletion_timestamp is None else remove.deletion_timestamp,
    )


def _commit_info(prepared: Prepared, txn_id: str, now: int, in_commit_timestamp: int | None) -> CommitInfo:
    intent = prepared.intent
    members: dict[str, Any] = {
        "inCommitTimestamp": in_commit_timestamp,
        "timestamp": now,
        "operation": intent.operation,
        "operationParameters": {name: logged_parameter(value) for name, value in intent.parameters.items()},
        "readVersion": intent.base.version,
        "isolationLevel": "SnapshotIsolation" if intent.rearranges else prepared.isolation,
        "isBlindAppend": intent.is_blind_append,
        "operationMetrics": dict(intent.metrics),
        "engineInfo": engine_info(),
        "txnId": txn_id,
        "tags": None,
    }
    if tracks_rows(prepared.protocol, prepared.properties):
        # PROTOCOL, Row Tracking: rows copied into new files lose their ids, since nothing here materializes them.
        copied = bool(intent.removes) and any(key not in prepared.known for key in intent.adds)
        members["tags"] = {"delta.rowTracking.preserved": "false" if copied else "true"}
    return CommitInfo(members)


def _known(intent: Intent) -> Mapping[str, Known]:
    """What is known of every file that is removed, or whose add is not certainly of a new file."""
    new = {
        key
        for key, add in intent.adds.items()
        if add.data_change and add.deletion_vector is None and key not in intent.removes and is_uri(add.path)
    }
    looked_up = (*intent.removes, *(key for key in intent.adds if key not in new))
    wanted = dict.fromkeys(key for key in looked_up if key not in intent.unchanged)
    return {**intent.unchanged, **known_files(intent.base, wanted, new)}


def _summary(intent: Intent, known: Mapping[str, Known]) -> CommitSummary:
    new_vectors = any(
        add.deletion_vector is not None
        and (key not in known or known[key].dv_id != add.deletion_vector.unique_id)
        for key, add in intent.adds.items()
    )
    return CommitSummary(
        adds_rows=any(add.data_change for add in intent.adds.values()),
        removes_rows=any(remove.data_change for remove in intent.removes.values()),
        adds_files=any(key not in known for key in intent.adds),
        sets_deletion_vectors=new_vectors,
        sets_domains=bool(intent.domains),
        has_cdc_files=bool(intent.cdc_files),
    )


def _check_state(intent: Intent, summary: CommitSummary) -> NewState:
    """The state of the table after the commit, with its protocol and metadata checked."""
    base = intent.base
    protocol, metadata = intent.protocol or base.protocol, intent.metadata or base.metadata
    where = f"Version {base.version} of {base.root}"
    if intent.protocol is None and intent.metadata is None:
        check_writable(base.protocol, base.table_properties, base.schema, where, summary)
        return NewState(base, protocol, metadata, base.schema)
    check_writable(base.protocol, base.table_properties.well_formed(), base.schema, where, CommitSummary())
    check_protocol(base, protocol)
    schema = parse_schema(metadata.schema_string) if metadata.schema_string else StructType(())
    state = NewState(base, protocol, metadata, schema)
    check_uses(state)
    check_readable(protocol, metadata.configuration, base.root, base.version + 1)
    check_writable(protocol, state.properties, schema, f"The new state of {base.root}", summary)
    check_metadata(state)
    return state


def _check_files_of(intent: Intent, state: NewState) -> bool:
    """Whether the commit is valid only for the files of its snapshot, so that other writers must not add any."""
    base = state.base
    dependence = None if intent.metadata is None else file_dependence(state)
    ended = sum(key not in intent.adds for key in intent.removes)
    if dependence is not None and base.num_files > ended:
        raise InvalidCommit(
            f"The metaData of a commit to {base.root} {dependence}, which files of version {base.version} may violate: "
            f"remove them in the same transaction, or make the change with Spark."
        )
    enables = state.properties.row_tracking and not base.table_properties.well_formed().row_tracking
    if enables:
        mode = state.mode
        names = [name for field in state.schema.fields for name in (field.name, physical_name(field, mode))]
        check_enabling(base, state.properties, names, {*intent.adds, *intent.removes})
    return dependence is not None or (enables and not tracks_rows(base.protocol, base.table_properties))


def _check_clustering(intent: Intent, state: NewState) -> None:
    domain = intent.domains.get(CLUSTERING_DOMAIN)
    if domain is not None and not domain.removed:
        columns = physical_schema(state.schema, state.mode)
        partitions, base = state.metadata.partition_columns, state.base
        check_clustering(domain.configuration, state.protocol, partitions, columns, base.root, base.version)
