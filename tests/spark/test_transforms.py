"""Partition transforms as PySpark writes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from deltaskip import DeltaTable
from deltaskip import transforms as t
from deltaskip.errors import InvalidArgument
from deltaskip.transforms.parse_transforms import transforms_of

pytestmark = pytest.mark.spark


def test_functions_of_pyspark_are_transforms(spark: Any) -> None:
    from pyspark.sql import functions as F

    given = [F.years("ts"), F.months(F.col("st.ts")), F.days("ts"), F.hours("ts"), F.bucket(16, "id"), F.col("region")]
    found = (t.year("ts"), t.month("st.ts"), t.date("ts"), t.datehour("ts"), t.bucket("id", 16), t.identity("region"))
    assert transforms_of(given) == found
    if hasattr(F, "partitioning"):
        more = [F.partitioning.days("ts"), F.partitioning.bucket(4, "id"), F.partitioning.years("ts")]
        assert transforms_of(more) == (t.date("ts"), t.bucket("id", 4), t.year("ts"))


def test_an_expression_that_is_no_transform_is_named(spark: Any) -> None:
    from pyspark.sql import functions as F

    for column, shown in ((F.upper("name"), r"upper\(name\)"), (F.col("a") + 1, r"a, 1|a \+ 1")):
        with pytest.raises(InvalidArgument, match=f"({shown}).* is not a partition transform: write a column"):
            transforms_of([column])


def test_a_table_is_partitioned_by_them(spark: Any, tmp_path: Path) -> None:
    from pyspark.sql import functions as F

    table = DeltaTable.create(tmp_path / "t", "id BIGINT, ts TIMESTAMP", [F.days("ts"), F.bucket(4, "id")])
    assert table.partitioning == (t.date("ts"), t.bucket("id", 4))
    table.replace_partitioning(F.months("ts"))
    assert table.partitioning == (t.month("ts"),)
