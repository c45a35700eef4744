"""The deletion of many files side by side."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deltaskip.storage.interface import Storage


def delete_side_by_side(storage: Storage, paths: Sequence[str], threads: int) -> None:
    """Delete files with a pool of threads. Missing files are not an error.

    Raises the first error of the storage; no deletion begins after it.
    """
    failed = Event()

    def delete(share: Sequence[str]) -> None:
        for path in share:
            if failed.is_set():
                return
            try:
                storage.delete(path)
            except BaseException:
                failed.set()
                raise

    count = min(threads, len(paths))
    if count < 2:
        delete(paths)
        return
    with ThreadPoolExecutor(count, "deltaskip") as pool:
        for _ in pool.map(delete, [paths[i::count] for i in range(count)]):
            pass
