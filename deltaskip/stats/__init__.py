"""Statistics of data files: where they stand, what they say, and how they are computed out of Parquet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deltaskip.stats.computation import compute

__all__ = ["compute"]


def __getattr__(name: str) -> Any:
    # Planning reads statistics, and must not load what computes them.
    if name == "compute":
        from deltaskip.stats.computation import compute

        return compute
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
