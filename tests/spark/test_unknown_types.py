"""Columns of types that this PySpark lacks do not matter to a scan that asks for others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaskip as ds
from deltaskip import DeltaTable
from deltaskip.errors import DeltaSkipError
from tests.builder import TableBuilder

pytestmark = pytest.mark.spark


def table_of(path: Path) -> DeltaTable:
    builder = TableBuilder(path, {})
    hologram = {"type": "struct", "fields": [{"name": "h", "type": "hologram", "nullable": True, "metadata": {}}]}
    fields = [
        {"name": name, "type": type_, "nullable": True, "metadata": {}}
        for name, type_ in (("id", "integer"), ("g", "geometry(4326)"), ("s", hologram), ("v", "string"))
    ]
    builder._head[1]["metaData"]["schemaString"] = json.dumps({"type": "struct", "fields": fields})
    rows = {"id": pa.array([1, 2], pa.int32()), "g": [b"a", b"b"], "s": [{"h": b"x"}] * 2, "v": ["a", "b"]}
    pq.write_table(pa.table(rows), path / "a.parquet")
    size = (path / "a.parquet").stat().st_size
    add = {"path": "a.parquet", "partitionValues": {}, "size": size, "modificationTime": 0, "dataChange": True}
    builder.commit({"add": add})
    return DeltaTable(path)


def test_only_columns_that_a_scan_asks_for_must_have_a_known_type(spark: Any, tmp_path: Path) -> None:
    table = table_of(tmp_path / "t")
    for where in (None, "id > 1", "hash(id) <> 0 AND id = 2", "v = 'b'"):
        expected = [2] if where else [1, 2]
        scan = table.scan(where, columns=["id"])
        assert [row.id for row in scan.to_spark(spark).collect()] == expected
        assert [row.id for row in scan.to_spark(spark, metadata=True).collect()] == expected
        assert scan.to_arrow()["id"].to_pylist() == expected
    nothing = table.scan("id > 5", columns=["v"]).to_spark(spark, metadata=True)
    assert nothing.columns[0] == "v" and nothing.collect() == []
    for where, columns in ((None, None), (None, ["g"]), (None, ["id", "s"]), ("g IS NULL", ["id"])):
        with pytest.raises(DeltaSkipError):
            table.scan(where, columns=columns).to_spark(spark).collect()


@pytest.mark.long
def test_the_format_reads_the_columns_that_its_option_names(spark: Any, tmp_path: Path) -> None:
    table = table_of(tmp_path / "t")
    ds.register_format(spark)
    read = spark.read.format("deltaskip").option("columns", "id, v").load(str(tmp_path / "t"))
    assert sorted(map(tuple, read.collect())) == [(1, "a"), (2, "b")]
    assert table.version == 0
