"""HTML that notebooks show for objects of this package."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["html_rows", "html_table"]


def html_table(rows: Iterable[tuple[str, str]]) -> str:
    """Return a two-column HTML table of labels and values, both escaped."""
    from html import escape

    cells = "".join(
        f'<tr><th style="text-align:left">{escape(label)}</th><td style="text-align:left">{escape(value)}</td></tr>'
        for label, value in rows
    )
    return f"<table>{cells}</table>"


def html_rows(headings: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return an HTML table with a row of headings, every cell escaped."""
    return f"<table>{_html_row(headings, 'th')}{''.join(_html_row(cells, 'td') for cells in rows)}</table>"


def _html_row(cells: Iterable[str], tag: str) -> str:
    from html import escape

    return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"
