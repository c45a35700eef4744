"""The counts that a plot shows, and its layout: columns of lines, and text. All formats draw the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from deltaskip.printable import printable
from deltaskip.records import dataclass

_LINES = 1024
"""Maximum number of lines."""

_Shares = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Matrix:
    """Counts of kept files: a row for each part of the predicate and one for the whole, a column for each bin of files.

    files_per_bin: files in a bin, in the order of the log; the last bin may contain fewer.
    """

    kept: npt.NDArray[np.int64]
    files_per_bin: int
    files: int

    def shares(self) -> _Shares:
        """Return the share of each bin's files that is kept, in the shape of `kept`."""
        bins = self.kept.shape[1]
        sizes = np.full(bins, self.files_per_bin, np.float64)
        if bins:
            sizes[-1] = self.files - (bins - 1) * self.files_per_bin
        return self.kept / sizes


class Bins:
    """Counts kept files bin by bin, in one pass over any number of them.

    A bin starts as one file; whenever the files outgrow _LINES bins, neighbours are merged.
    """

    def __init__(self, rows: int, capacity: int = _LINES) -> None:
        self._kept = np.zeros((rows, capacity), np.int64)
        self._capacity = capacity
        self._width = 1
        self._files = 0

    def reserve(self, files: int) -> npt.NDArray[np.int64]:
        """Reserve bins for the next `files` files of the log, and return the bin of each."""
        end = self._files + files
        while end > self._capacity * self._width:
            self._kept = np.pad(
                self._kept.reshape(len(self._kept), -1, 2).sum(axis=2), ((0, 0), (0, self._capacity // 2))
            )
            self._width *= 2
        bins = np.arange(self._files, end, dtype=np.int64) // self._width
        self._files = end
        return bins

    def count(self, row: int, bins: npt.NDArray[np.int64]) -> None:
        """Add one kept file to row `row` for each element of `bins`."""
        self._kept[row] += np.bincount(bins, minlength=self._capacity)

    def matrix(self) -> Matrix:
        """Return the counts."""
        used = -(-self._files // self._width)
        return Matrix(self._kept[:, :used].copy(), self._width, self._files)


Colour = tuple[int, int, int]

FRAME, SKIPPED = (150, 150, 150), (232, 232, 232)
# One kept file among thousands must be visible, so the ramps start at a tint that differs clearly from SKIPPED.
PART_RAMP: tuple[Colour, Colour] = ((146, 197, 222), (5, 72, 138))
ALL_RAMP: tuple[Colour, Colour] = ((253, 184, 120), (160, 50, 0))
TEXT_STYLES: dict[bool, tuple[int, Colour]] = {False: (12, (34, 34, 34)), True: (11, (102, 102, 102))}
"""Size in pixels and color of normal and of small text."""

_TOP, _LEFT, _MARGIN, _GAP, _HEIGHT = 58, 76, 12, 4, 560
_LEGEND_LINES, _LEGEND_CHARACTERS = 30, 110


@dataclass(frozen=True, slots=True)
class Text:
    """A line of text; (x, y) is its baseline at the left end, middle or right end, as `anchor` names it."""

    x: int
    y: int
    text: str
    small: bool = False
    anchor: Literal["left", "middle", "right"] = "left"


@dataclass(frozen=True, slots=True)
class Drawing:
    """A plot: its size, lines of text and columns, all in pixels.

    left, top: Upper left corner of the columns.
    lefts: Left edge of each column, from `left`; the last column is the whole predicate.
    """

    width: int
    height: int
    texts: tuple[Text, ...]
    left: int
    top: int
    lefts: tuple[int, ...]
    column_width: int
    column_height: int
    line_height: int


def drawing(
    matrix: Matrix, title: str, legend: Sequence[tuple[str, str]], width_of: Callable[[str, bool], int]
) -> Drawing:
    """Arrange a plot.

    Args:
        matrix: The counts.
        title: The first line of text.
        legend: For each row of the matrix, the part of the predicate and a note on it.
        width_of: The width of a text in pixels; small or not.
    """
    rows, bins = matrix.kept.shape
    column = max(4, min(56, 640 // max(rows, 1)))
    gap = _GAP if column > 8 else 1
    # A wider gap separates the whole predicate from its parts.
    lefts = [i * (column + gap) + (2 * _GAP if i == rows - 1 and rows > 1 else 0) for i in range(rows)]
    line = max(1, _HEIGHT // bins) if bins else 0
    height = bins * line
    texts = [Text(_MARGIN, 22, printable(title))]
    if height:
        texts.append(Text(_LEFT - 8, _TOP + 9, "first file", True, "right"))
        texts.append(Text(_LEFT - 8, _TOP + height, "last file", True, "right"))
    for row, x in enumerate(lefts):
        last = row == rows - 1
        if column >= 20 or last:
            texts.append(Text(_LEFT + x + column // 2, _TOP - 8, "all" if last else str(row + 1), anchor="middle"))
    text_left = _LEFT + lefts[-1] + column + 28
    notes = _notes(matrix, legend)
    texts += [Text(text_left, _TOP + 11 + 15 * i, text, small) for i, (text, small) in enumerate(notes)]
    return Drawing(
        max(text.x + width_of(text.text, text.small) for text in texts if text.anchor == "left") + _MARGIN,
        _TOP + max(height, 15 * len(notes)) + 2 * _MARGIN,
        tuple(text for text in texts if text.text),
        _LEFT,
        _TOP,
        tuple(lefts),
        column,
        height,
        line,
    )


def levels(matrix: Matrix, count: int) -> npt.NDArray[np.int64]:
    """Return 0 where no file is kept, `count` where every file is, and a value between them otherwise."""
    shares = matrix.shares()
    found = np.ceil(shares * count).astype(np.int64)
    return np.where((shares < 1) & (found == count), count - 1, found)


def ramp(ends: tuple[Colour, Colour], count: int) -> list[Colour]:
    """Return `count` colors from one end to the other."""
    low, high = np.array(ends[0]), np.array(ends[1])
    steps = [low + (high - low) * (i / (count - 1)) for i in range(count)]
    return [(round(step[0]), round(step[1]), round(step[2])) for step in steps]


def _notes(matrix: Matrix, legend: Sequence[tuple[str, str]]) -> list[tuple[str, bool]]:
    """Lines next to the columns, each with whether it is small."""
    notes: list[tuple[str, bool]] = []
    for i, (part, note) in enumerate(legend, 1):
        if len(notes) >= 2 * _LEGEND_LINES and i < len(legend):
            continue
        name = "all" if i == len(legend) else str(i)
        notes += [(_shortened(f"{name}  {part}"), False), (_shortened(f"   {note}"), True)]
    if len(legend) > _LEGEND_LINES + 1:
        notes.insert(-2, (f"and {len(legend) - 1 - _LEGEND_LINES} more parts", True))
    per_line = "one file" if matrix.files_per_bin == 1 else f"{matrix.files_per_bin:,} files"
    notes += [("", False), (f"Each line is {per_line}, in the order of the log.", True)]
    return [*notes, ("Grey is skipped; blue is kept by the part, orange by all. Pale: only some of the files.", True)]


def _shortened(text: str) -> str:
    text = printable(text)
    return text if len(text) <= _LEGEND_CHARACTERS else text[: _LEGEND_CHARACTERS - 1] + "…"
