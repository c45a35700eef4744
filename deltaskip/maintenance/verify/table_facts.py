"""What the rules of tables are asked about: a log as it is listed, and as much of the table as can be read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from deltaskip.errors import CorruptLog, DeltaSkipError, TableNotFound, UnsupportedFeature
from deltaskip.fork_safety import cached_property
from deltaskip.log import CheckpointRef, LogListing, Snapshot, load_snapshot_of
from deltaskip.log.checkpoint.checkpoint_opening import open_checkpoint
from deltaskip.log.segment import candidate_segments, make_segment, read_listing
from deltaskip.log.state_actions import StateChange, overlay
from deltaskip.log.tail import Tail, deferred_tail
from deltaskip.storage import LOG_FOLDER, FileInfo, Storage, join


class TableFacts:
    """A table that is verified.

    Args:
        storage: Storage of the table.
        root: Location of the table.
        since: Commits, checkpoints and checksums of earlier versions are not looked at.
        advance: Called with the number of files that were looked at, for a progress bar.
        spark: A session whose jobs compute the statistics of data files; None for this process.

    Attributes:
        counts: Numbers of what was looked at, by name.
        not_checked: What could not be checked.
        agreed: Versions whose checksums agree with the log.
        bad_files: Data files whose deletion vectors have findings, by path as logged.
        refused: Why versions that the rest of the log contains cannot be opened, by version (`rebuilt`).
        statistics: Right statistics of data files whose logged ones are wrong, by path as logged.
    """

    def __init__(
        self, storage: Storage, root: str, since: int, advance: Callable[[int], object], spark: Any = None
    ) -> None:
        """Raises TableNotFound if there is no log, and StorageError if it cannot be listed."""
        self.storage, self.root, self.since, self.advance = storage, root, since, advance
        self.spark = spark
        try:
            self.entries: Sequence[FileInfo] = storage.list_from(join(root, LOG_FOLDER), "")
        except (FileNotFoundError, NotADirectoryError) as error:
            raise TableNotFound(f"There is no table to verify at {root}: it has no folder {LOG_FOLDER}.") from error
        self.listing: LogListing = read_listing(root, self.entries)
        self.counts: Counter[str] = Counter({"log files": len(self.entries)})
        self.not_checked: list[str] = []
        self.agreed: set[int] = set()
        self.bad_files: set[str] = set()
        self.refused: dict[int | None, str] = {}
        self.statistics: dict[str, str] = {}
        self.error: DeltaSkipError | None = None

    @cached_property
    def snapshot(self) -> Snapshot | None:
        """The latest version; None if it cannot be read, for the reason `error`."""
        try:
            return load_snapshot_of(self.storage, self.listing)
        except DeltaSkipError as error:
            self.error = error
            return None

    @property
    def readable(self) -> Snapshot:
        """The latest version, which a check that needs a snapshot has."""
        assert self.snapshot is not None
        return self.snapshot

    @cached_property
    def state(self) -> StateChange | None:
        """Protocol, metadata and domains of the latest version, also if it cannot be read; None if it is damaged."""
        if self.snapshot is not None:
            return self.snapshot.state
        try:
            for segment in candidate_segments(self.listing):
                try:
                    opened = segment.checkpoint and open_checkpoint(self.storage, self.root, segment.checkpoint)
                except CorruptLog:
                    continue
                tail = deferred_tail(self.storage, self.root, segment.commits).state
                return overlay(opened.state, tail) if opened else tail
        except DeltaSkipError:
            return None
        return None

    @property
    def version(self) -> int | None:
        """The latest version in the log."""
        return self.listing.latest

    @cached_property
    def checkpoints(self) -> Mapping[CheckpointRef, Snapshot | CorruptLog]:
        """The versions that the checkpoints since `since` contain by themselves, or why they cannot be read."""
        found: dict[CheckpointRef, Snapshot | CorruptLog] = {}
        for version in sorted(self.listing.checkpoints):
            for ref in self.listing.checkpoints[version] if version >= self.since else ():
                self.advance(len(ref.files))
                self.counts["checkpoints"] += 1
                try:
                    opened = open_checkpoint(self.storage, self.root, ref)
                    segment = make_segment(self.listing, version, ref, ())
                    tail = Tail.without_files(self.root, StateChange())
                    found[ref] = Snapshot(self.storage, segment, opened, tail)
                except CorruptLog as error:
                    found[ref] = error
                except DeltaSkipError as error:
                    self.not_checked.append(str(error))
        return found

    def rebuilt(self, version: int | None, without: Collection[str] = ()) -> Snapshot | None:
        """Return a version of the table from the log without some files; None if the rest does not contain it.

        Args:
            version: The version; None for the latest.
            without: Names of files: compactions of these names, and checkpoints that have one of them, are left out.
        """
        kept = {
            number: tuple(ref for ref in refs if all(file.file.name not in without for file in ref.files))
            for number, refs in self.listing.checkpoints.items()
        }
        compactions = tuple(each for each in self.listing.compactions if each.file.name not in without)
        checkpoints = {number: refs for number, refs in kept.items() if refs}
        listing = replace(self.listing, checkpoints=checkpoints, compactions=compactions)
        try:
            return load_snapshot_of(self.storage, listing, version)
        except UnsupportedFeature as error:
            self.refused[version] = str(error)
            return None
        except (DeltaSkipError, FileNotFoundError):
            return None
