"""Jobs of delta-spark in a session without it: Spark's errors, and what the page on Spark says to write instead."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import deltaskip as ds

pytest.importorskip("pyspark")
pytestmark = pytest.mark.spark

PAGE = Path(__file__).parents[2] / "docs/pages/spark.md"
NOT_FOUND = (
    "[DATA_SOURCE_NOT_FOUND] Failed to find the data source: delta. Make sure the provider name is correct and the "
    "package is properly registered and compatible with your Spark version. SQLSTATE: 42K02"
)


def error_of(call: Any) -> str:
    with pytest.raises(Exception) as raised:
        call()
    return str(raised.value)


def test_the_page_says_what_spark_raises_for_the_format_delta_and_what_to_write(spark: Any, tmp_path: Path) -> None:
    if PAGE.exists():
        text = " ".join(PAGE.read_text().split())
        assert NOT_FOUND in text
    cat = ds.catalog(f"warehouse:{tmp_path / 'warehouse'}")
    cat.create_namespace("db")
    cat.create_table("db.t", "id BIGINT").append(pa.table({"id": [1, 2]}))
    rows, path = spark.range(2), str(tmp_path / "by_path")
    ds.DeltaTable.create(path, "id BIGINT").append(pa.table({"id": [1]}))

    for refused in (
        lambda: spark.read.format("delta").load(path),
        lambda: rows.write.format("delta").mode("append").save(path),
        lambda: rows.write.format("delta").saveAsTable("t_of_delta"),
        lambda: rows.writeTo("t_of_delta").using("delta").create(),
        lambda: spark.sql("CREATE TABLE t_of_delta (id BIGINT) USING delta"),
        lambda: spark.readStream.format("delta").load(path),
    ):
        assert NOT_FOUND in error_of(refused)
    assert not spark.catalog.tableExists("t_of_delta")

    for statement, condition in {
        f"SELECT * FROM delta.`{path}`": "TABLE_OR_VIEW_NOT_FOUND",
        "OPTIMIZE db.t": "PARSE_SYNTAX_ERROR",
        "VACUUM db.t": "PARSE_SYNTAX_ERROR",
        "RESTORE TABLE db.t TO VERSION AS OF 1": "PARSE_SYNTAX_ERROR",
        "DESCRIBE HISTORY db.t": "TABLE_OR_VIEW_NOT_FOUND",
        "DESCRIBE DETAIL db.t": "TABLE_OR_VIEW_NOT_FOUND",
    }.items():
        assert f"[{condition}]" in error_of(lambda text=statement: spark.sql(text)), statement
        assert cat.sql(spark, statement).toArrow().num_rows > 0 or statement.startswith("VACUUM"), statement
    assert "PARSE_SYNTAX_ERROR" in error_of(lambda: spark.sql(f"CONVERT TO DELTA parquet.`{path}`"))
    assert "UNRESOLVABLE_TABLE_VALUED_FUNCTION" in error_of(lambda: spark.sql("SELECT * FROM table_changes('db.t', 0)"))

    with ds.install_catalog(spark, "lake", cat), ds.install_catalog(spark, "delta", cat):
        assert spark.sql(f"SELECT * FROM delta.`{path}`").count() == 1
        # Spark looks for the format before it asks the catalog.
        assert NOT_FOUND in error_of(lambda: rows.write.format("delta").mode("append").saveAsTable("lake.db.t"))
        rows.writeTo("lake.db.t").append()
        assert spark.read.format("delta").table("lake.db.t").count() == 4
