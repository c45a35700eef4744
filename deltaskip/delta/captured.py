"""Conflicts that delta-spark raises in the JVM of the session: they get the classes of `deltaskip.delta.exceptions`."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from deltaskip.delta import exceptions
from deltaskip.delta.errors import spark_error
from deltaskip.errors import CommitConflict

__all__ = ["convert_conflicts", "converted_conflict"]

_PREFIX = "io.delta.exceptions."
_THEIRS = "delta.exceptions"


def convert_conflicts() -> None:
    """Let PySpark raise conflicts of delta-spark by these names, so that a job which also writes with it catches both.

    delta-spark's own package does the same for its names; where it is imported, its classes are raised.
    """
    try:
        captured: Any = import_module("pyspark.errors.exceptions.captured")
    except ImportError:  # a client of Spark Connect need not have py4j
        return
    before = captured.convert_exception

    def convert_exception(error: Any) -> Any:
        found = None if _THEIRS in sys.modules else converted_conflict(error.toString())
        return before(error) if found is None else found

    captured.convert_exception = convert_exception


def converted_conflict(text: str) -> CommitConflict | None:
    """Return the conflict that the JVM describes by its class and message; None for another error."""
    name, _, message = text.partition(": ")
    kind = exceptions.KINDS.get(name.removeprefix(_PREFIX)) if name.startswith(_PREFIX) else None
    return None if kind is None else spark_error(CommitConflict(message, kind))
