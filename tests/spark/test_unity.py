"""Spark's rows in tables that Unity Catalog manages: written, changed, read and queried through the catalog."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from deltaskip.catalogs.unity import UnityCatalog

pytest.importorskip("unitycatalog", reason="unitycatalog-client is not installed (extra test)")

from tests.catalogs.unity_server import UnityServer, server

__all__ = ["server"]

pytestmark = pytest.mark.spark


def test_rows_of_spark_go_through_the_catalog(server: UnityServer, spark: Any) -> None:
    cat = UnityCatalog(server.url, "main")
    table = cat.create_table("db.t", "id BIGINT, name STRING, p INT", ["p"])
    table.append(spark.range(100).selectExpr("id", "concat('n', id) AS name", "cast(id % 3 AS INT) AS p"))
    table.delete("id >= 50")
    table.update({"name": "upper(name)"}, where="id < 5")
    source = spark.range(48, 52).selectExpr("id", "'new' AS name", "9 AS p")
    merge = table.merge(source, on="t.id = s.id", source_alias="s", target_alias="t")
    merge.when_matched_update({"name": "s.name"}).when_not_matched_insert_all().execute()
    found = cat.load_table("db.t").scan("id < 3 OR id >= 48").to_spark(spark).orderBy("id").collect()
    assert [(row.id, row.name, row.p) for row in found] == [
        (0, "N0", 0), (1, "N1", 1), (2, "N2", 2), (48, "new", 0), (49, "new", 1), (50, "new", 9), (51, "new", 9),
    ]  # fmt: skip
    assert (server.table("main.db.t").latest, server.table("main.db.t").commits) == (4, [])


def test_statements_of_sql_go_through_the_catalog(server: UnityServer, spark: Any) -> None:
    cat = UnityCatalog(server.url, "main")
    cat.sql(spark, "CREATE TABLE db.t (id BIGINT, ts TIMESTAMP) PARTITIONED BY (days(ts))")
    cat.sql(spark, "INSERT INTO db.t SELECT id, timestamp_seconds(id * 86400) FROM range(5)")
    cat.sql(spark, "DELETE FROM db.t WHERE id = 3")
    cat.sql(spark, "CREATE TABLE db.u AS SELECT id FROM db.t WHERE ts >= '1970-01-02'")
    assert [row.id for row in cat.sql(spark, "SELECT id FROM db.u ORDER BY id").collect()] == [1, 2, 4]
    cat.sql(spark, "REPLACE TABLE db.u AS SELECT 7 AS seven")
    assert [row.seven for row in cat.sql(spark, "SELECT * FROM db.u").collect()] == [7]
    assert cat.load_table("db.u").version == 1
    assert server.table("main.db.u").columns["fields"][0]["name"] == "seven"


@pytest.mark.long
def test_executors_read_the_catalog_s_commits(server: UnityServer, spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    cat = UnityCatalog(server.url, "main")
    table = cat.create_table("db.t", "id BIGINT, name STRING")
    with monkeypatch.context() as patch:
        patch.setattr("deltaskip.catalogs.unity.commits.ManagedLog._publish", lambda *_: None)
        for start in (0, 10):
            table.append(spark.range(start, start + 10).selectExpr("id", "concat('n', id) AS name"))
    assert len(server.table("main.db.t").commits) == 2
    scan = cat.load_table("db.t").scan("id >= 5", engine="spark")
    files, rows = scan.files_to_spark(spark, columns=["path"]), scan.to_spark(spark)
    kept = sorted(row.path for row in files.collect())
    assert kept == sorted(cat.load_table("db.t").scan("id >= 5").files(columns=["path"])["path"].to_pylist())
    assert sorted(row.id for row in rows.collect()) == list(range(5, 20))
    # Both are published, and what was staged is deleted, after the scan was planned.
    table.delete("id = 7")
    staged = list((Path(table.uri.removeprefix("file://")) / "_delta_log/_staged_commits").glob("*.json"))
    assert staged and server.table("main.db.t").commits == []
    for file in staged:
        file.unlink()
    assert sorted(row.path for row in files.collect()) == kept
    assert sorted(row.id for row in rows.collect()) == list(range(5, 20))
