"""Type widening: the narrower types that a column had before.

# PROTOCOL, Type Widening: a field's metadata lists its changes, and files keep the type that they were written with.
"""

from __future__ import annotations

from typing import Any

__all__ = ["TYPE_CHANGES_KEY", "widened_types"]

TYPE_CHANGES_KEY = "delta.typeChanges"


def widened_types(metadata: Any) -> frozenset[str]:
    """Return the names of the narrower types in `delta.typeChanges` of a field's metadata."""
    changes = metadata.get(TYPE_CHANGES_KEY) if metadata else None
    if not isinstance(changes, list):
        return frozenset()
    return frozenset(str(change.get("fromType")) for change in changes if isinstance(change, dict))
