"""Statistics of data files: where they stand, what they say, and how they are computed out of Parquet."""

from deltaskip.stats.computation import compute

__all__ = ["compute"]
