"""One line for a case: every value of many is checked, and a call must be refused."""

import threading
import traceback
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import pytest

T = TypeVar("T")

_SHOWN = 5


def each(values: Iterable[T], check: Callable[[T], object], name: Callable[[T], object] = repr) -> None:
    """Check every value, and fail once for all that are wrong.

    Args:
        values: What to check; at least one value.
        check: Raises an error for a value that is wrong; may skip one, and the test is skipped if it skips all.
        name: What a failure calls a value.
    """
    wrong: list[str] = []
    skipped: list[str] = []
    count = 0
    for value in values:
        count += 1
        try:
            check(value)
        except pytest.skip.Exception as error:
            skipped.append(str(error))
        except (Exception, pytest.fail.Exception):
            lines = traceback.format_exc(limit=-3) if len(wrong) < _SHOWN else ""
            wrong.append(f"{name(value)}\n{lines}")
    if wrong:
        pytest.fail(f"{len(wrong)} of {count} values are wrong:\n" + "\n".join(wrong), pytrace=False)
    if not count:
        pytest.fail("There was no value to check.")
    if len(skipped) == count:
        pytest.skip(skipped[0])


def refuses(error: Any, match: str | None, act: Callable[..., object], *given: Any, **named: Any) -> None:
    """Fail unless a call raises an error of a class, or of one of several, whose text has the pattern `match`."""
    with pytest.raises(error, match=match):
        act(*given, **named)


def in_threads(act: Callable[[T], object], values: Iterable[T]) -> None:
    """Call `act` with each value in a thread of its own, all at once, and wait for them."""
    threads = [threading.Thread(target=act, args=(value,)) for value in values]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
