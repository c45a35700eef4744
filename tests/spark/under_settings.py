"""Operations on a table with odd names and values, whose result must not depend on the settings of the session."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow.parquet as pq
from pyspark.sql import Row
from pyspark.sql import types as T

import deltaskip as ds
from deltaskip import DeltaTable
from deltaskip.sparkexpr.text.sql_text import quoted_name as q
from tests.extent import WHOLE

NAMES = ("${x}", "a`b", 'a"b', "a\\b", "it's", "Per cent % ${env:HOME}")
ODD = ("plain", "back\\slash", "it's", 'dou"ble', "${x}", "line\nfeed", "tab\\t", "both'\"\\", "$", "${spark.app.name}")
QUOTED = 'e"f'
NESTED = f"STRUCT<{q('${y}')}: TIMESTAMP, {q('c`d')}: ARRAY<INT>, {q(QUOTED)}: STRING>"
DDL = (
    f"id BIGINT NOT NULL, ts TIMESTAMP, ntz TIMESTAMP_NTZ, {q(NAMES[0])} STRING, {q(NAMES[1])} TIMESTAMP, "
    f"{q(NAMES[2])} {NESTED}, {q(NAMES[3])} ARRAY<TIMESTAMP>, {q(NAMES[4])} MAP<STRING, TIMESTAMP>, "
    f"{q(NAMES[5])} CHAR(3), short VARCHAR(40) NOT NULL, d DECIMAL(20, 4), f DOUBLE, b BINARY, "
    f"day DATE GENERATED ALWAYS AS (CAST(ts AS DATE))"
)
PROPERTIES = {
    "delta.columnMapping.mode": "name",
    "delta.enableChangeDataFeed": "true",
    "delta.constraints.positive": "id >= 0 AND short <> 'no'",
}
NTZ = {"spark.sql.timestampType": "TIMESTAMP_NTZ"}
_VARIABLES = {"x": "hidden", "y": "id", "env:HOME": "no"}
ODD_SETTINGS = {
    **NTZ, **_VARIABLES, "spark.sql.parser.escapedStringLiterals": "true",
    "spark.sql.legacy.consecutiveStringLiterals.enabled": "true",
    "spark.sql.legacy.exponentLiteralAsDecimal.enabled": "true",
    "spark.sql.legacy.bangEqualsNot": "true",
    "spark.sql.legacy.castComplexTypesToString.enabled": "true",
    "spark.sql.legacy.timeParserPolicy": "LEGACY", "spark.sql.mapKeyDedupPolicy": "LAST_WIN",
    "spark.sql.ansi.doubleQuotedIdentifiers": "true", "spark.sql.ansi.enforceReservedKeywords": "true",
    "spark.sql.caseSensitive": "true", "spark.sql.retainGroupColumns": "false",
}  # fmt: skip
OTHER_SETTINGS = [
    {**NTZ, "spark.sql.variable.substitute": "false", "spark.sql.preserveCharVarcharTypeInfo": "true",
        "spark.sql.legacy.sizeOfNull": "true", "spark.sql.legacy.setopsPrecedence.enabled": "true"},
    {**_VARIABLES, "spark.sql.ansi.enabled": "false", "spark.sql.decimalOperations.allowPrecisionLoss": "false",
        "spark.sql.storeAssignmentPolicy": "LEGACY", "spark.sql.legacy.charVarcharAsString": "true",
        "spark.sql.readSideCharPadding": "false"},
]  # fmt: skip
# The given times have the other type of the two, which store assignment converts.
GIVEN = T.StructType([
    T.StructField("id", T.IntegerType()), T.StructField("ts", T.TimestampNTZType()),
    T.StructField("ntz", T.TimestampType()), T.StructField(NAMES[0], T.StringType()),
    T.StructField(NAMES[1], T.TimestampNTZType()),
    T.StructField(NAMES[2], T.StructType([
        T.StructField('e"f', T.StringType()), T.StructField("${y}", T.TimestampNTZType()),
        T.StructField("c`d", T.ArrayType(T.LongType())),
    ])),
    T.StructField(NAMES[3], T.ArrayType(T.TimestampNTZType())),
    T.StructField(NAMES[4], T.MapType(T.StringType(), T.TimestampNTZType())),
    T.StructField(NAMES[5], T.StringType()), T.StructField("short", T.StringType()),
    T.StructField("d", T.DecimalType(20, 4)), T.StructField("f", T.DoubleType()), T.StructField("b", T.BinaryType()),
])  # fmt: skip


def given(spark: Any, first: int, count: int = len(ODD)) -> Any:
    """Rows for the table, without its generated column."""
    made = []
    for i in range(first, first + count):
        odd, time = ODD[i % len(ODD)], datetime(2026, 1 + i % 12, 1 + i % 20, i % 24, 30)
        row = (
            i, time, time, odd, time, (odd, time, [i]), [time, None], {odd: time}, odd[:2], odd + "!",
            Decimal(i) / 8, i / 3, odd.encode(),
        )  # fmt: skip
        made.append(row)
    return spark.createDataFrame([Row(*row) for row in made], GIVEN)


def operations(spark: Any, folder: Path, partition_by: tuple[str, ...] = ()) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Name and function of each operation. A function returns what does not depend on the session."""
    root = folder / "odd 'table' ${x}"
    table = DeltaTable.create(root, DDL, partition_by, properties=PROPERTIES)

    def done(change: Callable[[], object]) -> Callable[[], Any]:
        def run() -> Any:
            change()
            return stored(table)

        return run

    def merged() -> None:
        builder = table.merge(given(spark, 5, 8), "t.id = s.id", "s", "t", spark=spark)
        builder.when_matched_update_all(except_=["day"]).when_not_matched_insert_all(except_=["day"]).execute()

    def merged_by_expressions() -> None:
        builder = table.merge(given(spark, 8, 8), f"t.id = s.id AND t.{q(NAMES[1])} = s.{q(NAMES[1])}", "s", "t")
        builder = builder.when_matched_update({"ts": f"s.{q(NAMES[1])}", "f": "s.f + 1"})
        builder.when_not_matched_by_source_update({"d": "d + 1"}, "id > 2").execute()

    def moved() -> Any:
        rows = table.scan(ds.col("id") < 4).to_spark(spark)
        return sorted(map(repr, rows.select("id", "day", q(NAMES[0]), q(NAMES[2])).collect()))

    yield "append", done(lambda: table.append(given(spark, 0)))
    yield "append more", done(lambda: table.append(given(spark, 10)))
    yield "overwrite where", done(lambda: table.overwrite(given(spark, 3, 2), "id = 3 OR id = 4"))
    yield "update", done(lambda: table.update({"ts": "ntz", "f": "f * 2"}, "id % 3 = 0", spark=spark))
    yield "delete", done(lambda: table.delete("f > 5 AND id % 2 = 1", spark=spark))
    yield "merge", done(merged)
    yield "merge by expressions", done(merged_by_expressions)
    if partition_by:
        yield "overwritten partitions", done(lambda: table.overwrite(given(spark, 20, 2), partitions="dynamic"))
    yield "scan", moved
    if WHOLE:
        yield "optimize", done(lambda: table.optimize(spark=spark))
    yield (
        "optimize in order",
        done(lambda: table.optimize(spark=spark, zorder_by=["id", "ts", "short", "f"], target_file_bytes=2000)),
    )
    yield "recompute", done(lambda: table.recompute_stats(spark))
    yield "changes", lambda: sorted(map(repr, table.changes(1).to_spark(spark).drop("_commit_timestamp").collect()))

    def viewed() -> Any:
        ds.register_view(spark, "odd_rows", table)
        return sorted(map(repr, spark.table("odd_rows").collect()))

    yield "view", viewed
    catalog = ds.catalog(f"warehouse:{folder / 'ware house'}")

    def created() -> Any:
        given(spark, 0, 3).createOrReplaceTempView("given_rows")
        catalog.sql(spark, "CREATE NAMESPACE IF NOT EXISTS db")
        catalog.sql(spark, "CREATE TABLE db.made USING delta AS SELECT id, ts, short FROM given_rows")
        return stored(catalog.load_table("db.made"))

    def inserted() -> Any:
        ddl = "id BIGINT, t TIMESTAMP, n TIMESTAMP_NTZ, s STRUCT<t: TIMESTAMP>, c CHAR(4)"
        other = DeltaTable.create(folder / "ware house/db/other", ddl)
        rows, into = "FROM given_rows WHERE length(short) < 5 AND id", "INSERT INTO db.other SELECT id, ts, ts,"
        catalog.sql(spark, f"{into} struct(ts), short {rows} < 2")
        catalog.sql(spark, f"{into} named_struct('u', ts), 'x' {rows} >= 1")
        catalog.sql(
            spark,
            "MERGE INTO db.other t USING given_rows s ON t.id = s.id AND s.id > 0 WHEN MATCHED THEN UPDATE SET "
            "t = s.ts, n = s.ntz WHEN NOT MATCHED THEN INSERT (id, t) VALUES (s.id + 10, s.ts)",
        )
        catalog.sql(spark, "UPDATE db.other SET n = t, c = 'ab' WHERE id = 2")
        return stored(other)

    yield "CREATE TABLE AS", created
    yield "INSERT and MERGE", inserted


