"""Logs of catalog-managed tables: the catalog ratifies commits and decides which maintenance is allowed.

# PROTOCOL, Catalog-managed tables
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, Protocol

from deltaskip.errors import UnsupportedFeature
from deltaskip.log.file_names import commit_name
from deltaskip.storage import LOG_FOLDER, CatalogLog, FileInfo, Storage, join
from deltaskip.storage.catalog_storage import storage_below
from deltaskip.storage.unsynced import Unsynced

if TYPE_CHECKING:
    from deltaskip.log.snapshot import Snapshot

STAGED_FOLDER = "_staged_commits"
"""Folder below `_delta_log` of commits that were proposed to a catalog."""

Maintenance = Literal["DATA_REORGANIZATION", "DATA_CLEANUP", "METADATA_CLEANUP"]
"""Maintenance that a client may run only if the catalog of the table permits it."""


class CatalogCommits(CatalogLog, Protocol):
    """The log of a table of a catalog.

    Attributes:
        manages: Whether commits are in the log only once the catalog has ratified them; otherwise the catalog is
            notified of commits in the log.
    """

    @property
    def manages(self) -> bool:
        """See the attributes."""
        ...

    def commit(self, latest: Snapshot, text: bytes, in_doubt: Callable[[bool], None]) -> None:
        """Make the text the commit of the version after `latest`.

        Args:
            latest: The version before the commit.
            text: Its text.
            in_doubt: Called with True before the commit may get the version, and with False once it is certain that it
                does not get it.

        Raises:
            FileExistsError: Another writer's commit has that version.
            StorageError, CatalogError: Storage or the catalog failed; `in_doubt` says whether the outcome is known.
            CommitConflict: The name now refers to another table.
        """
        ...

    def after_commit(self, latest: Snapshot, version: int, text: bytes | None) -> None:
        """Carry out the steps that the catalog expects after a commit.

        Args:
            latest: The version before the commit, or a later one.
            version: Version of the commit.
            text: Its text, if it directly follows `latest`.
        """
        return

    def publish(self, version: int) -> None:
        """Copy ratified commits up to a version into `_delta_log`, in order, and tell the catalog."""
        return

    def permits(self, operation: Maintenance) -> bool:
        """Whether the catalog permits the maintenance."""
        ...


def catalog_commits(storage: Storage) -> CatalogCommits | None:
    """Return the log of the catalog-managed table of a storage; None for a table that was opened by its path."""
    found: CatalogCommits | None = getattr(storage, "log", None)
    return found


def is_managed(storage: Storage) -> bool:
    """Whether a catalog decides which commits the table has."""
    commits = catalog_commits(storage)
    return commits is not None and commits.manages


def published_path(log_folder: str, path: str) -> str | None:
    """Return the location of a staged commit after its publication; None for another file.

    # PROTOCOL, Publishing Commits: only the copy may remain.

    Args:
        log_folder: The table's `_delta_log`.
        path: Location of the file.
    """
    folder, _, name = path.rpartition("/")
    return join(log_folder, f"{name.partition('.')[0]}.json") if folder == join(log_folder, STAGED_FOLDER) else None


def put_commit(
    latest: Snapshot, text: bytes, in_doubt: Callable[[bool], None], unsynced: Unsynced, new_file: FileInfo | None
) -> None:
    """Make the text the commit of the version after `latest`: in the log, or by the catalog that manages the table.

    Args:
        latest: The version before the commit.
        text: Its text.
        in_doubt: See CatalogCommits.commit.
        unsynced: Files that the commit references; they are made durable before the commit is written.
        new_file: A local file of a table that the commit creates.

    Raises:
        FileExistsError: Another writer's commit has that version.
        FileNotFoundError: Another process has moved or deleted the local table.
        StorageError, CatalogError, CommitConflict: As CatalogCommits.commit does.
    """
    commits = catalog_commits(latest.storage)
    if commits is not None and commits.manages:
        unsynced.sync()
        commits.commit(latest, text, in_doubt)
    else:
        # Getting the credentials of the storage may fail.
        storage = storage_below(latest.storage)
        known = latest.segment.own_commit
        check_conditions = getattr(storage, "check_conditions", None)
        if check_conditions is not None and known is not None:
            check_conditions(known.file)
        in_doubt(True)
        anchor = latest.segment.anchor
        path = join(latest.root, LOG_FOLDER, commit_name(latest.version + 1))
        unsynced.put_commit(storage, path, text, new_file if anchor is None else anchor.file)


def is_commit(found: bytes, text: bytes) -> bool | None:
    """Whether bytes that were read under the name of a commit are its text; None if they do not tell.

    A read may be cut short, even to nothing, and a proxy may answer with a page of its own.
    """
    if found == text:
        return True
    undecided = text.startswith(found) or found.startswith(text) or not found.lstrip().startswith(b"{")
    return None if undecided else False


def check_permitted(snapshot: Snapshot, operation: Maintenance, what: str) -> None:
    """Raise UnsupportedFeature unless maintenance of the table is allowed by the catalog that manages it.

    # PROTOCOL, Maintenance Operations on Catalog-managed Tables: clients honor the policies of the catalog.

    Args:
        snapshot: The table.
        operation: Kind of the maintenance.
        what: Its name, such as "VACUUM".
    """
    commits = catalog_commits(snapshot.storage)
    if commits is not None and commits.manages and not commits.permits(operation):
        raise UnsupportedFeature(
            f"The catalog that manages {snapshot.root} does not permit {what} by clients: leave it to the catalog, or "
            f"let its administrator allow {operation} for the table."
        )
