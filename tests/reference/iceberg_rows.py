"""Tables with Iceberg compatibility that deltaskip and delta-spark write in turns; prints what differs, as JSON.

    python -m tests.reference.playing iceberg_rows ANSWERS.json [CASE ...]

Runs in a process of its own, since reading tests must not have Delta in their JVM.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

import deltaskip as ds
from deltaskip.sparkexpr.types import arrow_schema

CASES: dict[str, tuple[str, bool]] = {
    "V1": ("id BIGINT, name STRING, at TIMESTAMP, p DATE", True),
    "V2": ("id BIGINT, name STRING, st STRUCT<x: INT>, p DATE", True),
    "V2 nested": ("id BIGINT, tags ARRAY<ARRAY<INT>>, m MAP<STRING, STRUCT<x: ARRAY<INT>>>, p DATE", False),
}


def play(spark: Any, folder: Path, name: str) -> None:
    """Write a table in turns, and compare what both read after each step."""
    columns, through_spark = CASES[name]
    where = str(folder / name.replace(" ", "_"))
    properties = {f"delta.enableIcebergCompat{name.partition(' ')[0]}": "true"}
    table = ds.DeltaTable.create(where, columns, partition_by=["p"], properties=properties)
    rows = spark.sql(f"SELECT * FROM VALUES {VALUES[name]} AS t({', '.join(f.name for f in table.schema.fields)})")
    arrow = pa.Table.from_pylist(
        [row.asDict(recursive=True) for row in rows.collect()], pa.schema(arrow_schema(table.schema))
    )
    acts: tuple[Callable[[], Any], ...] = (
        lambda: table.append(arrow),
        lambda: table.append(rows if through_spark else arrow),
        lambda: rows.write.format("delta").mode("append").save(where),
        lambda: table.append(arrow),
    )
    for number, act in enumerate(acts, 1):
        act()
        theirs = spark.read.format("delta").load(where)
        ours = table.refresh().scan().to_spark(spark)
        expected = sorted(map(str, rows.collect() * number))
        for found in (theirs, ours):
            assert sorted(map(str, found.collect())) == expected, (number, found.collect())
    assert "icebergCompat" in str(spark.sql(f"DESCRIBE DETAIL delta.`{where}`").first().tableFeatures)


VALUES = {
    "V1": "(1L, 'a', TIMESTAMP'2024-01-01 10:00:00', DATE'2024-01-01'), (2L, NULL, NULL, NULL)",
    "V2": "(1L, 'a', named_struct('x', 1), DATE'2024-01-01'), (2L, NULL, NULL, NULL)",
    "V2 nested": "(1L, array(array(1), NULL), map('k', named_struct('x', array(2))), DATE'2024-01-01'), "
    "(2L, NULL, NULL, NULL)",
}
