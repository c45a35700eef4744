"""Loading and refreshing of snapshots, and the check that a path still has the same table.

A Snapshot belongs to a table, not to a path. The path has the same table as long as the log contains the file of the
snapshot's version, unchanged (`LogSegment.anchor`): whatever follows it is then a later version of the table, even if
it changes metaData.id. If the file is gone, because the log was cleaned up or because the path now has another table,
metaData.id decides. # PROTOCOL, Change Metadata: "Unique identifier for this table"
"""

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import partial

from deltaskip import errors
from deltaskip.features.registry import has_feature, has_tree
from deltaskip.lazy_regex import regex
from deltaskip.log.catalog_commits import is_managed
from deltaskip.log.checkpoint.checkpoint_opening import open_checkpoint
from deltaskip.log.checkpoint.metadata_tree import tree_in
from deltaskip.log.checkpoint.read import Checkpoint
from deltaskip.log.column_cache import ColumnCache
from deltaskip.log.commit import last_commit_info, parse_contents, read_commits
from deltaskip.log.compaction import cover
from deltaskip.log.file_names import Kind, LogFile, commit_name, version_prefix
from deltaskip.log.last_checkpoint import Hint, read_hint
from deltaskip.log.listed_files import listed_tail, may_list_files
from deltaskip.log.not_found import table_not_found
from deltaskip.log.segment import CheckpointRef, LogListing, LogSegment, candidate_segments, make_segment, read_listing
from deltaskip.log.snapshot import Snapshot
from deltaskip.log.state_actions import StateChange
from deltaskip.log.tail import Tail, deferred_tail, tail_of
from deltaskip.progress import Progress, table_name
from deltaskip.schema.properties import TableProperties
from deltaskip.settings import options
from deltaskip.sparkexpr.types import DataType, leaves
from deltaskip.storage import LOG_FOLDER, FileInfo, LocalStorage, Storage, join
from deltaskip.storage.interface import IN_FLIGHT, CutShort, entries_of
from deltaskip.warning import warn

# A checksum may list every file of the table. Beyond this size, reading it takes too long for each opening.
_CHECKSUM_BYTES = 1 << 20
# The number of damaged checkpoints that are tried before the commits are read without one.
_MOST_DAMAGED = 100
# Local commits of fewer bytes are parsed before a progress bar would be useful.
_WATCHED_BYTES = 64 << 20
# Local commits of fewer bytes are read in less time than a thread is started.
_LITTLE_BYTES = 1 << 20
_FLOAT_BOUNDS = TableProperties.float_bounds.name
# A table that is being dropped looks damaged until its last file is gone.
_LOOKS = 100
LOOK_SECONDS = 0.02
# A writer to a store may take this many pauses to delete a commit that it wrote to another table than it had opened.
_PAUSES_FOR_A_STRAY = 100
# A log listed within this time is not listed again before a commit, unless it may be cleaned up by then.
_FRESH_SECONDS = {False: 1.0, True: 5.0}
_CLEANED_UP_LATER_MS = 60_000
# A snapshot with more commits than this is read again from a newer checkpoint. Before so many are read, the newest may
# name an adaptive metadata tree.
_MOST_COMMITS = 100
# So many versions before another one, in an object store, a checkpoint is looked for first.
_CHECKPOINTS_WITHIN = 150
# The files of the latest versions of local tables that this process has read or written last, by location, each with
# the time at which the names in its log had changed.
_SEGMENTS: dict[str, tuple[int, LogSegment]] = {}
_MOST_SEGMENTS = 64
# The checkpoints that were opened last, each one local file of at most 20,480 rows: their paths and sizes are decoded
# once for all commits, which takes at most 5 MB each.
_OPENED: dict[CheckpointRef, Checkpoint] = {}
_MOST_OPENED = 4
_UNPUBLISHED_FOLDER = "_commits"
_UNPUBLISHED = regex(r"[0-9]{20}\.[^.]+\.json")


