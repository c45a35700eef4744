"""Rows of a staged table that Spark writes, in the sort order of the table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import deltaskip as ds
from deltaskip.actions import decode_path

pytestmark = pytest.mark.spark

ROWS = """
SELECT id, CASE WHEN id % 7 = 0 THEN NULL ELSE CAST(rand(3) * 50 AS INT) END AS x,
       CASE WHEN id % 5 = 0 THEN NULL WHEN id % 5 = 1 THEN '' ELSE concat('p', id % 4) END AS p,
       CASE WHEN id % 11 = 0 THEN double('NaN') ELSE rand(1) END AS y
FROM range(0, 20000, 1, 6)
"""


@pytest.mark.long(gate=1)
@pytest.mark.parametrize("partitions", [(), ("p",)])
@pytest.mark.parametrize("mapping", ["none", "name"])
def test_each_file_is_sorted(spark: Any, tmp_path: Path, partitions: tuple[str, ...], mapping: str) -> None:
    catalog = ds.catalog(f"warehouse:{tmp_path}")
    assert isinstance(catalog, ds.TransactionalTableCatalog)
    columns, order = "id BIGINT, x INT, p STRING, y DOUBLE", ["x DESC NULLS FIRST", "p", "y DESC NULLS LAST", "id"]
    properties = {"delta.columnMapping.mode": mapping, "delta.targetFileSize": "100kb"}
    with catalog.stage_create("t", columns, partitions, order, properties) as staged:
        staged.append(spark.sql(ROWS))
    table = catalog.load_table("t")
    names = [field.name for field in table.schema.fields if field.name not in partitions]
    listed = table.scan().files(columns=["path", "num_records"])
    assert sum(listed["num_records"].to_pylist()) == 20_000
    assert len(listed) > 1
    for path in listed["path"].to_pylist():
        file = pq.ParquetFile(Path(table.snapshot.root) / decode_path(path)).read().rename_columns(names)
        rows = file.to_pylist()
        assert rows == sorted(rows, key=_key) or list(map(_key, rows)) == sorted(map(_key, rows)), path


def _key(row: dict[str, Any]) -> tuple[Any, ...]:
    x, p, y = row["x"], row.get("p"), row["y"]
    is_nan = y != y
    return (x is not None, -(x or 0), p is not None, p or "", not is_nan, 0 if is_nan else -y, row["id"])
