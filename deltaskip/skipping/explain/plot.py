"""The plot of an explanation: files down, parts of the predicate across, kept or skipped; as PNG or SVG.

Files are in the order of the log. If there are more files than lines, a line represents several of them and its color
shows the share that is kept. The text is part of the SVG, and of the PNG's metadata.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from deltaskip.errors import InvalidArgument

__all__ = ["LINES", "Bins", "Matrix", "write_plot"]

LINES = 1024
"""Maximum number of lines."""

_Shares = npt.NDArray[np.float64]
_Pixels = npt.NDArray[np.uint8]
_Colour = tuple[int, int, int]

_WHITE, _FRAME, _SKIPPED = (255, 255, 255), (150, 150, 150), (232, 232, 232)
# One kept file among thousands must be visible, so the ramps start at a tint that differs clearly from _SKIPPED.
_PART_RAMP: tuple[_Colour, _Colour] = ((146, 197, 222), (5, 72, 138))
_ALL_RAMP: tuple[_Colour, _Colour] = ((253, 184, 120), (160, 50, 0))
_PNG_LEVELS, _SVG_LEVELS = 126, 16
_MARGIN, _GAP, _HEIGHT = 12, 4, 560
_LEGEND_LINES, _LEGEND_CHARACTERS = 30, 110


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

    A bin starts as one file; whenever the files outgrow LINES bins, neighbours are merged.
    """

    def __init__(self, rows: int, capacity: int = LINES) -> None:
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


def write_plot(path: Path, matrix: Matrix, title: str, legend: Sequence[tuple[str, str]]) -> None:
    """Write the plot to `path`, as SVG or PNG by its suffix.

    Args:
        path: The file.
        matrix: The counts.
        title: The first line of text.
        legend: For each row of the matrix, the part of the predicate and a note on it.

    Raises:
        InvalidArgument: The suffix is not `.png` or `.svg`.
        OSError: The file cannot be written.
    """
    match path.suffix.lower():
        case ".svg":
            path.write_text(_svg(matrix, title, legend), encoding="utf-8")
        case ".png":
            text = "\n".join([title, *(f"{i}: {part}; {note}" for i, (part, note) in enumerate(legend, 1))])
            path.write_bytes(_png(matrix, text))
        case _:
            raise InvalidArgument(f"The plot {path.name} must have the suffix .png or .svg.")


@dataclass(frozen=True, slots=True)
class _Layout:
    """Positions of the columns, in pixels from the upper left corner of the matrix."""

    lefts: tuple[int, ...]
    column_width: int
    line_height: int
    width: int
    height: int