def load_snapshot(storage: Storage, root: str, version: int | None = None) -> Snapshot:
    """Return the snapshot of a table at a version.

    Args:
        storage: Storage that contains the table.
        root: Location of the table in the storage.
        version: Version of the snapshot. The default is the latest.

    Raises:
        TableNotFound: There is no Delta log at the root.
        VersionNotFound: The log does not contain the version, or no longer contains the files to rebuild it.
        CorruptLog: A file of the log is missing or damaged; the message names it.
        UnsupportedFeature: Reading the table needs a protocol version or table feature that is not supported.
        StorageError: The storage failed.
    """
    started, changed = time.monotonic(), _log_changed(storage, root)
    hint, listed = _hint(storage, root)
    listing = None if version is not None or changed is None else _remembered(storage, root, changed, hint)
    found = None if listing is None else _loaded_from(storage, listing)
    if found is None:
        found = _loaded(storage, root, version, hint, listed)
    if version is None:
        # An operation of a handle that was just opened need not list the log again.
        found.listed, found.log_changed = started, changed
        _warn_of_unpublished(found)
        _remember(found)
    return found


def _warn_of_unpublished(snapshot: Snapshot) -> None:
    """Warn if the commit coordinator of the table may know newer commits, which only its clients can list.

    # RFC Managed Commits (rejected): _delta_log/_commits/VERSION.UUID.json until the commit is published
    """
    if not has_feature(snapshot.protocol, "coordinatedCommits-preview"):
        return
    folder = join(snapshot.root, LOG_FOLDER, _UNPUBLISHED_FOLDER)
    listed = entries_of(snapshot.storage, folder, version_prefix(snapshot.version + 1))
    versions = [int(each.name[:20]) for each in listed if each.is_file and _UNPUBLISHED.fullmatch(each.name)]
    if versions:
        warn(
            f"{snapshot.root} is read at version {snapshot.version}, but its commit coordinator (table feature "
            f"coordinatedCommits-preview) has commits up to version {max(versions)} that may be part of the table and "
            f"are not published: read it with a client of the coordinator, or have it publish them.",
            errors.ReadWarning,
        )


def _remember(snapshot: Snapshot) -> None:
    """Let handles that are opened in this process list a local log only if it has changed since a snapshot was read."""
    if snapshot.log_changed is not None and not is_managed(snapshot.storage):
        _SEGMENTS.pop(snapshot.root, None)
        _SEGMENTS[snapshot.root] = snapshot.log_changed, snapshot.segment
        for root in list(_SEGMENTS)[:-_MOST_SEGMENTS]:
            _SEGMENTS.pop(root, None)


def _remembered(storage: Storage, root: str, changed: int, said: Hint | None) -> LogListing | None:
    """The files of the latest version from the checkpoint of the hint on, if the log is unchanged."""
    known, segment = _SEGMENTS.get(root, (None, None))
    if known != changed or segment is None or said is None or said.version > segment.version or is_managed(storage):
        return None
    hint = said.version
    checkpoint = segment.checkpoint
    if not _is_latest(storage, segment) or (checkpoint is not None and checkpoint.version > hint):
        return None

    def file(kind: Kind, version: int, suffix: str) -> LogFile:
        return LogFile(kind, version, storage.info(join(root, LOG_FOLDER, f"{version_prefix(version)}.{suffix}")))

    checksums = {}
    with suppress(FileNotFoundError, NotADirectoryError, errors.StorageError):
        checksums[segment.version] = file(Kind.CHECKSUM, segment.version, "crc")
    try:
        if checkpoint is None or checkpoint.version < hint:
            checkpoint = CheckpointRef(hint, (file(Kind.CLASSIC_CHECKPOINT, hint, "checkpoint.parquet"),))
    except (FileNotFoundError, NotADirectoryError, errors.StorageError):
        return None
    commits = {each.version: each for each in (*segment.commits, segment.own_commit) if each is not None}
    return LogListing(root, commits, {hint: (checkpoint,)}, segment.compactions, checksums, {})


def _loaded_from(storage: Storage, listing: LogListing) -> Snapshot | None:
    """The snapshot of a remembered listing; None if its files cannot be read."""
    try:
        found = load_snapshot_of(storage, listing, None)
    except (errors.CorruptLog, errors.VersionNotFound, CutShort, FileNotFoundError, NotADirectoryError):
        return None
    return found if _is_whole(found) else None


