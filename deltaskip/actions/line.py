"""Conversion between a line of a commit and its action."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from deltaskip.actions.files import AddCdcFile, AddFile, RemoveFile
from deltaskip.actions.table_state import (
    CheckpointMetadata,
    CommitInfo,
    DomainMetadata,
    Metadata,
    Protocol,
    Sidecar,
    Txn,
)

__all__ = ["ACTION_NAMES", "Action", "parse_action", "to_line"]

Action = (
    AddFile
    | RemoveFile
    | AddCdcFile
    | Protocol
    | Metadata
    | Txn
    | DomainMetadata
    | CommitInfo
    | CheckpointMetadata
    | Sidecar
)

_TYPES: dict[str, type[Action]] = {
    "add": AddFile,
    "remove": RemoveFile,
    "cdc": AddCdcFile,
    "protocol": Protocol,
    "metaData": Metadata,
    "txn": Txn,
    "domainMetadata": DomainMetadata,
    "commitInfo": CommitInfo,
    "checkpointMetadata": CheckpointMetadata,
    "sidecar": Sidecar,
}

_NAMES = {action: name for name, action in _TYPES.items()}

ACTION_NAMES = frozenset(_TYPES)


def parse_action(line: Mapping[str, Any]) -> Action | None:
    """Return the action of one parsed line (or checkpoint row), or None if the line has only unknown actions.

    # PROTOCOL, Protocol Evolution: "Clients must ignore such unrecognized fields"
    Raises ValueError for a known action that is damaged, and for a line with two known actions.
    """
    found = [name for name in line if name in _TYPES and line[name] is not None]
    if not found:
        return None
    if len(found) > 1:
        raise ValueError(f"one line contains several actions: {', '.join(sorted(found))}")
    members = line[found[0]]
    if not isinstance(members, Mapping):
        raise ValueError(f"{found[0]} is not an object")
    return _TYPES[found[0]].from_json(members)


def to_line(action: Action) -> str:
    """Return the JSON text of the action as a line of a commit, without the line end."""
    return json.dumps({_NAMES[type(action)]: action.to_json()}, ensure_ascii=False, separators=(",", ":"))
