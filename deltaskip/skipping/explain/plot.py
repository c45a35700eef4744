"""The picture of an explanation: files down, parts of the predicate across, kept or skipped; as PNG or SVG.

Files stand in the order of the log. Where there are more of them than lines, a line stands for several and its colour
says which share of them is kept. Text is in the SVG, and in the PNG's metadata.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

__all__ = ["LINES", "Bins", "Matrix", "write_picture"]

LINES = 1024
"""Most lines of a picture."""

_Shares = npt.NDArray[np.float64]
_Pixels = npt.NDArray[np.uint8]
_Colour = tuple[int, int, int]

_WHITE, _FRAME, _SKIPPED = (255, 255, 255), (150, 150, 150), (232, 232, 232)
# Even one kept file among thousands must be seen, so the ramps start at a tint well away from _SKIPPED.
_PART_RAMP: tuple[_Colour, _Colour] = ((146, 197, 222), (5, 72, 138))
_ALL_RAMP: tuple[_Colour, _Colour] = ((253, 184, 120), (160, 50, 0))
_PNG_LEVELS, _SVG_LEVELS = 126, 16
_MARGIN, _GAP, _HEIGHT = 12, 4, 560
_LEGEND_LINES, _LEGEND_CHARACTERS = 30, 110


@dataclass(frozen=True, slots=True)
class Matrix:
    """Kept files, a row for each part of the predicate and a last one for the whole, a column for each bin of files.

    files_per_bin: files that a bin stands for, in the order of the log; the last bin may hold fewer.
    """

    kept: npt.NDArray[np.int64]
    files_per_bin: int
    files: int

    def shares(self) -> _Shares:
        """Share of each bin's files that is kept, in the shape of `kept`."""
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
        """Makes room for the next `files` files of the log; the bin of each."""
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
        """Adds one kept file to row `row` for each element of `bins`."""
        self._kept[row] += np.bincount(bins, minlength=self._capacity)

    def matrix(self) -> Matrix:
        """What was counted."""
        used = -(-self._files // self._width)
        return Matrix(self._kept[:, :used].copy(), self._width, self._files)


def write_picture(path: Path, matrix: Matrix, title: str, legend: Sequence[tuple[str, str]]) -> None:
    """Writes the picture to `path`, as SVG or PNG by its suffix.

    legend: for each row of the matrix, the part of the predicate and what is to be said of it. Raises ValueError for
    any other suffix, OSError where the file cannot be written.
    """
    match path.suffix.lower():
        case ".svg":
            path.write_text(_svg(matrix, title, legend), encoding="utf-8")
        case ".png":
            text = "\n".join([title, *(f"{i}: {part}; {said}" for i, (part, said) in enumerate(legend, 1))])
            path.write_bytes(_png(matrix, text))
        case _:
            raise ValueError(f"{path.name} is neither a .png nor a .svg: name the picture after one of them")


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where the columns stand, in pixels from the matrix's upper left corner."""

    lefts: tuple[int, ...]
    column_width: int
    line_height: int
    width: int
    height: int


def _layout(matrix: Matrix) -> _Layout:
    rows, bins = matrix.kept.shape
    column = max(4, min(56, 640 // max(rows, 1)))
    gap = _GAP if column > 8 else 1
    # The whole predicate stands apart from its parts.
    lefts = [i * (column + gap) + (2 * _GAP if i == rows - 1 and rows > 1 else 0) for i in range(rows)]
    line = max(1, _HEIGHT // bins) if bins else 0
    return _Layout(tuple(lefts), column, line, lefts[-1] + column, bins * line)


def _ramp(ends: tuple[_Colour, _Colour], levels: int) -> list[_Colour]:
    low, high = np.array(ends[0]), np.array(ends[1])
    steps = [low + (high - low) * (i / (levels - 1)) for i in range(levels)]
    return [(round(step[0]), round(step[1]), round(step[2])) for step in steps]


def _levels(shares: _Shares, levels: int) -> npt.NDArray[np.int64]:
    """0 where nothing is kept, `levels` where everything is, and between them only for what is between."""
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
    """Lines beside the matrix, each with its style."""
    small = ' class="small"'
    notes: list[tuple[str, str]] = []
    for i, (part, said) in enumerate(legend, 1):
        if len(notes) >= 2 * _LEGEND_LINES and i < len(legend):
            continue
        name = "all" if i == len(legend) else str(i)
        notes += [(_shortened(f"{name}  {part}"), ""), (_shortened(f"   {said}"), small)]
    if len(legend) > _LEGEND_LINES + 1:
        notes.insert(-2, (f"and {len(legend) - 1 - _LEGEND_LINES} more parts", small))
    per_line = "a file" if matrix.files_per_bin == 1 else f"{matrix.files_per_bin:,} files"
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
    """Text that XML 1.0 can hold."""
    shown = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
    return shown.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
