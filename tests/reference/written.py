"""What delta-spark finds in tables whose logs deltaskip has written.

    python -m tests.reference.written ANSWERS.json TABLE ...

Runs in a process of its own, with nothing cached. ANSWERS.json holds by table path what `answers` gives, or
{"error": text}. A table whose data files do not exist is given as log:PATH; then count and digest are null.
"""

import json
import sys
import tempfile
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.reference.oracle import comparable, session
from tests.reference.rows import digest, plain_rows


def answers(spark: Any, table: str) -> dict[str, Any]:
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


def main(output: Path, tables: Sequence[str]) -> None:
    """Ask delta-spark for each table."""
    with tempfile.TemporaryDirectory() as scratch:
        spark = session(Path(scratch))
        found = {}
        for table in tables:
            try:
                found[table] = answers(spark, table)
            except Exception:
                # The test of this table shows it.
                found[table] = {"error": traceback.format_exc()}
        spark.stop()
    output.write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
