"""Cold planning time over checkpoints of growing size, as one SVG.

    python -m benchmarks.growth OUT.svg [--sizes 10000 100000 1000000] [--runs 5]

Left: time over the number of files. Right: the same times over the compressed bytes of the columns that the predicate
and the answer name, in the row groups that the footer cannot rule out: what time should follow.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import pyarrow.parquet as pq

from benchmarks.cell import measure
from benchmarks.peers import bounds_of, possible
from benchmarks.questions import Question, questions
from benchmarks.tables import reference_table

ASKED = {"narrow": "#1f6feb", "scattered": "#d1242f", "partition": "#1a7f37"}
_NAMES = {"narrow": "narrow range", "scattered": "decimal AND double", "partition": "partition equality"}
_WIDTH, _HEIGHT, _MARGIN = 420, 320, 64


@dataclass(frozen=True, slots=True)
class Point:
    """One measurement."""

    question: str
    files: int
    seconds: float
    needed_bytes: int
    checkpoint_bytes: int


def needed_bytes(checkpoint: Path, question: Question) -> int:
    """Compressed bytes of the bounds (or partition values) and paths in the row groups that can match."""
    metadata = pq.read_metadata(checkpoint)
    bounds: list[tuple[str, str, Any]] = [b for condition in question.conditions for b in bounds_of(condition)]
    total = 0
    for group in range(metadata.num_row_groups):
        row_group = metadata.row_group(group)
        chunks = {row_group.column(i).path_in_schema: row_group.column(i) for i in range(row_group.num_columns)}
        if all(possible(chunks[name].statistics, op, value) for name, op, value in bounds):
            named = {name for name, _, _ in bounds} | {"add.path"}
            total += sum(chunks[name].total_compressed_size for name in named)
    return total


def measured(sizes: list[int], runs: int) -> list[Point]:
    """Every question at every size."""
    points = []
    for files in sizes:
        table = reference_table("classic", files)
        checkpoint = next((table / "_delta_log").glob("*.checkpoint.parquet"))
        for name in ASKED:
            seconds = measure("deltaskip", "cold", table, name, files, runs).seconds
            needed = needed_bytes(checkpoint, questions(files)[name])
            points.append(Point(name, files, seconds, needed, checkpoint.stat().st_size))
    return points


def picture(points: list[Point]) -> str:
    """The two panels."""
    by_files = _panel(0, "files in the checkpoint", [(p.question, p.files, p.seconds) for p in points])
    by_bytes = _panel(_WIDTH, "bytes of the columns needed", [(p.question, p.needed_bytes, p.seconds) for p in points])
    legend = "".join(
        f'<circle cx="{_MARGIN + 150 * i}" cy="16" r="4" fill="{color}"/>'
        f'<text x="{_MARGIN + 10 + 150 * i}" y="20">{escape(_NAMES[name])}</text>'
        for i, (name, color) in enumerate(ASKED.items())
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{2 * _WIDTH}" height="{_HEIGHT}" '
        f'font-family="sans-serif" font-size="11"><rect width="100%" height="100%" fill="white"/>'
        f"{legend}{by_files}{by_bytes}</svg>\n"
    )


def _panel(left: int, label: str, series: list[tuple[str, float, float]]) -> str:
    xs = _decades([x for _, x, _ in series])
    ys = _decades([y for _, _, y in series])
    width, height = _WIDTH - _MARGIN - 20, _HEIGHT - 100

    def place(x: float, y: float) -> tuple[float, float]:
        right = (math.log10(x) - xs[0]) / (xs[1] - xs[0]) * width
        up = (math.log10(y) - ys[0]) / (ys[1] - ys[0]) * height
        return left + _MARGIN + right, 40 + height - up

    parts = []
    for decade in range(xs[0], xs[1] + 1):
        x, _ = place(10.0**decade, 10.0 ** ys[0])
        parts.append(f'<path d="M{x:.1f} 40V{40 + height}" stroke="#ddd"/>')
        parts.append(f'<text x="{x:.1f}" y="{56 + height}" text-anchor="middle">{_power(decade)}</text>')
    for decade in range(ys[0], ys[1] + 1):
        _, y = place(10.0 ** xs[0], 10.0**decade)
        parts.append(f'<path d="M{left + _MARGIN} {y:.1f}h{width}" stroke="#ddd"/>')
        parts.append(f'<text x="{left + _MARGIN - 6}" y="{y + 4:.1f}" text-anchor="end">{_seconds(decade)}</text>')
    for name, color in ASKED.items():
        places = [place(x, y) for question, x, y in series if question == name]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{color}" stroke-width="1.5"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{color}"/>' for x, y in places]
    middle = left + _MARGIN + width / 2
    parts.append(f'<text x="{middle:.0f}" y="{_HEIGHT - 22}" text-anchor="middle">{escape(label)}</text>')
    return "".join(parts)


def _decades(values: list[float]) -> tuple[int, int]:
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return low, max(high, low + 1)


def _power(decade: int) -> str:
    return f'10<tspan dy="-4" font-size="8">{decade}</tspan>'


def _seconds(decade: int) -> str:
    return f"{10**decade} s" if decade >= 0 else f"{10 ** (decade + 3):g} ms"


def main() -> None:
    """Measure and draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    points = measured(options.sizes, options.runs)
    for p in points:
        print(
            f"{_NAMES[p.question]:20} {p.files:>10,} files  {p.seconds * 1000:8.1f} ms  "
            f"{p.needed_bytes:>13,} of {p.checkpoint_bytes:,} bytes"
        )
    options.out.write_text(picture(points), encoding="utf-8")


if __name__ == "__main__":
    main()
