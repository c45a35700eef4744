"""The data source, streams of tables, and registered views."""

from __future__ import annotations

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
