"""A bounded cache of decoded columns, which makes the next scan of an open table cheap."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from deltaskip.fork_safety import new_lock
from deltaskip.stats.cache_keys import CacheKey

DEFAULT_CAPACITY_BYTES = 256 << 20


class ColumnCache:
    """A least-recently-used cache of at most `capacity_bytes`. Safe to share between threads.

    Values are immutable (Arrow arrays and tuples of them). A value larger than the capacity is not kept.
    """

    def __init__(self, capacity_bytes: int = DEFAULT_CAPACITY_BYTES) -> None:
        self.capacity_bytes = capacity_bytes
        self.size_bytes = 0
        self._entries: OrderedDict[CacheKey, tuple[Any, int]] = OrderedDict()
        self._pinned: dict[CacheKey, Any] = {}
        self._lock = new_lock()

    def get(self, key: CacheKey) -> Any:
        """Return the value for `key`, or None."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                return None
            self._entries.move_to_end(key)
            return entry[0]

    def put(self, key: CacheKey, value: Any, size_bytes: int) -> None:
        """Keep `value` for `key`; it counts as `size_bytes`."""
        if size_bytes > self.capacity_bytes:
            return
        with self._lock:
            old = self._entries.pop(key, None)
            self.size_bytes += size_bytes - (0 if old is None else old[1])
            self._entries[key] = (value, size_bytes)
            while self.size_bytes > self.capacity_bytes:
                _, (_, evicted) = self._entries.popitem(last=False)
                self.size_bytes -= evicted

    def array(self, key: CacheKey, build: Callable[[], Any]) -> Any:
        """Return the Arrow array for `key`; it is built and kept if it is missing."""
        value = self.get(key)
        if value is None:
            value = build()
            self.put(key, value, value.nbytes)
        return value

    def pinned(self, key: CacheKey, build: Callable[[], Any]) -> Any:
        """Return the small, growing object for `key`, built once. It is never evicted: cached columns refer to it."""
        with self._lock:
            if key not in self._pinned:
                self._pinned[key] = build()
            return self._pinned[key]

    def clear(self) -> None:
        """Remove all values."""
        with self._lock:
            self._entries.clear()
            self._pinned.clear()
            self.size_bytes = 0
