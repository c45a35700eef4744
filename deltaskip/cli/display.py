"""Output formats: JSON, text tables, sizes and counts."""

from __future__ import annotations

import base64
import json
import math
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import zip_longest
from typing import IO, TYPE_CHECKING, Any

from deltaskip.lazy_regex import regex
from deltaskip.printable import printable

if TYPE_CHECKING:
    import pyarrow as pa

_GAP = "  "
_BATCH_ROWS = 4096
# These are not broken: literals and quoted names, a number and its unit, a date and its time.
_WORD = regex(
    r"""(?: (?<!\w)'[^']*' | (?<!\w)"[^"]*" | `[^`]*` | \S
          | (?<=\d)[ ](?=(?:[KMGTP]?i?B|%|UTC)(?:\W|$)) | (?<=\d{4}-\d\d-\d\d)[ ](?=\d\d:) )+""",
    re.VERBOSE,
)


def print_json(value: Any) -> None:
    """Print one JSON document and a newline."""
    json.dump(plain(value), sys.stdout, indent=2, allow_nan=False)
    sys.stdout.write("\n")


def write_files_json(out: IO[str], head: Mapping[str, Any], files: pa.Table, columns: Sequence[str]) -> None:
    """Write one JSON object: the members of `head`, and `files` with one line for each file."""
    out.write(f'{json.dumps(head)[:-1]}, "files": [')
    encode = json.JSONEncoder(allow_nan=False).encode
    separator = "\n"
    for record in json_records(files, columns):
        out.write(separator + encode(record))
        separator = ",\n"
    out.write("]}\n" if separator == "\n" else "\n]}\n")


