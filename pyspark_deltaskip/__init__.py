"""Lets Spark 4 find the format `deltaskip`: it looks for packages named `pyspark_…` that have a `DefaultSource`."""

from deltaskip.spark.data_source.source import DeltaSkipDataSource as DefaultSource

__all__ = ["DefaultSource"]
