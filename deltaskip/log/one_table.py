"""Reading of a table that another process may drop or replace meanwhile."""

import inspect
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, TypeVar

from deltaskip import errors
from deltaskip.log.loading import LOOK_SECONDS, check_same_table
from deltaskip.log.snapshot import Snapshot

_C = TypeVar("_C", bound=type)
_MARK = "_of_one_table"
# These methods read nothing, or warn with their caller's line and check for a dropped table themselves.
_LEFT_OUT = frozenset(("recompute_stats", "refresh", "replanned", "scan", "to_spark", "transaction"))


@contextmanager
def same_table(snapshot: Snapshot) -> Iterator[None]:
    """Return a context in which files that cannot be read raise TableNotFound if the table no longer exists."""
    try:
        yield
    except errors.TableNotFound:
        raise
    except (errors.CorruptLog, FileNotFoundError, NotADirectoryError, errors.StorageError) as error:
        try:
            check_same_table(snapshot)
            if isinstance(error, FileNotFoundError):
                # Another process may be deleting the table, and its log last.
                time.sleep(LOOK_SECONDS)
                check_same_table(snapshot)
        except errors.TableNotFound as gone:
            raise gone from error
        except errors.DeltaSkipError:
            pass
        raise


def of_one_table(cls: _C) -> _C:
    """Return the class with public methods that raise TableNotFound for a file that was deleted with the table.

    Args:
        cls: A class whose objects have a `snapshot`. Methods of its bases count as its own.
    """
    for name in dir(cls):
        method = inspect.getattr_static(cls, name)
        if name[0] != "_" and name not in _LEFT_OUT and inspect.isfunction(method) and not hasattr(method, _MARK):
            setattr(cls, name, _guarded(method))
    return cls


def _guarded(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def call(self: Any, *args: Any, **options: Any) -> Any:
        with same_table(self.snapshot):
            return method(self, *args, **options)

    setattr(call, _MARK, True)
    return call
