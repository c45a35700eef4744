"""Commits, log compactions and JSON checkpoints: newline-delimited actions, read into Arrow and action objects."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.actions import CommitInfo
from deltaskip.actions.action_fields import ADD_FIELDS, CDC_FIELDS, ActionFields
from deltaskip.errors import CorruptLog, StorageError
from deltaskip.json_text import parse_json
from deltaskip.kernels.commit_json import CommitSyntaxError, ParsedCommits, parse_commits
from deltaskip.log.file_names import LogFile, restore_or_go_back
from deltaskip.log.state_actions import STATE_ACTIONS, StateAction, StateChange, state_of
from deltaskip.records import dataclass
from deltaskip.settings import options
from deltaskip.sparkexpr.values.arrow_values import TRUE
from deltaskip.storage import NotAFile, Storage
from deltaskip.storage.interface import cut_short

_LONGEST_LINE = 256 << 20


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
    storage: Storage,
    root: str,
    files: Sequence[LogFile],
    columns: Sequence[str] | None = None,
    also: Collection[str] = (),
) -> Commits:
    """Read the actions of the files, in one pass over one buffer.

    columns: columns of add and remove actions to fill; None for all. also: names of actions to return in `others`,
    in addition to the actions of a snapshot. Raises CorruptLog with the name of the file that
    is missing or damaged, and the line; StorageError if the actions do not fit in memory.
    """
    if sum(file.file.size for file in files) > options.log_bytes:
        parts = list(commit_pieces(storage, root, files, columns, also))
        actions = pa.concat_tables([part.actions for part in parts])
        return Commits(root, tuple(files), actions, tuple(action for part in parts for action in part.others))
    with _reading(root, files):
        data, starts = storage.read_joined([file.file for file in files])
        return parse_contents(root, files, data, starts, columns, also=also)


def commit_pieces(
    storage: Storage,
    root: str,
    files: Sequence[LogFile],
    columns: Sequence[str] | None = None,
    also: Collection[str] = (),
) -> Iterator[Commits]:
    """As read_commits, in pieces of at most `options.log_bytes` of text, oldest first.

    A piece lists all files up to its last one, although only the last ones have actions in it, so that ordinals count
    all files. A large file may be in several pieces.
    """
    with _reading(root, files):
        first = 0
        while first < len(files):
            last, size = first, 0
            while last < len(files) and size + files[last].file.size <= options.log_bytes:
                size += files[last].file.size
                last += 1
            if last > first:
                data, starts = storage.read_joined([file.file for file in files[first:last]])
                yield parse_contents(root, files[:last], data, [0] * first + starts, columns, also=also)
            else:
                last = first + 1
                for data, lines_before in _pieces(storage, root, files[first]):
                    yield parse_contents(root, files[:last], data, [0] * last, columns, lines_before, also=also)
            first = last


def parse_contents(
    root: str,
    files: Sequence[LogFile],
    data: memoryview,
    starts: Sequence[int],
    columns: Sequence[str] | None = None,
    lines_before: int = 0,
    *,
    also: Collection[str] = (),
    fields: ActionFields = ADD_FIELDS,
) -> Commits:
    """Like read_commits, for files that are already in memory: `data` contains each from its start on.

    lines_before: lines of a single file that precede the data. fields: of the actions that are adds.
    """
    try:
        parsed: ParsedCommits = parse_commits(data, starts or [0], columns)
    except CommitSyntaxError as error:
        file, start = files[error.commit], (starts or [0])[error.commit]
        # PROTOCOL, Delta Log Entries: newline-delimited. delta-spark reads it line by line, too.
        is_spread = error.line == 1 and bytes(data[start : start + 8]).split(b"\n")[0].strip() == b"{"
        reason = "an action continues on the next line, and Delta has one action a line" if is_spread else error.reason
        raise CorruptLog(_damaged(root, file, lines_before + error.line, reason)) from error
    _check_adds(root, files, parsed.files, fields)
    others = tuple(
        OtherAction(commit, lines_before + line, name, bytes(data[begin:end]))
        for commit, line, name, begin, end in parsed.others
        if name in _KNOWN or name in also
    )
    return Commits(root, tuple(files), parsed.files, others)


def _check_adds(root: str, files: Sequence[LogFile], actions: pa.Table, fields: ActionFields) -> None:
    """Raise CorruptLog if an add lacks a field that is needed."""
    lacking = [name for name in fields.needed if name in actions.column_names and actions[name].null_count]
    adds = pc.invert(actions["is_remove"]) if lacking else None
    for name in lacking:
        first = pc.index(pc.and_(pc.is_null(actions[name]), adds), TRUE).as_py()
        if first >= 0:
            file, path = files[actions["commit"][first].as_py()], actions["path"][first].as_py()
            raise CorruptLog(
                f"The log of {root} is damaged: {file.file.name} (version {file.version}): {fields.action} of {path} "
                f"has no {fields.logged[name]}; {restore_or_go_back(file.version)}."
            )


def state_change(commits: Commits) -> StateChange:
    """Return the newest protocol, metadata, transaction identifiers and domains of the commits.

    Raises CorruptLog with the file and line of a damaged action.
    """
    # Only the newest protocol and metaData are parsed: schemas may be long, and a log may contain many of them.
    newest = {action.name: action for action in commits.others}
    return state_of(
        state_action(commits, action)
        for action in commits.others
        if action.name in STATE_ACTIONS
        and (action.name not in ("protocol", "metaData") or newest[action.name] is action)
    )


def state_action(commits: Commits, action: OtherAction) -> StateAction:
    """Return the action about the table. Raises CorruptLog with the file and line of a damaged action."""
    try:
        return STATE_ACTIONS[action.name].from_json(members_of(commits, action))
    except ValueError as error:
        if isinstance(error, CorruptLog):
            raise
        raise damaged(commits, action, str(error)) from error


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


def change_files(commits: Commits) -> pa.Table:
    """Return the cdc actions that were read with `also`, as rows of `Commits.actions` that are adds.

    # PROTOCOL, Add CDC File: path, partitionValues, size and dataChange, as in an add
    """
    found = [action for action in commits.others if action.name == CHANGE_FILE]
    if not found:
        return commits.actions.slice(0, 0)
    lines = [b'{"add":%b}\n' % action.text for action in found]
    starts, at = [0] * len(commits.files), 0
    waiting = iter(zip(found, lines, strict=True))
    action, line = next(waiting, (None, b""))
    for commit in range(len(commits.files)):
        starts[commit] = at
        while action is not None and action.commit == commit:
            at += len(line)
            action, line = next(waiting, (None, b""))
    return parse_contents(commits.root, commits.files, memoryview(b"".join(lines)), starts, fields=CDC_FIELDS).actions


def members_of(commits: Commits, action: OtherAction) -> dict[str, Any]:
    """Parse the action's JSON object. Raises CorruptLog if it is not an object."""
    try:
        members = parse_json(action.text)
    except ValueError as error:
        raise damaged(commits, action, f"{action.name} is not valid JSON") from error
    if not isinstance(members, dict):
        raise damaged(commits, action, f"{action.name} is not an object")
    return members