def _loaded(
    storage: Storage, root: str, version: int | None, hint: Hint | None, listed: Callable[[str], list[FileInfo]]
) -> Snapshot:
    if hint is not None and (version is None or hint.version <= version):
        # If the files that the hint leads to are unusable, the whole log is listed.
        try:
            listing = read_listing(root, listed(version_prefix(hint.version)))
            found = _from_checksum(storage, listing, version, hint) or load_snapshot_of(storage, listing, version)
            if _is_whole(found):
                return found
        except errors.TableNotFound:
            raise
        except (errors.CorruptLog, errors.VersionNotFound, FileNotFoundError, NotADirectoryError):
            listed = partial(_list, storage, root)
    before = None if version is None else _listed_until(storage, root, version, listed)
    if before is not None:
        with suppress(errors.CorruptLog, errors.VersionNotFound, CutShort, FileNotFoundError, NotADirectoryError):
            found = load_snapshot_of(storage, read_listing(root, before), version)
            if _is_whole(found):
                return found
    listing = _log_in(storage, root, partial(listed, "0"))
    for _ in range(_LOOKS):
        try:
            found = _from_checksum(storage, listing, version, None) or load_snapshot_of(storage, listing, version)
            if _is_whole(found):
                return found
            listing = list_log(storage, root)
        except (errors.CorruptLog, CutShort) as error:
            # A file that another process deletes during the read is not damage.
            again = list_log(storage, root)
            if isinstance(error.__cause__, FileNotFoundError | NotADirectoryError | None):
                pauses = _PAUSES_FOR_A_STRAY if _has_a_stray(listing) else 1
                while again == listing and pauses:
                    time.sleep(LOOK_SECONDS)
                    again, pauses = list_log(storage, root), pauses - 1
            if again == listing:
                raise
            listing = again
    return load_snapshot_of(storage, listing, version)


def _listed_until(
    storage: Storage, root: str, version: int, listed: Callable[[str], list[FileInfo]]
) -> list[FileInfo] | None:
    """The files of a log until a version, from the newest checkpoint before it on; None if only a whole listing tells.

    An object store, which lists pages of a thousand names, is asked for the page in which the checkpoint should be,
    unless the log is listed already.
    """
    folder, end = join(root, LOG_FOLDER), version_prefix(version + 1)
    try:
        if type(storage) is LocalStorage:
            names = [name for name in storage.names(folder) if name < end.encode()]
            newest = max((name for name in names if b".checkpoint." in name), default=b"0")
            return storage.entries(folder, names, newest[: len(end)].decode())
        list_between = None if is_managed(storage) else getattr(storage, "list_between", None)
        start = version_prefix(max(0, version - _CHECKPOINTS_WITHIN))
        return None if list_between is None or isinstance(listed, _Listed) else list_between(folder, start, end)
    except (ValueError, FileNotFoundError, NotADirectoryError):
        return None


def _has_a_stray(listing: LogListing) -> bool:
    """Whether the newest commit does not follow others that begin a table.

    It may be the commit of a writer that had opened a dropped table at the same path; the writer deletes it.
    """
    before = (listing.latest or 0) - 1
    return before > 0 and 0 in listing.commits and before not in listing.commits


def list_log(storage: Storage, root: str, first: int = 0, checksums: bool = True) -> LogListing:
    """Return the files of the log from version `first` on, which must exist unless it is 0.

    checksums: Whether version checksums are needed. In a local log, half of the files are.

    Raises TableNotFound if there is no log.
    """
    return _log_in(storage, root, partial(_list, storage, root, version_prefix(first) if first else "0", checksums))


def _log_in(storage: Storage, root: str, listed: Callable[[], list[FileInfo]]) -> LogListing:
    """The log in a listing. Raises TableNotFound if there is none."""
    try:
        listing = read_listing(root, listed())
    except errors.TableNotFound:
        # The catalog of the table says why.
        raise
    except (FileNotFoundError, NotADirectoryError) as error:
        raise table_not_found(storage, root) from error
    if listing.latest is None and not listing.incomplete:
        raise table_not_found(storage, root)
    return listing


