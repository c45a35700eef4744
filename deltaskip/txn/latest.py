"""The version of a table after an operation on it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from deltaskip.doors import first_line
from deltaskip.errors import MaintenanceWarning, StorageError, TableNotFound
from deltaskip.log import Snapshot, refresh
from deltaskip.warning import warn


def latest_after(snapshot: Snapshot) -> Snapshot:
    """Return the version of a table that an operation has committed, or a later one.

    If it cannot be read, issues a MaintenanceWarning and returns the given version: an error would say that the
    operation failed, and it would be repeated.
    """
    found, snapshot.followed_by = snapshot.followed_by, None
    if found is not None:
        return found
    try:
        return refresh(snapshot)
    except Exception as error:
        warn(
            f"The operation on {snapshot.root} has succeeded, but the version after it could not be read, so that this "
            f"object stays at version {snapshot.version}; open the table again: {first_line(error)}.",
            MaintenanceWarning,
        )
        return snapshot


@contextmanager
def opening_after(done: str) -> Iterator[None]:
    """Within the block, errors of opening a table say that the operation succeeded, so that it is not repeated.

    Args:
        done: The operation, such as `The table /data/t was created`.

    Raises:
        TableNotFound: Another writer has dropped the table meanwhile.
        StorageError: The table cannot be read.
    """
    try:
        yield
    except TableNotFound:
        raise
    except Exception as error:
        raise StorageError(f"{done}, but cannot be read now: open it with DeltaTable. {first_line(error)}.") from error
