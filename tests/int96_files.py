"""Parquet files with any 12 bytes as INT96: nanoseconds of a day, and the number of the Julian day."""

import struct
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

Stored = tuple[int, int] | None
HOUR = 3_600_000_000_000
EPOCH_DAY = 2440588
# An hour before 1970, as Impala writes it; day 0; years 1, 1500 and 9999; more than a day of nanoseconds.
STORED: tuple[Stored, ...] = (
    (-HOUR, EPOCH_DAY), (5 * HOUR, 0), (0, 1721426), (-1, 2269000), (23 * HOUR + 999, 5373484), None, (-1_999, 2451545),
    (0, 0), (86_400_000_000_001, EPOCH_DAY), (-HOUR, 2654072), (HOUR, EPOCH_DAY), (0, EPOCH_DAY + 213_503),
)  # fmt: skip


def micros_of(stored: Stored) -> int | None:
    """The microseconds since 1970 that Spark reads."""
    if stored is None:
        return None
    nanos, day = stored
    return (day - EPOCH_DAY) * 86_400_000_000 + (abs(nanos) // 1000) * (1 if nanos >= 0 else -1)


def write_int96(
    path: Path, stored: Sequence[Stored], columns: Callable[[pa.Array], dict[str, pa.Array]], **options: Any
) -> None:
    """Write a file whose columns are made of the timestamps."""
    stand_ins = [None if each is None else 1_600_000_000_000_001 + at * 1_000 for at, each in enumerate(stored)]
    times = pa.array(stand_ins, pa.timestamp("us"))
    options = {"compression": "none", "write_statistics": False, **options}
    pq.write_table(pa.table(columns(times)), path, use_deprecated_int96_timestamps=True, store_schema=False, **options)
    data = path.read_bytes()
    for stand_in, each in zip(stand_ins, stored, strict=True):
        if stand_in is not None and each is not None:
            day, micros = divmod(stand_in, 86_400_000_000)
            found = struct.pack("<qi", micros * 1000, day + EPOCH_DAY)
            assert found in data
            data = data.replace(found, struct.pack("<qi", *each))
    path.write_bytes(data)