def refresh(snapshot: Snapshot, own: bytes | None = None) -> Snapshot:
    """Return the latest snapshot of the table; the same object if it is already the latest.

    Lists the log from the snapshot's version on and reads only newer commits. Loads the whole table again if they do
    not follow without a gap, or if the snapshot's checkpoint or commit was deleted. Raises the same errors as
    load_snapshot, and TableNotFound if the path now contains another table.

    own: The text of the next version, if this process has just created it, so that it need not be read.
    """
    listed, changed = time.monotonic(), _log_changed(snapshot.storage, snapshot.root)
    is_latest = (
        snapshot.log_changed is not None
        and snapshot.log_changed == changed
        and _is_latest(snapshot.storage, snapshot.segment)
    )
    latest = snapshot if is_latest else _refreshed(snapshot, own)
    latest.listed, latest.log_changed = listed, changed
    return latest if latest is snapshot else _following(latest, snapshot)


def advanced(snapshot: Snapshot, text: bytes) -> Snapshot | None:
    """Return the snapshot of the commit that was just written after a snapshot, without reading the log.

    None if that takes as many requests as reading it, or if the log is no longer the snapshot's.

    Args:
        snapshot: The version before the commit.
        text: The text of the commit.
    """
    storage, old = snapshot.storage, snapshot.segment
    if storage.remote or is_managed(storage) or old.version < 0:
        return None
    version = old.version + 1
    try:
        info = storage.info(join(old.root, LOG_FOLDER, commit_name(version)))
    except (FileNotFoundError, NotADirectoryError, errors.StorageError):
        return None
    if info.size != len(text):
        return None
    own = LogFile(Kind.COMMIT, version, info)
    segment = LogSegment(old.root, version, old.checkpoint, (*old.commits, own), old.compactions, own)
    try:
        tail = tail_of(parse_contents(old.root, [own], memoryview(text), [0]))
        if tail.tree is not None:
            return None
        tail = tail.following(snapshot.tail)
        return _following(Snapshot(storage, segment, snapshot.checkpoint, tail, None, snapshot.cache), snapshot)
    except errors.DeltaSkipError:
        # A commit may need a feature that deltaskip cannot read; reading the log raises the error.
        return None


def at_checkpoint(snapshot: Snapshot) -> Snapshot | None:
    """Return a snapshot of the same version that begins at the classic checkpoint that was just written of it.

    None if there is none that can be read, or in storage where that takes requests: then the log must be read.
    """
    storage, old, version = snapshot.storage, snapshot.segment, snapshot.version
    if storage.remote or is_managed(storage):
        return None
    name = f"{version_prefix(version)}.checkpoint.parquet"
    try:
        file = LogFile(Kind.CLASSIC_CHECKPOINT, version, storage.info(join(old.root, LOG_FOLDER, name)))
        reference = CheckpointRef(version, (file,))
        checkpoint = open_checkpoint(storage, old.root, reference)
        segment = LogSegment(old.root, version, reference, (), old.compactions, old.own_commit)
        tail = Tail.without_files(old.root, StateChange(), snapshot.tail.info)
        found = Snapshot(storage, segment, checkpoint, tail, None, snapshot.cache)
    except (FileNotFoundError, NotADirectoryError, errors.DeltaSkipError):
        return None
    same = found.metadata == snapshot.metadata and found.protocol == snapshot.protocol
    return _following(found, snapshot) if same else None


def note_log(snapshot: Snapshot) -> None:
    """Let the next refresh of a snapshot that was just committed list the log only if it changes until then."""
    snapshot.log_changed = _log_changed(snapshot.storage, snapshot.root)
    _remember(snapshot)


def _log_changed(storage: Storage, root: str) -> int | None:
    """The time at which names in the folder of a local log last changed; None for other storage."""
    if not isinstance(storage, LocalStorage):
        return None
    try:
        return storage.changed_ns(join(root, LOG_FOLDER))
    except (FileNotFoundError, NotADirectoryError, errors.StorageError):
        return None


def _is_latest(storage: Storage, segment: LogSegment) -> bool:
    """Whether a log whose folder is unchanged has no later version: a listing of many commits takes longer to tell.

    The time of the folder alone would not tell, since several changes may have the same time.
    """
    following = join(segment.root, LOG_FOLDER, commit_name(segment.version + 1))
    there = segment.own_commit is not None and _is_there(storage, segment)
    return there and not storage.exists(following) and not _is_gone(storage, segment)


