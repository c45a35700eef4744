"""Writing log compactions: one file with the reconciled actions of several commits, beside these.

# today's protocol, Log Compaction Files: "x.y.compacted.json", of the versions x to y
Readers need fewer requests between two checkpoints that are far apart. Actions are copied as they were logged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from deltaskip.actions import DeletionVectorDescriptor, canonical_path
from deltaskip.features.registry import has_tree
from deltaskip.json_text import parse_json
from deltaskip.log.catalog_commits import is_managed
from deltaskip.log.file_names import version_prefix
from deltaskip.log.segment import list_commits
from deltaskip.log.snapshot import Snapshot
from deltaskip.log.state_actions import STATE_KEYS
from deltaskip.storage import LOG_FOLDER, join
from deltaskip.storage.interface import FileExists

COMPACTED_COMMITS = 20
"""The number of commits in a compaction. Tables whose checkpoints are not further apart have none."""

# More text is not reconciled after a commit, which would take seconds.
_MOST_BYTES = 16 << 20
# What a snapshot does not consist of.
_LEFT_OUT = frozenset(("commitInfo", "cdc"))


def is_compaction_due(snapshot: Snapshot, version: int) -> bool:
    """Whether a compaction ends at a version, by the properties of a snapshot near it.

    Not in tables whose commits a catalog has and may not have published.
    """
    # From the version after a checkpoint on, where checkpoints are a multiple of as many commits apart.
    if version % COMPACTED_COMMITS or not version or is_managed(snapshot.storage):
        return False
    if has_tree(snapshot.protocol):
        # Actions of a compaction would lack what they refer to in the tree.
        return False
    return snapshot.table_properties.checkpoint_interval > COMPACTED_COMMITS


def write_compaction(snapshot: Snapshot, version: int) -> str | None:
    """Write the compaction that ends at a version, and return its name.

    None, without writing, if the actions have no reconciled form: unknown ones, or two adds of a file of which the
    first was not removed. Also if a commit is missing, if there is very much text, or if the compaction exists.

    Args:
        snapshot: A snapshot of the table at that version or near it.
        version: The last version of the compaction, which was committed.

    Raises:
        StorageError: The storage failed.
    """
    storage, root, first = snapshot.storage, snapshot.root, version - COMPACTED_COMMITS + 1
    files = [file for file in list_commits(storage, root, first) if file.version <= version]
    if len(files) < COMPACTED_COMMITS or sum(file.file.size for file in files) > _MOST_BYTES:
        return None
    data, starts = storage.read_joined([file.file for file in files])
    ends = [*starts[1:], len(data)]
    texts = [bytes(data[start:end]) for start, end in zip(starts, ends, strict=True)]
    lines = _reconciled(texts)
    if lines is None:
        return None
    name = f"{version_prefix(first)}.{version_prefix(version)}.compacted.json"
    try:
        storage.put_if_absent(join(root, LOG_FOLDER, name), b"".join(line + b"\n" for line in lines))
    except FileExists:
        return None
    return name


def _reconciled(commits: list[bytes]) -> list[bytes] | None:
    """The lines that are left of the texts of commits, oldest first; None if they have no reconciled form."""
    left: dict[tuple[str, ...], bytes] = {}
    for text in commits:
        try:
            actions = list(_actions(text))
        except (AttributeError, KeyError, TypeError, ValueError):
            # A damaged action is an error for who reads its commit.
            return None
        # Actions of one commit are not ordered: an add is what remains of a file that it also removes.
        for name, key, line in sorted(actions, key=lambda action: action[0] == "add"):
            if name in _LEFT_OUT:
                continue
            if key is None:
                return None
            left.pop(key, None)
            left[key] = line
    adds = [key[1] for key, line in left.items() if key[0] == "file" and line.lstrip().startswith(b'{"add"')]
    return list(left.values()) if len(adds) == len(set(adds)) else None


def _actions(text: bytes) -> Iterator[tuple[str, tuple[str, ...] | None, bytes]]:
    """Name, key and line of each action; the key is None if it is not known. Raises ValueError if one is damaged."""
    for line in text.split(b"\n"):
        if not line.strip():
            continue
        action = parse_json(line)
        if not isinstance(action, dict) or len(action) != 1:
            raise ValueError("a line is not an action")
        [(name, members)] = action.items()
        yield name, _key(name, members), line.strip()


def _key(name: str, members: Mapping[str, Any]) -> tuple[str, ...] | None:
    if name in ("add", "remove"):
        vector = members.get("deletionVector")
        identity = "" if vector is None else DeletionVectorDescriptor.from_json(vector).unique_id
        return "file", canonical_path(members["path"]), identity
    if name not in STATE_KEYS:
        return None
    member = STATE_KEYS[name]
    return (name,) if member is None else (name, str(members[member]))
