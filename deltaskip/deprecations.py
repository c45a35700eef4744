"""Warnings for public names that were renamed: the old name keeps working for one release."""

from __future__ import annotations

from deltaskip.warning import warn

__all__ = ["warn_renamed"]


def warn_renamed(old: str, new: str) -> None:
    """Issue a DeprecationWarning that `old` was renamed to `new`.

    Args:
        old: The deprecated name, as users write it, such as `DeltaTable.txns`.
        new: The name to use instead.
    """
    warn(f"{old} is deprecated and will be removed in the next release; use {new} instead.", DeprecationWarning)
