"""Adding files of Spark's own layouts, and constraints that only Spark evaluates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from deltaskip import DeltaTable, RowViolation

pytestmark = pytest.mark.spark


def test_a_constraint_that_only_spark_evaluates_is_checked_by_the_session(spark: Any, tmp_path: Path) -> None:
    properties = {"delta.constraints.sound": "to_csv(struct(s)) = 'Miller'"}
    table = DeltaTable.create(tmp_path / "t", "s STRING, p INT", partition_by=["p"], properties=properties)
    for name, value in (("good", "Miller"), ("bad", "Smith")):
        spark.createDataFrame([(value,)], "s STRING").coalesce(1).write.parquet(str(tmp_path / f"{name}/p=1"))
    assert table.add_files(tmp_path / "good").metrics["numOutputRows"] == 1
    with pytest.raises(RowViolation, match=r"CHECK constraint sound .*: s='Smith'"):
        table.add_files(tmp_path / "bad")
    assert [tuple(row) for row in table.scan().to_spark(spark).collect()] == [("Miller", 1)]


@pytest.mark.long(gate=2)
@pytest.mark.parametrize("timestamps", ["INT96", "TIMESTAMP_MILLIS", "TIMESTAMP_MICROS"])
@pytest.mark.parametrize("legacy", ["true", "false"])
def test_files_of_every_layout_of_spark_have_its_rows(spark: Any, tmp_path: Path, timestamps: str, legacy: str) -> None:
    settings = {"spark.sql.parquet.outputTimestampType": timestamps, "spark.sql.parquet.writeLegacyFormat": legacy}
    before = {name: spark.conf.get(name) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        frame = spark.sql(
            "SELECT 1 AS i, timestamp'2024-01-01 12:00:00' AS ts, array(1, null) AS l, map('a', 1) AS m, "
            "array(named_struct('a', 1)) AS st, CAST(1.5 AS DECIMAL(9,2)) AS d, CAST(1.5 AS DECIMAL(18,2)) AS e, "
            "date'2024-01-01' AS day"
        )
        frame.coalesce(1).write.parquet(str(tmp_path / "in"))
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)
    table = DeltaTable.create(
        tmp_path / "t", frame.schema, properties={"delta.constraints.late": "ts > timestamp'2000-01-01 00:00:00'"}
    )
    table.add_files(tmp_path / "in")
    assert table.scan().to_spark(spark).collect() == frame.collect()
    assert table.scan("ts < timestamp'2024-01-01 00:00:00'").total_files() == 1
    assert not table.scan("d = 2.5").paths()
