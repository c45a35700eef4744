"""Settings of a session for reading and writing files: changes store the rows that they store under the usual ones."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaskip as ds
from deltaskip.spark.session.session_settings import session_settings
from tests.each import each, refuses
from tests.extent import TIME_LIMIT_SECONDS

pytestmark = pytest.mark.spark

COLUMNS = "id INT, p STRING, d DATE, ts TIMESTAMP, n DECIMAL(10, 2), a ARRAY<DATE>"
OLD_DAY, DAY = date(1000, 2, 29 - 1), date(2024, 2, 29)
OLD_INSTANT, INSTANT = datetime(1500, 3, 1, 12, tzinfo=UTC), datetime(2024, 2, 29, 12, tzinfo=UTC)

USUAL: dict[str, str] = {}
SETTINGS: tuple[Mapping[str, str], ...] = (
    {"spark.sql.parquet.datetimeRebaseModeInRead": "LEGACY", "spark.sql.parquet.int96RebaseModeInRead": "LEGACY",
        "spark.sql.parquet.datetimeRebaseModeInWrite": "LEGACY", "spark.sql.parquet.int96RebaseModeInWrite": "LEGACY",
        "spark.sql.parquet.outputTimestampType": "INT96", "spark.sql.parquet.writeLegacyFormat": "true",
        "spark.sql.parquet.fieldId.write.enabled": "false", "mapreduce.output.basename": "_hidden"},
    {"spark.sql.parquet.datetimeRebaseModeInRead": "EXCEPTION", "spark.sql.parquet.int96RebaseModeInRead": "EXCEPTION",
        "spark.sql.parquet.datetimeRebaseModeInWrite": "EXCEPTION",
        "spark.sql.parquet.int96RebaseModeInWrite": "EXCEPTION", "mapreduce.output.basename": ".hidden",
        "mapreduce.fileoutputcommitter.marksuccessfuljobs": "true",
        "mapreduce.fileoutputcommitter.algorithm.version": "1", "parquet.summary.metadata.level": "ALL",
        "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
        "spark.sql.sources.partitionOverwriteMode": "dynamic",
        "spark.sql.sources.useV1SourceList": "avro,csv,json,orc,text",
        "spark.sql.parquet.enableVectorizedReader": "false", "parquet.writer.version": "PARQUET_2_0",
        "parquet.bloom.filter.enabled": "true", "parquet.enable.dictionary": "false",
        "parquet.column.statistics.enabled": "false"},
)  # fmt: skip


def rows(first: int, count: int, day: date = OLD_DAY, instant: datetime = OLD_INSTANT) -> pa.Table:
    """Rows of COLUMNS in two partitions; every other one is of these old dates."""
    found = [
        {
            "id": i,
            "p": "even" if i % 2 == 0 else "odd",
            "d": day if i % 4 < 2 else DAY,
            "ts": instant if i % 4 < 2 else INSTANT,
            "n": Decimal(f"{i}.25"),
            "a": [day, DAY],
        }
        for i in range(first, first + count)
    ]
    types = {
        "id": pa.int32(),
        "p": pa.string(),
        "d": pa.date32(),
        "ts": pa.timestamp("us", "UTC"),
        "n": pa.decimal128(10, 2),
        "a": pa.list_(pa.date32()),
    }
    return pa.Table.from_pylist(found, pa.schema(list(types.items())))


def played(spark: Any, root: Path) -> list[Any]:
    """What every kind of change leaves after it: the rows, read by both readers, and the files."""
    found: list[Any] = []
    table = ds.DeltaTable.create(root, COLUMNS, partition_by=["p"])

    def note(what: str) -> None:
        scan = ds.DeltaTable(root).scan()
        arrow = scan.to_arrow().sort_by("id").to_pylist()
        text = [f"CAST({name} AS STRING)" for name in ("d", "ts", "a")]
        through_spark = [tuple(row) for row in scan.to_spark(spark).orderBy("id").selectExpr("id", *text).collect()]
        few = ds.DeltaTable(root).scan(f"d = DATE'{OLD_DAY}'").to_spark(spark).count()
        found.append((what, arrow, through_spark, few, sorted(map(repr, described(root, scan)))))

    table.append(rows(0, 8))
    table.append(spark.createDataFrame(rows(8, 8)))
    note("appends")
    table.update({"n": "n + 1"}, "id IN (1, 9, 10)", spark=spark)
    table.delete("id IN (0, 8)", spark=spark)
    source = spark.createDataFrame(rows(14, 4))
    (
        table.merge(source, "target.id = source.id", spark=spark)
        .when_matched_update({"n": "source.n + 100"})
        .when_not_matched_insert_all()
        .execute()
    )
    note("update, delete and merge")
    table.optimize(spark=spark)
    table.overwrite(spark.createDataFrame(rows(20, 6)), "id < 6 OR id >= 20")
    note("optimize and overwrite")
    return found


def described(root: Path, scan: Any) -> Iterator[tuple[Any, ...]]:
    """Each file of a scan: its rows, physical types, bounds in the footer, and statistics in the log."""
    folders = [name for name in os.listdir(root) if name != "_delta_log"]
    assert not [name for name in folders if name.startswith(("_", "."))]
    for folder, _, names in os.walk(root):
        if "_delta_log" not in folder:
            assert all(name.endswith((".parquet", ".crc")) for name in names), names
    for file in scan.snapshot.adds(["path", "partition_values", "stats"]).to_pylist():
        footer = pq.read_metadata(root / unquote(file["path"]))
        assert not {b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96"} & footer.metadata.keys()
        assert footer.metadata[b"org.apache.spark.version"] >= b"3.1.0"
        columns = [footer.schema.column(i) for i in range(len(footer.schema))]
        types = [(column.path, column.physical_type, str(column.logical_type)) for column in columns]
        yield dict(file["partition_values"]), footer.num_rows, types, file["stats"]


@pytest.mark.usefixtures("found_by_a_job")
def test_changes_store_the_same_rows_types_and_statistics_under_every_setting(spark: Any, tmp_path: Path) -> None:
    usual = played(spark, tmp_path / "usual")

    def check(settings: Mapping[str, str]) -> None:
        with session_settings(spark, settings):
            found = played(spark, tmp_path / str(SETTINGS.index(settings)))
        for expected, one in zip(usual, found, strict=True):
            assert one == expected, one[0]

    each(SETTINGS, check)


def test_the_installed_catalog_reads_and_replaces_partitions_under_every_setting(spark: Any, tmp_path: Path) -> None:
    if spark.version.startswith("3."):
        pytest.skip("refused with Spark 3.5")
    catalog = ds.catalog(f"warehouse:{tmp_path}")
    catalog.create_namespace("db")

    def check(settings: Mapping[str, str]) -> None:
        name = f"t{SETTINGS.index(settings)}"
        table = catalog.create_table(f"db.{name}", COLUMNS, partitions=["p"])
        table.append(rows(0, 8))
        with session_settings(spark, settings), ds.install_catalog(spark, "lake", catalog):
            query = f"SELECT id, CAST(d AS STRING) AS d FROM lake.db.{name} WHERE d < DATE'1582-01-01' ORDER BY id"
            assert [tuple(row) for row in spark.sql(query).collect()] == [(i, str(OLD_DAY)) for i in (0, 1, 4, 5)]
            new = spark.createDataFrame(rows(20, 4)).where("p = 'odd'").coalesce(1)
            new.writeTo(f"lake.db.{name}").overwritePartitions()
        found = catalog.load_table(f"db.{name}").scan().to_arrow().sort_by("id")
        expected = [row for row in rows(0, 24).to_pylist() if row["id"] in (0, 2, 4, 6, 21, 23)]
        assert found.to_pylist() == expected

    each(SETTINGS, check)


def test_jobs_compress_files_as_the_table_says_or_else_as_the_session_does(spark: Any, tmp_path: Path) -> None:
    def codecs(properties: dict[str, str]) -> set[str]:
        root = tmp_path / "_".join(["t", *properties.values()])
        table = ds.DeltaTable.create(root, "id BIGINT", properties=properties)
        with session_settings(spark, {"spark.sql.parquet.compression.codec": "gzip"}):
            table.append(spark.range(3))
        paths = [root / unquote(file["path"]) for file in table.snapshot.adds(["path"]).to_pylist()]
        return {pq.read_metadata(path).row_group(0).column(0).compression for path in paths}

    assert codecs({}) == {"GZIP"}
    assert codecs({"delta.parquet.compression.codec": "zstd"}) == {"ZSTD"}


def test_a_write_that_lacks_rows_is_not_committed(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from deltaskip.spark.write import parquet_writes, write_dataframe

    listed = parquet_writes.write_parquet
    monkeypatch.setattr(write_dataframe, "write_parquet", lambda *args, **more: listed(*args, **more).slice(1))
    table = ds.DeltaTable.create(tmp_path / "t", "id BIGINT")
    for frame in (spark.range(0, 10, 1, 1), spark.range(0, 10, 1, 2)):
        refuses(ds.StorageError, r"Spark wrote 10 rows to .*commitProtocolClass", table.append, frame)
    assert ds.DeltaTable(table.uri).version == 0
    assert os.listdir(tmp_path / "t") == ["_delta_log"]


@pytest.mark.usefixtures("found_by_a_job")
def test_a_missing_or_damaged_file_is_an_error_where_the_session_ignores_it(spark: Any, tmp_path: Path) -> None:
    settings = {"spark.sql.files.ignoreMissingFiles": "true", "spark.sql.files.ignoreCorruptFiles": "true"}

    def check(damage: str) -> None:
        table = ds.DeltaTable.create(tmp_path / damage, "id BIGINT, v BIGINT")
        for start in (0, 10, 20):
            table.append(pa.table({"id": range(start, start + 10), "v": [0] * 10}))
        path = tmp_path / damage / table.snapshot.adds(["path"]).to_pylist()[0]["path"]
        if damage == "missing":
            path.unlink()
        else:
            path.write_bytes(b"PAR1" + b"\0" * (path.stat().st_size - 8) + b"PAR1")
        (path.parent / f".{path.name}.crc").unlink(missing_ok=True)
        with session_settings(spark, settings):
            each(
                {
                    "read": lambda: table.scan().to_spark(spark).collect(),
                    "delete": lambda: table.delete("v = 0 AND id % 10 = 3", spark=spark),
                    "update": lambda: table.update({"v": "1"}, "v + id % 10 = 4", spark=spark),
                    "optimize": lambda: table.optimize(spark=spark),
                }.items(),
                lambda change: _raises(change[1]),
            )
        assert ds.DeltaTable(table.uri).version == 3

    each(("missing", "damaged"), check)


def _raises(act: Any, message: str = r"part-|data file|not exist") -> None:
    refuses(Exception, message, act)


@pytest.mark.usefixtures("found_by_a_job")
def test_timestamps_that_a_setting_would_move_are_refused(spark: Any, tmp_path: Path) -> None:
    """Spark moves INT96 of files of other writers: its rows would differ from the statistics and from other doors."""
    catalog = ds.catalog(f"warehouse:{tmp_path}")
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", "id BIGINT, s STRUCT<ts: TIMESTAMP>")
    instant = datetime(2024, 1, 1, tzinfo=UTC)
    rows = pa.table(
        {"id": [1, 2], "s": pa.array([{"ts": instant}] * 2, pa.struct([("ts", pa.timestamp("us", "UTC"))]))}
    )
    pq.write_table(rows, tmp_path / "db" / "t" / "f.parquet", use_deprecated_int96_timestamps=True)
    table.add_files(str(tmp_path / "db" / "t" / "f.parquet"))
    moved = r"int96TimestampConversion is true, so Spark would move the timestamps of \S*f\.parquet .* set it to false"
    doors: dict[str, Any] = {
        "read": lambda: table.scan().to_spark(spark).collect(),
        "sql": lambda: catalog.sql(spark, "SELECT * FROM db.t").collect(),
        "delete": lambda: table.delete("id % 2 = 1", spark=spark),
        "update": lambda: table.update({"id": "id + 10"}, "id % 2 = 1", spark=spark),
        "optimize": lambda: table.optimize(spark=spark, zorder_by=["id"]),
    }
    with session_settings(spark, {"spark.sql.parquet.int96TimestampConversion": "true"}):
        each(doors.items(), lambda door: _raises(door[1], moved))
        if not spark.version.startswith("3."):
            with ds.install_catalog(spark, "lake", catalog):
                # Python workers read such files.
                assert [tuple(row) for row in spark.sql("SELECT unix_seconds(s.ts) FROM lake.db.t").collect()] == [
                    (instant.timestamp(),)
                ] * 2
        assert table.refresh().version == 1
        assert table.scan().to_arrow()["s"].to_pylist() == [{"ts": instant}] * 2
    table.optimize(spark=spark, zorder_by=["id"])
    with session_settings(spark, {"spark.sql.parquet.int96TimestampConversion": "true"}):
        assert table.scan("s.ts < TIMESTAMP'2024-01-01 00:00:01Z'").to_spark(spark).count() == 2


@pytest.mark.usefixtures("found_by_a_job")
def test_columns_in_another_letter_case_are_not_null_with_a_case_sensitive_session(spark: Any, tmp_path: Path) -> None:
    """OPTIMIZE stored NULL in place of all values of such files, which other engines write."""
    catalog = ds.catalog(f"warehouse:{tmp_path}")
    catalog.create_namespace("db")
    # The names of a column, of a field and of a field of elements.
    names = (("ID", "Q", "Q"), ("id", "q", "Q"), ("id", "Q", "q"))
    settings = {"spark.sql.caseSensitive": "true"}
    refused = r"caseSensitive is true, so Spark would find no .* in \S*f\.parquet, which has it in another letter case"

    def check(given: tuple[str, str, str]) -> None:
        name = f"t{names.index(given)}"
        table = catalog.create_table(f"db.{name}", "id BIGINT, S STRUCT<Q: BIGINT>, l ARRAY<STRUCT<Q: BIGINT>>")
        column, field, element = given
        rows = pa.table({column: [7], "S": [{field: 1}], "l": [[{element: 2}]]})
        root = tmp_path / "db" / name
        pq.write_table(rows, root / "f.parquet")
        add = {"path": "f.parquet", "partitionValues": {}, "size": (root / "f.parquet").stat().st_size}
        add |= {"modificationTime": 0, "dataChange": True, "stats": '{"numRecords": 1}'}
        (root / "_delta_log" / f"{1:020}.json").write_text(json.dumps({"add": add}) + "\n")
        table.refresh()
        assert table.scan().to_arrow().to_pylist() == [{"id": 7, "S": {"Q": 1}, "l": [{"Q": 2}]}]
        doors: dict[str, Any] = {
            "read": lambda: table.scan().to_spark(spark).collect(),
            "sql": lambda: catalog.sql(spark, f"SELECT * FROM db.{name}").collect(),
            "delete": lambda: table.delete("id % 2 = 1", spark=spark),
            "update": lambda: table.update({"id": "id + 10"}, "id % 2 = 1", spark=spark),
            "optimize": lambda: table.optimize(spark=spark, zorder_by=["id"]),
        }
        with session_settings(spark, settings):
            each(doors.items(), lambda door: _raises(door[1], refused))
            if not spark.version.startswith("3."):
                with ds.install_catalog(spark, "lake", catalog):
                    # A file may be right for one column and not for another.
                    for some in ("id", "S.Q", "l[0].Q"):
                        assert [row[0] for row in spark.sql(f"SELECT {some} FROM lake.db.{name}").collect()] != [None]
                    query = f"SELECT id, S.Q AS q, l[0].Q AS r FROM lake.db.{name}"
                    assert [tuple(row) for row in spark.sql(query).collect()] == [(7, 1, 2)]
        assert table.refresh().version == 1
        table.optimize(spark=spark, zorder_by=["id"])
        with session_settings(spark, settings):
            assert table.scan().to_spark(spark).selectExpr("id", "S.Q", "l[0].Q").collect() == [(7, 1, 2)]

    each(names, check)


@pytest.mark.usefixtures("found_by_a_job")
def test_a_struct_is_not_null_because_files_lack_the_fields_that_are_read(spark: Any, tmp_path: Path) -> None:
    """Spark 4.0 and older, and newer releases with this setting, take such a struct for NULL."""
    settings = {"spark.sql.legacy.parquet.returnNullStructIfAllFieldsMissing": "true"}

    def made(name: str, properties: dict[str, str]) -> ds.DeltaTable:
        columns = (
            "id BIGINT, s STRUCT<a: INT, v: STRUCT<x: FLOAT>>, l ARRAY<STRUCT<a: INT>>, m MAP<INT, STRUCT<a: INT>>"
        )
        table = ds.DeltaTable.create(tmp_path / name, columns, properties=properties)
        one = pa.struct([("a", pa.int32())])
        types = {"s": pa.struct([("a", pa.int32()), ("v", pa.struct([("x", pa.float32())]))])}
        types |= {"l": pa.list_(one), "m": pa.map_(pa.int32(), one)}
        values = {"s": {"a": 1, "v": {"x": 1.0}}, "l": [{"a": 1}], "m": [(1, {"a": 1})]}
        nested = {key: pa.array([values[key], None], kind) for key, kind in types.items()}
        table.append(pa.table({"id": [1, 2], **nested}))
        table.alter_sql("ADD COLUMNS (s.b INT, s.v.y INT)")
        table.alter_sql("ADD COLUMNS (l.element.b INT, m.value.b INT)")
        return table

    queries = {
        "s IS NOT NULL AND s.b IS NULL": [1],
        "coalesce(s.b, -1) = -1 AND s IS NULL": [2],
        "s.v IS NOT NULL AND coalesce(s.v.y, 0) = 0": [1],
        "size(transform(l, e -> e.b)) = 1 AND exists(l, e -> e IS NOT NULL AND e.b IS NULL)": [1],
        "exists(map_values(m), e -> e IS NOT NULL AND e.b IS NULL)": [1],
        "s IS NOT NULL AND s.v.x > 0.5 AND s.v.y IS NULL": [1],
    }

    def check(mode: str) -> None:
        table = made(mode, {"delta.columnMapping.mode": mode})
        for number, (where, expected) in enumerate(queries.items()):
            if mode == "id" and "exists" in where and spark.version.startswith("3."):
                continue
            found = table.scan().to_spark(spark)
            assert [row.id for row in found.where(where).select("id").collect()] == expected, where
            assert table.scan(where).to_spark(spark).count() == 1, where
            if mode == "none" and expected == [1] and "exists" not in where:
                copy = made(f"{mode} {number}", {"delta.columnMapping.mode": mode})
                copy.delete(where, spark=spark)
                assert copy.scan().to_arrow()["id"].to_pylist() == [2], where

    with session_settings(spark, {} if spark.version.startswith("3.") else settings):
        each(("none", "name", "id"), check)


def test_strict_store_assignment_stores_what_spark_widens_and_nothing_else(spark: Any, tmp_path: Path) -> None:
    from pyspark.sql.types import _parse_datatype_string

    from deltaskip.rows.store import assignable, widens
    from deltaskip.sparkexpr.types.ddl import parse_type_text

    names = ["TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "BOOLEAN", "STRING", "BINARY", "DATE"]
    names += [
        "TIMESTAMP", "TIMESTAMP_NTZ", "DECIMAL(2,0)", "DECIMAL(9,0)", "DECIMAL(10,0)", "DECIMAL(12,2)", "DECIMAL(20,0)",
        "DECIMAL(38,18)",
    ]  # fmt: skip
    jvm, types = spark._jvm, {name: _parse_datatype_string(name).json() for name in names}
    java = {name: jvm.org.apache.spark.sql.types.DataType.fromJson(text) for name, text in types.items()}
    cast = jvm.org.apache.spark.sql.catalyst.expressions.Cast

    def check(pair: tuple[str, str]) -> None:
        # Values of other types are refused under every policy; canUpCast also has TIMESTAMP and BIGINT.
        if assignable(*map(parse_type_text, pair)):
            assert widens(*map(parse_type_text, pair)) == cast.canUpCast(*(java[name] for name in pair))

    each(((one, other) for one in names for other in names), check)

    catalog = ds.catalog(f"warehouse:{tmp_path}")
    catalog.create_namespace("db")
    catalog.sql(spark, "CREATE TABLE db.t (id INT, a ARRAY<INT>)")
    with session_settings(spark, {"spark.sql.storeAssignmentPolicy": "STRICT"}):
        catalog.sql(spark, "INSERT INTO db.t VALUES (1, NULL), (CAST(2 AS TINYINT), array(1))")
        for refused in ("1.7D, NULL", "CAST(1 AS BIGINT), NULL", "3, array(1.5)"):
            with pytest.raises(ds.SchemaError, match="storeAssignmentPolicy is STRICT"):
                catalog.sql(spark, f"INSERT INTO db.t VALUES ({refused})")
    assert catalog.load_table("db.t").scan().to_arrow().sort_by("id").to_pylist() == [
        {"id": 1, "a": None},
        {"id": 2, "a": [1]},
    ]


@pytest.mark.usefixtures("found_by_a_job")
def test_deletion_vectors_are_read_and_written_with_the_other_parquet_source(spark: Any, tmp_path: Path) -> None:
    table = ds.DeltaTable.create(tmp_path / "t", "id BIGINT", properties={"delta.enableDeletionVectors": "true"})
    table.append(pa.table({"id": range(10)}))
    table.delete("id = 3")
    with session_settings(spark, {"spark.sql.sources.useV1SourceList": "avro,csv,json,orc,text"}):
        table.delete("id % 5 = 4", spark=spark)
        found = ds.DeltaTable(table.uri).scan().to_spark(spark).orderBy("id").collect()
    assert [row.id for row in found] == [0, 1, 2, 5, 6, 7, 8]


@pytest.mark.usefixtures("found_by_a_job")
@pytest.mark.parametrize("vectors", ["true", "false"])
def test_changes_find_their_rows_where_groups_do_not_keep_their_columns(
    spark: Any, tmp_path: Path, vectors: str
) -> None:
    properties = {"delta.enableDeletionVectors": vectors, "delta.enableChangeDataFeed": "true"}
    table = ds.DeltaTable.create(tmp_path / "t", "id BIGINT, v INT, p STRING", ["p"], properties=properties)
    ids = list(range(8))
    table.append(pa.table({"id": ids, "v": pa.array(ids, pa.int32()), "p": ["a", "b"] * 4}))
    source = spark.createDataFrame([(1, 100), (9, 900)], "id BIGINT, v INT")
    with session_settings(spark, {"spark.sql.retainGroupColumns": "false"}):
        assert table.delete("id % 4 = 3", spark=spark).metrics["numDeletedRows"] == 2
        assert table.update({"v": "v + 10"}, "id IN (2, 4)", spark=spark).metrics["numUpdatedRows"] == 2
        merge = table.merge(source, "target.id = source.id", spark=spark)
        merge = merge.when_matched_update({"v": "source.v"}).when_not_matched_insert(
            {"id": "source.id", "v": "source.v"}
        )
        merge.when_not_matched_by_source_delete("target.id = 0").execute()
        twice = table.merge(source.union(source), "target.id = source.id", spark=spark)
        with pytest.raises(ds.AmbiguousMerge, match="id"):
            twice.when_matched_update({"v": "source.v"}).execute()
    rows = table.scan().to_arrow().sort_by("id").to_pylist()
    assert [(row["id"], row["v"]) for row in rows] == [(1, 100), (2, 12), (4, 14), (5, 5), (6, 6), (9, 900)]


_MERGE = """
import sys
import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession
import deltaskip as ds

settings = {"spark.driver.maxResultSize": "256k", "spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1"}
builder = SparkSession.builder.master("local[1]").config("spark.sql.shuffle.partitions", "1")
for key, value in settings.items():
    builder = builder.config(key, value)
spark = builder.getOrCreate()
table = ds.DeltaTable.create(sys.argv[1], "id BIGINT, s STRING")
table.append(pa.table({"id": np.arange(20_000), "s": ["old"] * 20_000}))
source = spark.range(5_000, 25_000).selectExpr("id", "repeat(sha2(CAST(id AS STRING), 256), 2) AS s")
merge = table.merge(source, "target.id = source.id", spark=spark)
merge.when_matched_update_all().when_not_matched_insert_all().execute()
rows = table.scan().to_arrow()
print("found", rows.num_rows, sum(text != "old" for text in rows["s"].to_pylist()))
spark.stop()
"""


def test_a_merge_collects_no_source_that_the_driver_may_not_have(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _MERGE, str(tmp_path / "t")]
    run = subprocess.run(command, capture_output=True, text=True, timeout=TIME_LIMIT_SECONDS, check=False)
    assert run.returncode == 0, run.stderr[-3000:]
    assert run.stdout.splitlines()[-1] == "found 25000 20000"
