"""Columns of shapes through Spark 4.1, which reads no files with them; `tests.spark.matrix.shapes` has newer ones."""

from pathlib import Path
from typing import Any

import pyspark
import pytest

import deltaskip as ds
from deltaskip.errors import UnsupportedFeature

TABLE = Path(__file__).parents[1] / "reading" / "geospatial_of_delta_spark"

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(pyspark.__version__ >= "4.2", reason="Spark 4.2 reads shapes: tests.spark.matrix.shapes"),
]


def test_shapes_are_refused_and_the_other_columns_read(spark: Any) -> None:
    table = ds.DeltaTable(str(TABLE))
    for columns in (None, ["g"], ["id", "s"], ["a"]):
        with pytest.raises(UnsupportedFeature, match=r"needs Spark 4\.2 or newer: select the other columns"):
            table.scan(columns=columns).to_spark(spark)
    assert sorted(row.id for row in table.scan("id > 1", columns=["id"]).to_spark(spark).collect()) == [2, 10, 11, 12]
