"""Other partition columns for an existing table, written by Spark: the same rows, row ids and hidden columns."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from deltaskip import DeltaTable, transforms
from deltaskip.errors import RowViolation
from tests.dml.tables import row_ids_of

pytestmark = pytest.mark.spark

PROPERTIES = {
    "delta.enableDeletionVectors": "true",
    "delta.enableRowTracking": "true",
    "delta.enableChangeDataFeed": "true",
}


@pytest.mark.long
@pytest.mark.parametrize("mapped", [False, True])
def test_spark_writes_the_rows_of_every_layout(spark: Any, tmp_path: Path, mapped: bool) -> None:
    properties = {**PROPERTIES, **({"delta.columnMapping.mode": "name"} if mapped else {})}
    table = DeltaTable.create(tmp_path / "t", "id BIGINT, ts TIMESTAMP, name STRING", ["name"], properties=properties)
    start = datetime(2024, 1, 30, 22, tzinfo=UTC)
    times = pa.array([start + timedelta(hours=i) for i in range(40)], pa.timestamp("us", "UTC"))
    table.append(pa.table({"id": range(40), "ts": times, "name": [["a", None, "é b"][i % 3] for i in range(40)]}))
    table.refresh().delete("id % 9 = 4")
    before = sorted(table.refresh().scan().to_spark(spark).collect())
    ids = row_ids_of(table)
    layouts = [transforms.date("ts"), transforms.bucket("id", 4)], [transforms.truncate("name", 1)], [], ["name"]
    for layout in layouts:
        done = table.replace_partitioning(*layout, spark=spark)
        assert (done.kind, done.metrics["numOutputRows"]) == ("rewritten", len(before))
        frame = table.scan(hidden=True).to_spark(spark)
        for name in table.hidden_columns:
            text = next(f.metadata["delta.generationExpression"] for f in table.schema.fields if f.name == name)
            assert frame.where(f"NOT ({name} <=> {text})").count() == 0
        assert sorted(table.scan().to_spark(spark).collect()) == before
        assert row_ids_of(table) == ids
        assert table.changes(table.version).to_spark(spark).count() == 0


def test_an_empty_string_does_not_become_null(spark: Any, tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "id BIGINT, name STRING")
    table.append(pa.table({"id": [1, 2], "name": ["", "b"]}))
    with pytest.raises(RowViolation, match="the empty string is NULL"):
        table.replace_partitioning("name", spark=spark)
    assert table.refresh().version == 1
