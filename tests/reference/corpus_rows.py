"""Rows of tables as delta-spark reads them: their number and the corpus' digest of them.

    python -m tests.reference.corpus_rows OUTPUT TABLE ...

OUTPUT, JSON: by table [count, digest], or the text of the error. A process of its own, since reading tests must not
have Delta in their JVM.
"""

import json
import sys
import tempfile
import traceback
from collections.abc import Sequence
from pathlib import Path

import deltaskip as ds
from tests.reference.oracle import session
from tests.spark.test_corpus_rows import rows_and_digest


def main(output: Path, tables: Sequence[str]) -> None:
    """Read each table's latest version."""
    found: dict[str, list[object] | str] = {}
    with tempfile.TemporaryDirectory() as scratch:
        spark = session(Path(scratch))
        # It replays compactions in order, also those whose actions stand newest first (manifest of the corpus).
        spark.conf.set("spark.databricks.delta.deltaLog.minorCompaction.useForReads", "false")
        for table in tables:
            try:
                frame = spark.read.format("delta").load(table)
                found[table] = list(rows_and_digest(frame, ds.DeltaTable(table).schema))
            except Exception:
                # The test of this table shows it.
                found[table] = traceback.format_exc()
        spark.stop()
    output.write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
