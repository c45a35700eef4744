"""What histories cannot play: wrong checksums, which delta-spark refuses, and columns that are replaced in turns.

    python -m tests.reference.playing not_in_histories ANSWERS.json [CASE ...]

ANSWERS.json has by case the error that it ended with; null if both engines do what they must.
"""

import json
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

import deltaskip as ds
from tests.dml.tables import DDL, rows
from tests.reference.histories.history import SETTINGS, STRICT

FEED = {"delta.enableChangeDataFeed": "true"}
NAMED = {"delta.columnMapping.mode": "name"}
TRACKED = {"delta.enableRowTracking": "true"}
VECTORS = {"delta.enableDeletionVectors": "true"}


def checksum(spark: Any, folder: Path, properties: dict[str, str], lists: bool) -> None:
    """A wrong number of files is fatal; from a list that lacks one, neither engine reads files."""
    spark = spark.newSession()
    jvm = spark.sparkContext._jvm
    jvm.org.apache.spark.sql.classic.SparkSession.setActiveSession(spark._jsparkSession)
    for name, value in SETTINGS.items():
        if not (lists and name in STRICT):
            spark.conf.set(name, value)
    properties = {**VECTORS, "delta.checkpointInterval": "7", **properties}
    table = ds.DeltaTable.create(folder, "id BIGINT", cluster_by="id", properties=properties)
    for first in (0, 10, 20):
        table.append(pa.table({"id": range(first, first + 10)}))
        spark.range(first + 5, first + 6).write.format("delta").mode("append").save(str(folder))
        table.refresh()
    table.append(pa.table({"id": [99]}))
    latest = max((folder / "_delta_log").glob("*.crc"))
    said = json.loads(latest.read_text(encoding="utf-8"))
    if lists:
        gone = said["allFiles"].pop()
        said.update(numFiles=said["numFiles"] - 1, tableSizeBytes=said["tableSizeBytes"] - gone["size"])
        said.pop("fileSizeHistogram")
    else:
        said["numFiles"] += 1
    latest.write_text(json.dumps(said), encoding="utf-8")
    jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
    if lists:
        assert len(ds.DeltaTable(folder).scan().files()) == said["numFiles"] + 1
        assert spark.read.format("delta").load(str(folder)).count() == ds.DeltaTable(folder).scan().count() == 34
        return
    try:
        spark.range(1).write.format("delta").mode("append").save(str(folder))
    except Exception as error:
        assert "numFiles" in str(error) or "number of files" in str(error).lower(), error
    else:
        raise AssertionError("delta-spark committed to a table whose checksum is wrong")


def replaced(spark: Any, folder: Path, properties: dict[str, str], partition_by: list[str]) -> None:
    """Other columns by deltaskip, then by delta-spark, then rows by deltaskip again."""
    table = ds.DeltaTable.create(folder, DDL, partition_by, properties=properties)
    table.append(rows(range(20)))
    identifier = table.metadata.id
    frame = spark.createDataFrame(rows(range(5)))
    table.overwrite(frame.selectExpr("p", "CAST(x AS STRING) AS x", "id AS new"), schema_mode="replace")
    delta = spark.read.format("delta").load(str(folder))
    kinds = [("p", "string"), ("x", "string"), ("new", "bigint")]
    assert [(f.name, f.dataType.simpleString()) for f in delta.schema] == kinds
    assert delta.count() == 5 and table.metadata.id == identifier and [*table.partition_columns] == partition_by
    if {*FEED, *NAMED} <= properties.keys():
        # delta-spark refuses to replace a mapped schema while the table has the feed enabled.
        return
    writer = delta.selectExpr("new AS id", "p", "'z' AS x").localCheckpoint().write.format("delta")
    writer.mode("overwrite").option("overwriteSchema", "true").save(str(folder))
    table.refresh()
    table.overwrite(frame.limit(3).selectExpr("id", "p", "'y' AS x"), where="x = 'y'")
    assert table.scan().to_spark(spark).count() == spark.read.format("delta").load(str(folder)).count() == 8


V2 = {"delta.checkpointPolicy": "v2", "delta.enableInCommitTimestamps": "true", **NAMED, **TRACKED, **FEED}
CASES = {
    "a checksum": partial(checksum, properties={}, lists=False),
    "a checksum beside V2 checkpoints": partial(checksum, properties=V2, lists=False),
    "a list of files that lacks one": partial(checksum, properties={}, lists=True),
    "columns": partial(replaced, properties={}, partition_by=[]),
    "columns of partitions": partial(replaced, properties={**VECTORS, **FEED, **TRACKED}, partition_by=["p"]),
    "columns by name": partial(replaced, properties={**NAMED, **TRACKED}, partition_by=["p"]),
    "columns by name with a feed": partial(replaced, properties={**VECTORS, **NAMED, **FEED}, partition_by=[]),
}


def play(spark: Any, folder: Path, case: str) -> None:
    """Play one case."""
    CASES[case](spark, folder / "t")
