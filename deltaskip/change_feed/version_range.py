"""The versions of a change data feed: a start and an end, each given as a version or a time."""

from __future__ import annotations

from deltaskip.errors import CorruptLog, InvalidArgument, OptionAdvice, VersionNotFound
from deltaskip.log import LogFile, Snapshot, check_same_table, load_snapshot, refresh
from deltaskip.log.commit import read_commits
from deltaskip.log.commit_times import CommitTimes, enabled_from
from deltaskip.log.file_names import commit_name, restore_or_go_back
from deltaskip.log.history import shown_time
from deltaskip.log.loading import list_log
from deltaskip.log.segment import LogListing
from deltaskip.records import dataclass

# File times are adjusted to ascend with the versions, starting this many versions before the range, as in delta-spark.
_VERSIONS_BEFORE = 100
_OUT_OF_RANGE = OptionAdvice("allow_out_of_range", True)
# Commits that are read sooner than another snapshot is opened.
_FEW, _LITTLE_BYTES = 16, 1 << 20


@dataclass(frozen=True, slots=True)
class RangeEnd:
    """One end of a range: a version, or a time in milliseconds since the epoch."""

    version: int | None = None
    timestamp_ms: int | None = None


@dataclass(frozen=True, slots=True)
class VersionRange:
    """The versions of a feed, both ends inclusive; no version if `end` is before `start`.

    Attributes:
        start: The first version.
        end: The last version.
        snapshot: The snapshot whose schema the rows have: the last version, or a later one with the same schema, or the
            table's if there is none.
        listing: The log from some version before the range on.
        at_end: A snapshot with the protocol and metadata of the last version; None if `snapshot` has them.
    """

    start: int
    end: int
    snapshot: Snapshot
    listing: LogListing
    at_end: Snapshot | None = None

    @property
    def commits(self) -> list[LogFile]:
        """The commits of the range. Raises VersionNotFound or CorruptLog if one does not exist."""
        return [self._commit(version) for version in range(self.start, self.end + 1)]

    def _commit(self, version: int) -> LogFile:
        found = self.listing.commits.get(version)
        if found is not None:
            return found
        root = self.snapshot.root
        earliest = min(self.listing.commits, default=self.end)
        if version < earliest:
            raise VersionNotFound(
                f"The log of {root} no longer contains the changes of version {version}: earlier commits have been "
                f"cleaned up, and version {earliest} is the first whose changes can be read."
            )
        raise CorruptLog(
            f"The log of {root} is damaged: {commit_name(version)} (version {version}) is missing, so its changes "
            f"cannot be read; {restore_or_go_back(version)}."
        )


def version_range(
    snapshot: Snapshot, start: RangeEnd | None, end: RangeEnd | None, allow_out_of_range: bool
) -> VersionRange:
    """Return the versions from `start` to `end`.

    A time as start means the first version that was committed at or after it, a time as end the last version that was
    committed at or before it, as in delta-spark.

    Args:
        snapshot: The table. Newer versions are looked up only if the range needs them.
        start: None means version 0.
        end: None means the snapshot's version, or the latest if the start is newer. Versions that do not exist yet are
            left out.
        allow_out_of_range: Whether a start after the latest version means no changes, and an end time after the last
            commit means that commit, instead of an error.

    Raises:
        VersionNotFound: The start is after the latest version, or no version is as old or new as a time.
        InvalidArgument: The end is before the start.
    """
    first = RangeEnd(0) if start is None else start
    last = RangeEnd() if end is None else end
    by_time = first.timestamp_ms is not None or last.timestamp_ms is not None
    latest = snapshot
    if by_time or max(first.version or 0, last.version or 0) > snapshot.version:
        latest = refresh(snapshot)
    else:
        check_same_table(snapshot)
    storage, root = latest.storage, latest.root
    from_version = 0 if by_time or first.version is None else first.version - versions_before(latest, first.version)
    if first.version is not None and first.version > latest.version:
        if not allow_out_of_range:
            raise VersionNotFound(
                f"The changes of {root} cannot start at version {first.version}: version {latest.version} is the "
                f"latest; pass {_OUT_OF_RANGE} to get no changes until there are newer versions."
            ).advising(_OUT_OF_RANGE)
        return VersionRange(
            first.version, first.version - 1, latest, list_log(storage, root, latest.version, checksums=False)
        )
    listing = list_log(storage, root, from_version, checksums=False)
    times = _Times(latest, listing)
    from_first = times.start(first, allow_out_of_range)
    to_last = times.end(last, allow_out_of_range)
    if to_last is None:
        to_last = snapshot.version if from_first <= snapshot.version else latest.version
    to_last = min(to_last, latest.version)
    _check_order(root, first, last, from_first, to_last)
    if to_last < from_first:
        return VersionRange(from_first, to_last, latest, listing)
    return VersionRange(from_first, to_last, _at(latest, snapshot, to_last, listing), listing)


