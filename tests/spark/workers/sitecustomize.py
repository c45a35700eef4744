"""Lets Python's workers of Spark begin quickly; every JVM of the tests has this folder in PYTHONPATH (`tests/jvm.py`).

Spark's PYTHONPATH begins with archives of PySpark and py4j, in which nothing is compiled, and whose directories are
read again before each task: here PySpark comes from where it is installed. Daemons import deltaskip's source before
they fork workers, since that takes longer than most tasks, and exempt it from collections of garbage after each task.
"""

import gc
import sys
from contextlib import suppress

if any(argument.startswith("pyspark.") for argument in sys.orig_argv):
    sys.path[:] = [path for path in sys.path if not path.endswith((".zip", ".jar"))]

if "pyspark.daemon" in sys.orig_argv:
    with suppress(ImportError):
        import pandas  # noqa: F401
        import pyarrow.dataset  # noqa: F401

        import deltaskip.spark.source.data_source  # noqa: F401
    gc.freeze()
