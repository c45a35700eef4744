"""Warnings for public names that were renamed: the old name keeps working for one release."""

from __future__ import annotations

import warnings

__all__ = ["warn_renamed"]


def warn_renamed(old: str, new: str, stacklevel: int = 3) -> None:
    """Issue a DeprecationWarning that `old` was renamed to `new`.

    Args:
        old: The deprecated name, as users write it, such as `DeltaTable.txns`.
        new: The name to use instead.
        stacklevel: Frames between this call and the user's code, as `warnings.warn` counts them. The default fits a
            deprecated method or property that calls this function directly.
    """
    warnings.warn(
        f"{old} is deprecated and will be removed in the next release; use {new} instead.",
        DeprecationWarning,
        stacklevel=stacklevel,
    )
