"""Fields of structs as columns of a scan, through Spark; every form of a predicate through Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import deltaskip as ds
from deltaskip.errors import InvalidArgument

pytestmark = pytest.mark.spark


@pytest.fixture
def table(tmp_path: Path) -> ds.DeltaTable:
    made = ds.DeltaTable.create(tmp_path / "t", "id INT, g DOUBLE, st STRUCT<a: STRUCT<x: INT>, b: STRING>")
    kind = pa.struct([("a", pa.struct([("x", pa.int32())])), ("b", pa.string())])
    values = [{"a": {"x": 1}, "b": "p"}, None, {"a": None, "b": "q"}, {"a": {"x": None}, "b": None}]
    numbers = [1.0, float("nan"), 7.0, None]
    made.append(pa.table({"id": pa.array(range(4), pa.int32()), "g": numbers, "st": pa.array(values, kind)}))
    return made


def test_fields_have_the_values_that_spark_selects(table: ds.DeltaTable, spark: Any) -> None:
    for where, columns in ((None, ["st.a.x", "id"]), ("st.b = 'p'", ["st.a"]), ("id > 0", ["id", "st.b", "st.a.x"])):
        scan = table.scan(where, columns=columns)
        frame = spark.read.format("parquet").load(table.scan().paths())
        wanted = (frame if where is None else frame.where(where)).select(*columns)
        found = scan.to_spark(spark)
        assert found.columns == wanted.columns == scan.to_arrow().schema.names
        assert sorted(map(str, found.collect())) == sorted(map(str, wanted.collect()))
        ours = scan.to_arrow().to_pylist()
        assert ours == [row.asDict(recursive=True) for row in found.collect()]
    assert table.scan(columns=["st.b"]).to_spark(spark, metadata=True).columns == ["b", "_metadata"]
    assert table.scan(columns=["st.b"], engine="spark").to_spark(spark).columns == ["b"]


def test_every_form_of_a_predicate_has_the_same_rows_through_spark(table: ds.DeltaTable, spark: Any) -> None:
    forms: list[Any] = [
        [("g", ">", 5.0)],
        [[("g", ">", 5.0)], [("id", "=", 0)]],
        pc.field("g") > 5.0,
        ~(pc.field("g") < 5.0),
    ]
    for where in forms:
        scan = table.scan(where)
        assert [row.id for row in scan.to_spark(spark).collect()] == scan.to_arrow()["id"].to_pylist(), where
    assert table.scan(pc.field("g") > 5.0).to_arrow()["id"].to_pylist() == [2]
    assert table.scan([("g", ">", 5.0)]).to_arrow()["id"].to_pylist() == [1, 2]


def test_the_format_refuses_fields_by_name(table: ds.DeltaTable, spark: Any) -> None:
    from deltaskip.spark.source.options import SourceOptions

    with pytest.raises(InvalidArgument, match=r"names top-level columns: replace st\.b by st"):
        SourceOptions({"path": table.uri, "columns": "`st.b`"}).scan()
