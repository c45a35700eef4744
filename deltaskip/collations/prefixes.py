"""Which bounds leave room for a value that starts with a prefix, whichever collation orders them."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from deltaskip.kernels.key_column import KeyColumn
from deltaskip.kernels.lane import Lane, and_lanes, constant_lane

__all__ = ["prefix_lane"]


def prefix_lane(
    begins: bytes | None,
    mins: pa.Array | KeyColumn,
    maxs: pa.Array | KeyColumn,
    sort_keys: Callable[[pa.Array], pa.Array],
) -> Lane:
    """Kept: key(max) >= begins, and key(min) cut to its length <= begins; a missing bound keeps, and so does None.

    begins: what the key of every value that starts with the prefix begins with.
    """
    if begins is None:
        return constant_lane(len(maxs), True)
    lowest = mins if isinstance(mins, KeyColumn) else KeyColumn(sort_keys(mins))
    highest = maxs if isinstance(maxs, KeyColumn) else KeyColumn(sort_keys(maxs))
    lane = highest.keep("ge", begins)
    and_lanes(lane, lowest.keep("le", begins, prefix=True))
    return lane