def json_records(files: pa.Table, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield these columns of each row, with values for JSON."""
    for batch in files.select(columns).to_batches(max_chunksize=_BATCH_ROWS):
        values = [json_values(column) for column in batch.columns]
        for row in zip(*values, strict=True):
            yield dict(zip(columns, row, strict=True))


def plain(value: Any) -> Any:
    """Return a value for JSON: NaN and infinities as Spark's strings, bytes in base64, unknown types as strings."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else "NaN" if value != value else f"{'-' * (value < 0)}Infinity"
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
    import pyarrow as pa
    import pyarrow.compute as pc

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
        there = array.is_valid().to_pylist()
        return [dict(zip(names, row, strict=True)) if valid else None for valid, row in zip(there, rows, strict=True)]
    if pa.types.is_string(kind) or pa.types.is_integer(kind):
        return list(array.to_pylist())
    return [plain(value) for value in array.to_pylist()]


def print_table(columns: Sequence[tuple[str, str]], rows: Iterable[Sequence[str]], capitals: bool = True) -> None:
    """Print a table; `columns` are (heading, "left", "right" or "prose"). Names of columns are not put in capitals.

    In a terminal, cells of prose are wrapped between words. If that does not suffice, each row becomes a block with one
    line for each column. Words are never broken. In a pipe every line is complete.
    """
    texts = [[printable(cell) for cell in row] for row in rows]
    headings = [heading.upper() if capitals else printable(heading) for heading, _ in columns]
    sides = [side for _, side in columns]
    widths = _widths(headings, sides, texts, terminal_width())
    if widths is None:
        _print_blocks(headings, texts)
        return
    for cells in [headings, *texts]:
        wrapped = [_wrapped(cell, width) for cell, width in zip(cells, widths, strict=True)]
        for lines in zip_longest(*wrapped, fillvalue=""):
            padded = (_padded(*column) for column in zip(lines, widths, sides, strict=True))
            print(_GAP.join(padded).rstrip())


def nothing_done(verb: str, reason: str, nothing_written: str) -> str:
    """Return the sentence of a command that has committed nothing; nothing_written: of the result."""
    return f"{verb} nothing{f', {nothing_written}' if nothing_written else f': {reason}'}"


def print_line(text: str) -> None:
    """Print a sentence with control characters escaped; in a terminal it is wrapped between words."""
    width = terminal_width()
    lines = [printable(text)] if width is None else _wrapped(printable(text), width, "  ")
    print("\n".join(lines))


def print_lines(texts: Iterable[str]) -> None:
    """Print each text on a separate line."""
    for text in texts:
        print_line(text)


def print_facts(facts: Iterable[tuple[str, str]]) -> None:
    """Print labels and texts, one fact on a line; in a terminal, texts are wrapped between words."""
    shown = [(printable(label), printable(text)) for label, text in facts]
    label_width = max((len(label) for label, _ in shown), default=0) + 1
    width = terminal_width()
    for label, text in shown:
        lines = [text] if width is None else _wrapped(text, max(1, width - label_width - 1))
        for number, line in enumerate(lines):
            print(f"{label if not number else '':<{label_width}} {line}")


def terminal_width() -> int | None:
    """Return the number of columns of the terminal; None if standard output is a pipe or a file."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def _widths(
    headings: Sequence[str], sides: Sequence[str], rows: Sequence[Sequence[str]], width: int | None
) -> list[int] | None:
    """The width of each column; None if the table does not fit."""
    most = [max((_columns(row[i]) for row in rows), default=0) for i in range(len(sides))]
    if width is None:
        return [max(_columns(heading), cells) for heading, cells in zip(headings, most, strict=True)]
    least = [
        max(_longest_word(heading), *(map(_longest_word, (row[i] for row in rows)) if side == "prose" else [cells]), 0)
        for i, (heading, side, cells) in enumerate(zip(headings, sides, most, strict=True))
    ]
    spare = width - sum(least) - len(_GAP) * (len(least) - 1)
    if spare < 0:
        return None
    for i in sorted(range(len(sides)), key=lambda i: sides[i] == "prose"):
        wanted = max(_columns(headings[i]), most[i]) - least[i]
        given = max(0, min(spare, wanted))
        least[i] += given
        spare -= given
    return least


def _print_blocks(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print each row as a block; a word that is longer than a line is on a separate line."""
    width, label = terminal_width() or 0, max(map(_columns, headings))
    for number, row in enumerate(rows):
        if number:
            print()
        for heading, cell in zip(headings, row, strict=True):
            if not cell:
                continue
            fits = _longest_word(cell) <= width - label - len(_GAP)
            indent = label + len(_GAP) if fits else len(_GAP)
            lines = _wrapped(cell.strip(), width - indent)
            first = f"{heading:<{label}}{_GAP}"
            if not fits:
                print(heading)
                first = _GAP
            print(f"{first}{lines[0]}".rstrip())
            for line in lines[1:]:
                print(" " * indent + line)


def _wrapped(text: str, width: int, indent: str = "") -> list[str]:
    """The text in lines of at most `width`, broken only at spaces; `indent` begins all lines except the first."""
    if _columns(text) <= width:
        return [text]
    start = text[: len(text) - len(text.lstrip())]
    lines = [start]
    for word in _WORD.findall(text):
        line = f"{lines[-1]} {word}" if lines[-1].strip() else lines[-1] + word
        if _columns(line) > width and lines[-1].strip():
            lines.append(indent + start + word)
        else:
            lines[-1] = line
    return lines


def _longest_word(text: str) -> int:
    indent = len(text) - len(text.lstrip())
    return indent + max(map(_columns, _WORD.findall(text)), default=0)


def _columns(text: str) -> int:
    """The width of a text in columns of a terminal, where some characters take two or none."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _padded(text: str, width: int, side: str) -> str:
    space = " " * (width - _columns(text))
    return space + text if side == "right" else text + space


def average(n: float | None) -> str:
    """Format a number with one decimal; None is "-"."""
    return "-" if n is None else f"{n:,.1f}"


def counted(n: int, noun: str) -> str:
    """Format a count with its noun, such as "1 file" or "2,000 files"."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


@contextmanager
def progress_bar(
    shown: bool, *columns: str, total: int | None = None, transient: bool = False, **fields: Any
) -> Iterator[Callable[..., None]]:
    """Show a progress bar on standard error, instead of the library's; yield a function that updates it.

    Args:
        shown: Whether it is visible.
        columns: As for `display_of`.
        total: The number to reach; None if it is not known.
        transient: Whether it disappears at the end.
        fields: Values of fields in the texts, before the first update.
    """
    from deltaskip.progress import display_of, other_display

    if not shown:
        with other_display():
            yield lambda **_state: None
        return
    with other_display(), display_of(columns, transient) as bar:
        yield partial(bar.update, bar.add_task("", total=total, **fields))


@contextmanager
def file_progress(shown: bool) -> Iterator[Callable[[str, int, int], None]]:
    """Show how many files are listed and deleted; yield a function that updates it with phase, number and total."""
    text = "{task.completed:,} files {task.fields[phase]}"
    with progress_bar(shown, "bar", text, "time", transient=True, phase="listed") as update:
        yield lambda phase, done, total: update(completed=done, total=total or None, phase=phase)
