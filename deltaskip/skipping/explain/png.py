"""A plot as PNG, drawn by Pillow."""

from __future__ import annotations

import io
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from deltaskip.errors import InvalidArgument
from deltaskip.skipping.explain.drawing import ALL_RAMP, FRAME, PART_RAMP, SKIPPED, TEXT, drawing, levels, ramp
from deltaskip.skipping.explain.matrix import Matrix

if TYPE_CHECKING:
    from PIL.ImageFont import FreeTypeFont

_LEVELS = 126
_ANCHORS = {"left": "ls", "middle": "ms", "right": "rs"}
# Fonts of the system with more than Latin letters; Pillow's own has ASCII and some punctuation.
_FONTS = ("DejaVuSansMono.ttf", "NotoSansMono-Regular.ttf", "LiberationMono-Regular.ttf", "DejaVuSans.ttf")
_NO_CHARACTER = "\uffff"


def png(matrix: Matrix, title: str, legend: Sequence[tuple[str, str]]) -> bytes:
    """Return the plot as a PNG file. Its metadata contain the title and the legend as text.

    Raises:
        InvalidArgument: Pillow is not installed.
    """
    try:
        from PIL import Image, ImageDraw
        from PIL.PngImagePlugin import PngInfo
    except ModuleNotFoundError as error:
        raise InvalidArgument(
            "A plot as PNG needs Pillow: pip install 'deltaskip[plot]', or name a file that ends in .svg."
        ) from error

    def width_of(text: str, small: bool) -> int:
        return round(_font(small).getlength(_drawable(text, small)))

    plan = drawing(matrix, title, legend, width_of)
    pixels = np.full((plan.height, plan.width, 3), 255, np.uint8)
    kept = levels(matrix, _LEVELS)
    for row, x in enumerate(plan.lefts):
        left, top = plan.left + x, plan.top
        right, bottom = left + plan.column_width, top + plan.column_height
        pixels[top - 1 : bottom + 1, left - 1 : right + 1] = FRAME
        colours = np.array([SKIPPED, *ramp(ALL_RAMP if row == len(plan.lefts) - 1 else PART_RAMP, _LEVELS)], np.uint8)
        pixels[top:bottom, left:right] = np.repeat(colours[kept[row]], plan.line_height, axis=0)[:, None]
    image = Image.fromarray(pixels)
    draw = ImageDraw.Draw(image)
    for text in plan.texts:
        _, colour = TEXT[text.small]
        shown = _drawable(text.text, text.small)
        draw.text((text.x, text.y), shown, fill=colour, font=_font(text.small), anchor=_ANCHORS[text.anchor])
    described = "\n".join([title, *(f"{i}: {part}; {note}" for i, (part, note) in enumerate(legend, 1))])
    metadata = PngInfo()
    metadata.add_itxt("Description", described.replace("\0", ""))
    out = io.BytesIO()
    image.save(out, "PNG", optimize=True, pnginfo=metadata)
    return out.getvalue()


@cache
def _font(small: bool) -> FreeTypeFont:
    from PIL import ImageFont

    size, _ = TEXT[small]
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
