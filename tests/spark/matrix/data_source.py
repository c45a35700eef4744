"""The data source, streams of tables, and registered views."""

from __future__ import annotations

import os
from typing import Any

import pyarrow as pa

import deltaskip as ds
from tests.spark.matrix.cases import Session, case, equal


def ids(frame: Any) -> list[int]:
    return sorted(row["id"] for row in frame.collect())


@case("the format deltaskip writes, reads and follows a table", since=(4, 0))
def data_source(session: Session) -> None:
    spark, path = session.spark, str(session.folder / "t")
    table = ds.DeltaTable.create(path, "id BIGINT, twice BIGINT GENERATED ALWAYS AS (id * 2)")
    equal(table.read_stream(spark).isStreaming, True)
    spark.range(0, 6, 1, 2).write.format("deltaskip").mode("append").save(path)
    spark.range(4, 8).write.format("deltaskip").mode("overwrite").option("replaceWhere", "id >= 4").save(path)
    read = spark.read.format("deltaskip").option("where", "id > 2").load(path)
    equal(ids(read.where("twice < 14")), [3, 4, 5, 6])
    created = spark.range(3).selectExpr("id", "id % 2 AS p").write.format("deltaskip").mode("overwrite")
    created.option("partitionBy", "p").save(f"{path}2")
    equal(ids(ds.DeltaTable(f"{path}2").scan("p = 0").to_spark(spark)), [0, 2])


@case("a stream of the files that there are ends with the last of them", since=(4, 0))
def stream(session: Session) -> None:
    spark, table = session.spark, ds.DeltaTable.create(session.folder / "t", "id BIGINT")
    ds.register_format(spark)
    # Before, Spark runs one batch.
    ends = tuple(map(int, spark.version.split(".")[:2])) >= (4, 2)
    source = spark.readStream.format("deltaskip").option("maxFilesPerTrigger", "2").load(str(session.folder / "t"))
    sink = source.writeStream.format("parquet").option("path", str(session.folder / "rows"))
    sink = sink.option("checkpointLocation", str(session.folder / "checkpoint")).trigger(availableNow=True)
    for first, last, batches in ((0, 5, 3), (5, 8, 5)):
        for number in range(first, last):
            table.append(pa.table({"id": [number]}))
        for _ in range(1 if ends else batches):
            sink.start().awaitTermination()
        equal(ids(spark.read.parquet(str(session.folder / "rows"))), list(range(last)))
        equal(len([name for name in os.listdir(session.folder / "checkpoint" / "commits") if name.isdigit()]), batches)


@case("registered views move, and queries of them skip files")
def views(session: Session) -> None:
    table = ds.DeltaTable.create(session.folder / "t", "id BIGINT")
    view = ds.register_view(session.spark, "numbers", table, "id % 2 = 0")
    for first in (0, 10):
        table.append(pa.table({"id": pa.array(range(first, first + 10), pa.int64())}))
    found = ds.sql(session.spark, "SELECT n.id FROM numbers n WHERE n.id > 12")
    equal(ids(found), [14, 16, 18])
    equal(len(found.inputFiles()), 1)
    equal((ids(session.spark.table("numbers")), view.refresh()), ([], True))
    equal(len(ids(session.spark.table("numbers"))), 10)
    view.drop()
    equal(session.spark.catalog.tableExists("numbers"), False)
