"""Rows of tables as delta-spark reads them: their number and the corpus' digest of them.

    python -m tests.reference.playing corpus_rows ANSWERS.json TABLE ...

ANSWERS.json: by table [count, digest], or the text of the error. A process of its own, since reading tests must not
have Delta in their JVM.
"""

from pathlib import Path
from typing import Any

import deltaskip as ds
from tests.spark.test_corpus_rows import rows_and_digest


def play(spark: Any, _: Path, table: str) -> list[object]:
    """Read the latest version of a table."""
    # It replays compactions in order, also those whose actions stand newest first (manifest of the corpus).
    spark.conf.set("spark.databricks.delta.deltaLog.minorCompaction.useForReads", "false")
    return list(rows_and_digest(spark.read.format("delta").load(table), ds.DeltaTable(table).schema))
