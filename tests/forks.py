"""Children of a test's process."""

import faulthandler
import os
import signal
import traceback
from collections.abc import Callable

CHILD_SECONDS = 120
"""A child that takes longer hangs, and is ended."""


def in_child(run: Callable[[], bool]) -> int:
    """The status of a forked child, 0 if it returns True. What it raises is shown, and where one is that hangs."""
    child = os.fork()
    if not child:
        status = 1
        # `dump_traceback_later` would wait for pytest's watchdog, a thread that the child does not have.
        faulthandler.register(signal.SIGALRM, chain=True)
        signal.alarm(CHILD_SECONDS)
        try:
            status = 0 if run() else 1
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    return os.waitpid(child, 0)[1]
