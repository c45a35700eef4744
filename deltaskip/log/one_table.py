"""A decorator for classes that keep a snapshot: methods raise TableNotFound if the table was dropped or replaced."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from deltaskip.log.loading import same_table

_C = TypeVar("_C", bound=type)
_MARK = "_of_one_table"
# These methods read nothing, or warn with their caller's line and check for a dropped table themselves.
_LEFT_OUT = frozenset(("recompute_stats", "refresh", "replanned", "scan", "to_spark", "transaction"))


def of_one_table(cls: _C) -> _C:
    """Return the class with public methods that raise TableNotFound for a file that was deleted with the table.

    Args:
        cls: A class whose objects have a `snapshot`. Methods of its bases count as its own.
    """
    for base in cls.__mro__:
        for name, method in list(vars(base).items()):
            if name[0] != "_" and name not in _LEFT_OUT and inspect.isfunction(method) and not hasattr(method, _MARK):
                setattr(base, name, _guarded(method))
    return cls


def _guarded(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def call(self: Any, *args: Any, **options: Any) -> Any:
        with same_table(self.snapshot):
            return method(self, *args, **options)

    setattr(call, _MARK, True)
    return call
