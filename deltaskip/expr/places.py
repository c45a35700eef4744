"""Places in the text of a predicate, for messages."""

from __future__ import annotations


def line_and_column(text: str, at: int) -> tuple[int, int]:
    """Line and column of a place in a text, both counted from 1."""
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