def damaged(commits: Commits, action: OtherAction, reason: str) -> CorruptLog:
    """The error for a damaged action."""
    return CorruptLog(_damaged(commits.root, commits.files[action.commit], action.line, reason))


def _pieces(storage: Storage, root: str, file: LogFile) -> Iterator[tuple[memoryview, int]]:
    """The text of a large file in pieces of whole lines, each with the number of lines before it."""
    lines, offset, rest = 0, 0, b""
    while True:
        read = storage.read_range(file.path, offset, options.log_piece_bytes)
        offset += len(read)
        end = read.rfind(b"\n") + 1
        if end or not read:
            text = rest + (read[:end] if read else b"")
            yield memoryview(text), lines
            lines, rest = lines + text.count(b"\n"), read[end:]
        else:
            rest += read
        if not read:
            if offset < file.file.size:
                raise cut_short(file.path, file.file.size, offset)
            return
        # NULs at the end of a file that was extended but not written.
        if b"\0" in read[-1:]:
            raise CorruptLog(_damaged(root, file, lines + 1, "it contains a null character"))
        if len(rest) > _LONGEST_LINE:
            raise CorruptLog(_damaged(root, file, lines + 1, f"the line is longer than {_LONGEST_LINE:,} bytes"))


@contextmanager
def _reading(root: str, files: Sequence[LogFile]) -> Iterator[None]:
    """Convert errors of reading the files to errors that name the table and the version."""
    for file in files:
        if not file.file.is_file:
            raise _not_regular(root, file, file.file.kind)
    try:
        yield
    except FileNotFoundError as error:
        file = _file_at(error.filename, files)
        raise CorruptLog(
            f"{file.file.name} (version {file.version}) in the log of {root} was deleted while the log was read: open "
            f"the table again, or restore that file."
        ) from error
    except NotAFile as error:
        raise _not_regular(root, _file_at(error.location, files), error.kind) from error
    except MemoryError as error:
        raise StorageError(
            f"The commits of {root} from version {files[0].version} to {files[-1].version} do not fit in the memory of "
            f"this process: raise its limit, or write a checkpoint with another client."
        ) from error


def _file_at(path: str | None, files: Sequence[LogFile]) -> LogFile:
    return next((file for file in files if file.path == path), files[0])


def _not_regular(root: str, file: LogFile, kind: str) -> CorruptLog:
    return CorruptLog(
        f"The log of {root} is damaged: {file.file.name} (version {file.version}) is a {kind}, not a regular file; "
        f"{restore_or_go_back(file.version)}."
    )


CHANGE_FILE = "cdc"
"""Name of the actions with change data files."""

CHECKPOINT = "checkpoint"
"""Name of the action that names the adaptive metadata tree of a version (`log.checkpoint.metadata_tree`)."""

_KNOWN = frozenset(
    {"protocol", "metaData", "txn", "domainMetadata", "commitInfo", "sidecar", "checkpointMetadata", CHECKPOINT}
)


def _damaged(root: str, file: LogFile, line: int, reason: str) -> str:
    return (
        f"The log of {root} is damaged: {file.file.name} (version {file.version}), line {line}: {reason.rstrip('.')}; "
        f"{restore_or_go_back(file.version)}."
    )
