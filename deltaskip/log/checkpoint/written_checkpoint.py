"""The result of writing a checkpoint; its import does not load the code that writes."""

from __future__ import annotations

from dataclasses import field

from deltaskip.actions import Sidecar
from deltaskip.records import dataclass
from deltaskip.shown import Shown


@dataclass(slots=True, repr=False)
class WrittenCheckpoint(Shown):
    """The checkpoint of one version.

    Attributes:
        version: Version of the table.
        path: Location of the checkpoint file.
        written: False if the version already had a checkpoint; the sizes below are then 0.
        num_actions: Number of actions in the checkpoint.
        num_adds: Number of active files.
        table_bytes: Size of the active files in bytes.
        size_bytes: Size of the checkpoint and its sidecars in bytes.
        sidecars: Sidecar files of a V2 checkpoint.
    """

    version: int
    path: str
    written: bool = True
    num_actions: int = 0
    num_adds: int = 0
    table_bytes: int = 0
    size_bytes: int = 0
    sidecars: list[Sidecar] = field(default_factory=list)
