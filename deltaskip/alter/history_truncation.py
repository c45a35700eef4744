"""Deletes versions of a table that need a dropped feature from the log, once they are old enough.

# RFC Checkpoint Protection; delta-spark's DROP FEATURE … TRUNCATE HISTORY
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pyarrow.compute as pc

from deltaskip.actions import Metadata, RemoveFile
from deltaskip.actions.paths import encode_path
from deltaskip.errors import CorruptLog, InvalidArgument, SchemaError, UnsupportedFeature
from deltaskip.features.feature_uses import uses_of
from deltaskip.lazy_regex import regex
from deltaskip.log import Snapshot, load_snapshot
from deltaskip.log.checkpoint.tombstones import tombstones
from deltaskip.log.cleanup import clean_up_log
from deltaskip.log.commit import members_of, read_commits
from deltaskip.log.commit_times import CommitTimes
from deltaskip.log.deletion_vectors import vector_keys
from deltaskip.log.loading import list_log
from deltaskip.schema.properties import HOUR_MS, TableProperties
from deltaskip.sparkexpr.types import parse_schema
from deltaskip.sparkexpr.values.calendar import current_ms
from deltaskip.storage.interface import read_whole

_PROTECTION = "checkpointProtection"
_VECTOR = b'"deletionVector":{'
_ABSOLUTE = regex(r"([A-Za-z][A-Za-z0-9+.\-]*:)?/")


def truncate_history(snapshot: Snapshot, feature: str) -> None:
    """Delete the versions that need the feature from the log.

    Raises UnsupportedFeature, before anything is deleted, if one of them is too recent, or if no checkpoint after them
    is old enough.
    """
    needed = _last_version_with(snapshot, feature)
    if needed is None:
        return
    kept_for = snapshot.table_properties.drop_feature_retention_ms
    now = current_ms()
    listing = list_log(snapshot.storage, snapshot.root)
    versions = sorted(listing.commits)
    times = CommitTimes(snapshot.storage, snapshot.root, listing, versions)
    old = versions[: times.count_until(now - kept_for)]
    checkpoints = [version for version in listing.checkpoints if version > needed and old and version <= old[-1]]
    if not checkpoints:
        since = datetime.fromtimestamp(times[min(needed + 1, versions[-1])] / 1000, UTC).isoformat(timespec="seconds")
        raise UnsupportedFeature(
            f"The feature {feature} of {snapshot.root} cannot be dropped with its history yet: version {needed} needs "
            f"it, and versions are kept for {kept_for // HOUR_MS} hours. Remove everything that uses the "
            f"feature, write a checkpoint, wait until that time after {since} has passed, and repeat."
        )
    clean_up_log(snapshot, now, kept_for)
    first = min((*list_log(snapshot.storage, snapshot.root).commits, snapshot.version))
    if first <= needed:
        raise UnsupportedFeature(
            f"The feature {feature} of {snapshot.root} cannot be dropped with its history, because version {first} is "
            f"still in the log: write a checkpoint of a newer version, and repeat."
        )


def vector_tombstones(snapshot: Snapshot) -> list[RemoveFile]:
    """Return tombstones of the files with deletion vectors that retained versions need.

    Clients that do not know deletion vectors would delete these files; they only recognize tombstones of data files.
    # delta-spark: DeletionVectorsTableFeature, tombstones of dropped deletion vectors
    """
    now = current_ms()
    since = now - snapshot.table_properties.deleted_file_retention_ms
    keys = {
        key
        for removes in tombstones(snapshot, since)
        for key in vector_keys(snapshot.table_root, pc.struct_field(removes, "deletionVector")).to_pylist()
        if not _ABSOLUTE.match(key)
    }
    return [RemoveFile(encode_path(key), data_change=False, deletion_timestamp=now) for key in sorted(keys)]


def _last_version_with(snapshot: Snapshot, feature: str) -> int | None:
    """The newest version in the log that needs the feature; None if there is none."""
    if feature == _PROTECTION:
        protected = snapshot.table_properties.checkpoint_protection_version
        return protected - 1 if _oldest(snapshot) < protected else None
    return max(_versions_with(snapshot, feature), default=None)


def _versions_with(snapshot: Snapshot, feature: str) -> Iterator[int]:
    listing = list_log(snapshot.storage, snapshot.root)
    first, used_first = min(listing.checkpoints, default=None), False
    if first is not None:
        base = load_snapshot(snapshot.storage, snapshot.root, first)
        used_first = _uses(base.metadata, feature, snapshot.root)
        if used_first or (feature == "deletionVectors" and _has_vectors(base)):
            yield first
    files = [listing.commits[version] for version in sorted(listing.commits)]
    commits = read_commits(snapshot.storage, snapshot.root, files, ["path"])
    changes: dict[int, Metadata] = {}
    for action in commits.others:
        if action.name == "metaData":
            version = commits.files[action.commit].version
            try:
                changes[version] = Metadata.from_json(members_of(commits, action))
            except InvalidArgument as error:
                raise CorruptLog(f"The metaData of version {version} of {snapshot.root} is damaged: {error}") from error
    # A version needs the feature up to the commit that ends its use.
    using = False
    for file in files:
        if file.version == first:
            using = used_first
        elif file.version in changes:
            before, using = using, _uses(changes[file.version], feature, snapshot.root)
            if using or before:
                yield file.version if using else file.version - 1
        elif using:
            yield file.version
        if feature == "deletionVectors" and _VECTOR in read_whole(snapshot.storage, file.file):
            yield file.version


def _uses(metadata: Metadata, feature: str, table: str) -> bool:
    properties = TableProperties(metadata.configuration, table).well_formed()
    try:
        schema = parse_schema(metadata.schema_string)
    except SchemaError:
        return True
    return any(feature in names for names in uses_of(properties, schema))


def _has_vectors(snapshot: Snapshot) -> bool:
    return bool(pc.any(pc.is_valid(snapshot.adds(["deletion_vector"])["deletion_vector"])).as_py())


def _oldest(snapshot: Snapshot) -> int:
    listing = list_log(snapshot.storage, snapshot.root)
    return min((*listing.commits, *listing.checkpoints))
