"""Statistics of data files: their layout in the log, their values, and their computation from Parquet files."""

from deltaskip.stats.computation import compute

__all__ = ["compute"]
