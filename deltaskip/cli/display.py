"""Output formats: JSON, text tables, sizes and counts."""

from __future__ import annotations

import base64
import json
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import IO, Any

import pyarrow as pa
import pyarrow.compute as pc

_PIPE_WIDTH = 240
# Columns with cells or headings no longer than these are not wrapped.
_WRAPPED_WIDTH = 20
_WRAPPED_HEADING = 10


def print_json(value: Any, out: IO[str] | None = None) -> None:
    """Print one JSON document and a newline to `out` (standard output by default)."""
    stream = out or sys.stdout
    json.dump(plain(value), stream, indent=2, allow_nan=False)
    stream.write("\n")


def plain(value: Any) -> Any:
    """Return a value for JSON: NaN and infinities as strings, bytes in base64, unknown types as text."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else str(value)
        case bytes():
            return base64.b64encode(value).decode("ascii")
        case Mapping():
            return {str(key): plain(item) for key, item in value.items()}
        case list() | tuple():
            return [plain(item) for item in value]
        case set() | frozenset():
            return sorted((plain(item) for item in value), key=str)
        case _:
            return str(value)


def json_values(array: pa.Array) -> Sequence[Any]:
    """Return the elements of an array as values for JSON.

    Arrow formats dates and timestamps as ISO 8601 text, because Python's types do not cover its range. Decimals become
    text, which keeps their scale.
    """
    kind = array.type
    if pa.types.is_timestamp(kind):
        text = pc.replace_substring(array.cast(pa.timestamp(kind.unit)).cast(pa.string()), " ", "T")
        return list((pc.binary_join_element_wise(text, "Z", "") if kind.tz else text).to_pylist())
    if pa.types.is_date(kind) or pa.types.is_decimal(kind):
        return list(array.cast(pa.string()).to_pylist())
    if pa.types.is_struct(kind):
        names = [field.name for field in kind]
        columns = [json_values(pc.struct_field(array, [i])) for i in range(kind.num_fields)]
        rows = zip(*columns, strict=True) if columns else ((),) * len(array)
        # For partition values, a null struct means the same as a struct of nulls.
        return [dict(zip(names, row, strict=True)) for row in rows]
    if pa.types.is_string(kind) or pa.types.is_integer(kind):
        return list(array.to_pylist())
    return [plain(value) for value in array.to_pylist()]


def print_table(columns: Sequence[tuple[str, str]], rows: Iterable[Sequence[str]]) -> None:
    """Print a table; `columns` are (heading, "left" or "right"). In a pipe, lines are not wrapped."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=_PIPE_WIDTH)
    table = Table(box=None, pad_edge=False)
    texts = [[printable(cell) for cell in row] for row in rows]
    for i, (heading, side) in enumerate(columns):
        width = max((len(row[i]) for row in texts), default=0)
        table.add_column(
            heading.upper(),
            justify="right" if side == "right" else "left",
            overflow="fold",
            no_wrap=width <= _WRAPPED_WIDTH and len(heading) <= max(width, _WRAPPED_HEADING),
        )
    for row in texts:
        table.add_row(*map(Text, row))
    console.print(table)


def printable(text: str, keep: str = "") -> str:
    """Escape control characters except those in `keep`, because names in a log can contain any character."""
    return "".join(c if c.isprintable() or c in keep else repr(c)[1:-1] for c in text)


def human_bytes(size: int) -> str:
    """Format a size in bytes with a binary unit, such as 20.1 KiB."""
    amount = float(size)
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if amount < 1024:
            return f"{size} B" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} PiB"


def average(n: float | None) -> str:
    """Format a number with one decimal; None is "-"."""
    return "-" if n is None else f"{n:,.1f}"


def counted(n: int, noun: str) -> str:
    """Format a count with its noun, such as "1 file" or "2,000 files"."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"
