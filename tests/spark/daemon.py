"""PySpark's daemon, whose workers have deltaskip's source imported: importing it takes longer than most tasks."""

import pyarrow.dataset  # noqa: F401
from pyspark.daemon import manager

import deltaskip.spark.source.data_source  # noqa: F401

if __name__ == "__main__":
    manager()
