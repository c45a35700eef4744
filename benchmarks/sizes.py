"""Sizes of the benchmarks: full, or with DELTASKIP_BENCH_SMALL=1 so small that every benchmark runs in a few minutes.

DELTASKIP_BENCH_FILES and DELTASKIP_BENCH_COMMITS set the sizes of the reference tables.
"""

from __future__ import annotations

import os

SMALL = os.environ.get("DELTASKIP_BENCH_SMALL") == "1"


def sized(full: int, small: int) -> int:
    """The size of a benchmark's data."""
    return small if SMALL else full


FILES = int(os.environ.get("DELTASKIP_BENCH_FILES") or sized(1_000_000, 2_000))
COMMITS = int(os.environ.get("DELTASKIP_BENCH_COMMITS") or sized(20_000, 100))
