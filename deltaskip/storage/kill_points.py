"""Named points at which a writer may be killed: tests observe them to end the process at any of them."""

from collections.abc import Callable


class _Observed:
    """Holds the observer of this process; None unless a test has set one."""

    observer: Callable[[str], None] | None = None


def kill_point(name: str) -> None:
    """Call the observer, if there is one, with the name of the point that the writer has reached."""
    if _Observed.observer is not None:
        _Observed.observer(name)


def observe_kill_points(observer: Callable[[str], None] | None) -> None:
    """Set the observer that every later kill point of this process calls; None removes it."""
    _Observed.observer = observer
