"""HTML that notebooks show for objects of this package."""

from __future__ import annotations

from collections.abc import Iterable


def escaped(text: str) -> str:
    """Return text as HTML that is the same in every encoding of a page: entities stand for characters beyond ASCII."""
    from html import escape

    return escape(text).encode("ascii", "xmlcharrefreplace").decode("ascii")


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
