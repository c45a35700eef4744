"""Commits, log compactions and JSON checkpoints: newline-delimited actions, read into Arrow and action objects."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from deltaskip.actions import CommitInfo
from deltaskip.errors import CorruptLog
from deltaskip.kernels.commit_json import CommitSyntaxError, ParsedCommits, parse_commits
from deltaskip.log.file_names import LogFile, restore_or_go_back
from deltaskip.log.table_state import STATE_ACTIONS, StateAction, StateChange, state_of
from deltaskip.storage import Storage

__all__ = [
    "Commits",
    "OtherAction",
    "commit_infos",
    "damaged",
    "last_commit_info",
    "members_of",
    "missing_commit",
    "parse_contents",
    "read_commits",
    "state_change",
]


@dataclass(frozen=True, slots=True)
class OtherAction:
    """An action that is not about a file: where it stands, its name, and the JSON text of its value."""

    commit: int
    line: int
    name: str
    text: bytes


@dataclass(frozen=True, slots=True)
class Commits:
    """Parsed files of the log. `actions` is the kernel's table of adds and removes: its column `commit` and
    OtherAction.commit count `files`, which are in the order of the log."""

    root: str
    files: tuple[LogFile, ...]
    actions: pa.Table
    others: tuple[OtherAction, ...]


def read_commits(
    storage: Storage, root: str, files: Sequence[LogFile], columns: Sequence[str] | None = None
) -> Commits:
    """The actions of the files, in one pass over one buffer.

    columns: those of a file action to fill, None for all. Raises CorruptLog naming the file, and the line of it, that
    is missing or damaged.
    """
    try:
        data, starts = storage.read_joined([file.file for file in files])
    except FileNotFoundError as error:
        raise missing_commit(root, error, files) from error
    return parse_contents(root, files, data, starts, columns)


def parse_contents(
    root: str,
    files: Sequence[LogFile],
    data: memoryview,
    starts: Sequence[int],
    columns: Sequence[str] | None = None,
) -> Commits:
    """As read_commits, of files that were read already: they stand in `data`, each from its start on."""
    try:
        parsed: ParsedCommits = parse_commits(data, starts or [0], columns)
    except CommitSyntaxError as error:
        file = files[error.commit]
        raise CorruptLog(_damaged(root, file, error.line, error.reason)) from error
    others = tuple(
        OtherAction(commit, line, name, bytes(data[begin:end]))
        for commit, line, name, begin, end in parsed.others
        if name in _KNOWN
    )
    return Commits(root, tuple(files), parsed.files, others)


def state_change(commits: Commits) -> StateChange:
    """What the commits make of protocol, metadata, transaction identifiers and domains; the newest of each wins.

    Raises CorruptLog naming file and line of an action that is damaged.
    """
    # Of protocol and metaData only the newest can matter: a schema may be long, and a log hold many of them.
    newest = {action.name: action for action in commits.others}
    return state_of(
        _state_action(commits, action)
        for action in commits.others
        if action.name in STATE_ACTIONS
        and (action.name not in ("protocol", "metaData") or newest[action.name] is action)
    )


def commit_infos(commits: Commits) -> list[CommitInfo | None]:
    """The provenance of each commit, in the order of `files`; None where a commit has none."""
    found: list[CommitInfo | None] = [None] * len(commits.files)
    for action in commits.others:
        if action.name == "commitInfo" and found[action.commit] is None:
            found[action.commit] = CommitInfo.from_json(members_of(commits, action))
    return found


def last_commit_info(commits: Commits) -> CommitInfo | None:
    """The provenance of the last of the commits; None where it has none."""
    last = len(commits.files) - 1
    for action in commits.others:
        if action.commit == last and action.name == "commitInfo":
            return CommitInfo.from_json(members_of(commits, action))
    return None


def members_of(commits: Commits, action: OtherAction) -> dict[str, Any]:
    """The action's JSON object; raises CorruptLog where it is none."""
    try:
        members = json.loads(action.text)
    except (ValueError, RecursionError) as error:
        raise damaged(commits, action, f"{action.name} is not valid JSON") from error
    if not isinstance(members, dict):
        raise damaged(commits, action, f"{action.name} is not an object")
    return members


def damaged(commits: Commits, action: OtherAction, reason: str) -> CorruptLog:
    """The error about one action of the commits."""
    return CorruptLog(_damaged(commits.root, commits.files[action.commit], action.line, reason))


def _state_action(commits: Commits, action: OtherAction) -> StateAction:
    try:
        return STATE_ACTIONS[action.name].from_json(members_of(commits, action))
    except ValueError as error:
        if isinstance(error, CorruptLog):
            raise
        raise damaged(commits, action, str(error)) from error


def missing_commit(root: str, error: FileNotFoundError, files: Sequence[LogFile]) -> CorruptLog:
    """The error about a file of the log that was listed and is gone."""
    path = error.filename or str(error)
    file = next((f for f in files if f.path == path), files[0])
    return CorruptLog(
        f"The log of {root} lost {file.file.name} (version {file.version}) while it was read: open the table again, or "
        f"restore that file."
    )


_KNOWN = frozenset({"protocol", "metaData", "txn", "domainMetadata", "commitInfo", "sidecar", "checkpointMetadata"})


def _damaged(root: str, file: LogFile, line: int, reason: str) -> str:
    return (
        f"The log of {root} is damaged: {file.file.name} (version {file.version}), line {line}: {reason.rstrip('.')}; "
        f"{restore_or_go_back(file.version)}."
    )
