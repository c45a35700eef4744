"""Faults below the public functions: what libraries and the system raise, at the n-th call of what is called there."""

import errno
import os
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any
from unittest import mock

import pyarrow as pa
import pyarrow.parquet as pq

from deltaskip.storage.local import LocalStorage


def system(code: int) -> OSError:
    return OSError(code, os.strerror(code), "/somewhere/else")


def obstore_error() -> Exception:
    from obstore.exceptions import GenericError

    return GenericError("Generic S3 error: HTTP error\nDebug source:\nHttpError { kind: Unknown }")


class LibraryError(Exception):
    """The error of a library that nobody expects, with a text that cannot be had."""

    def __str__(self) -> str:
        raise ValueError("the text is gone")


ERRORS: dict[str, Callable[[], Exception]] = {
    **{errno.errorcode[code]: partial(system, code) for code in (
        errno.ENOSPC, errno.EACCES, errno.EMFILE, errno.ENAMETOOLONG, errno.ELOOP, errno.EIO, errno.EROFS, errno.ESTALE,
        errno.EDQUOT, errno.ENOTCONN,
    )},
    "ConnectionResetError": lambda: ConnectionResetError("reset by peer"),
    "TimeoutError": lambda: TimeoutError("timed out"),
    "EOFError": lambda: EOFError("end of file"),
    "MemoryError": MemoryError,
    "ArrowInvalid": lambda: pa.ArrowInvalid("Couldn't deserialize thrift\nsecond line"),
    "ArrowNotImplementedError": lambda: pa.ArrowNotImplementedError("no such codec"),
    "ArrowMemoryError": lambda: pa.ArrowMemoryError("malloc of size 9 failed"),
    "ArrowIOError": lambda: pa.ArrowIOError("read failed"),
    "UnicodeDecodeError": lambda: UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"),
    "RecursionError": lambda: RecursionError("maximum recursion depth exceeded"),
    "OverflowError": lambda: OverflowError("int too big to convert"),
    "AttributeError": lambda: AttributeError("module 'pyarrow' has no attribute 'x'"),
    "AssertionError": AssertionError,
    "KeyError": lambda: KeyError("x"),
    "PicklingError": lambda: pickle.PicklingError("cannot pickle"),
    "obstore": obstore_error,
    "LibraryError": LibraryError,
}  # fmt: skip

Place = tuple[Any, str]
PLACES: dict[str, list[Place]] = {
    "reads": [(LocalStorage, each) for each in ("list_from", "read", "read_range", "read_joined", "open_input",
                                                "exists", "size")],
    "writes": [(LocalStorage, each) for each in ("put_if_absent", "put", "publish")],
    "deletes": [(LocalStorage, each) for each in ("delete", "delete_files", "delete_directory",
                                                  "delete_empty_directory", "move")],
    "system": [(os, each) for each in ("open", "scandir", "listdir", "stat", "fstat", "link", "rename", "fsync",
                                       "pread", "readv", "makedirs")],
    "parquet reader": [(pq.ParquetFile, "__init__"), (pq.ParquetFile, "read"), (pq.ParquetFile, "read_row_group"),
                       (pq.ParquetFile, "iter_batches"), (pq.ParquetFile, "read_row_groups")],
    "parquet writer": [(pq.ParquetWriter, "__init__"), (pq.ParquetWriter, "write_table"),
                       (pq.ParquetWriter, "write_batch"), (pq.ParquetWriter, "close"), (pq.ParquetWriter, "write")],
}  # fmt: skip


class Below:
    """Counts the calls of some functions, and raises an error at one of them.

    Args:
        places: What is called.
        at: The number of the call that fails, from 0; None to count only.
        error: Makes the error.
    """

    def __init__(
        self, places: list[Place], at: int | None = None, error: Callable[[], Exception] | None = None
    ) -> None:
        self.calls = 0
        self.raised = False
        self._places = places
        self._at = at
        self._error = error

    @contextmanager
    def running(self) -> Iterator[None]:
        patches = [
            mock.patch.object(owner, name, self._failing(getattr(owner, name)))
            for owner, name in self._places
            if hasattr(owner, name)
        ]
        for patch in patches:
            patch.start()
        try:
            yield
        finally:
            for patch in patches:
                patch.stop()

    def _failing(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def called(*args: Any, **named: Any) -> Any:
            number, self.calls = self.calls, self.calls + 1
            if number == self._at and self._error is not None:
                self.raised = True
                raise self._error()
            return function(*args, **named)

        return called
