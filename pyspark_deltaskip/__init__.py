"""Lets Spark 4 find the format `deltaskip`: it looks for packages named `pyspark_…` that have a `DefaultSource`."""

from deltaskip.spark.source.data_source import DeltaSkipDataSource as DefaultSource

__all__ = ["DefaultSource"]