def is_fresh(snapshot: Snapshot) -> bool:
    """Return whether a commit can be put after a snapshot without listing the log: if it is not the latest, that fails.

    It would not fail if a later version had been cleaned up since the log was listed.
    """
    if is_managed(snapshot.storage) or snapshot.table_properties.log_retention_ms < _CLEANED_UP_LATER_MS:
        return False
    recent = time.monotonic() - snapshot.listed < _FRESH_SECONDS[snapshot.storage.remote]
    if not recent or snapshot.storage.remote:
        return recent
    # A local folder may now contain another table, or lack the next version and have later ones.
    changed = _log_changed(snapshot.storage, snapshot.root)
    return snapshot.log_changed in (None, changed) and _is_there(snapshot.storage, snapshot.segment)


def _following(latest: Snapshot, snapshot: Snapshot) -> Snapshot:
    """The latest snapshot, with the facts that the caller stated about an older one."""
    latest.told_as(snapshot)
    if latest.cache is snapshot.cache and not _reads_the_log_as(latest, snapshot):
        latest.cache = ColumnCache()
    return latest


def _hint(storage: Storage, root: str) -> tuple[Hint | None, Callable[[str], list[FileInfo]]]:
    """The version of the hint, and a function that lists the log from a name on. A store does both at once.

    A log of many files is then listed from that version on, since a store lists only so many at a time.
    """
    folder = join(root, LOG_FOLDER)
    if not storage.remote:
        return read_hint(storage, folder), partial(_list, storage, root)
    with ThreadPoolExecutor(1, "deltaskip") as beside:
        listing = beside.submit(getattr(storage, "list_first", lambda folder: storage.list_from(folder, "0")), folder)
        hint = read_hint(storage, folder)
    if listing.exception() is None and listing.result() is None:
        return hint, partial(_list, storage, root)
    return hint, _Listed(listing)


class _Listed:
    """The log of a store, which has listed all of it."""

    def __init__(self, listing: Future[list[FileInfo]]) -> None:
        self._listing = listing

    def __call__(self, start_name: str) -> list[FileInfo]:
        return [file for file in self._listing.result() if file.name >= start_name]


def _reads_the_log_as(latest: Snapshot, snapshot: Snapshot) -> bool:
    """Whether values that were decoded for a snapshot hold for the latest one: its columns have the same types."""
    if latest.properties.get(_FLOAT_BOUNDS) != snapshot.properties.get(_FLOAT_BOUNDS):
        return False
    if latest.metadata.schema_string == snapshot.metadata.schema_string:
        return True
    return latest.partition_fields == snapshot.partition_fields and _types(snapshot).items() <= _types(latest).items()


def _types(snapshot: Snapshot) -> dict[tuple[str, ...], DataType]:
    """The types of the columns that have statistics, by physical name."""
    return {leaf.physical: leaf.type for leaf in leaves(snapshot.schema, snapshot.mapping_mode)}


def _refreshed(snapshot: Snapshot, own: bytes | None) -> Snapshot:
    storage, root, old = snapshot.storage, snapshot.root, snapshot.segment
    if _is_read_again(snapshot):
        return load_snapshot(storage, root)
    try:
        listing = read_listing(root, _list(storage, root, version_prefix(snapshot.version)))
    except errors.TableNotFound:
        # The catalog of the table says why.
        raise
    except (FileNotFoundError, NotADirectoryError) as error:
        raise table_not_found(storage, root) from error
    if not _contains(storage, listing, old):
        return _loaded_again(snapshot)
    latest = listing.latest
    if latest is None or latest <= old.version:
        cleaned_up = bool(listing.checkpoints) and _is_gone(storage, old)
        return _loaded_again(snapshot) if cleaned_up else snapshot
    commits = cover(listing.commits, listing.compactions, old.version + 1, latest)
    if commits is None or _is_gone(storage, old):
        return _loaded_again(snapshot)
    segment = make_segment(listing, latest, old.checkpoint, (*old.commits, *commits))
    oldest = -1 if old.checkpoint is None else old.checkpoint.version
    if max(listing.checkpoints, default=-1) > oldest and is_outdated(storage, segment):
        return _loaded_again(snapshot)
    if own is not None and latest == old.version + 1 and _bytes_of(commits) == len(own):
        tail, checksum = tail_of(parse_contents(root, commits, memoryview(own), [0])), None
    else:
        tail, checksum = _read_tail(storage, root, commits, segment)
    if tail.tree is not None:
        return _loaded_again(snapshot)
    tail = tail.following(snapshot.tail)
    found = Snapshot(storage, segment, snapshot.checkpoint, tail, checksum, snapshot.cache, snapshot.read_log)
    return found if _is_whole(found) else _loaded_again(snapshot)


