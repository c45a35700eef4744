"""Names that are spelled much like one that there is not, for messages."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(name: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """Return the name that is spelled most like one, in any letter case; None if none is near."""
    by_key = {each.lower(): each for each in known}
    near = get_close_matches(name.lower(), list(by_key), 1, cutoff)
    return by_key[near[0]] if near else None


def meant(name: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """Return the question after the name of something that there is not, with a blank before it; "" if none is near."""
    near = nearest(name, known, cutoff)
    return "" if near is None else f" Did you mean {near}?"
