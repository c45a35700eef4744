"""Bounds that may contain a value with a given prefix, under any collation."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from deltaskip.errors import InvalidArgument
from deltaskip.kernels.key_column import KeyColumn
from deltaskip.kernels.lane import Lane, and_lanes, constant_lane


def prefix_lane(
    begins: bytes | None,
    mins: pa.Array | KeyColumn,
    maxs: pa.Array | KeyColumn,
    sort_keys: Callable[[pa.Array], pa.Array],
) -> Lane:
    """The keep mask of key(max) >= begins AND key(min) cut to the length of begins <= begins. A missing bound keeps.

    begins: the prefix of the key of every value that starts with the prefix; None keeps every row.
    """
    if begins is None:
        return constant_lane(len(maxs), True)
    lowest = mins if isinstance(mins, KeyColumn) else KeyColumn(sort_keys(mins))
    highest = maxs if isinstance(maxs, KeyColumn) else KeyColumn(sort_keys(maxs))
    lane = highest.keep("ge", begins)
    if len(lowest) != len(highest):
        raise InvalidArgument(f"mins and maxs must have the same length, not {len(lowest):,} and {len(highest):,}.")
    and_lanes(lane, lowest.keep("le", begins, prefix=True))
    return lane
