"""Maintenance after a commit: the version checksum, and by `delta.checkpointInterval` a checkpoint and log cleanup."""

from __future__ import annotations

import warnings

from deltaskip.errors import MaintenanceWarning
from deltaskip.log import Snapshot, load_snapshot, refresh
from deltaskip.log.checkpoint.write import write_checkpoint
from deltaskip.log.checksum_writing import write_checksum_after
from deltaskip.log.cleanup import clean_up_log
from deltaskip.storage.kill_points import kill_point

__all__ = ["after_commit"]


def after_commit(latest: Snapshot, version: int, text: bytes | None = None) -> None:
    """Write the version checksum of `version`; if a checkpoint is due, also write it and clean up the log.

    latest: the newest known snapshot of the table. text: the text of the commit, if the commit directly follows it.
    Issues a MaintenanceWarning instead of raising an error, since the commit itself has succeeded.
    """
    what = "version checksum"
    try:
        if text is not None:
            write_checksum_after(latest, text)
            kill_point("checksum written")
        what = "checkpoint"
        if version == 0 or version % latest.table_properties.checkpoint_interval:
            return
        snapshot = refresh(latest)
        if snapshot.version != version:
            snapshot = load_snapshot(latest.storage, latest.root, version)
        write_checkpoint(snapshot)
        if snapshot.table_properties.expired_log_cleanup:
            clean_up_log(snapshot)
    except Exception as error:  # an error from `commit` would mean that nothing was committed
        warnings.warn(
            f"Version {version} of {latest.root} was committed, but its {what} failed: {error}",
            MaintenanceWarning,
            stacklevel=4,
        )