def stored(table: DeltaTable) -> Any:
    """Rows of a table, the physical types of its files, and their partition values and statistics."""
    root, snapshot = Path(unquote(table.uri.removeprefix("file://"))), table.scan().snapshot
    names = dict(_names(json.loads(snapshot.metadata.schema_string)["fields"]))
    types, files = set(), []
    for file in _live(root / "_delta_log").values():
        schema = pq.read_metadata(root / unquote(file["path"])).schema
        types |= {(i, str(schema.column(i).logical_type), schema.column(i).physical_type) for i in range(len(schema))}
        text = repr((sorted(file["partitionValues"].items()), file.get("stats")))
        for physical, name in names.items():
            text = text.replace(physical, name)
        files.append(text)
    return sorted(map(repr, table.scan().to_arrow().to_pylist())), sorted(types), sorted(files)


def _live(log: Path) -> dict[str, Any]:
    """The add actions of the latest version, by path."""
    found: dict[str, Any] = {}
    for commit in sorted(log.glob("*.json")):
        for action in map(json.loads, commit.read_text().splitlines()):
            if "remove" in action:
                found.pop(action["remove"]["path"], None)
            if "add" in action:
                found[action["add"]["path"]] = action["add"]
    return found


def _names(fields: Any) -> Iterator[tuple[str, str]]:
    """Physical and logical names of columns and fields."""
    for field in fields:
        yield field["metadata"].get("delta.columnMapping.physicalName", field["name"]), field["name"]
        if isinstance(field["type"], dict) and "fields" in field["type"]:
            yield from _names(field["type"]["fields"])
