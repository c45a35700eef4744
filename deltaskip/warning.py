"""Warnings of the package: without secrets, and at the line of the user's code that caused them."""

from __future__ import annotations

import os
import sys
import warnings
from types import FrameType

from deltaskip.printable import LINES, printable
from deltaskip.redaction import redacted

_PACKAGE = os.path.dirname(__file__) + os.sep
# Modules of the standard library that call functions of the package.
_BETWEEN = frozenset(("concurrent.futures.thread", "contextlib", "functools", "threading"))


def warn(message: str, category: type[Warning]) -> None:
    """Issue a warning at the line outside of the package that called it."""
    frame: FrameType | None = sys._getframe(1)
    level = 2
    while frame is not None and _is_inside(frame):
        frame = frame.f_back
        level += 1
    # If all frames belong to the package, as on the command line, the line of this function's caller is used.
    warnings.warn(printable(redacted(message), LINES), category, stacklevel=2 if frame is None else level)


def _is_inside(frame: FrameType) -> bool:
    return frame.f_code.co_filename.startswith(_PACKAGE) or frame.f_globals.get("__name__") in _BETWEEN
