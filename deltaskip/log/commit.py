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
    """An action other than add and remove: its commit (ordinal) and line, its name, and the JSON text of its value."""

    commit: int
    line: int
    name: str
    text: bytes


@dataclass(frozen=True, slots=True)
class Commits:
    """Parsed files of the log, in the order of the log.

    actions: the kernel's table of adds and removes. Its column `commit`, like OtherAction.commit, is an index of files.
    """

    root: str
    files: tuple[LogFile, ...]
    actions: pa.Table
    others: tuple[OtherAction, ...]


def read_commits(
    storage: Storage, root: str, files: Sequence[LogFile], columns: Sequence[str] | None = None
) -> Commits:
    """Read the actions of the files, in one pass over one buffer.

    columns: columns of add and remove actions to fill; None for all. Raises CorruptLog with the name of the file that
    is missing or damaged, and the line.
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
    """Like read_commits, for files that are already in memory: `data` contains each from its start on."""
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
    """Return the newest protocol, metadata, transaction identifiers and domains of the commits.

    Raises CorruptLog with the file and line of a damaged action.
    """
    # Only the newest protocol and metaData are parsed: schemas may be long, and a log may contain many of them.
    newest = {action.name: action for action in commits.others}
    return state_of(
        _state_action(commits, action)
        for action in commits.others
        if action.name in STATE_ACTIONS
        and (action.name not in ("protocol", "metaData") or newest[action.name] is action)
    )


def commit_infos(commits: Commits) -> list[CommitInfo | None]:
    """Return the commitInfo of each commit, in the order of `files`; None for a commit without one."""
    found: list[CommitInfo | None] = [None] * len(commits.files)
    for action in commits.others:
        if action.name == "commitInfo" and found[action.commit] is None:
            found[action.commit] = CommitInfo.from_json(members_of(commits, action))
    return found


def last_commit_info(commits: Commits) -> CommitInfo | None:
    """Return the commitInfo of the last commit; None if it has none."""
    last = len(commits.files) - 1
    for action in commits.others:
        if action.commit == last and action.name == "commitInfo":
            return CommitInfo.from_json(members_of(commits, action))
    return None


def members_of(commits: Commits, action: OtherAction) -> dict[str, Any]:
    """Parse the action's JSON object. Raises CorruptLog if it is not one."""
    try:
        members = json.loads(action.text)
    except (ValueError, RecursionError) as error:
        raise damaged(commits, action, f"{action.name} is not valid JSON") from error
    if not isinstance(members, dict):
        raise damaged(commits, action, f"{action.name} is not an object")
    return members


def damaged(commits: Commits, action: OtherAction, reason: str) -> CorruptLog:
    """The error for a damaged action."""
    return CorruptLog(_damaged(commits.root, commits.files[action.commit], action.line, reason))


def _state_action(commits: Commits, action: OtherAction) -> StateAction:
    try:
        return STATE_ACTIONS[action.name].from_json(members_of(commits, action))
    except ValueError as error:
        if isinstance(error, CorruptLog):
            raise
        raise damaged(commits, action, str(error)) from error


def missing_commit(root: str, error: FileNotFoundError, files: Sequence[LogFile]) -> CorruptLog:
    """The error for a file that disappeared after the log was listed."""
    path = error.filename or str(error)
    file = next((f for f in files if f.path == path), files[0])
    return CorruptLog(
        f"{file.file.name} (version {file.version}) in the log of {root} was deleted while the log was read: open the "
        f"table again, or restore that file."
    )


_KNOWN = frozenset({"protocol", "metaData", "txn", "domainMetadata", "commitInfo", "sidecar", "checkpointMetadata"})


def _damaged(root: str, file: LogFile, line: int, reason: str) -> str:
    return (
        f"The log of {root} is damaged: {file.file.name} (version {file.version}), line {line}: {reason.rstrip('.')}; "
        f"{restore_or_go_back(file.version)}."
    )
