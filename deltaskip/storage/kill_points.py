"""Where a writer may be killed: tests put an observer here that ends the process at a step of their choice."""

from collections.abc import Callable

__all__ = ["observe", "step"]


class _Observed:
    """Holds the observer of this process, None unless a test has set one."""

    observer: Callable[[str], None] | None = None


def step(name: str) -> None:
    """Tell the observer, if there is one, that the writer has got as far as `name`."""
    if _Observed.observer is not None:
        _Observed.observer(name)


def observe(observer: Callable[[str], None] | None) -> None:
    """Have every step of this process told to `observer`; None: to nobody."""
    _Observed.observer = observer
