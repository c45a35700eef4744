"""What follows a commit: a checkpoint at `delta.checkpointInterval`, and with it the log's clean-up."""

from __future__ import annotations

import warnings

from deltaskip.log import Snapshot, load_snapshot, refresh
from deltaskip.log.checkpoint_writing import write_checkpoint
from deltaskip.log.cleanup import clean_up_log
from deltaskip.log.table_properties import checkpoint_interval, flag

__all__ = ["MaintenanceWarning", "after_commit"]


class MaintenanceWarning(UserWarning):
    """A commit is in the log, and the checkpoint or clean-up that was due with it failed."""


def after_commit(latest: Snapshot, version: int) -> None:
    """Checkpoint version `version` if its turn has come, and delete what of the log is older than it is kept.

    latest: a snapshot not younger than the version. Warns instead of raising: the commit stands whatever happens here.
    """
    try:
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
            f"Version {version} of {latest.root} is committed, but its checkpoint failed: {error}",
            MaintenanceWarning,
            stacklevel=4,
        )
