"""Display of results: `repr` in a few lines with units, and a table in notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from typing import Any

from deltaskip.printable import LINES, printable

_WIDTH = 100
_MOST_CHARACTERS = 200
_MOST_VALUES = 5
# Ends of the names of sizes in bytes, of attributes and of Delta's metrics.
_BYTES = ("_bytes", "Bytes", "BytesAdded", "BytesRemoved", "Size", "SizeAfterRestore", "DataToDelete")
# This field is shown even if it is 0 or None.
_ALWAYS = "version"


class Shown:
    """Base class of results that are dataclasses: shows the fields with information, with units."""

    __slots__ = ()

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__}:"]
        for label, text in _items(self) or [("nothing", "")]:
            part = f" {label} {text}".rstrip()
            if len(lines[-1]) + len(part) > _WIDTH:
                lines.append("   ")
            lines[-1] += f"{part};"
        return "\n".join(lines).rstrip(";")

    def _repr_html_(self) -> str:
        return html_table(_items(self))

    def _brief(self) -> str:
        """The result as a part of another result."""
        return f"({', '.join(f'{label} {text}'.strip() for label, text in _items(self))})"


def human_bytes(size: int) -> str:
    """Format a size in bytes with a binary unit, such as 20.1 KiB."""
    amount = float(size)
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if amount < 1024:
            return f"{size} B" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} PiB"


def counted_files(files: int, size: int) -> str:
    """Return a number of files with their size in bytes as text, such as 2 files (1.2 MiB)."""
    return f"{files:,} {'file' if files == 1 else 'files'} ({human_bytes(size)})"


def _items(result: Any) -> list[tuple[str, str]]:
    """Label and text of each field that is neither empty nor zero."""
    found = []
    names = [each.name for each in fields(result)]
    for name in names:
        value = getattr(result, name)
        if name == _ALWAYS or _says_something(value):
            label = _label(name)
            # Otherwise a number of files and their bytes have the same label.
            label = name.replace("_", " ") if label != name and label in names else label
            found.append((label, printable(_text(name, value), LINES)))
    return found


def _says_something(value: object) -> bool:
    if isinstance(value, Shown):
        return bool(_items(value))
    if value is None or (isinstance(value, (bool, int, float, str)) and not value):
        return False
    if isinstance(value, tuple):
        return any(map(_says_something, value))
    return not hasattr(value, "__len__") or len(value) > 0


def _label(name: str) -> str:
    for unit in ("_in_bytes", "_bytes", "_seconds", "_ms"):
        name = name.removesuffix(unit)
    return name.replace("_", " ")


def _text(name: str, value: Any) -> str:
    """The text of a value; its name determines the unit."""
    match value:
        case None:
            return "none"
        case bool():
            return "" if value else "no"
        case int() if name == "bytes" or name.endswith(_BYTES):
            return human_bytes(value)
        case int() if name.endswith("TimeMs"):
            return f"{value:,} ms"
        case int() if name.endswith("_ms"):
            return f"{datetime.fromtimestamp(value / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"
        case int() if name == _ALWAYS:
            return str(value)
        case int():
            return f"{value:,}"
        case float():
            return f"{value:,.3f} s" if name.endswith("seconds") else f"{value:,.2f}"
        case str():
            return value if len(value) <= _MOST_CHARACTERS else f"{value[:_MOST_CHARACTERS]}…"
        case datetime():
            return f"{value:%Y-%m-%d %H:%M:%S} UTC"
        case Shown():
            return value._brief()
        case Mapping():
            unit = name if name.endswith("seconds") else ""
            shown = [f"{key} {_text(unit or str(key), each)}" for key, each in value.items() if _says_something(each)]
            return ", ".join(shown) or "all 0"
        case Sequence():
            return _listed(value)
    size = getattr(value, "num_rows", None)
    if size is not None:
        return f"{size:,} rows"
    return f"{len(value):,}" if hasattr(value, "__len__") else _text(name, repr(value))


def _listed(values: Sequence[Any]) -> str:
    shown = [_named(each) for each in values[:_MOST_VALUES]]
    more = f", and {len(values) - _MOST_VALUES:,} more" if len(values) > _MOST_VALUES else ""
    return f"{', '.join(shown)}{more}"


def _named(value: Any) -> str:
    """A member of a list: its name, if it has one."""
    if isinstance(value, Shown):
        names = (getattr(value, each, None) for each in ("sentence", "predicate", "name", "column"))
        return next((each for each in names if isinstance(each, str)), value._brief())
    return _text("", value) if not isinstance(value, int) or isinstance(value, bool) else str(value)


def escaped(text: str) -> str:
    """Return text as HTML that is the same in every encoding of a page: entities stand for characters beyond ASCII."""
    from html import escape

    return escape(printable(text, LINES)).encode("ascii", "xmlcharrefreplace").decode("ascii")


def html_table(rows: Iterable[tuple[str, str]]) -> str:
    """Return a two-column HTML table of labels and values, both escaped."""
    cells = "".join(
        f'<tr><th style="text-align:left">{escaped(label)}</th><td style="text-align:left">{escaped(value)}</td></tr>'
        for label, value in rows
    )
    return f"<table>{cells}</table>"


def html_rows(headings: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return an HTML table with a row of headings, every cell escaped."""
    return f"<table>{_html_row(headings, 'th')}{''.join(_html_row(cells, 'td') for cells in rows)}</table>"


def _html_row(cells: Iterable[str], tag: str) -> str:
    return f"<tr>{''.join(f'<{tag}>{escaped(cell)}</{tag}>' for cell in cells)}</tr>"