def versions_before(snapshot: Snapshot, version: int) -> int:
    """Return the number of versions before a version whose commits are listed to know its commit time."""
    since = enabled_from(snapshot.table_properties)
    # With one before it, a commit that is missing is told from those that have been cleaned up.
    return min(version, 1 if since is not None and since <= version else _VERSIONS_BEFORE)


def _check_order(root: str, first: RangeEnd, last: RangeEnd, start: int, end: int) -> None:
    """Raise InvalidArgument if the end is before the start. A range of times may contain no commit."""
    if first.timestamp_ms is not None and last.timestamp_ms is not None:
        if first.timestamp_ms <= last.timestamp_ms:
            return
        raise InvalidArgument(
            f"end must not be before start: {shown_time(last.timestamp_ms)} is before "
            f"{shown_time(first.timestamp_ms)} (table {root})."
        )
    given = end if last.version is None else last.version
    if (last.version is not None or last.timestamp_ms is not None) and given < start:
        raise InvalidArgument(f"end must not be before start: version {given} is before {start} (table {root}).")


def _at(latest: Snapshot, snapshot: Snapshot, version: int, listing: LogListing) -> Snapshot:
    """The snapshot of a version, or a known later one if no commit in between changes the schema or properties."""
    for known in (snapshot, latest):
        newer, checkpoint = known.tail.state, known.segment.checkpoint
        if known.version == version:
            return known
        is_since = checkpoint is not None and checkpoint.version <= version < known.version
        if is_since and newer.protocol is None and newer.metadata is None:
            return known
    later = [listing.commits.get(number) for number in range(version + 1, latest.version + 1)]
    files = [file for file in later if file is not None]
    if len(files) == len(later) <= _FEW and sum(file.file.size for file in files) <= _LITTLE_BYTES:
        others = read_commits(latest.storage, latest.root, files, ["path"]).others
        if not any(action.name in ("metaData", "protocol") for action in others):
            return latest
    found = load_snapshot(latest.storage, latest.root, version)
    return found.told_as(snapshot)


class _Times:
    """The versions of a listing by their commit times, which are read only if they are needed."""

    def __init__(self, latest: Snapshot, listing: LogListing) -> None:
        self._latest = latest
        self._versions = [version for version in sorted(listing.commits) if version <= latest.version]
        self._listing = listing
        self._known: CommitTimes | None = None

    @property
    def _times(self) -> CommitTimes:
        if self._known is None:
            latest = self._latest
            properties = latest.table_properties
            self._known = CommitTimes(latest.storage, latest.root, self._listing, self._versions, None, properties)
        return self._known

    def start(self, bound: RangeEnd, allow_out_of_range: bool) -> int:
        """The version, or the first one that was committed at or after the time."""
        if bound.version is not None:
            return bound.version
        assert bound.timestamp_ms is not None
        if not self._versions:
            raise self._without_commits()
        # The last commit before the time, and then the one after it.
        earlier = self._times.count_until(bound.timestamp_ms - 1)
        if earlier < len(self._versions):
            return self._versions[earlier]
        if allow_out_of_range:
            return self._versions[-1] + 1
        raise self._too_new("start", bound.timestamp_ms)

    def end(self, bound: RangeEnd, allow_out_of_range: bool) -> int | None:
        """The version, or the last one that was committed at or before the time; None for no bound."""
        if bound.timestamp_ms is None:
            return bound.version
        if not self._versions:
            raise self._without_commits()
        count = self._times.count_until(bound.timestamp_ms)
        if count == 0:
            raise VersionNotFound(
                f"end must not be before the first commit: {shown_time(bound.timestamp_ms)} is before version "
                f"{self._versions[0]} of {self._latest.root}, the first whose changes can be read, committed at "
                f"{shown_time(self._times[self._versions[0]])}."
            )
        newest = self._versions[-1]
        if count == len(self._versions) and bound.timestamp_ms > self._times[newest] and not allow_out_of_range:
            raise self._too_new("end", bound.timestamp_ms)
        return self._versions[count - 1]

    def _without_commits(self) -> VersionNotFound:
        return VersionNotFound(f"{self._latest.root} has no commit with a usable timestamp: give versions instead.")

    def _too_new(self, argument: str, timestamp_ms: int) -> VersionNotFound:
        newest = self._versions[-1]
        return VersionNotFound(
            f"{argument} must not be after the last commit: {shown_time(timestamp_ms)} is after version {newest} of "
            f"{self._latest.root}, committed at {shown_time(self._times[newest])}; pass {_OUT_OF_RANGE} to "
            f"accept it."
        ).advising(_OUT_OF_RANGE)
