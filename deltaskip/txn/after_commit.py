"""Maintenance after a commit: what the catalog of the table expects, the version checksum, symlink manifests if the
table has them kept up to date, and by `delta.checkpointInterval` a checkpoint and log cleanup.
"""

from __future__ import annotations

from deltaskip.doors import first_line
from deltaskip.errors import MaintenanceWarning
from deltaskip.log import Snapshot, load_snapshot, refresh
from deltaskip.log.catalog_commits import catalog_commits
from deltaskip.log.checkpoint.write import write_checkpoint
from deltaskip.log.checksum_writing import write_checksum_after
from deltaskip.log.cleanup import clean_up_log
from deltaskip.log.new_table import BEFORE_CREATION
from deltaskip.log.symlink_manifests import changed_partitions, write_manifests
from deltaskip.schema.properties import TableProperties
from deltaskip.storage.kill_points import kill_point
from deltaskip.warning import warn

__all__ = ["after_commit"]

_SYMLINKS = TableProperties.symlink_manifests.name.encode()


def after_commit(latest: Snapshot, version: int, text: bytes | None = None, after: Snapshot | None = None) -> None:
    """Write the version checksum of `version`; if a checkpoint is due, also write it and clean up the log.

    If the table has symlink manifests kept up to date, those are written too. Issues a MaintenanceWarning instead of
    raising an error, since the commit itself has succeeded.

    Args:
        latest: The newest known snapshot of the table before the commit.
        version: The version that was committed.
        text: The text of the commit, if it directly follows `latest`.
        after: The snapshot of the version, if it is known.
    """
    commits, what = catalog_commits(latest.storage), "publication in its catalog"
    try:
        if commits is not None:
            commits.after_commit(latest, version, text)
    except Exception as error:
        _warn(latest, version, what, error)
    what = "version checksum"
    try:
        if text is not None:
            write_checksum_after(latest, text, after)
            kill_point("checksum written")
        what = "checkpoint"
        if version and not version % latest.table_properties.checkpoint_interval:
            _write_checkpoint(refresh(latest) if after is None else after, version)
    except Exception as error:  # an error from `commit` would mean that nothing was committed
        _warn(latest, version, what, error)
    try:
        if latest.table_properties.symlink_manifests or _SYMLINKS in (text or b""):
            _write_manifests(latest, version, text)
    except Exception as error:
        _warn(latest, version, "symlink manifests", error)


def _write_checkpoint(snapshot: Snapshot, version: int) -> None:
    if snapshot.version != version:
        snapshot = load_snapshot(snapshot.storage, snapshot.root, version)
    write_checkpoint(snapshot)
    if snapshot.table_properties.expired_log_cleanup and _may_clean_up(snapshot):
        clean_up_log(snapshot)


def _may_clean_up(snapshot: Snapshot) -> bool:
    commits = catalog_commits(snapshot.storage)
    return commits is None or not commits.manages or commits.permits("METADATA_CLEANUP")


def _write_manifests(latest: Snapshot, version: int, text: bytes | None) -> None:
    """Bring the manifests of the partitions that the commit changed up to date; all of them if that is not known."""
    created = latest.version == BEFORE_CREATION
    snapshot = load_snapshot(latest.storage, latest.root, version) if created else refresh(latest)
    if snapshot.table_properties.symlink_manifests:
        write_manifests(snapshot, None if text is None else changed_partitions(snapshot, text))


def _warn(latest: Snapshot, version: int, what: str, error: Exception) -> None:
    failed = "failed" if not what.endswith("s") else "could not be written"
    warn(
        f"Version {version} of {latest.root} was committed, but its {what} {failed}: {first_line(error)}.",
        MaintenanceWarning,
    )
