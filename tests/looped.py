"""Parameters of a test as a loop: `looped` stands where `pytest.mark.parametrize` would, and there is one test."""

import inspect
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from tests.each import each

_PARAMETER = type(pytest.param())


def looped(
    names: str, values: Iterable[Any], name: Callable[[Any], object] = repr
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """One test that checks every value, and names those that are wrong.

    Each has a `tmp_path` and a `monkeypatch` of its own. Other fixtures are shared, so none may keep what a value does.

    Args:
        names: The arguments that a value gives, such as "text, expected"; a value of several is a sequence.
        values: At least one value, as for `parametrize`; the marks of an only one are those of the test.
        name: What a failure calls a value.
    """
    arguments = names.split(", ")
    given = list(values)
    # Such as the skipped one that stands for tables of the corpus.
    given = [each for each in given if not _is_skipped(each)] or given[:1]
    marks = given[0].marks if len(given) == 1 and isinstance(given[0], _PARAMETER) else ()
    found = [_plain(value, len(arguments)) for value in given]

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        def loop(**fixtures: Any) -> None:
            def check(numbered: tuple[int, Any]) -> None:
                number, value = numbered
                named = zip(arguments, [value] if len(arguments) == 1 else value, strict=True)
                own = dict(fixtures)
                if "tmp_path" in own:
                    own["tmp_path"] = own["tmp_path"] / str(number)
                    own["tmp_path"].mkdir()
                with pytest.MonkeyPatch.context() as patch:
                    if "monkeypatch" in own:
                        own["monkeypatch"] = patch
                    test(**own, **dict(named))

            each(enumerate(found), check, lambda numbered: name(numbered[1]))

        signature = inspect.signature(test)
        rest = [parameter for key, parameter in signature.parameters.items() if key not in arguments]
        loop.__signature__ = signature.replace(parameters=rest)  # type: ignore[attr-defined]
        loop.__name__, loop.__doc__, loop.__module__ = test.__name__, test.__doc__, test.__module__
        loop.pytestmark = [*getattr(test, "pytestmark", ()), *marks]  # type: ignore[attr-defined]
        return loop

    return decorate


def _is_skipped(value: Any) -> bool:
    return isinstance(value, _PARAMETER) and any(mark.name == "skip" for mark in value.marks)


def _plain(value: Any, width: int) -> Any:
    """What `pytest.param` holds, which has no public type; another value as it is."""
    if isinstance(value, _PARAMETER):
        return value.values if width > 1 else value.values[0]
    return value
