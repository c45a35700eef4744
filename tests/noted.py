"""Calls that a test notes, while the function still does what it does."""

from collections.abc import Callable
from typing import Any

import pytest


def noted(patch: pytest.MonkeyPatch, owner: object, name: str, what: Callable[..., Any]) -> list[Any]:
    """Return a list to which each call of a function, or of a method of a class, adds `what` of its arguments."""
    found: list[Any] = []
    original = getattr(owner, name)

    def noting(*given: Any, **named: Any) -> Any:
        found.append(what(*given, **named))
        return original(*given, **named)

    patch.setattr(owner, name, noting)
    return found
