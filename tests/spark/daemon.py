"""PySpark's daemon, whose workers have deltaskip's source imported: importing it takes longer than most tasks.

A worker invalidates the caches of imports and collects garbage around every task. With PySpark imported from an
archive, as Spark's PYTHONPATH says, the first reads the directory of that archive once for each package, and the second
visits every object that the daemon has made: 0.15 s together, more than most tasks take.
"""

import gc
import sys

sys.path[:] = [path for path in sys.path if not path.endswith((".zip", ".jar"))]

import pyarrow.dataset  # noqa: E402, F401
from pyspark.daemon import manager  # noqa: E402

import deltaskip.spark.source.data_source  # noqa: E402, F401

if __name__ == "__main__":
    gc.freeze()
    manager()
