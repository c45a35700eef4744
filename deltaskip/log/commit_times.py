"""The commit time of a version: its in-commit timestamp if the table has them enabled, otherwise its file's time.

# PROTOCOL, In-Commit Timestamps
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence

from deltaskip.actions import CommitInfo
from deltaskip.errors import CorruptLog
from deltaskip.log.commit import commit_infos, read_commits
from deltaskip.log.file_names import LogFile
from deltaskip.log.loading import load_snapshot
from deltaskip.log.segment import LogListing
from deltaskip.log.snapshot import Snapshot
from deltaskip.schema.properties import TableProperties
from deltaskip.sparkexpr.types import LONG_MAX
from deltaskip.storage import Storage

_ENABLED = TableProperties.in_commit_timestamps.name
ENABLEMENT = (TableProperties.in_commit_timestamps_version.name, TableProperties.in_commit_timestamps_since_ms.name)
"""Properties that say since when the table has in-commit timestamps. The commit that enables timestamps sets them."""


def commit_time(snapshot: Snapshot) -> int | None:
    """Commit time of the snapshot's version in milliseconds since the epoch; None if its commit no longer exists."""
    timestamp = snapshot.in_commit_timestamp
    return _file_time(snapshot) if timestamp is None else timestamp


class CommitTimes:
    """The commit times of a table's versions, in milliseconds since the epoch.

    From the version that enabled them on, the times are in-commit timestamps, which are read on demand. Before, they
    are modification times of files, adjusted so that they ascend with the versions. Each kind ascends, but a copied
    file may be younger than the first in-commit timestamp.

    Args:
        storage: Storage that contains the table.
        root: Location of the table in the storage.
        listing: Listing of the log.
        versions: Versions of the listing's commits, ascending.
        infos: The commitInfo of versions that were already read; None as a value for a commit without one.
        properties: The table's properties at a version not before these; None to read the latest properties.
    """

    def __init__(
        self,
        storage: Storage,
        root: str,
        listing: LogListing,
        versions: Sequence[int],
        infos: Mapping[int, CommitInfo | None] | None = None,
        properties: TableProperties | None = None,
    ) -> None:
        self._storage = storage
        self._root = root
        self._commits = listing.commits
        self._versions = versions
        self._infos = dict(infos or {})
        self._file_times = _file_times(listing, versions)
        if properties is None:
            properties = load_snapshot(storage, root).table_properties
        since = enabled_from(properties)
        self._by_file = len(versions) if since is None else bisect_left(versions, since)

    def __getitem__(self, version: int) -> int:
        """The commit time of one of the versions."""
        if bisect_left(self._versions, version) < self._by_file:
            return self._file_times[version]
        file = self._commits[version]
        if version not in self._infos:
            [self._infos[version]] = read_commit_infos(self._storage, self._root, [file])
        return _in_commit_time(self._root, file, self._infos[version])

    def count_until(self, timestamp_ms: int) -> int:
        """Number of versions up to the last one that was committed at or before a time; 0 if there is none.

        # PROTOCOL, In-Commit Timestamps: a time before the first in-commit timestamp is compared with file times only.
        """
        versions, first = self._versions, self._by_file
        if first < len(versions) and timestamp_ms >= self[versions[first]]:
            return bisect_right(versions, timestamp_ms, lo=first, key=self.__getitem__)
        return bisect_right(versions, timestamp_ms, hi=first, key=self.__getitem__)


def next_in_commit_timestamp(latest: Snapshot, now: int) -> int:
    """Return the timestamp of the version after `latest`: `now`, or later if the time of `latest` is not earlier.

    # PROTOCOL, In-Commit Timestamps: later than the previous version's timestamp, whatever the clock shows.
    Raises CorruptLog if in-commit timestamps are enabled but the commit of `latest` has none, or the greatest possible.
    """
    if not latest.table_properties.well_formed().in_commit_timestamps:
        previous = _file_time(latest)
    else:
        previous = latest.in_commit_timestamp
        if previous is None:
            raise CorruptLog(
                f"Version {latest.version} of {latest.root} has no inCommitTimestamp although {_ENABLED} is true, so "
                f"the next one cannot be computed: restore the commit, or disable the property with Spark."
            )
    if previous is not None and previous >= LONG_MAX:
        raise CorruptLog(
            f"Version {latest.version} of {latest.root} has the greatest inCommitTimestamp, so no version can follow: "
            f"restore the commit."
        )
    return now if previous is None else max(now, previous + 1)


def with_enablement(
    configuration: Mapping[str, str], latest: Snapshot, version: int, timestamp: int
) -> Mapping[str, str]:
    """Return the configuration that a commit sets, with the version and time that enabled in-commit timestamps.

    # PROTOCOL, In-Commit Timestamps: a commit that enables them records the version and time of enablement.
    """
    if latest.table_properties.well_formed().in_commit_timestamps:
        since = {name: latest.properties[name] for name in ENABLEMENT if name in latest.properties}
    else:
        since = dict(zip(ENABLEMENT, (str(version), str(timestamp)), strict=True))
    return {**configuration, **since}


def read_commit_infos(storage: Storage, root: str, files: Sequence[LogFile]) -> list[CommitInfo | None]:
    """Return the commitInfo of each commit; None for a commit without one."""
    return commit_infos(read_commits(storage, root, files, ["path"]))


def enabled_from(properties: TableProperties) -> int | None:
    """Return the first version whose time is its in-commit timestamp; None if the table does not use them."""
    return (properties.in_commit_timestamps_version or 0) if properties.in_commit_timestamps else None


def _file_time(snapshot: Snapshot) -> int | None:
    commit = snapshot.segment.own_commit
    return None if commit is None else commit.file.modified_ms


def _file_times(listing: LogListing, versions: Sequence[int]) -> dict[int, int]:
    """Modification times, each at least a millisecond after the previous one."""
    times: dict[int, int] = {}
    last: int | None = None
    for version in versions:
        time = listing.commits[version].file.modified_ms
        last = time if last is None or time > last else last + 1
        times[version] = last
    return times


def _in_commit_time(root: str, file: LogFile, info: CommitInfo | None) -> int:
    time = None if info is None else info.in_commit_timestamp
    if time is None:
        raise CorruptLog(
            f"The log of {root} is damaged: {file.file.name} (version {file.version}) has no inCommitTimestamp, "
            f"although in-commit timestamps are enabled; open the table by version instead."
        )
    return time
