"""Row groups of files that Spark has written, pruned by their footers: the rows are those that Spark finds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaskip as ds
from deltaskip.reading.row_group_pruning import RowGroupPruning
from deltaskip.stats.bloom_filters import has_filter
from deltaskip.stats.footer import OpenSource, read_footer

pytestmark = pytest.mark.spark

COLUMNS = (
    "id",
    "CASE WHEN id % 1000 < 100 THEN CAST('NaN' AS DOUBLE) WHEN id % 7 = 0 THEN NULL ELSE id / 8D END AS x",
    "CASE WHEN id < 500 THEN CAST('NaN' AS FLOAT) ELSE -0.0F END AS f",
    "repeat(format_string('%05d', id), 9) AS s",
    "timestamp_micros(id * 3600000001) AS ts",
    "date_add(DATE'2020-01-01', CAST(id / 10 AS INT)) AS d",
    "CAST(id / 3 AS DECIMAL(20, 4)) AS n",
    "CASE WHEN id > 2000 THEN named_struct('a', CASE WHEN id % 2 = 0 THEN CAST(id AS INT) END) END AS st",
)
# Each with whether footers must skip some row group.
PREDICATES = (
    ("x > 300", True),
    ("x = CAST('NaN' AS DOUBLE)", True),
    ("x IS NULL AND id < 100", True),
    ("NOT (x < 200)", True),
    ("f = 0", True),
    ("f > 1", True),
    ("f >= 0 AND id > 2500", True),
    ("s > '01990'", True),
    (f"s LIKE '00123%' OR s = '{'02500' * 9}'", True),
    # INT96 has no bounds.
    ("ts < TIMESTAMP'1970-01-03 00:00:00.000001'", False),
    ("d IN (DATE'2020-01-05', DATE'2020-08-01')", True),
    ("n BETWEEN 100.3333 AND 100.6667 OR n = 800", True),
    ("st.a > 2990", True),
    ("st.a IS NULL AND x > 370", True),
    ("st IS NULL AND id > 1500", True),
    ("id % 2 = 0", False),
    # Bloom filters have what is there, and not a value that no row has, though bounds do not exclude it.
    ("id = 1234 OR st.a = 2500 AND n IN (833.3333, 1.5)", True),
    (f"s = '{'00777' * 9}' AND d = DATE'2020-03-18'", True),
    ("n = 800.3334 OR n = 1.0001", True),
)


def test_rows_are_those_of_spark(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pruned: list[bool] = []
    found = RowGroupPruning.kept

    def kept(*arguments: Any) -> list[int] | None:
        numbers = found(*arguments)
        pruned.append(numbers is not None)
        return numbers

    monkeypatch.setattr(RowGroupPruning, "kept", kept)
    table = ds.DeltaTable.create(
        tmp_path / "t",
        "id BIGINT, x DOUBLE, f FLOAT, s STRING, ts TIMESTAMP, d DATE, n DECIMAL(20, 4), st STRUCT<a: INT>",
        properties={"delta.dataSkippingNumIndexedCols": "0"},
    )
    frame = spark.range(0, 3_000, 1, 1).selectExpr(*COLUMNS)
    filters = {f"parquet.bloom.filter.enabled#{name}": "true" for name in ("id", "s", "d", "n", "st.a")}
    options = {"parquet.block.size": 4096, "parquet.bloom.filter.max.bytes": 256}
    frame.write.options(**options, **filters).parquet(str(tmp_path / "rows"))
    [file] = (tmp_path / "rows").glob("*.parquet")
    assert pq.read_metadata(file).num_row_groups > 10
    with pa.OSFile(str(file)) as source:
        footer = read_footer(OpenSource(source), "")
    # Of columns that are dictionaries, such as d, Spark writes no filters.
    assert all(has_filter(footer, 0, leaf) for leaf in (0, 3, 6))
    file.rename(tmp_path / "t" / "f.parquet")
    table.add_files("f.parquet")
    # One projection, since Spark's own readers skip by statistics, too.
    truths = [f"({where}) AS p{number}" for number, (where, _) in enumerate(PREDICATES)]
    answers = frame.selectExpr("id AS row", *truths).orderBy("row").toArrow()
    for number, (where, prunes) in enumerate(PREDICATES):
        pruned.clear()
        ids = table.scan(where, columns=["id"]).to_arrow()["id"]
        assert ids.to_pylist() == answers.filter(answers[f"p{number}"])["row"].to_pylist(), where
        assert any(pruned) == prunes, where


def test_spark_writes_the_bloom_filters_that_a_table_asks_for(spark: Any, tmp_path: Path) -> None:
    table = ds.DeltaTable.create(tmp_path / "t", "id STRING, s STRUCT<a: INT>, n BIGINT")
    table.alter(ds.SetProperty("deltaskip.bloomColumns", "id, s.a"))
    rows = spark.range(5000).selectExpr("concat('k', id * 7919 % 104729) AS id", "struct(int(id) AS a) AS s", "id AS n")
    table.append(rows)
    table.update({"n": "-n"}, "n < 2500", spark=spark)
    for uri in table.scan().files()["uri"].to_pylist():
        metadata = pq.read_metadata(uri.removeprefix("file://"))
        chunks = [metadata.row_group(0).column(place).to_dict() for place in range(3)]
        lengths = [chunk["bloom_filter_length"] for chunk in chunks]
        assert [bool(chunk["bloom_filter_offset"]) for chunk in chunks] == [True, True, False]
        assert all(0 < length <= 1 << 17 for length in lengths[:2]), lengths
    assert table.optimize(bloom=["id", "s.a"]).version is None
    assert table.scan("id = 'k7919'").to_arrow()["n"].to_pylist() == [-1]
    assert table.scan("id = 'k7919'").to_spark(spark).count() == 1
