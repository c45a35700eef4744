"""The plot of an explanation: files down, parts of the predicate across, kept or skipped; as PNG or SVG.

Files are in the order of the log. If there are more files than lines, a line represents several of them and its color
shows the share that is kept.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from functools import cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from deltaskip.errors import InvalidArgument
from deltaskip.extras import install_command
from deltaskip.skipping.explain import drawing

if TYPE_CHECKING:
    from PIL.ImageFont import FreeTypeFont

_SVG_LEVELS = 16
_CHARACTER_WIDTH = 8
_SVG_ANCHORS = {"left": "", "middle": "m", "right": "e"}
_STYLE = (
    "<style>text{font:12px ui-monospace,Menlo,Consolas,monospace;fill:#222}"
    ".small{font-size:11px;fill:#666}.m{text-anchor:middle}.e{text-anchor:end}</style>"
)
_PNG_LEVELS = 126
_PNG_ANCHORS = {"left": "ls", "middle": "ms", "right": "rs"}
# Fonts of the system with more than Latin letters; Pillow's default font has ASCII and some punctuation.
_FONTS = ("DejaVuSansMono.ttf", "NotoSansMono-Regular.ttf", "LiberationMono-Regular.ttf", "DejaVuSans.ttf")
_NO_CHARACTER = "\uffff"


def write_plot(path: Path, matrix: drawing.Matrix, title: str, legend: Sequence[tuple[str, str]]) -> None:
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
            path.write_bytes(plot_png(matrix, title, legend))
        case _:
            raise InvalidArgument(f"The path of a plot must end in .png or .svg, not {path.name!r}.")


def plot_svg(matrix: drawing.Matrix, title: str, legend: Sequence[tuple[str, str]]) -> str:
    """Return the plot as an SVG document; arguments as for `write_plot`."""
    plan = drawing.drawing(matrix, title, legend, lambda text, _: _CHARACTER_WIDTH * len(text))
    size = f'width="{plan.width}" height="{plan.height}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {plan.width} {plan.height}">',
        _STYLE,
        f'<rect {size} fill="#fff"/>',
    ]
    kept = drawing.levels(matrix, _SVG_LEVELS)
    for row, x in enumerate(plan.lefts):
        colours = [
            drawing.SKIPPED,
            *drawing.ramp(drawing.ALL_RAMP if row == len(plan.lefts) - 1 else drawing.PART_RAMP, _SVG_LEVELS),
        ]
        parts.append(f'<g transform="translate({plan.left + x} {plan.top})">')
        parts += _runs(kept[row], colours, plan)
        size_of_column = f'width="{plan.column_width}" height="{plan.column_height}"'
        parts += [f'<rect {size_of_column} fill="none" stroke="{_rgb(drawing.FRAME)}"/>', "</g>"]
    return "\n".join([*parts, *map(_text, plan.texts), "</svg>", ""])


def _runs(kept: npt.NDArray[np.int64], colours: Sequence[drawing.Colour], plan: drawing.Drawing) -> list[str]:
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


def _text(text: drawing.Text) -> str:
    style = f"{'small' if text.small else ''} {_SVG_ANCHORS[text.anchor]}".strip()
    named = f' class="{style}"' if style else ""
    return f'<text{named} x="{text.x}" y="{text.y}">{escape(text.text, quote=False)}</text>'


def _rgb(colour: drawing.Colour) -> str:
    return "rgb({},{},{})".format(*colour)


def plot_png(matrix: drawing.Matrix, title: str, legend: Sequence[tuple[str, str]]) -> bytes:
    """Return the plot as a PNG file. Its metadata contain the title and the legend as text.

    Raises:
        InvalidArgument: Pillow is not installed.
    """
    try:
        from PIL import Image, ImageDraw
        from PIL.PngImagePlugin import PngInfo
    except ModuleNotFoundError as error:
        raise InvalidArgument(
            f"A plot as PNG needs Pillow: {install_command('plot')}, or name a file that ends in .svg."
        ) from error

    def width_of(text: str, small: bool) -> int:
        return round(_font(small).getlength(_drawable(text, small)))

    plan = drawing.drawing(matrix, title, legend, width_of)
    pixels = np.full((plan.height, plan.width, 3), 255, np.uint8)
    kept = drawing.levels(matrix, _PNG_LEVELS)
    for row, x in enumerate(plan.lefts):
        left, top = plan.left + x, plan.top
        right, bottom = left + plan.column_width, top + plan.column_height
        pixels[top - 1 : bottom + 1, left - 1 : right + 1] = drawing.FRAME
        shades = drawing.ramp(drawing.ALL_RAMP if row == len(plan.lefts) - 1 else drawing.PART_RAMP, _PNG_LEVELS)
        colours = np.array([drawing.SKIPPED, *shades], np.uint8)
        pixels[top:bottom, left:right] = np.repeat(colours[kept[row]], plan.line_height, axis=0)[:, None]
    image = Image.fromarray(pixels)
    draw = ImageDraw.Draw(image)
    for text in plan.texts:
        _, colour = drawing.TEXT_STYLES[text.small]
        shown = _drawable(text.text, text.small)
        draw.text((text.x, text.y), shown, fill=colour, font=_font(text.small), anchor=_PNG_ANCHORS[text.anchor])
    described = "\n".join([title, *(f"{i}: {part}; {note}" for i, (part, note) in enumerate(legend, 1))])
    metadata = PngInfo()
    metadata.add_itxt("Description", described.replace("\0", ""))
    out = io.BytesIO()
    image.save(out, "PNG", optimize=True, pnginfo=metadata)
    return out.getvalue()


@cache
def _font(small: bool) -> FreeTypeFont:
    from PIL import ImageFont

    size, _ = drawing.TEXT_STYLES[small]
    for name in _FONTS:
        try:
            return ImageFont.truetype(name, size)
        except OSError:
            continue
    found = ImageFont.load_default(size)
    assert isinstance(found, ImageFont.FreeTypeFont)
    return found


def _drawable(text: str, small: bool) -> str:
    """The text with characters that the font lacks as escapes."""
    return "".join(c if c.isascii() or _has(c, small) else ascii(c)[1:-1] for c in text)


@cache
def _has(character: str, small: bool) -> bool:
    font = _font(small)
    return bytes(font.getmask(character)) != bytes(font.getmask(_NO_CHARACTER))
