"""Snapshots for other processes, without the files of the log, which each process reads itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pyarrow as pa

from deltaskip import storage as s
from deltaskip.actions import Metadata, Protocol
from deltaskip.errors import UnsupportedFeature
from deltaskip.log.catalog_commits import Maintenance, is_managed, published_path
from deltaskip.log.segment import LogSegment
from deltaskip.log.snapshot import Snapshot
from deltaskip.log.state_actions import StateChange
from deltaskip.log.stats_provenance import Writers
from deltaskip.log.tail import Tail
from deltaskip.records import dataclass
from deltaskip.schema.properties import FloatBounds
from deltaskip.storage import LOG_FOLDER
from deltaskip.storage.remote import ArrowStorage, ObjectStorage


@dataclass(frozen=True, slots=True)
class PortableSnapshot:
    """A snapshot without its files. It can be pickled.

    Attributes:
        root: Location of the table.
        version: Version of the snapshot.
        options: Options of the table's object store, with the credentials of a catalog as they are now; None for other
            storages.
        protocol: The protocol.
        metadata: The metadata.
        float_bounds: See `Snapshot.float_bounds`.
        writers: Provenance of statistics; None if nothing needs it.
        managed: Whether a catalog decides which commits the table has. The commits of this version are read from the
            locations that the catalog has named, or where they have been published since.
    """

    root: str
    version: int
    options: Mapping[str, str] | None
    protocol: Protocol
    metadata: Metadata
    float_bounds: FloatBounds | None = None
    writers: Writers | None = None
    managed: bool = False

    @classmethod
    def of(cls, snapshot: Snapshot, writers: bool) -> PortableSnapshot:
        """Return the part of a snapshot that another process needs.

        Args:
            snapshot: The snapshot.
            writers: Whether the provenance of statistics is needed, which reads the commits of the log.

        Raises:
            UnsupportedFeature: Another process cannot read the log, as it is read through the JVM of this process.
        """
        storage = s.storage_below(snapshot.storage)
        elsewhere = isinstance(storage, s.LocalStorage | ObjectStorage | ArrowStorage)
        if not elsewhere or s.scheme_of(snapshot.root) in s.HADOOP_SCHEMES:
            raise UnsupportedFeature(
                f"Version {snapshot.version} of {snapshot.table_root} cannot be planned by the executors of Spark: its "
                f"files are read through the JVM of this process, which executors do not have. Leave out "
                f"engine='spark', and call file_batches() if the list of files does not fit in memory."
            )
        options = getattr(storage, "options", None)
        return cls(
            snapshot.root,
            snapshot.version,
            None if options is None else dict(options),
            snapshot.protocol,
            snapshot.metadata,
            snapshot.float_bounds,
            snapshot.writers if writers else None,
            is_managed(snapshot.storage),
        )

    def opened(self) -> Snapshot:
        """Return a snapshot of this version that has no files, in this process. Nothing is read."""
        storage = self._storage()
        segment = LogSegment(self.root, self.version, None, ())
        tail = Tail.without_files(self.root, StateChange(self.protocol, self.metadata))
        snapshot = Snapshot(storage, segment, None, tail)
        snapshot.float_bounds = self.float_bounds
        return self._known(snapshot)

    def with_files(self, opened: Snapshot, adds: pa.Table) -> Snapshot:
        """Return a snapshot whose files are exactly `adds` (FILE_SCHEMA). opened: what `opened` has returned."""
        return self._known(Snapshot.of_files(opened, self.metadata, adds))

    def _storage(self) -> s.Storage:
        storage = s.open_storage(self.root, self.options)[0]
        return (
            s.CatalogStorage(lambda: storage, _RatifiedLog(s.join(self.root, LOG_FOLDER))) if self.managed else storage
        )

    def _known(self, snapshot: Snapshot) -> Snapshot:
        if self.writers is not None:
            # This replaces the cached property, which would read the commits.
            snapshot.__dict__["writers"] = self.writers
        return snapshot


class _RatifiedLog:
    """The log of a managed table in a process that reads given commits, without requests to the catalog."""

    manages = True

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def elsewhere(self, path: str) -> str | None:
        return published_path(self._folder, path)

    def permits(self, operation: Maintenance) -> bool:
        return False

    def entries(self, storage: s.Storage, directory: str, start_name: str) -> list[s.FileInfo]:
        raise _not_here()

    def commit(self, latest: Snapshot, text: bytes, in_doubt: Callable[[bool], None]) -> None:
        raise _not_here()

    def after_commit(self, latest: Snapshot, version: int, text: bytes | None) -> None:
        raise _not_here()

    def publish(self, version: int) -> None:
        raise _not_here()


def _not_here() -> AssertionError:
    return AssertionError("The log of a managed table is listed and written by the process that asks its catalog.")