def _is_read_again(snapshot: Snapshot) -> bool:
    """Whether a local table with many commits has a newer checkpoint, so that a listing of what follows is not needed.

    The file of its version proves that it is the same table.
    """
    old = snapshot.segment
    if snapshot.storage.remote or is_managed(snapshot.storage) or len(old.commits) <= _MOST_COMMITS:
        return False
    hint = read_hint(snapshot.storage, join(snapshot.root, LOG_FOLDER))
    return (
        hint is not None
        and hint.version > (-1 if old.checkpoint is None else old.checkpoint.version)
        and _is_there(snapshot.storage, snapshot.segment)
    )


def check_same_table(snapshot: Snapshot) -> None:
    """Raise TableNotFound if the path no longer has the table of the snapshot.

    For operations that read or write files of the log that the snapshot has not read. Requests one file of the log if
    it exists, and lists the log otherwise.
    """
    if not _is_there(snapshot.storage, snapshot.segment):
        refresh(snapshot)


def _is_whole(snapshot: Snapshot) -> bool:
    """Whether the files that were read belong to one table, not to two successive tables at the path.

    In an object store, where it takes a request to know, the contents decide alone.
    """
    is_unknown = snapshot.storage.remote or is_managed(snapshot.storage) or snapshot.segment.anchor is None
    return is_unknown or _is_there(snapshot.storage, snapshot.segment)


def _is_there(storage: Storage, segment: LogSegment) -> bool:
    """Whether the file that identifies a version still exists as it was listed."""
    anchor = segment.anchor
    if anchor is None or is_managed(storage):
        return False
    try:
        return storage.info(anchor.path) == anchor.file
    except (FileNotFoundError, NotADirectoryError, errors.StorageError):
        return False


def _loaded_again(snapshot: Snapshot) -> Snapshot:
    # Of a commit that was put into the log of another table, the checksum tells of the old one.
    latest = load_snapshot(snapshot.storage, snapshot.root).whole
    if latest.metadata.id != snapshot.metadata.id:
        raise errors.TableNotFound(
            f"The table {snapshot.root} was replaced by another table: version {snapshot.version} was read from the "
            f"table {snapshot.metadata.id}, and the path now contains version {latest.version} of the table "
            f"{latest.metadata.id}; open it again."
        )
    return latest


def _contains(storage: Storage, listing: LogListing, segment: LogSegment) -> bool:
    """Whether the log still contains the version of a segment, which an unchanged file proves."""
    if segment.own_commit is not None:
        return _is_still(storage, segment.own_commit, listing.commits.get(segment.version))
    there = listing.checkpoints.get(segment.version, ())
    return segment.anchor is not None and any(segment.anchor in ref.files for ref in there)


def _is_still(storage: Storage, commit: LogFile, listed: LogFile | None) -> bool:
    """Whether a commit is unchanged in the log; a ratified commit may have been published, as a copy."""
    if listed == commit:
        return True
    return listed is not None and is_managed(storage) and listed.file.size == commit.file.size


def is_cleaned_up(snapshot: Snapshot) -> bool:
    """Whether files of the snapshot's checkpoint were deleted, which happens after a newer checkpoint."""
    part, read = snapshot.segment.checkpoint, snapshot.checkpoint
    paths = [] if part is None or read is None else [*(file.path for file in part.files), *read.sidecars]
    return not all(snapshot.storage.exists(path) for path in paths)


def is_outdated(storage: Storage, segment: LogSegment) -> bool:
    """Whether a newer checkpoint, if there is one, should replace a segment's checkpoint and commits.

    It should if there are many commits, because the next checkpoint would read all of them again, or if the log was
    cleaned up since, because nobody can read the old one.
    """
    commits = segment.commits
    is_deleted = (bool(commits) and not storage.exists(commits[0].path)) or _is_gone(storage, segment)
    return len(commits) > _MOST_COMMITS or is_deleted


def _is_gone(storage: Storage, segment: LogSegment) -> bool:
    """Whether the checkpoint was deleted after the segment was listed."""
    return segment.checkpoint is not None and not storage.exists(segment.checkpoint.files[0].path)


