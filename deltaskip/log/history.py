"""The history of a table, and the version at a time."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, SupportsIndex, overload

from deltaskip.actions import CommitInfo
from deltaskip.as_frames import AsFrames
from deltaskip.doors import door
from deltaskip.errors import InvalidArgument, VersionNotFound
from deltaskip.log.commit_times import CommitTimes, read_commit_infos
from deltaskip.log.loading import list_log
from deltaskip.log.segment import earliest_rebuildable
from deltaskip.printable import printable
from deltaskip.records import dataclass
from deltaskip.shown import Shown, escaped, html_rows
from deltaskip.storage import Storage

if TYPE_CHECKING:
    import pyarrow as pa

_HEADINGS = ("version", "time", "operation", "parameters", "engine")
_SHOWN_ENTRIES = 50
_SHOWN_CHARACTERS = 60


@dataclass(frozen=True, slots=True, repr=False)
class HistoryEntry(Shown):
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
        return f"HistoryEntry(version={self.version}, {shown_time(self.timestamp_ms)}, {self.operation!r}{engine})"


@door
class History(list[HistoryEntry], AsFrames):
    """A list of HistoryEntry, newest first, that is displayed as a table and can become a DataFrame."""

    __slots__ = ()

    def to_arrow(self) -> pa.Table:
        """Return the entries as an Arrow table: their attributes without `info`, and `timestamp` for `timestamp_ms`.

        Parameters and metrics are maps of strings; a value that is not a string is JSON.
        """
        import pyarrow as pa

        texts = pa.map_(pa.string(), pa.string())
        columns = {
            "version": pa.array([each.version for each in self], pa.int64()),
            "timestamp": pa.array([each.timestamp_ms for each in self], pa.timestamp("ms", "UTC")),
            "operation": pa.array([each.operation for each in self], pa.string()),
            "operation_parameters": pa.array([_texts(each.operation_parameters) for each in self], texts),
            "operation_metrics": pa.array([_texts(each.operation_metrics) for each in self], texts),
            "user_id": pa.array([each.user_id for each in self], pa.string()),
            "user_name": pa.array([each.user_name for each in self], pa.string()),
            "engine_info": pa.array([each.engine_info for each in self], pa.string()),
        }
        return pa.table(columns)

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
        return html_rows(_HEADINGS, map(_cells, self[:_SHOWN_ENTRIES])) + escaped("".join(self._more()))

    def _more(self) -> list[str]:
        return [f"… {len(self) - _SHOWN_ENTRIES:,} more"] if len(self) > _SHOWN_ENTRIES else []


def history(storage: Storage, root: str, limit: int | None = None, version: int | None = None) -> History:
    """Return the commits up to a version that the log still contains, newest first.

    The time of a commit is its in-commit timestamp from the version that enabled them on. Before, it is the
    modification time of the file, adjusted so that these times strictly ascend with the versions.

    Args:
        storage: Storage that contains the table.
        root: Location of the table in the storage.
        limit: Maximum number of commits. The default is all.
        version: The last version to return. The default is the latest.

    Raises:
        CorruptLog: A commit lacks the in-commit timestamp that the table's properties require.
        SchemaError: A property that enables in-commit timestamps is malformed.
    """
    listing = list_log(storage, root, checksums=False)
    versions = sorted(listing.commits)
    chosen = [each for each in reversed(versions) if version is None or each <= version][:limit]
    infos = read_commit_infos(storage, root, [listing.commits[each] for each in chosen])
    times = CommitTimes(storage, root, listing, versions, dict(zip(chosen, infos, strict=True)))
    return History(_entry(each, times[each], info) for each, info in zip(chosen, infos, strict=True))


def chosen_version(storage: Storage, root: str, version: int | None, timestamp_ms: int | None) -> int | None:
    """Return the version that a caller gives by number or by time; None if neither is given.

    Raises InvalidArgument if both are given, and as `version_at_timestamp` does.
    """
    if timestamp_ms is None:
        return version
    if version is not None:
        raise InvalidArgument(f"Specify either version or timestamp, not both (table {root}).")
    return version_at_timestamp(storage, root, timestamp_ms)


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
    listing = list_log(storage, root, checksums=False)
    earliest = earliest_rebuildable(listing)
    versions = [] if earliest is None else [version for version in sorted(listing.commits) if version >= earliest]
    if not versions:
        raise VersionNotFound(f"{root} has no commit with a usable timestamp: open the table by version instead.")
    times = CommitTimes(storage, root, listing, versions)
    latest, newest = versions[-1], times[versions[-1]]
    if timestamp_ms > newest:
        raise VersionNotFound(
            f"{root} has no version at {shown_time(timestamp_ms)}: version {latest}, the latest, was committed at "
            f"{shown_time(newest)}; open the table without a timestamp, or with one up to that time."
        )
    position = times.count_until(timestamp_ms)
    if position == 0:
        raise VersionNotFound(
            f"{root} has no version at {shown_time(timestamp_ms)}: version {versions[0]}, the earliest that can be "
            f"opened, was committed at {shown_time(times[versions[0]])}."
        )
    return versions[position - 1]


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


def _texts(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(name, each if isinstance(each, str) else json.dumps(each)) for name, each in values.items()]


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _cells(entry: HistoryEntry) -> tuple[str, ...]:
    """The cells of a displayed entry, in the order of _HEADINGS. Logged text is escaped where it is not printable."""
    parameters = ", ".join(f"{name}={value}" for name, value in entry.operation_parameters.items())
    if len(parameters) > _SHOWN_CHARACTERS:
        parameters = f"{parameters[:_SHOWN_CHARACTERS]}…"
    cells = (str(entry.version), shown_time(entry.timestamp_ms), entry.operation, parameters, entry.engine_info)
    return tuple(printable(cell or "") for cell in cells)


def shown_time(timestamp_ms: int) -> str:
    """Return a time in milliseconds since the epoch as text for a message."""
    try:
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=timestamp_ms)
    except OverflowError:
        return f"{timestamp_ms} ms since 1970"
    return moment.isoformat(sep=" ", timespec="milliseconds").replace("+00:00", " UTC")
