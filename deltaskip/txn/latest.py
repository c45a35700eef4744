"""The version of a table after an operation that has changed it."""

from __future__ import annotations

from deltaskip.doors import first_line
from deltaskip.errors import MaintenanceWarning
from deltaskip.log import Snapshot, refresh
from deltaskip.warning import warn

__all__ = ["latest_after"]


def latest_after(snapshot: Snapshot) -> Snapshot:
    """Return the latest version of a table that an operation has changed.

    Where it cannot be read, issues a MaintenanceWarning and returns the version that is given: an error would say that
    the operation failed, which would then be repeated.
    """
    following, snapshot.following = snapshot.following, None
    if following is not None:
        return following
    try:
        return refresh(snapshot)
    except Exception as error:
        warn(
            f"The operation on {snapshot.root} has succeeded, but the version after it could not be read, so that this "
            f"object stays at version {snapshot.version}; open the table again: {first_line(error)}.",
            MaintenanceWarning,
        )
        return snapshot