def load_snapshot_of(storage: Storage, listing: LogListing, version: int | None = None) -> Snapshot:
    """Return the snapshot of a version, by default the latest, from the files of a listing alone.

    Raises as load_snapshot does, without looking whether the log has changed.
    """
    unusable: errors.CorruptLog | None = None
    damaged = 0
    for segment in _segments(storage, listing, version):
        if segment.checkpoint is not None and damaged >= _MOST_DAMAGED:
            continue
        checkpoint = None
        read = partial(_read_tail, storage, segment.root, segment.commits, segment)
        most = _WATCHED_BYTES if segment.checkpoint is None else _LITTLE_BYTES
        is_little = not storage.remote and _bytes_of(segment.commits) < most
        if segment.checkpoint is None and is_little:
            tail, checksum = read()
        else:
            opening = Progress(f"Opening {table_name(segment.root)}", unit="files")
            with opening as progress, ThreadPoolExecutor(1, "deltaskip") as beside:
                reading = None if is_little else beside.submit(read)
                if segment.checkpoint is not None:
                    try:
                        checkpoint = _opened(storage, segment.root, segment.checkpoint, progress.advance)
                    except errors.CorruptLog as error:
                        if segment.checkpoint.kind is Kind.COMMIT:
                            # Older commits need not contain the actions on files that are in the tree.
                            raise
                        unusable = unusable or error
                        damaged += 1
                        continue
                try:
                    tail, checksum = read() if reading is None else progress.result(reading)
                except errors.CorruptLog as error:
                    if not _has_commits_for(listing, segment):
                        raise
                    unusable = unusable or error
                    continue
        if tail.tree is not None and tail.tree.version > (-1 if checkpoint is None else checkpoint.version):
            return load_snapshot_of(storage, _from_tree(listing, tail.tree), segment.version)
        if _has_commits_for(listing, segment):
            found = Snapshot(storage, segment, checkpoint, tail)
            # A compaction need not have the actions that name trees.
            if has_tree(found.protocol) or (checksum is not None and found.contradicts(checksum)):
                continue
        return Snapshot(storage, segment, checkpoint, tail, checksum)
    assert unusable is not None, "candidate_segments yields or raises"
    raise unusable


def _has_commits_for(listing: LogListing, segment: LogSegment) -> bool:
    """Whether the log has the commits for the compactions that a segment uses."""
    ranges = [range(each.version, each.end + 1) for each in segment.commits if each.kind is Kind.COMPACTION]
    return bool(ranges) and all(version in listing.commits for each in ranges for version in each)


def _from_checksum(storage: Storage, listing: LogListing, version: int | None, hint: Hint | None) -> Snapshot | None:
    """The latest version of a small table in an object store, as its checksum lists it; None if the log must be read.

    version: None for the latest. A version that was asked for is read from the log.
    """
    if version is not None or not storage.remote or is_managed(storage):
        return None
    root = listing.root
    with suppress(errors.CorruptLog, errors.VersionNotFound):
        segment = next(candidate_segments(listing, None, IN_FLIGHT))
        before, checksum = listing.commits.get(segment.version - 1), segment.checksum
        own = segment.own_commit
        if own is None or before is None or checksum is None or not may_list_files(segment, hint):
            return None
        together = _read_together(storage, [before, own], checksum)
        if together is None:
            return None
        data, starts = together
        end = starts.pop()
        tail = listed_tail(parse_contents(root, [before, own], data[:end], starts), checksum, bytes(data[end:]))
        if tail is not None:
            return Snapshot(storage, segment, None, tail, read_log=partial(load_snapshot, storage, root))
    return None


def _segments(storage: Storage, listing: LogListing, version: int | None) -> Iterator[LogSegment]:
    """As `candidate_segments`, also from adaptive metadata trees that commits name."""
    most = IN_FLIGHT if storage.remote else None
    tree = _last_tree(storage, listing, version)
    try:
        yield from candidate_segments(listing if tree is None else _from_tree(listing, tree), version, most)
    except (errors.CorruptLog, errors.VersionNotFound):
        if 0 in listing.commits or (version is not None and version not in listing.commits):
            raise
        # The log begins with commits that need a tree, or lacks its beginning.
        tree = _newest_tree(storage, listing, version)
        if tree is None:
            raise
        yield from candidate_segments(_from_tree(listing, tree), version, most)


