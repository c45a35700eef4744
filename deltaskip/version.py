"""The version of this package, as in the log."""

from __future__ import annotations

from functools import cache


@cache
def engine_info() -> str:
    """The name and version of this package as commits record it: `deltaskip/0.3.0`."""
    # Only writers need it, and it is slow to import.
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed_version

    try:
        return f"deltaskip/{installed_version('deltaskip')}"
    except PackageNotFoundError:
        return "deltaskip"
