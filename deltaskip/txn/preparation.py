"""One attempt of a transaction: checked against the table's rules, and written out as the text of a commit."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed_version
from typing import Any

from deltaskip.actions import Action, CommitInfo, DomainMetadata, Metadata, Protocol, RemoveFile, to_line
from deltaskip.errors import InvalidCommit, UnsupportedFeature
from deltaskip.features import Change, check_readable, check_writable
from deltaskip.features.writing import is_true
from deltaskip.log import Snapshot
from deltaskip.log.snapshot import ICT_ENABLED
from deltaskip.schema import StructType, parse_schema
from deltaskip.txn.file_actions import FileRules, check_files, is_uri
from deltaskip.txn.intent import Intent, isolation_level
from deltaskip.txn.known_files import Known, known_files
from deltaskip.txn.row_ids import assign_row_ids, tracks_rows

__all__ = ["Prepared", "commit_text", "engine_info", "prepare"]

_ICT_VERSION = "delta.inCommitTimestampEnablementVersion"
_ICT_TIMESTAMP = "delta.inCommitTimestampEnablementTimestamp"


@dataclass(frozen=True, slots=True)
class Prepared:
    """A transaction whose every action is allowed on the table as it was read.

    known: what the snapshot says of the files that are removed or added again. protocol, metadata: those after the
    commit.
    """

    intent: Intent
    known: Mapping[str, Known]
    protocol: Protocol
    metadata: Metadata
    isolation: str


def prepare(intent: Intent) -> Prepared:
    """Check the transaction against its snapshot; nothing is written.

    Raises UnsupportedFeature naming every feature in the way, and InvalidCommit for actions that the protocol forbids.
    """
    base = intent.base
    protocol, metadata = intent.protocol or base.protocol, intent.metadata or base.metadata
    known = _known(intent)
    where = f"Version {base.version} of {base.root}"
    change = _change(intent, known)
    schema = base.schema
    if intent.protocol is None and intent.metadata is None:
        check_writable(base.protocol, base.properties, schema, where, change)
    else:
        check_writable(base.protocol, base.properties, schema, where, Change())
        where = f"The new state of {base.root}"
        _check_protocol(base, protocol)
        check_readable(protocol, metadata.configuration, base.root, base.version + 1)
        schema = parse_schema(metadata.schema_string) if metadata.schema_string else StructType(())
        check_writable(protocol, metadata.configuration, schema, where, change)
    _check_metadata(base, metadata, schema)
    check_files(intent, known, FileRules.of(intent, protocol, metadata, schema))
    return Prepared(intent, known, protocol, metadata, isolation_level(metadata.configuration))


def commit_text(prepared: Prepared, latest: Snapshot, txn_id: str) -> bytes:
    """The commit that follows `latest`, as JSON lines: commitInfo first, as in-commit timestamps ask.

    Row ids, row commit versions and the in-commit timestamp are those of this version.
    """
    intent, version = prepared.intent, latest.version + 1
    now = time.time_ns() // 1_000_000
    enabled = is_true(prepared.metadata.configuration, ICT_ENABLED)
    previous = latest.in_commit_timestamp if enabled else None
    # PROTOCOL, In-Commit Timestamps: later than that of the version before, whatever the clock says.
    timestamp = now if previous is None else max(now, previous + 1)
    metadata = _with_enablement(intent, latest, version, timestamp) if enabled else intent.metadata
    adds, mark = list(intent.adds.values()), None
    if adds and tracks_rows(prepared.protocol, prepared.metadata):
        adds, mark = assign_row_ids(adds, prepared.known, intent.adds, latest, version)
    info = _commit_info(prepared, txn_id, now, timestamp if enabled else None)
    domains: list[DomainMetadata] = [*intent.domains.values(), *([mark] if mark else [])]
    state = [action for action in (intent.protocol, metadata) if action is not None]
    removes = [_with_row_ids(remove, prepared.known[key]) for key, remove in intent.removes.items()]
    actions: list[Action] = [info, *state, *intent.txns.values(), *domains, *removes, *adds]
    return "".join(f"{to_line(action)}\n" for action in actions).encode()


@cache
def engine_info() -> str:
    """What this package calls itself in commits: `deltaskip/0.1.0`."""
    try:
        return f"deltaskip/{installed_version('deltaskip')}"
    except PackageNotFoundError:
        return "deltaskip"


def _with_row_ids(remove: RemoveFile, known: Known) -> RemoveFile:
    """PROTOCOL, Row Tracking: a remove carries the ids of the last add of its path."""
    ids = known.base_row_id, known.default_row_commit_version
    if ids == (remove.base_row_id, remove.default_row_commit_version):
        return remove
    return replace(remove, base_row_id=ids[0], default_row_commit_version=ids[1])


def _commit_info(prepared: Prepared, txn_id: str, now: int, in_commit_timestamp: int | None) -> CommitInfo:
    intent = prepared.intent
    members: dict[str, Any] = {
        "inCommitTimestamp": in_commit_timestamp,
        "timestamp": now,
        "operation": intent.operation,
        "operationParameters": {name: _parameter(value) for name, value in intent.parameters.items()},
        "readVersion": intent.base.version,
        "isolationLevel": "SnapshotIsolation" if intent.rearranges else prepared.isolation,
        "isBlindAppend": intent.is_blind_append,
        "operationMetrics": dict(intent.metrics),
        "engineInfo": engine_info(),
        "txnId": txn_id,
    }
    return CommitInfo(members)


def _parameter(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _with_enablement(intent: Intent, latest: Snapshot, version: int, timestamp: int) -> Metadata | None:
    """PROTOCOL, In-Commit Timestamps: a commit that enables them says from which version and time on."""
    metadata = intent.metadata
    if metadata is None or is_true(latest.properties, ICT_ENABLED):
        return metadata
    since = {_ICT_VERSION: str(version), _ICT_TIMESTAMP: str(timestamp)}
    return replace(metadata, configuration={**metadata.configuration, **since})


def _known(intent: Intent) -> Mapping[str, Known]:
    """Of every file that is removed, or whose add says or shows that it is not new."""
    new = {
        key
        for key, add in intent.adds.items()
        if add.data_change and add.deletion_vector is None and key not in intent.removes and is_uri(add.path)
    }
    wanted = dict.fromkeys((*intent.removes, *(key for key in intent.adds if key not in new)))
    return known_files(intent.base, wanted, new)


def _change(intent: Intent, known: Mapping[str, Known]) -> Change:
    new_vectors = any(
        add.deletion_vector is not None
        and (key not in known or known[key].dv_id != add.deletion_vector.unique_id)
        for key, add in intent.adds.items()
    )
    return Change(
        adds_rows=any(add.data_change for add in intent.adds.values()),
        removes_rows=any(remove.data_change for remove in intent.removes.values()),
        sets_deletion_vectors=new_vectors,
        sets_domains=bool(intent.domains),
    )


def _check_protocol(base: Snapshot, protocol: Protocol) -> None:
    """A feature cannot be dropped by a protocol action alone: what it left in the table must go first."""
    old = base.protocol
    before = {*(old.reader_features or ()), *(old.writer_features or ())}
    after = {*(protocol.reader_features or ()), *(protocol.writer_features or ())}
    lost = sorted(before - after)
    lower = (
        protocol.min_reader_version < old.min_reader_version or protocol.min_writer_version < old.min_writer_version
    )
    if lost or lower:
        what = f"drop the table feature {', '.join(lost)}" if lost else "lower the protocol version"
        raise UnsupportedFeature(
            f"A transaction cannot {what} of {base.root}: use ALTER TABLE … DROP FEATURE with a client that has it."
        )


def _check_metadata(base: Snapshot, metadata: Metadata, schema: StructType) -> None:
    unknown = [name for name in metadata.partition_columns if name not in schema.names]
    if unknown:
        raise InvalidCommit(f"The metaData of a commit to {base.root} partitions by {unknown[0]}, which is no column.")
    if metadata.id != base.metadata.id:
        raise InvalidCommit(f"The metaData of a commit to {base.root} must keep the table's id, {base.metadata.id}.")