def _from_tree(listing: LogListing, tree: CheckpointRef) -> LogListing:
    """The listing with a tree instead of all that is older."""
    newer = {version: refs for version, refs in listing.checkpoints.items() if version > tree.version}
    return replace(listing, checkpoints={tree.version: (tree,), **newer}, incomplete={})


def _last_tree(storage: Storage, listing: LogListing, version: int | None) -> CheckpointRef | None:
    """The tree that the newest commit says to be the last one, if many commits would be read without it.

    Only delta-spark says so, in commitInfo.
    """
    checkpoint = max(listing.checkpoints, default=-1)
    newer = [each for each in listing.commits if each > checkpoint and (version is None or each <= version)]
    if len(newer) <= _MOST_COMMITS:
        return None
    last = max(newer)
    with suppress(errors.DeltaSkipError, FileNotFoundError, KeyError, TypeError, AttributeError):
        if listing.commits[last].file.size > _CHECKSUM_BYTES:
            return None
        info = last_commit_info(read_commits(storage, listing.root, [listing.commits[last]], ["path"]))
        said = ({} if info is None else info.members)["lastManifestCommit"]["version"]
        return tree_in(read_commits(storage, listing.root, [listing.commits[said]], ["path"]))
    return None


def _newest_tree(storage: Storage, listing: LogListing, version: int | None) -> CheckpointRef | None:
    """The newest tree that a commit names, of which the newest commits are read first."""
    files = [listing.commits[each] for each in sorted(listing.commits) if version is None or each <= version]
    count = 1
    with suppress(errors.DeltaSkipError, FileNotFoundError):
        while files:
            found = tree_in(read_commits(storage, listing.root, files[-count:], ["path"]))
            if found is not None:
                return found
            files, count = files[:-count], 2 * count
    return None


def _opened(storage: Storage, root: str, ref: CheckpointRef, done: Callable[[int], object]) -> Checkpoint:
    """The open checkpoint, which was opened before if its file is unchanged. Raises CorruptLog if it is damaged."""
    if type(storage) is not LocalStorage or len(ref.files) > 1 or ref.kind is Kind.COMMIT:
        return open_checkpoint(storage, root, ref, done)
    found = _OPENED.get(ref)
    if found is not None:
        with suppress(FileNotFoundError, NotADirectoryError, errors.StorageError):
            if storage.info(ref.files[0].path) == ref.files[0].file:
                done(1)
                return found
    found = open_checkpoint(storage, root, ref, done)
    if not found.sidecars and all(part.is_counted for part in (*found.parts, *found.remove_parts)):
        _OPENED[ref] = found
        for old in list(_OPENED)[:-_MOST_OPENED]:
            _OPENED.pop(old, None)
    return found


def _bytes_of(files: Sequence[LogFile]) -> int:
    return sum([each.file.size for each in files])


def _read_tail(
    storage: Storage, root: str, commits: Sequence[LogFile], segment: LogSegment
) -> tuple[Tail, bytes | None]:
    """The parsed commits, and the contents of the checksum if it exists and is not too large."""
    if _bytes_of(commits) > options.log_held_bytes and all(each.kind is Kind.COMMIT for each in commits):
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

    The checksum is optional. Only the read of the commits decides whether they can be read.
    """
    wanted = [file.file for file in (*commits, checksum)]
    if checksum.file.size > _CHECKSUM_BYTES or sum([file.size for file in wanted]) > options.log_bytes:
        return None
    if {file.kind for file in wanted} != {"file"}:
        return None
    try:
        data, starts = storage.read_joined(wanted)
    except (FileNotFoundError, errors.StorageError, MemoryError):
        return None
    return None if len(data) - starts[-1] > _CHECKSUM_BYTES else (data, starts)


def _list(storage: Storage, root: str, start_name: str, checksums: bool = True) -> list[FileInfo]:
    folder = join(root, LOG_FOLDER)
    if checksums or type(storage) is not LocalStorage:
        return storage.list_from(folder, start_name)
    names = [name for name in storage.names(folder) if not name.endswith(b".crc")]
    return storage.entries(folder, names, start_name)
