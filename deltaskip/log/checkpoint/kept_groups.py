"""Which row groups of a snapshot's checkpoint are copied into the next checkpoint, and which are written again.

A row group is copied if this version of deltaskip wrote it for the same columns, and all its actions are still part of
the state. So that their number stays small, row groups grow geometrically: one is written again, joined with what
follows it, unless it has several times as many rows. A checkpoint of n files then writes O(changes × log n) rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import chain

import pyarrow as pa

from deltaskip.fork_safety import cached_property
from deltaskip.log.checkpoint.action_structs import AddRows
from deltaskip.log.checkpoint.read import CheckpointPart
from deltaskip.log.checkpoint.tombstones import Tombstones
from deltaskip.log.snapshot import Snapshot
from deltaskip.records import dataclass
from deltaskip.stats.row_group_copy import Fields, read_footer_fields, row_group, row_groups

ENCODING = b"deltaskip.encoding"
"""Key of the metadata of a checkpoint's file that says how the rows are encoded; only equal ones are copied."""

# A row group is copied if it has more than so many times the rows that follow it.
_TIMES = 8
FEW_ROWS = 1024
"""Encoding fewer rows takes less time, and fewer bytes, than another row group: they are not copied."""

# Row groups of fewer rows are counted in less time than it takes to start threads.
_ONE_THREAD_ROWS = 20_480


class SourceFile:
    """A file of a checkpoint, whose row groups are copied."""

    def __init__(self, part: CheckpointPart) -> None:
        self.part = part

    @cached_property
    def footer(self) -> Fields:
        """The footer. Raises CorruptLog."""
        with self.part.opened() as source:
            return read_footer_fields(source)[0]

    def groups(self, numbers: Sequence[int]) -> list[Fields]:
        """The metadata of row groups, which a copy changes."""
        groups = row_groups(self.footer)
        return [row_group(groups[number], to_copy=True) for number in numbers]


@dataclass(frozen=True, slots=True)
class KeptGroups:
    """Row groups of one file that are copied.

    Attributes:
        action: The only action in them.
        source: The file.
        numbers: Their indexes in the file, ascending.
        rows: Number of their rows.
        size: Bytes of the files that they add.
    """

    action: str
    source: SourceFile
    numbers: tuple[int, ...]
    rows: int
    size: int


@dataclass(frozen=True, slots=True)
class RowsToWrite:
    """Actions that are written.

    Attributes:
        action: The action.
        rows: About their number.
        pieces: Returns them, in the order of the log.
    """

    action: str
    rows: int
    pieces: Callable[[], Iterator[pa.StructArray]]


Piece = KeptGroups | RowsToWrite


@dataclass(frozen=True, slots=True)
class _OldGroup:
    """A row group of the snapshot's checkpoint.

    Attributes:
        part: Its file.
        number: Its index in the file.
        rows: Number of its actions that are part of the state.
        size: Bytes of the files of its adds that are active.
        whole: Whether it contains nothing else and may be copied.
    """

    part: CheckpointPart
    number: int
    rows: int
    size: int = 0
    whole: bool = False

    @property
    def bytes_in_memory(self) -> int:
        """About the bytes of its decoded columns: eight for each value, and their encoded texts."""
        group = self.part.metadata.row_group(self.number)
        return int(group.num_rows * group.num_columns * 8 + group.total_byte_size)


