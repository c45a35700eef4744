"""Rows that match a predicate, found in this process, are those that a Spark job finds."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from deltaskip import DeltaTable, SetProperty
from deltaskip.dml import matching
from deltaskip.dml.files_to_change import files_to_change
from deltaskip.skipping.read_options import ReadOptions
from deltaskip.skipping.scan import Scan
from tests.extent import extent, some
from tests.reading.test_odd_files import broken, table_of
from tests.reference.predicates import random_predicates
from tests.skipping.random_tables import random_value

pytestmark = pytest.mark.spark

DDL = (
    "id BIGINT, i INT, s SMALLINT, b BYTE, t STRING, d DATE, ts TIMESTAMP, n TIMESTAMP_NTZ, x DOUBLE, f FLOAT, "
    "o BOOLEAN, m DECIMAL(12, 3), r BINARY, st STRUCT<a: INT, t: STRING>, p INT"
)
BY_HAND = (
    "id % 7 = 3", "pmod(id, 7) = 3", "i % 3 = -1", "id + 1 = 5", "i * 2 > 10", "year(d) = 2000", "x = 'NaN'",
    "x > 1e10", "t LIKE 'a%'", "substring(t, 1, 1) = 'a'", "length(t) > 3", "upper(t) = t", "coalesce(i, 0) = 0",
    "p = 1 AND id > 3",
    "CASE WHEN i IS NULL THEN true ELSE i > 3 END", "id IN (1, 2, NULL)", "st.a IS NULL", "st IS NULL", "NOT o", "o",
    "CAST(ts AS DATE) = d", "hour(ts) = 3", "m > 1.5", "x = -0.0", "f = 0", "i <=> NULL", "p IS NULL OR st.a = 1",
)  # fmt: skip


def made(folder: Path, rng: random.Random) -> tuple[DeltaTable, list[dict[str, Any]]]:
    """A table with a column of each type, partitions, and deletion vectors; and its values."""
    table = DeltaTable.create(folder / "t", DDL, ("p",), properties={"delta.enableDeletionVectors": "true"})
    fields = {field.name: field.type for field in table.snapshot.schema.fields}
    rows = []
    for number in range(300):
        row = {name: None if rng.random() < 0.1 else random_value(rng, type_) for name, type_ in fields.items()
               if name not in ("st", "p", "id")}  # fmt: skip
        st = None if rng.random() < 0.1 else {"a": rng.choice([None, 1, 2]), "t": rng.choice([None, "a", "b"])}
        rows.append({"id": number, **row, "st": st, "p": rng.choice([None, 1, 2])})
    schema = pa.schema(
        [
            ("id", pa.int64()), ("i", pa.int32()), ("s", pa.int16()), ("b", pa.int8()), ("t", pa.string()),
            ("d", pa.int32()), ("ts", pa.int64()), ("n", pa.int64()), ("x", pa.float64()), ("f", pa.float32()),
            ("o", pa.bool_()), ("m", pa.decimal128(12, 3)), ("r", pa.binary()),
            ("st", pa.struct([("a", pa.int32()), ("t", pa.string())])), ("p", pa.int32()),
        ]
    )  # fmt: skip
    data = pa.Table.from_pylist(rows, schema)
    for name, type_ in (("d", pa.date32()), ("ts", pa.timestamp("us", "UTC")), ("n", pa.timestamp("us"))):
        column = pa.chunked_array([chunk.view(type_) for chunk in data[name].chunks])
        data = data.set_column(data.schema.get_field_index(name), name, column)
    for start in (0, 150):
        table.append(data.slice(start, 150))
    table.delete("id % 11 = 5")
    return table, rows


@pytest.mark.long
def test_the_rows_found_here_are_those_of_spark(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from deltaskip.spark.dml.spark_execution import SparkExecution

    rng = random.Random(7)
    table, rows = made(tmp_path, rng)
    # Parquet's dictionaries tell -0.0 and 0.0 apart, so that its filters drop rows which the predicate matches.
    without_filters = spark.newSession()
    without_filters.conf.set("spark.sql.parquet.filterPushdown", "false")
    execution = SparkExecution(without_filters, table.snapshot)
    predicates = [*BY_HAND, *(each.sql for each in random_predicates(rng, table.snapshot.schema, rows, 60))]
    predicates = some(predicates, 12)
    here = 0
    for sql in predicates:
        scan = execution.planned(Scan(table.snapshot, ReadOptions(sql)))
        files = files_to_change(scan).partly.listed
        found = matching.matching_here(scan, files, execution.time_zone) if len(files) else None
        if found is None:
            continue
        here += 1
        with monkeypatch.context() as patch:
            patch.setattr("deltaskip.settings.options.spark_jobs", "always")
            job = execution.matching(scan, files)
        assert [each.to_pylist() for each in found] == [each.to_pylist() for each in job], sql
    assert here > extent(4, 40)


@pytest.mark.parametrize("where", ["to_csv(struct(t)) = 'x'", "id + 9223372036854775800 > 5"])
def test_what_is_not_known_here_is_left_to_spark(tmp_path: Path, where: str) -> None:
    table, _ = made(tmp_path, random.Random(7))
    scan = Scan(table.snapshot, ReadOptions(where))
    files = files_to_change(scan).partly.listed
    assert matching.matching_here(scan, files, "UTC") is None


@pytest.mark.parametrize("where", ["c = 'ab'", "n = 1"])
def test_strings_that_are_not_utf8_are_left_to_spark(spark: Any, tmp_path: Path, where: str) -> None:
    table = table_of(tmp_path, "c STRING, n BIGINT", pa.table({"c": broken(), "n": [1, 2, 3]}))
    table.delete(where, spark)
    assert [row.n for row in table.scan().to_spark(spark).select("n").collect()] == [2, 3]


def test_much_is_left_to_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table, _ = made(tmp_path, random.Random(7))
    scan = Scan(table.snapshot, ReadOptions("id = 3"))
    files = files_to_change(scan).partly.listed
    assert matching.matching_here(scan, files, "UTC") is not None
    monkeypatch.setattr("deltaskip.settings.options.values_found_here", 100)
    assert matching.matching_here(scan, files, "UTC") is None


def test_without_ansi_mode_spark_decides(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from deltaskip.spark.dml.spark_execution import SparkExecution

    table, _ = made(tmp_path, random.Random(7))
    calls = []
    monkeypatch.setattr("deltaskip.spark.dml.table_frames.matching_here", lambda *args: calls.append(args))
    ansi = spark.conf.get("spark.sql.ansi.enabled")
    try:
        for on in ("true", "false"):
            spark.conf.set("spark.sql.ansi.enabled", on)
            execution = SparkExecution(spark, table.snapshot)
            scan = execution.planned(Scan(table.snapshot, ReadOptions("id = 3")))
            assert execution.matching(scan, files_to_change(scan).partly.listed).counts
    finally:
        spark.conf.set("spark.sql.ansi.enabled", ansi)
    assert len(calls) == 1


@pytest.mark.long(gate=1)
@pytest.mark.parametrize("properties", [{}, {"delta.enableChangeDataFeed": "true", "delta.enableRowTracking": "true"}])
def test_few_rows_are_copied_without_a_job(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, properties: dict[str, str]
) -> None:
    """The same rows, in the same partitions, as Spark copies."""
    copies = []
    for number in range(2):
        table, _ = made(tmp_path / str(number), random.Random(7))
        changed = {"delta.enableDeletionVectors": "false", **properties}
        table.alter(*(SetProperty(name, value) for name, value in changed.items()))
        with monkeypatch.context() as patch:
            if number:
                patch.setattr("deltaskip.settings.options.spark_jobs", "always")
            else:
                patch.setattr("deltaskip.spark.dml.spark_execution.write_dataframe", None)
            result = table.delete("id % 7 = 3", spark)
        assert result.metrics["numCopiedRows"] > 200
        frame = table.scan().to_spark(spark).orderBy("id")
        copies.append((frame.selectExpr("to_json(struct(*))").collect(), result.metrics["numAddedChangeFiles"] > 0))
        partitions = table.snapshot.adds(["partition_values", "stats"])
        copies[-1] += (sorted(str(each) for each in partitions["partition_values"].to_pylist()),)
    assert copies[0] == copies[1]
