"""The transaction log: file names, log segments, checkpoints, reconciliation, version checksums, snapshots, history."""

from deltaskip.log.checkpoint.read import CheckpointPart
from deltaskip.log.file_names import Kind, LogFile
from deltaskip.log.history import History, HistoryEntry, chosen_version, history, version_at_timestamp
from deltaskip.log.loading import (
    advanced,
    check_same_table,
    is_cleaned_up,
    is_fresh,
    load_snapshot,
    load_snapshot_of,
    refresh,
)
from deltaskip.log.one_table import same_table
from deltaskip.log.replay import Superseded
from deltaskip.log.segment import CheckpointRef, LogListing, LogSegment
from deltaskip.log.snapshot import Snapshot

__all__ = [
    "CheckpointPart",
    "CheckpointRef",
    "History",
    "HistoryEntry",
    "Kind",
    "LogFile",
    "LogListing",
    "LogSegment",
    "Snapshot",
    "Superseded",
    "advanced",
    "check_same_table",
    "chosen_version",
    "history",
    "is_cleaned_up",
    "is_fresh",
    "load_snapshot",
    "load_snapshot_of",
    "refresh",
    "same_table",
    "version_at_timestamp",
]
