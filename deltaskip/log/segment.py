"""Log segments: the files of the log that make up one version of the table."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from deltaskip.errors import CorruptLog, VersionNotFound
from deltaskip.log.compaction import cover
from deltaskip.log.file_names import Kind, LogFile, commit_name, parse_log_file, restore_or_go_back, version_prefix
from deltaskip.records import dataclass
from deltaskip.storage import LOG_FOLDER, FileInfo, Storage, join


@dataclass(frozen=True, slots=True)
class CheckpointRef:
    """A complete checkpoint: one file, or all parts of a multi-part checkpoint in order."""

    version: int
    files: tuple[LogFile, ...]

    @property
    def kind(self) -> Kind:
        """The kind of its files."""
        return self.files[0].kind


@dataclass(frozen=True, slots=True)
class LogSegment:
    """Files that make up one version: a complete checkpoint or none, and every commit after it, without gaps.

    commits: ascending, with log compactions in place of commits that are missing or many. compactions: all of the
    listing, used or not. own_commit and checksum: the version's commit file and `.crc`, if they exist.
    """

    root: str
    version: int
    checkpoint: CheckpointRef | None
    commits: tuple[LogFile, ...]
    compactions: tuple[LogFile, ...] = ()
    own_commit: LogFile | None = None
    checksum: LogFile | None = None

    @property
    def anchor(self) -> LogFile | None:
        """The file by which a log that still contains the version is recognized; None if no file is of the version."""
        if self.own_commit is not None or self.checkpoint is None or self.checkpoint.version != self.version:
            return self.own_commit
        return self.checkpoint.files[0]


@dataclass(frozen=True, slots=True)
class LogListing:
    """A listing of the log, by kind of file. checkpoints: complete ones by version, in order of preference."""

    root: str
    commits: Mapping[int, LogFile]
    checkpoints: Mapping[int, tuple[CheckpointRef, ...]]
    compactions: tuple[LogFile, ...]
    checksums: Mapping[int, LogFile]
    incomplete: Mapping[int, tuple[LogFile, ...]]

    @property
    def latest(self) -> int | None:
        """The newest version that a file of the log proves to exist; None if there is none.

        A compaction proves no version: it is written beside its commits, and cleanup keeps the last one of them.
        """
        return max([*self.commits, *self.checkpoints], default=None)


def read_listing(root: str, files: Sequence[FileInfo]) -> LogListing:
    """Group the entries of a `_delta_log` folder by kind, ignoring names that are not log files.

    A directory, dangling link or FIFO in place of a commit or checkpoint counts as that file, so that no older version
    is mistaken for the latest; reading it raises CorruptLog. Optional files of such a kind are ignored.
    """
    commits: dict[int, LogFile] = {}
    checksums: dict[int, LogFile] = {}
    compactions: list[LogFile] = []
    checkpoint_files: dict[int, list[LogFile]] = defaultdict(list)
    for info in files:
        file = parse_log_file(info)
        if file is None:
            continue
        match file.kind:
            case Kind.COMMIT:
                commits[file.version] = file
            case Kind.CHECKSUM | Kind.COMPACTION if info.kind != "file":
                continue
            case Kind.CHECKSUM:
                checksums[file.version] = file
            case Kind.COMPACTION:
                compactions.append(file)
            case _:
                checkpoint_files[file.version].append(file)
    latest = max([*commits, *checkpoint_files], default=-1)
    complete = {version: _complete_checkpoints(version, found) for version, found in checkpoint_files.items()}
    return LogListing(
        root,
        commits,
        {version: refs for version, refs in complete.items() if refs},
        tuple(compaction for compaction in compactions if compaction.end <= latest),
        checksums,
        {version: tuple(checkpoint_files[version]) for version, refs in complete.items() if not refs},
    )


def list_commits(storage: Storage, root: str, first: int) -> list[LogFile]:
    """Return the commits in the log from version `first` on, in ascending order."""
    listed = storage.list_from(join(root, LOG_FOLDER), version_prefix(first))
    return sorted(read_listing(root, listed).commits.values(), key=lambda file: file.version)


def candidate_segments(listing: LogListing, wanted: int | None = None, most: int | None = None) -> Iterator[LogSegment]:
    """Yield every segment that rebuilds a version, in order of preference.

    The first starts at the newest complete checkpoint; the others are for the case that a checkpoint, or a compaction
    in place of many commits, cannot be used. Before the first, raises VersionNotFound if the log lacks the version, or
    no longer contains the files to rebuild it, and CorruptLog if a required file is missing.

    Args:
        listing: The log.
        wanted: The version; None for the latest.
        most: With more commits than this, log compactions are preferred; see `cover`.
    """
    target = _target(listing, wanted)
    found = False
    first_gap: CorruptLog | None = None
    for checkpoint in [*_checkpoints_up_to(listing, target), None]:
        start = 0 if checkpoint is None else checkpoint.version + 1
        commits = cover(listing.commits, listing.compactions, start, target)
        if commits is None:
            if checkpoint is not None and first_gap is None:
                first_gap = _gap(listing, start, target)
            continue
        found = True
        if most is not None and len(commits) > most:
            fewer = cover(listing.commits, listing.compactions, start, target, most)
            if fewer is not None and len(fewer) < len(commits):
                yield make_segment(listing, target, checkpoint, fewer)
        yield make_segment(listing, target, checkpoint, commits)
    if not found:
        raise first_gap or _no_beginning(listing, target, wanted)


def make_segment(
    listing: LogListing, version: int, checkpoint: CheckpointRef | None, commits: tuple[LogFile, ...]
) -> LogSegment:
    """Return the segment of these files, with the other files of the version in the listing."""
    own_commit, checksum = listing.commits.get(version), listing.checksums.get(version)
    return LogSegment(listing.root, version, checkpoint, commits, listing.compactions, own_commit, checksum)


def earliest_rebuildable(listing: LogListing) -> int | None:
    """Return the first version that can be rebuilt; None if there is none."""
    starts = [*listing.checkpoints]
    if 0 in listing.commits or any(c.version == 0 for c in listing.compactions):
        starts.append(0 if 0 in listing.commits else min(c.end for c in listing.compactions if c.version == 0))
    return min(starts, default=None)


_PREFERENCE = {
    Kind.CLASSIC_CHECKPOINT: 0,
    Kind.UUID_PARQUET_CHECKPOINT: 1,
    Kind.CHECKPOINT_PART: 2,
    Kind.UUID_JSON_CHECKPOINT: 3,
}


def _complete_checkpoints(version: int, files: Sequence[LogFile]) -> tuple[CheckpointRef, ...]:
    """PROTOCOL, Checkpoints: "readers must only use a complete checkpoint, wherein all fragments are present"."""
    refs = [CheckpointRef(version, (file,)) for file in files if file.kind is not Kind.CHECKPOINT_PART]
    parts: dict[int, dict[int, LogFile]] = defaultdict(dict)
    for file in files:
        if file.kind is Kind.CHECKPOINT_PART:
            parts[file.parts][file.part] = file
    refs += [
        CheckpointRef(version, tuple(found[part] for part in range(1, count + 1)))
        for count, found in parts.items()
        if len(found) == count
    ]
    return tuple(sorted(refs, key=lambda ref: _PREFERENCE[ref.kind]))


def _checkpoints_up_to(listing: LogListing, target: int) -> list[CheckpointRef]:
    versions = sorted((v for v in listing.checkpoints if v <= target), reverse=True)
    return [ref for version in versions for ref in listing.checkpoints[version]]


def _target(listing: LogListing, wanted: int | None) -> int:
    latest = listing.latest
    if latest is None:
        raise CorruptLog(_empty_message(listing))
    if wanted is None:
        return latest
    earliest = earliest_rebuildable(listing)
    if wanted < 0 or wanted > latest or earliest is None or wanted < earliest:
        raise VersionNotFound(_range_message(listing, wanted, earliest, latest))
    return wanted


def _gap(listing: LogListing, start: int, end: int) -> CorruptLog:
    missing = _first_missing(listing, start, end)
    return CorruptLog(
        f"The log of {listing.root} is damaged: {commit_name(missing)} (version {missing}) is missing, so version "
        f"{end} cannot be rebuilt; {restore_or_go_back(missing)}."
    )


def _first_missing(listing: LogListing, start: int, end: int) -> int:
    """The first version that no file contains; the first missing commit if compactions overlap in an unusable way."""
    version = start
    while version <= end:
        covered = [c.end for c in listing.compactions if c.version <= version <= c.end]
        if version not in listing.commits and not covered:
            return version
        version = max([version, *covered]) + 1
    return next(v for v in range(start, end + 1) if v not in listing.commits)


def _no_beginning(listing: LogListing, target: int, wanted: int | None) -> CorruptLog | VersionNotFound:
    """The error for a version that has neither a usable checkpoint nor all commits before it."""
    if 0 in listing.commits or any(c.version == 0 for c in listing.compactions):
        return _gap(listing, 0, target)
    partial = max((v for v in listing.incomplete if v <= target), default=None)
    if partial is not None:
        return CorruptLog(
            f"The log of {listing.root} is damaged: the checkpoint of version {partial} lacks "
            f"{_missing_part(listing.incomplete[partial])}, and the commits from {commit_name(0)} on were deleted, so "
            f"version {target} cannot be rebuilt; restore the missing file."
        )
    latest = listing.latest
    earliest = earliest_rebuildable(listing)
    if wanted is not None and earliest is not None and latest is not None:
        return VersionNotFound(_range_message(listing, wanted, earliest, latest))
    return CorruptLog(
        f"The log of {listing.root} is damaged: {commit_name(0)} (version 0) is missing and there is no complete "
        f"checkpoint, so version {target} cannot be rebuilt; restore the missing files."
    )


def _missing_part(files: Sequence[LogFile]) -> str:
    parts = max(files, key=lambda file: file.file.modified_ms).parts
    there = {file.part for file in files if file.parts == parts}
    missing = next(part for part in range(1, parts + 1) if part not in there)
    return f"{version_prefix(files[0].version)}.checkpoint.{missing:010d}.{parts:010d}.parquet"


def _range_message(listing: LogListing, wanted: int, earliest: int | None, latest: int) -> str:
    if earliest is None:
        return f"{listing.root} has no version {wanted} that can be rebuilt: the first commits of its log were deleted."
    return (
        f"{listing.root} has no version {wanted}: versions {earliest} to {latest} can be opened"
        f"{'; earlier commits have been cleaned up' if 0 <= wanted < earliest else ''}."
    )


def _empty_message(listing: LogListing) -> str:
    if listing.incomplete:
        version = max(listing.incomplete)
        return (
            f"The log of {listing.root} is damaged: it contains no commit, and the checkpoint of version {version} "
            f"lacks {_missing_part(listing.incomplete[version])}; restore the missing file."
        )
    return f"The log of {listing.root} contains neither a commit nor a checkpoint; restore its files."
