"""What tests put in the place of functions: one that notes its calls, or one that only fails."""

from collections.abc import Callable
from typing import Any, NoReturn

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


def raising(error: BaseException) -> Callable[..., NoReturn]:
    """Return a function that raises an error, whatever it is given."""

    def fail(*_: object, **__: object) -> NoReturn:
        raise error

    return fail
