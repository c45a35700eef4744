"""delta-spark and deltaskip write to one table on HDFS at once: python -m tests.reference.on_hdfs URI SCRATCH.

Prints, as JSON, what each of them then says of the table.
"""

import json
import sys
import threading
from pathlib import Path
from typing import Any

import deltaskip as ds
from tests.reference.oracle import session

COMMITS = 3
APP = "deltaskip"


def main(uri: str, scratch: Path) -> None:
    """Version 0 is delta-spark's; then both commit so many times."""
    spark = session(scratch)
    root = f"{uri}/a table %41"
    spark.range(0, 100, 1, 2).write.format("delta").save(root)
    other = threading.Thread(target=_append, args=(spark, root))
    other.start()
    mine = _commit(root)
    other.join()
    history = spark.sql(f"DESCRIBE HISTORY delta.`{root}`").select("version", "operation").collect()
    table = ds.DeltaTable(root)
    said = {
        "mine": mine,
        "history": sorted((row.version, row.operation) for row in history),
        "version": table.version,
        "app": table.transaction().read_app(APP),
        "counts": [spark.read.format("delta").load(root).count(), table.scan().to_spark(spark).count()],
    }
    spark.stop()
    print(json.dumps(said))


def _append(spark: Any, root: str) -> None:
    for number in range(COMMITS):
        spark.range(number, number + 1, 1, 1).write.format("delta").mode("append").save(root)


def _commit(root: str) -> list[int]:
    versions = []
    table = ds.DeltaTable(root)
    for number in range(COMMITS):
        txn = table.refresh().transaction(operation="MARK")
        txn.set_app_version(APP, number)
        versions.append(txn.commit())
    return versions


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