def _layout(matrix: Matrix) -> _Layout:
    rows, bins = matrix.kept.shape
    column = max(4, min(56, 640 // max(rows, 1)))
    gap = _GAP if column > 8 else 1
    # A wider gap separates the whole predicate from its parts.
    lefts = [i * (column + gap) + (2 * _GAP if i == rows - 1 and rows > 1 else 0) for i in range(rows)]
    line = max(1, _HEIGHT // bins) if bins else 0
    return _Layout(tuple(lefts), column, line, lefts[-1] + column, bins * line)


def _ramp(ends: tuple[_Colour, _Colour], levels: int) -> list[_Colour]:
    low, high = np.array(ends[0]), np.array(ends[1])
    steps = [low + (high - low) * (i / (levels - 1)) for i in range(levels)]
    return [(round(step[0]), round(step[1]), round(step[2])) for step in steps]


def _levels(shares: _Shares, levels: int) -> npt.NDArray[np.int64]:
    """0 where no file is kept, `levels` where every file is, and a value between them otherwise."""
    found = np.ceil(shares * levels).astype(np.int64)
    return np.where((shares < 1) & (found == levels), levels - 1, found)


def _png(matrix: Matrix, text: str) -> bytes:
    layout = _layout(matrix)
    pixels: _Pixels = np.zeros((layout.height + 2 * _MARGIN, layout.width + 2 * _MARGIN), np.uint8)
    levels = _levels(matrix.shares(), _PNG_LEVELS)
    for row, left in enumerate(layout.lefts):
        x, end = _MARGIN + left, _MARGIN + left + layout.column_width
        pixels[_MARGIN - 1 : _MARGIN + layout.height + 1, x - 1 : end + 1] = 1
        offset = 2 + (_PNG_LEVELS if row == len(layout.lefts) - 1 else 0)
        colours = np.where(levels[row] == 0, 2, levels[row] + offset).astype(np.uint8)
        pixels[_MARGIN : _MARGIN + layout.height, x:end] = np.repeat(colours, layout.line_height)[:, None]
    palette = [_WHITE, _FRAME, _SKIPPED, *_ramp(_PART_RAMP, _PNG_LEVELS), *_ramp(_ALL_RAMP, _PNG_LEVELS)]
    height, width = pixels.shape
    # Filter type 0 before each line (PNG specification, 9.2).
    lines = np.concatenate([np.zeros((height, 1), np.uint8), pixels], axis=1)
    return b"".join(
        [
            b"\x89PNG\r\n\x1a\n",
            _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),
            _chunk(b"PLTE", bytes(channel for colour in palette for channel in colour)),
            _chunk(b"iTXt", b"Description\0\0\0\0\0" + text.replace("\0", "").encode()),
            _chunk(b"IDAT", zlib.compress(lines.tobytes(), 9)),
            _chunk(b"IEND", b""),
        ]
    )


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _svg(matrix: Matrix, title: str, legend: Sequence[tuple[str, str]]) -> str:
    layout = _layout(matrix)
    top, left = 58, 76
    notes = _notes(matrix, legend)
    text_left = left + layout.width + 28
    longest = max((len(text) for text, _ in notes), default=0)
    width = max(text_left + 7 * longest, 8 * len(title)) + _MARGIN
    height = max(top + layout.height, top + 15 * len(notes)) + 2 * _MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">',
        '<style>text{font:12px ui-monospace,Menlo,Consolas,monospace;fill:#222}'
        '.small{font-size:11px;fill:#666}.m{text-anchor:middle}.e{text-anchor:end}</style>',
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
        f'<text x="{_MARGIN}" y="22">{_xml(title)}</text>',
    ]
    if layout.height:
        parts.append(f'<text class="small e" x="{left - 8}" y="{top + 9}">first file</text>')
        parts.append(f'<text class="small e" x="{left - 8}" y="{top + layout.height}">last file</text>')
    levels = _levels(matrix.shares(), _SVG_LEVELS)
    for row, x in enumerate(layout.lefts):
        last = row == len(layout.lefts) - 1
        if layout.column_width >= 20 or last:
            middle = left + x + layout.column_width // 2
            parts.append(f'<text class="m" x="{middle}" y="{top - 8}">{"all" if last else row + 1}</text>')
        ramp = [_SKIPPED, *_ramp(_ALL_RAMP if last else _PART_RAMP, _SVG_LEVELS)]
        parts.append(f'<g transform="translate({left + x} {top})">')
        parts += _runs(levels[row], ramp, layout)
        parts.append(_rectangle(layout.column_width, layout.height))
        parts.append("</g>")
    for i, (text, style) in enumerate(notes):
        parts.append(f'<text{style} x="{text_left}" y="{top + 11 + 15 * i}">{_xml(text)}</text>')
    return "\n".join([*parts, "</svg>", ""])


def _notes(matrix: Matrix, legend: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Lines next to the matrix, each with its style."""
    small = ' class="small"'
    notes: list[tuple[str, str]] = []
    for i, (part, note) in enumerate(legend, 1):
        if len(notes) >= 2 * _LEGEND_LINES and i < len(legend):
            continue
        name = "all" if i == len(legend) else str(i)
        notes += [(_shortened(f"{name}  {part}"), ""), (_shortened(f"   {note}"), small)]
    if len(legend) > _LEGEND_LINES + 1:
        notes.insert(-2, (f"and {len(legend) - 1 - _LEGEND_LINES} more parts", small))
    per_line = "one file" if matrix.files_per_bin == 1 else f"{matrix.files_per_bin:,} files"
    notes += [("", ""), (f"Each line is {per_line}, in the order of the log.", small)]
    return [*notes, ("Grey is skipped; blue is kept by the part, orange by all. Pale: only some of the files.", small)]


def _runs(levels: npt.NDArray[np.int64], ramp: Sequence[_Colour], layout: _Layout) -> list[str]:
    """One path for each colour, a rectangle for each run of lines that has it."""
    if not len(levels):
        return []
    starts = np.concatenate([[0], np.flatnonzero(np.diff(levels)) + 1])
    ends = np.concatenate([starts[1:], [len(levels)]])
    rectangles: dict[int, list[str]] = {}
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        y, height = start * layout.line_height, (end - start) * layout.line_height
        shape = f"M0 {y}h{layout.column_width}v{height}h-{layout.column_width}z"
        rectangles.setdefault(int(levels[start]), []).append(shape)
    return [
        f'<path fill="rgb{ramp[level]}" shape-rendering="crispEdges" d="{"".join(shapes)}"/>'.replace(", ", ",")
        for level, shapes in sorted(rectangles.items())
    ]


def _rectangle(width: int, height: int) -> str:
    return f'<rect width="{width}" height="{height}" fill="none" stroke="rgb{_FRAME}"/>'.replace(", ", ",")


def _shortened(text: str) -> str:
    return text if len(text) <= _LEGEND_CHARACTERS else text[: _LEGEND_CHARACTERS - 1] + "…"


def _xml(text: str) -> str:
    """Escape text for XML 1.0."""
    shown = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
    return shown.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
