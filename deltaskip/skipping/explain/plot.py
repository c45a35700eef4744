"""The plot of an explanation: files down, parts of the predicate across, kept or skipped; as PNG or SVG.

Files are in the order of the log. If there are more files than lines, a line represents several of them and its color
shows the share that is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from deltaskip.errors import InvalidArgument
from deltaskip.skipping.explain.matrix import Matrix

__all__ = ["plot_svg", "write_plot"]


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
    from deltaskip.skipping.explain.svg import svg

    return svg(matrix, title, legend)