def pieces_of_adds(snapshot: Snapshot, adds: AddRows, encoding: bytes | None, group_bytes: int) -> list[Piece]:
    """The adds of a snapshot's checkpoint, in the order of the log. Raises CorruptLog.

    Args:
        snapshot: The snapshot.
        adds: The column that is written.
        encoding: The encoding of the file that is written; row groups of files with others are not copied. None copies
            nothing.
        group_bytes: Bytes in memory beyond which row groups are not joined.
    """
    superseded = snapshot.superseded

    def counted(where: tuple[CheckpointPart, int]) -> _OldGroup:
        part, number = where
        if not _is_encoded(part, encoding):
            return _OldGroup(part, number, part.add_rows(number))
        rows, size = snapshot.add_group(part, number).totals(superseded)
        return _OldGroup(part, number, rows, size, rows == part.metadata.row_group(number).num_rows)

    groups = [(part, number) for part in snapshot.checkpoint_parts for number in part.row_groups_with("add")]
    if sum(part.add_rows(number) for part, number in groups) <= _ONE_THREAD_ROWS:
        old = [*map(counted, groups)]
    else:
        with ThreadPoolExecutor(pa.cpu_count(), "deltaskip") as pool:
            old = [*pool.map(counted, groups)]
    newer = RowsToWrite("add", len(snapshot.commit_adds), adds.of_commits)
    return _pieces(old, adds.of_group, newer, adds.rows, group_bytes)


def pieces_of_removes(removes: Tombstones, encoding: bytes | None, group_rows: int, group_bytes: int) -> list[Piece]:
    """The tombstones of a snapshot's checkpoint, as `pieces_of_adds`."""
    old = []
    for part, number in removes.groups:
        rows = part.metadata.row_group(number).num_rows
        whole = _is_encoded(part, encoding) and removes.may_stay(part, number)
        old.append(_OldGroup(part, number, rows, 0, whole))
    newer = RowsToWrite("remove", len(removes.newer), lambda: iter([removes.newer]))
    return _pieces(old, removes.of_group, newer, group_rows, group_bytes)


def is_kept(whole: bool, rows: int, newer: int, large: int) -> bool:
    """Whether rows are kept as they are, not written again with those that follow.

    Args:
        whole: Whether they may be.
        rows: Their number.
        newer: Number of the rows that follow and could be joined with them.
        large: Number of rows that are always kept.
    """
    return whole and (rows >= large or rows > max(_TIMES * newer, min(FEW_ROWS, large)))


def _pieces(
    old: Sequence[_OldGroup],
    rewritten: Callable[[CheckpointPart, int], Iterator[pa.StructArray]],
    newer: RowsToWrite,
    group_rows: int,
    group_bytes: int,
) -> list[Piece]:
    """The old row groups and the newer rows, in their order. Neighbours that are written are joined."""
    rows = newer.rows
    keeps: list[bool] = []
    for group in reversed(old):
        large = group.rows if 2 * group.bytes_in_memory >= group_bytes else -(-group_rows // 2)
        keeps.append(2 * group.rows <= 3 * group_rows and is_kept(group.whole, group.rows, rows, large))
        # What follows a large row group is not joined with what precedes it.
        rows = 0 if keeps[-1] and group.rows >= large else rows + group.rows
    found: list[Piece] = []
    sources: dict[str, SourceFile] = {}
    waiting: list[_OldGroup] = []

    def written(more: RowsToWrite | None = None) -> None:
        held, rows = tuple(waiting), sum(group.rows for group in waiting) + (0 if more is None else more.rows)
        waiting.clear()
        if not rows:
            return
        every: list[Callable[[], Iterator[pa.StructArray]]]
        every = [partial(rewritten, group.part, group.number) for group in held]
        every += [] if more is None else [more.pieces]
        found.append(RowsToWrite(newer.action, rows, lambda: chain.from_iterable(each() for each in every)))

    for group, keep in zip(old, reversed(keeps), strict=True):
        if not keep:
            waiting.append(group)
            continue
        written()
        source = sources.setdefault(group.part.path, SourceFile(group.part))
        last = found[-1] if found else None
        numbers: tuple[int, ...] = (group.number,)
        rows, size = group.rows, group.size
        if isinstance(last, KeptGroups) and last.source is source:
            found.pop()
            numbers, rows, size = (*last.numbers, *numbers), last.rows + rows, last.size + size
        found.append(KeptGroups(newer.action, source, numbers, rows, size))
    written(newer)
    return found


def _is_encoded(part: CheckpointPart, encoding: bytes | None) -> bool:
    return encoding is not None and (part.metadata.metadata or {}).get(ENCODING) == encoding
