"""The plot of an explanation: files down, parts of the predicate across, kept or skipped; as PNG or SVG.

Files are in the order of the log. If there are more files than lines, a line represents several of them and its color
shows the share that is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

import numpy as np
import numpy.typing as npt

from deltaskip.errors import InvalidArgument
from deltaskip.skipping.explain.drawing import (
    ALL_RAMP,
    FRAME,
    PART_RAMP,
    SKIPPED,
    Colour,
    Drawing,
    Text,
    drawing,
    levels,
    ramp,
)
from deltaskip.skipping.explain.matrix import Matrix

_LEVELS = 16
_CHARACTER_WIDTH = 8
_ANCHORS = {"left": "", "middle": "m", "right": "e"}
_STYLE = (
    "<style>text{font:12px ui-monospace,Menlo,Consolas,monospace;fill:#222}"
    ".small{font-size:11px;fill:#666}.m{text-anchor:middle}.e{text-anchor:end}</style>"
)


def write_plot(path: Path, matrix: Matrix, title: str, legend: Sequence[tuple[str, str]]) -> None:
    """Write the plot to `path`, as SVG or PNG by its suffix.

    Args:
        path: The file.
        matrix: The counts.
        title: The first line of text.
        legend: For each row of the matrix, the part of the predicate and a note on it.

    Raises:
        InvalidArgument: The suffix is not `.png` or `.svg`, or it is `.png` and Pillow is not installed.
        OSError: The file cannot be written.
    """
    match path.suffix.lower():
        case ".svg":
            path.write_text(plot_svg(matrix, title, legend), encoding="utf-8")
        case ".png":
            from deltaskip.skipping.explain.png import png

            path.write_bytes(png(matrix, title, legend))
        case _:
            raise InvalidArgument(f"The path of a plot must end in .png or .svg, not {path.name!r}.")


def plot_svg(matrix: Matrix, title: str, legend: Sequence[tuple[str, str]]) -> str:
    """Return the plot as an SVG document; the arguments are those of `write_plot`."""
    plan = drawing(matrix, title, legend, lambda text, _: _CHARACTER_WIDTH * len(text))
    size = f'width="{plan.width}" height="{plan.height}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {plan.width} {plan.height}">',
        _STYLE,
        f'<rect {size} fill="#fff"/>',
    ]
    kept = levels(matrix, _LEVELS)
    for row, x in enumerate(plan.lefts):
        colours = [SKIPPED, *ramp(ALL_RAMP if row == len(plan.lefts) - 1 else PART_RAMP, _LEVELS)]
        parts.append(f'<g transform="translate({plan.left + x} {plan.top})">')
        parts += _runs(kept[row], colours, plan)
        frame = f'<rect width="{plan.column_width}" height="{plan.column_height}" fill="none" stroke="{_rgb(FRAME)}"/>'
        parts += [frame, "</g>"]
    return "\n".join([*parts, *map(_text, plan.texts), "</svg>", ""])


def _runs(kept: npt.NDArray[np.int64], colours: Sequence[Colour], plan: Drawing) -> list[str]:
    """One path for each colour, a rectangle for each run of lines that has it."""
    if not len(kept):
        return []
    starts = np.concatenate([[0], np.flatnonzero(np.diff(kept)) + 1])
    ends = np.concatenate([starts[1:], [len(kept)]])
    rectangles: dict[int, list[str]] = {}
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        y, height = start * plan.line_height, (end - start) * plan.line_height
        shape = f"M0 {y}h{plan.column_width}v{height}h-{plan.column_width}z"
        rectangles.setdefault(int(kept[start]), []).append(shape)
    return [
        f'<path fill="{_rgb(colours[level])}" shape-rendering="crispEdges" d="{"".join(shapes)}"/>'
        for level, shapes in sorted(rectangles.items())
    ]


def _text(text: Text) -> str:
    style = f"{'small' if text.small else ''} {_ANCHORS[text.anchor]}".strip()
    named = f' class="{style}"' if style else ""
    return f'<text{named} x="{text.x}" y="{text.y}">{escape(text.text, quote=False)}</text>'


def _rgb(colour: Colour) -> str:
    return "rgb({},{},{})".format(*colour)
