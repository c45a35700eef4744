"""The history of a table, and the version at a time."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, SupportsIndex, overload

from deltaskip.actions import CommitInfo
from deltaskip.errors import CorruptLog, VersionNotFound
from deltaskip.html import html_rows
from deltaskip.log.commit import commit_infos, read_commits
from deltaskip.log.file_names import LogFile
from deltaskip.log.loading import list_log, load_snapshot
from deltaskip.log.segment import LogListing, earliest_rebuildable
from deltaskip.storage import Storage

__all__ = ["History", "HistoryEntry", "commit_time", "history", "version_at_timestamp"]

_HEADINGS = ("version", "time", "operation", "parameters", "engine")
_SHOWN_ENTRIES = 50
_SHOWN_CHARACTERS = 60

@dataclass(frozen=True, slots=True, repr=False)
class HistoryEntry:
    """One commit of a table.

    Attributes:
        version: Version that the commit created.
        timestamp_ms: Commit time in milliseconds since the epoch.
        operation: Name of the operation, such as "WRITE"; None if the writer recorded none.
        operation_parameters: Parameters of the operation, as logged.
        operation_metrics: Metrics of the operation, as logged.
        user_id: Id of the user who ran the operation, if recorded.
        user_name: Name of the user who ran the operation, if recorded.
        engine_info: Name and version of the writer, if recorded.
        info: The whole commitInfo action; empty if the commit has none.
    """

    version: int
    timestamp_ms: int
    operation: str | None
    operation_parameters: Mapping[str, Any]
    operation_metrics: Mapping[str, Any]
    user_id: str | None
    user_name: str | None
    engine_info: str | None
    info: CommitInfo

    def __repr__(self) -> str:
        engine = f", engine_info={self.engine_info!r}" if self.engine_info is not None else ""
        return f"HistoryEntry(version={self.version}, {_shown(self.timestamp_ms)}, {self.operation!r}{engine})"


class History(list[HistoryEntry]):
    """A list of HistoryEntry, newest first, that is displayed as a table."""

    __slots__ = ()

    @overload
    def __getitem__(self, index: SupportsIndex) -> HistoryEntry: ...
    @overload
    def __getitem__(self, index: slice) -> History: ...
    def __getitem__(self, index: SupportsIndex | slice) -> HistoryEntry | History:
        found = super().__getitem__(index)
        return History(found) if isinstance(found, list) else found

    def __repr__(self) -> str:
        rows = [_HEADINGS, *(_cells(entry) for entry in self[:_SHOWN_ENTRIES])]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
        return "\n".join(line.rstrip() for line in [*lines, *self._more()])

    def _repr_html_(self) -> str:
        return html_rows(_HEADINGS, map(_cells, self[:_SHOWN_ENTRIES])) + "".join(self._more())

    def _more(self) -> list[str]:
        return [f"… {len(self) - _SHOWN_ENTRIES:,} more"] if len(self) > _SHOWN_ENTRIES else []


def history(storage: Storage, root: str, limit: int | None = None, version: int | None = None) -> History:
    """Return the commits up to a version that the log still contains, newest first.

    The time of a commit is its in-commit timestamp from the version that enabled them on. Before, it is the
    modification time of the file, adjusted so that times strictly ascend with versions.

    Args:
        storage: Storage that contains the table.
        root: Location of the table in the storage.
        limit: Maximum number of commits. The default is all.
        version: The last version to return. The default is the latest.

    Raises:
        CorruptLog: A commit lacks the in-commit timestamp that the table's properties require.
        SchemaError: A property that enables in-commit timestamps is malformed.
    """
    listing = list_log(storage, root)
    versions = sorted(listing.commits)
    times = _file_times(listing, versions)
    ict_from = _ict_from(storage, root)
    chosen = [each for each in reversed(versions) if version is None or each <= version][:limit]
    infos = _read_infos(storage, root, [listing.commits[each] for each in chosen])
    entries = History()
    first_ict: int | None = None
    if chosen and ict_from is not None and chosen[0] < ict_from <= versions[-1]:
        # The commit that enabled in-commit timestamps is newer than the requested versions, and bounds their times.
        enabling = next(each for each in versions if each >= ict_from)
        first_ict = _read_in_commit_time(storage, root, listing.commits[enabling])
    for each, info in zip(chosen, infos, strict=True):
        if ict_from is not None and each >= ict_from:
            time = first_ict = _in_commit_time(root, listing.commits[each], info)
        else:
            time = _before(times[each], first_ict)
        entries.append(_entry(each, time, info))
    return entries


def version_at_timestamp(storage: Storage, root: str, timestamp_ms: int) -> int:
    """Return the latest version that was committed at or before a time.

    Args:
        storage: Storage that contains the table.
        root: Location of the table in the storage.
        timestamp_ms: Time in milliseconds since the epoch.

    Raises:
        VersionNotFound: The time is before the first version that can be rebuilt, or after the last commit. The
            message names that version and its time.
    """
    listing = list_log(storage, root)
    earliest = earliest_rebuildable(listing)
    versions = [] if earliest is None else [version for version in sorted(listing.commits) if version >= earliest]
    if not versions:
        raise VersionNotFound(f"{root} has no commit with the time of a version: open the table by version instead.")
    time_of = commit_time(storage, root, listing, versions)
    latest, newest = versions[-1], time_of(versions[-1])
    if timestamp_ms > newest:
        raise VersionNotFound(
            f"{root} has no version at {_shown(timestamp_ms)}: version {latest}, the latest, was committed at "
            f"{_shown(newest)}; open the table without a timestamp, or with one up to that time."
        )
    position = bisect_right(versions, timestamp_ms, key=time_of)
    if position == 0:
        raise VersionNotFound(
            f"{root} has no version at {_shown(timestamp_ms)}: version {versions[0]}, the earliest that can be opened, "
            f"was committed at {_shown(time_of(versions[0]))}."
        )
    return versions[position - 1]


def commit_time(
    storage: Storage, root: str, listing: LogListing, versions: Sequence[int]
) -> Callable[[int], int]:
    """Return a function from version to commit time in milliseconds since the epoch; versions: ascending.

    In-commit timestamps are read on demand. The times never descend.
    """
    times = _file_times(listing, versions)
    ict_from = _ict_from(storage, root)
    if ict_from is None or ict_from > versions[-1]:
        return times.__getitem__
    read: dict[int, int] = {}

    def in_commit_time(version: int) -> int:
        if version not in read:
            read[version] = _read_in_commit_time(storage, root, listing.commits[version])
        return read[version]

    first = next(version for version in versions if version >= ict_from)
    return lambda version: (
        in_commit_time(version) if version >= ict_from else _before(times[version], in_commit_time(first))
    )


def _before(file_time: int, first_ict: int | None) -> int:
    """The time of a commit before the first in-commit timestamp; a copied file may have a later modification time."""
    return file_time if first_ict is None else min(file_time, first_ict - 1)


def _file_times(listing: LogListing, versions: Sequence[int]) -> dict[int, int]:
    """Modification times, each at least a millisecond after the previous one."""
    times: dict[int, int] = {}
    last: int | None = None
    for version in versions:
        time = listing.commits[version].file.modified_ms
        last = time if last is None or time > last else last + 1
        times[version] = last
    return times


def _ict_from(storage: Storage, root: str) -> int | None:
    """The first version whose time is its in-commit timestamp; None if the table does not use them."""
    properties = load_snapshot(storage, root).table_properties
    return (properties.in_commit_timestamps_version or 0) if properties.in_commit_timestamps else None


def _read_infos(storage: Storage, root: str, files: Sequence[LogFile]) -> list[CommitInfo | None]:
    commits = read_commits(storage, root, files, ["path"])
    return commit_infos(commits)


def _read_in_commit_time(storage: Storage, root: str, file: LogFile) -> int:
    return _in_commit_time(root, file, _read_infos(storage, root, [file])[0])


def _in_commit_time(root: str, file: LogFile, info: CommitInfo | None) -> int:
    time = None if info is None else info.in_commit_timestamp
    if time is None:
        raise CorruptLog(
            f"The log of {root} is damaged: {file.file.name} (version {file.version}) has no inCommitTimestamp, "
            f"although in-commit timestamps are enabled; open the table by version instead."
        )
    return time


def _entry(version: int, timestamp_ms: int, info: CommitInfo | None) -> HistoryEntry:
    info = info or CommitInfo({})
    return HistoryEntry(
        version,
        timestamp_ms,
        info.operation,
        _mapping(info.members.get("operationParameters")),
        _mapping(info.members.get("operationMetrics")),
        _text(info.members.get("userId")),
        _text(info.members.get("userName")),
        info.engine_info,
        info,
    )


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _cells(entry: HistoryEntry) -> tuple[str, ...]:
    """The cells of a displayed entry, in the order of _HEADINGS. Logged text is escaped where it is not printable."""
    parameters = ", ".join(f"{name}={value}" for name, value in entry.operation_parameters.items())
    if len(parameters) > _SHOWN_CHARACTERS:
        parameters = f"{parameters[:_SHOWN_CHARACTERS]}…"
    cells = (str(entry.version), _shown(entry.timestamp_ms), entry.operation, parameters, entry.engine_info)
    return tuple(cell if cell.isprintable() else repr(cell)[1:-1] for cell in (cell or "" for cell in cells))


def _shown(timestamp_ms: int) -> str:
    try:
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=timestamp_ms)
    except OverflowError:
        return f"{timestamp_ms} ms since 1970"
    return moment.isoformat(sep=" ", timespec="milliseconds").replace("+00:00", " UTC")
