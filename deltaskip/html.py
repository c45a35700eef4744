"""HTML that notebooks show for objects of this package."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

__all__ = ["html_table"]


def html_table(rows: Iterable[tuple[str, str]]) -> str:
    """Return a two-column HTML table of labels and values, both escaped."""
    cells = "".join(
        f'<tr><th style="text-align:left">{escape(label)}</th><td style="text-align:left">{escape(value)}</td></tr>'
        for label, value in rows
    )
    return f"<table>{cells}</table>"
