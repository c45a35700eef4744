"""delta-spark's own recomputation of statistics, StatisticsCollection.recompute, on tables that are there.

    python -m tests.reference.recomputed SCRATCH TABLE ...

Commits new statistics of every active file to each table. It refuses tables with deletion vectors.
"""

import sys
from pathlib import Path
from typing import Any

from tests.reference.oracle import session


def recompute(spark: Any, table: str) -> None:
    """One commit with the statistics of all files of the table at the path."""
    jvm = spark.sparkContext._jvm
    delta = jvm.org.apache.spark.sql.delta
    log = delta.DeltaLog.forTable(spark._jsparkSession, table)
    collection = delta.stats.StatisticsCollection
    others = [getattr(collection, f"recompute$default${position}")() for position in (4, 5)]
    collection.recompute(spark._jsparkSession, log, jvm.scala.Option.empty(), *others)


if __name__ == "__main__":
    spark = session(Path(sys.argv[1]))
    for name in sys.argv[2:]:
        recompute(spark, name)
    spark.stop()
