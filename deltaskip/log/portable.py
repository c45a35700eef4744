"""What another process needs of a snapshot to read its log: everything but its files, which it reads itself."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from deltaskip.actions import Metadata, Protocol
from deltaskip.errors import UnsupportedFeature
from deltaskip.log.catalog_commits import is_managed
from deltaskip.log.segment import LogSegment
from deltaskip.log.snapshot import Snapshot
from deltaskip.log.stats_provenance import Writers
from deltaskip.log.table_state import StateChange
from deltaskip.log.tail import Tail
from deltaskip.records import dataclass
from deltaskip.schema.properties import FloatBounds
from deltaskip.storage import HADOOP_SCHEMES, LocalStorage, open_storage, scheme_of, storage_below
from deltaskip.storage.remote import ArrowStorage, ObjectStorage

__all__ = ["PortableSnapshot"]


@dataclass(frozen=True, slots=True)
class PortableSnapshot:
    """A snapshot without its files. It can be pickled.

    Attributes:
        root: Location of the table.
        version: Version of the snapshot.
        options: Options of the table's object store; None for other storages.
        protocol: The protocol.
        metadata: The metadata.
        float_bounds: See `Snapshot.float_bounds`.
        writers: Provenance of statistics; None if nothing asks for it.
    """

    root: str
    version: int
    options: Mapping[str, str] | None
    protocol: Protocol
    metadata: Metadata
    float_bounds: FloatBounds | None = None
    writers: Writers | None = None

    @classmethod
    def of(cls, snapshot: Snapshot, writers: bool) -> PortableSnapshot:
        """Return what another process needs of a snapshot.

        Args:
            snapshot: The snapshot.
            writers: Whether the provenance of statistics is asked for, which reads the commits of the log.

        Raises:
            UnsupportedFeature: Another process cannot read the log: it goes through the JVM of this process, or a
                catalog decides which commits the table has.
        """
        storage = storage_below(snapshot.storage)
        elsewhere = isinstance(storage, LocalStorage | ObjectStorage | ArrowStorage)
        if not elsewhere or scheme_of(snapshot.root) in HADOOP_SCHEMES:
            raise _refused(snapshot, "its files are read through the JVM of this process, which executors do not have")
        if is_managed(snapshot.storage):
            raise _refused(snapshot, "the catalog that manages it hands its log to this process only")
        options = getattr(storage, "options", None)
        return cls(
            snapshot.root,
            snapshot.version,
            None if options is None else dict(options),
            snapshot.protocol,
            snapshot.metadata,
            snapshot.float_bounds,
            snapshot.writers if writers else None,
        )

    def opened(self) -> Snapshot:
        """Return a snapshot of this version that has no files, in this process. Nothing is read."""
        storage = open_storage(self.root, self.options)[0]
        segment = LogSegment(self.root, self.version, None, ())
        tail = Tail.without_files(self.root, StateChange(self.protocol, self.metadata))
        snapshot = Snapshot(storage, segment, None, tail)
        snapshot.float_bounds = self.float_bounds
        return self._known(snapshot)

    def with_files(self, opened: Snapshot, adds: pa.Table) -> Snapshot:
        """Return a snapshot whose files are exactly `adds` (FILE_SCHEMA). opened: what `opened` has returned."""
        return self._known(Snapshot.of_files(opened, self.metadata, adds))

    def _known(self, snapshot: Snapshot) -> Snapshot:
        if self.writers is not None:
            # In place of the cached property, which would read the commits.
            snapshot.__dict__["writers"] = self.writers
        return snapshot


def _refused(snapshot: Snapshot, why: str) -> UnsupportedFeature:
    return UnsupportedFeature(
        f"Version {snapshot.version} of {snapshot.table_root} cannot be planned by the executors of Spark: {why}. "
        f"Leave out engine='spark', and take file_batches() for a list of files that is longer than memory."
    )
