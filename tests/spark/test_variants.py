"""Shredded variants that Spark wrote, read and rewritten without it: JSON and types are those that Spark reads."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
import pytest

import deltaskip as ds
from deltaskip.spark.session.session_settings import session_settings
from tests.corpus_digests import arrow_digest
from tests.each import each
from tests.extent import some
from tests.spark.test_corpus_rows import rows_and_digest

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(pyspark.__version__ < "4.1", reason="Spark before 4.1 does not write shredded variants"),
]

VALUES = [
    "CAST(NULL AS VARIANT)", "parse_json('null')", "parse_json('true')", "CAST(1Y AS VARIANT)",
    "CAST(-200S AS VARIANT)", "CAST(70000 AS VARIANT)", "CAST(-9223372036854775808L AS VARIANT)", "CAST(2L AS VARIANT)",
    "CAST(1.25 AS VARIANT)", "CAST(CAST(-3 AS DECIMAL(5, 2)) AS VARIANT)",
    "CAST(CAST(123456789012.345 AS DECIMAL(18, 3)) AS VARIANT)",
    "CAST(CAST('-1234567890123456789012345678.0123456789' AS DECIMAL(38, 10)) AS VARIANT)",
    "CAST(0.5F AS VARIANT)", "CAST(1.5D AS VARIANT)", "CAST(X'00FF' AS VARIANT)", "CAST('' AS VARIANT)",
    "CAST(repeat('ä', 40) AS VARIANT)", "CAST(DATE '1969-12-31' AS VARIANT)",
    "CAST(TIMESTAMP '2026-01-02 03:04:05.678901' AS VARIANT)", "CAST(TIMESTAMP '1500-01-02 00:00:00' AS VARIANT)",
    "CAST(TIMESTAMP_NTZ '2026-01-02 03:04:05.678901' AS VARIANT)",
    "parse_json('[]')", "parse_json('[1, 2, -70000]')", 'parse_json(\'["a", null, 1, [2], {"a": 3}]\')',
    "parse_json('{}')", "parse_json('{\"a\": 1}')",
    'parse_json(\'{"b": "x", "a": 300, "value": {"n": 1}, "": 0}\')',
    'parse_json(\'{"a": "no number", "b": null, "c": [1.5], "typed_value": 1e300}\')',
    'parse_json(\'{"a": {"x": 7, "y": [{"z": "p", "w": 1}, {}, {"z": 1}, 5], "u": {"a": 1}}}\')',
    "to_variant_object(named_struct('a', DATE '2026-01-01', 'b', array(1.5, NULL), 'd', TIMESTAMP '2026-01-01'))",
    "parse_json(concat('{', array_join(transform(sequence(1, 300), i -> concat('\"k', i, '\": ', i)), ','), '}'))",
]  # fmt: skip
SCHEMAS = [
    "BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(5, 2)", "DECIMAL(18, 3)",
    "DECIMAL(38, 10)", "STRING", "BINARY", "DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "ARRAY<INT>", "ARRAY<VARIANT>",
    "ARRAY<STRUCT<a: BIGINT>>", "STRUCT<a: INT, b: STRING>", "STRUCT<b: ARRAY<DECIMAL(2, 1)>, a: DATE, d: TIMESTAMP>",
    "STRUCT<a: STRUCT<x: BIGINT, y: ARRAY<STRUCT<z: STRING>>>, value: STRUCT<n: INT>, typed_value: DOUBLE>",
    "STRUCT<k1: INT, k299: VARIANT, k3: STRING, k30: INT>",
]  # fmt: skip
SHOWN = "id", "to_json(struct(v)) AS j", "schema_of_variant(v) AS t"


def shredding(schema: str) -> dict[str, str]:
    """Settings to shred by a schema; to infer one for each file if it is empty."""
    return {
        "spark.sql.variant.writeShredding.enabled": "true",
        "spark.sql.variant.inferShreddingSchema": str(not schema).lower(),
        "spark.sql.variant.forceShreddingSchemaForTest": schema,
        "spark.sql.variant.allowReadingShredded": "true",
    }


@pytest.fixture
def shredded(spark: Any) -> Iterator[Any]:
    """Makes a table in a folder with rows whose variants are shredded by a schema."""

    def make(path: Path, rows: Any, schema: str) -> ds.DeltaTable:
        table = ds.DeltaTable.create(path, rows.schema, properties={"delta.enableVariantShredding": "true"})
        with session_settings(spark, shredding(schema)):
            table.append(rows)
        table = ds.DeltaTable(path)
        for file in table.scan().files()["path"].to_pylist():
            assert "typed_value" in str(pq.ParquetFile(path / file).schema), "the file is not shredded"
        return table

    yield make


def values(spark: Any) -> Any:
    stack = " UNION ALL ".join(f"SELECT {number} AS id, {text} AS v" for number, text in enumerate(VALUES))
    return spark.sql(stack).coalesce(1)


@pytest.mark.long(gate=1)
@pytest.mark.parametrize("schema", some(SCHEMAS, 7))
def test_values_are_those_that_spark_reads(spark: Any, shredded: Any, tmp_path: Path, schema: str) -> None:
    rows = values(spark)
    table = shredded(tmp_path / "t", rows, schema)
    read = table.scan().to_spark(spark)
    expected = sorted(read.selectExpr(*SHOWN).collect())
    assert [row["j"] for row in expected] == [row["j"] for row in sorted(rows.selectExpr(*SHOWN).collect())]
    assert sorted(table.scan(engine="spark").to_spark(spark).selectExpr(*SHOWN).collect()) == expected
    found = table.scan().to_arrow()
    assert (len(found), arrow_digest(found, table.schema)) == rows_and_digest(read, table.schema)


def test_variants_in_structs(spark: Any, shredded: Any, tmp_path: Path) -> None:
    # By a schema that is given, Spark 4.1 fails to write variants below the top.
    variant = "parse_json(IF(id % 3 = 0, NULL, concat('{\"a\": [', id, ', \"x\"], \"b\": ', id, '}')))"
    rows = (
        spark.range(12)
        .coalesce(1)
        .selectExpr(
            "id",
            f"IF(id = 5, NULL, named_struct('v', {variant}, 'n', nullif(id, -1))) AS s",
            f"{variant} AS v",
            f"IF(id = 6, NULL, named_struct('s', IF(id = 7, NULL, named_struct('v', {variant})))) AS d",
        )
    )
    table = shredded(tmp_path / "t", rows, "")
    texts = "id", "to_json(struct(*)) AS j", "s IS NULL", "d IS NULL", "d.s IS NULL"
    expected = sorted(rows.selectExpr(*texts).collect())
    assert sorted(table.scan(engine="spark").to_spark(spark).selectExpr(*texts).collect()) == expected
    found = table.scan().to_arrow()
    assert (len(found), arrow_digest(found, table.schema)) == rows_and_digest(rows, table.schema)
    some = table.scan("id > 3 AND id < 8", columns=["d", "id"]).to_arrow()
    assert some["d"].to_pylist() == [row["d"] for row in found.to_pylist() if 3 < row["id"] < 8]


@pytest.mark.usefixtures("found_by_a_job")
def test_a_table_without_shredding_has_no_shredded_files_under_any_setting(spark: Any, tmp_path: Path) -> None:
    rows = spark.range(0, 4, 1, 1).selectExpr("id", "parse_json('{\"a\": 1}') AS v", "array(parse_json('2')) AS vs")

    def check(schema: str) -> None:
        table = ds.DeltaTable.create(tmp_path / (schema or "inferred"), rows.schema)
        with session_settings(spark, shredding(schema)):
            table.append(rows)
            table.update({"v": "parse_json('{\"a\": 3}')"}, "variant_get(v, '$.a', 'int') = id", spark=spark)
            table.optimize(spark=spark)
        for path in (tmp_path / (schema or "inferred")).rglob("*.parquet"):
            assert "typed_value" not in str(pq.ParquetFile(path).schema), path
        found = table.refresh().scan().to_spark(spark).selectExpr("id", "to_json(v)", "to_json(vs[0])").collect()
        assert sorted(map(tuple, found)) == [(i, '{"a":%s}' % (3 if i == 1 else 1), "2") for i in range(4)]

    each(("", "STRUCT<a: INT>"), check)


def test_rows_are_rewritten_without_spark(spark: Any, shredded: Any, tmp_path: Path) -> None:
    rows = values(spark)
    table = shredded(tmp_path / "t", rows, "STRUCT<a: BIGINT, b: STRING>")
    expected = sorted(rows.where("id NOT IN (3, 25)").selectExpr(*SHOWN[:2]).collect())
    table.delete("id = 3")
    table.delete("id = 25")
    with session_settings(spark, shredding("STRUCT<a: STRING>")):
        table.append(rows.where("id = 26").selectExpr("id + 100 AS id", "v"))
    table.optimize()
    table = ds.DeltaTable(tmp_path / "t")
    [file] = table.scan().files()["path"].to_pylist()
    stored = pq.ParquetFile(tmp_path / "t" / file).schema_arrow.field("v").type
    # The table enables shredding, and most values have the field a or b.
    assert {field.name for field in stored} == {"value", "metadata", "typed_value"}
    assert pa.types.is_binary(stored.field("value").type)
    found = sorted(table.scan("id < 100").to_spark(spark).selectExpr(*SHOWN[:2]).collect())
    assert found == expected


def test_variants_are_not_shredded_where_the_table_does_not_enable_it(spark: Any, tmp_path: Path) -> None:
    rows = spark.range(9).selectExpr("id", "parse_json(concat('{\"a\": ', id, '}')) AS v")
    for enabled in ("false", "true"):
        path = tmp_path / enabled
        table = ds.DeltaTable.create(path, rows.schema, properties={"delta.enableVariantShredding": enabled})
        with session_settings(spark, shredding("")):
            table.append(rows)
        for file in ds.DeltaTable(path).scan().files()["path"].to_pylist():
            assert ("typed_value" in str(pq.ParquetFile(path / file).schema)) == (enabled == "true")
