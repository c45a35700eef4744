"""Loading a Snapshot from a table's root, and refreshing a Snapshot."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from deltaskip.errors import CorruptLog, StorageError, TableNotFound, VersionNotFound
from deltaskip.log.catalog_commits import is_managed
from deltaskip.log.checkpoint.read import open_checkpoint
from deltaskip.log.column_cache import ColumnCache
from deltaskip.log.commit import AT_ONCE_BYTES, parse_contents, read_commits
from deltaskip.log.compaction import cover
from deltaskip.log.file_names import LOG_FOLDER, Kind, LogFile, version_prefix
from deltaskip.log.last_checkpoint import read_hint
from deltaskip.log.segment import LogListing, LogSegment, candidate_segments, make_segment, read_listing
from deltaskip.log.snapshot import Snapshot
from deltaskip.log.table_not_found import table_not_found
from deltaskip.log.tail import HELD_BYTES, Tail, deferred_tail, tail_of
from deltaskip.progress import Progress, table_name
from deltaskip.schema.properties import TableProperties
from deltaskip.storage import FileInfo, Storage, join

__all__ = ["list_log", "load_snapshot", "refresh"]

# A checksum may list every file of the table. Beyond this size, reading it takes too long for each opening.
_CHECKSUM_BYTES = 1 << 20
# Fewer bytes of local commits are parsed sooner than somebody asks how far it is.
_WATCHED_BYTES = 64 << 20
_FLOAT_BOUNDS = TableProperties.float_bounds.name


def load_snapshot(storage: Storage, root: str, version: int | None = None) -> Snapshot:
    """Return the snapshot of a table at a version.

    Args:
        storage: Storage that contains the table.
        root: Location of the table in the storage.
        version: Version of the snapshot. The default is the latest.

    Raises:
        TableNotFound: There is no Delta log at the root.
        VersionNotFound: The log does not contain the version, or no longer the files to rebuild it.
        CorruptLog: A file of the log is missing or damaged; the message names it.
        UnsupportedFeature: Reading the table needs a protocol version or table feature that is not supported.
        StorageError: The storage failed.
    """
    hint = read_hint(storage, join(root, LOG_FOLDER))
    if hint is not None and (version is None or hint <= version):
        # If the files that the hint leads to are unusable, the whole log is listed.
        try:
            return _load(storage, read_listing(root, _list(storage, root, version_prefix(hint))), version)
        except TableNotFound:
            raise
        except (CorruptLog, VersionNotFound, FileNotFoundError, NotADirectoryError):
            pass
    return _load(storage, list_log(storage, root), version)


def list_log(storage: Storage, root: str, first: int = 0) -> LogListing:
    """List the log from version `first` on, which must exist unless it is 0. Raises TableNotFound if there is none."""
    try:
        listing = read_listing(root, _list(storage, root, version_prefix(first) if first else "0"))
    except TableNotFound:
        # The catalog of the table says why.
        raise
    except (FileNotFoundError, NotADirectoryError) as error:
        raise table_not_found(storage, root) from error
    if listing.latest is None and not listing.incomplete:
        raise table_not_found(storage, root)
    return listing


def refresh(snapshot: Snapshot) -> Snapshot:
    """Return the latest snapshot of the table; the same object if it is the latest already.

    Lists the log from the snapshot's version on and reads only newer commits. Loads the whole table again if those do
    not follow without a gap, if the snapshot's checkpoint was deleted, or if the path now contains a different table.
    Raises the same errors as load_snapshot.
    """
    latest = _refreshed(snapshot)
    if latest is not snapshot:
        latest.told_as(snapshot)
        words = (each.properties.get(_FLOAT_BOUNDS) for each in (latest, snapshot))
        if latest.cache is snapshot.cache and len(set(words)) > 1:
            # Cached bounds depend on it.
            latest.cache = ColumnCache()
    return latest


def _refreshed(snapshot: Snapshot) -> Snapshot:
    storage, root, old = snapshot.storage, snapshot.root, snapshot.segment
    try:
        listing = read_listing(root, _list(storage, root, version_prefix(snapshot.version)))
    except TableNotFound:
        # The catalog of the table says why.
        raise
    except (FileNotFoundError, NotADirectoryError) as error:
        raise table_not_found(storage, root) from error
    if old.own_commit is not None and not _is_still(storage, old.own_commit, listing.commits.get(old.version)):
        return load_snapshot(storage, root)
    latest = listing.latest
    if latest is None or latest <= old.version:
        cleaned_up = bool(listing.checkpoints) and _is_gone(storage, old)
        return load_snapshot(storage, root) if cleaned_up or old.own_commit is None else snapshot
    commits = cover(listing.commits, listing.compactions, old.version + 1, latest)
    if commits is None or _is_gone(storage, old):
        return load_snapshot(storage, root)
    segment = make_segment(listing, latest, old.checkpoint, (*old.commits, *commits))
    tail, checksum = _read_tail(storage, root, commits, segment)
    return Snapshot(storage, segment, snapshot.checkpoint, tail.following(snapshot.tail), checksum, snapshot.cache)


def _is_still(storage: Storage, commit: LogFile, listed: LogFile | None) -> bool:
    """Whether a commit is in the log as it was; one of a catalog may have been published, which is a copy."""
    if listed == commit:
        return True
    return listed is not None and is_managed(storage) and listed.file.size == commit.file.size


def _is_gone(storage: Storage, segment: LogSegment) -> bool:
    """Whether the checkpoint was deleted after the segment was listed."""
    return segment.checkpoint is not None and not storage.exists(segment.checkpoint.files[0].path)


def _load(storage: Storage, listing: LogListing, version: int | None) -> Snapshot:
    unusable: CorruptLog | None = None
    for segment in candidate_segments(listing, version):
        if segment.checkpoint is None and not storage.remote and _bytes_of(segment.commits) < _WATCHED_BYTES:
            tail, checksum = _read_tail(storage, segment.root, segment.commits, segment)
            return Snapshot(storage, segment, None, tail, checksum)
        opening = Progress(f"Opening {table_name(segment.root)}", unit="files")
        with opening as progress, ThreadPoolExecutor(1, "deltaskip") as beside:
            reading = beside.submit(_read_tail, storage, segment.root, segment.commits, segment)
            checkpoint = None
            if segment.checkpoint is not None:
                try:
                    checkpoint = open_checkpoint(storage, segment.root, segment.checkpoint, progress.advance)
                except CorruptLog as error:
                    unusable = unusable or error
                    continue
            tail, checksum = progress.result(reading)
        return Snapshot(storage, segment, checkpoint, tail, checksum)
    assert unusable is not None, "candidate_segments yields or raises"
    raise unusable


def _bytes_of(files: Sequence[LogFile]) -> int:
    return sum(each.file.size for each in files)


def _read_tail(
    storage: Storage, root: str, commits: Sequence[LogFile], segment: LogSegment
) -> tuple[Tail, bytes | None]:
    """The parsed commits, and the contents of the checksum if it exists and is not too large."""
    if _bytes_of(commits) > HELD_BYTES and all(each.kind is Kind.COMMIT for each in commits):
        return deferred_tail(storage, root, commits), None
    together = None if segment.checksum is None else _read_together(storage, commits, segment.checksum)
    if together is None:
        return tail_of(read_commits(storage, root, commits)), None
    data, starts = together
    end = starts.pop()
    return tail_of(parse_contents(root, commits, data[:end], starts)), bytes(data[end:])


def _read_together(
    storage: Storage, commits: Sequence[LogFile], checksum: LogFile
) -> tuple[memoryview, list[int]] | None:
    """The joined text of the commits and the checksum; None if it is too large, or a file cannot be read.

    The checksum is not needed. Reading the commits alone decides whether they can be read.
    """
    wanted = [file.file for file in (*commits, checksum)]
    if checksum.file.size > _CHECKSUM_BYTES or sum(file.size for file in wanted) > AT_ONCE_BYTES:
        return None
    if not all(file.is_file for file in wanted):
        return None
    try:
        data, starts = storage.read_joined(wanted)
    except (FileNotFoundError, StorageError, MemoryError):
        return None
    return None if len(data) - starts[-1] > _CHECKSUM_BYTES else (data, starts)


def _list(storage: Storage, root: str, start_name: str) -> list[FileInfo]:
    return storage.list_from(join(root, LOG_FOLDER), start_name)
