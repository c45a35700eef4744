"""What delta-spark finds in tables whose logs deltaskip has written.

    python -m tests.reference.playing written ANSWERS.json TABLE ...

ANSWERS.json holds by table path what `play` gives, or the text of the error. A table whose data files do not exist is
given as log:PATH; then count and digest are null.
"""

import json
from pathlib import Path
from typing import Any

from tests.reference.oracle import comparable
from tests.reference.rows import digest, plain_rows


def play(spark: Any, _: Path, table: str) -> dict[str, Any]:
    """Version, protocol, metadata, files with all that their adds say, tombstones, txns, domains, and the rows."""
    has_rows, table = not table.startswith("log:"), table.removeprefix("log:")
    from pyspark.sql import DataFrame

    jvm = spark.sparkContext._jvm
    log = jvm.org.apache.spark.sql.delta.DeltaLog.forTable(spark._jsparkSession, table)
    snapshot = log.unsafeVolatileSnapshot()

    def json_of(dataset: Any) -> list[dict[str, Any]]:
        return [json.loads(row) for row in DataFrame(dataset.toDF(), spark).toJSON().collect()]

    rows = plain_rows(comparable(spark.read.format("delta").load(table)).toArrow()) if has_rows else None
    return {
        "version": snapshot.version(),
        "checkpoint": snapshot.checkpointProvider().version(),
        "protocol": json.loads(snapshot.protocol().json())["protocol"],
        "metadata": json.loads(snapshot.metadata().json())["metaData"],
        "files": {add["path"]: add for add in json_of(snapshot.allFiles())},
        "tombstones": {remove["path"]: remove for remove in json_of(snapshot.tombstones())},
        "txns": {txn.appId(): txn.version() for txn in _all(snapshot.setTransactions())},
        "domains": {domain.domain(): domain.configuration() for domain in _all(snapshot.domainMetadata())},
        "count": None if rows is None else len(rows),
        "digest": None if rows is None else digest(rows),
    }


def _all(scala: Any) -> list[Any]:
    return [scala.apply(i) for i in range(scala.size())]
