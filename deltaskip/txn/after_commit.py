"""What follows a commit: its version checksum, and at `delta.checkpointInterval` a checkpoint and a clean-up."""

from __future__ import annotations

import warnings

from deltaskip.errors import MaintenanceWarning
from deltaskip.log import Snapshot, load_snapshot, refresh
from deltaskip.log.checkpoint.write import write_checkpoint
from deltaskip.log.checksum_writing import write_checksum_after
from deltaskip.log.cleanup import clean_up_log
from deltaskip.log.table_properties import checkpoint_interval, flag
from deltaskip.storage.kill_points import step

__all__ = ["after_commit"]


def after_commit(latest: Snapshot, version: int, text: bytes | None = None) -> None:
    """Write the checksum of version `version`, its checkpoint if its turn has come, and clean the log up with that.

    latest: a snapshot not younger than the version; text: of the commit, where it is that which follows `latest`.
    Warns instead of raising: the commit stands whatever happens here.
    """
    what = "version checksum"
    try:
        if text is not None:
            write_checksum_after(latest, text)
            step("checksum written")
        what = "checkpoint"
        if version == 0 or version % checkpoint_interval(latest.properties):
            return
        snapshot = refresh(latest)
        if snapshot.version != version:
            snapshot = load_snapshot(latest.storage, latest.root, version)
        write_checkpoint(snapshot)
        if flag(snapshot.properties, "delta.enableExpiredLogCleanup", True):
            clean_up_log(snapshot)
    except Exception as error:  # whatever it is, an error of `commit` would say that nothing was committed
        warnings.warn(
            f"Version {version} of {latest.root} is committed, but its {what} failed: {error}",
            MaintenanceWarning,
            stacklevel=4,
        )
