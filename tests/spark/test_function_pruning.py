"""What prunes in a scan by SQL text prunes through Spark's Columns and SQL too, and no row is lost."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import functions as F

import deltaskip as ds
from tests.each import each
from tests.extent import some
from tests.spark.test_installed_catalog import files_read

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore")]

CASES = (
    "date_format(t, 'yyyy-MM') = '2023-03'", "date_format(t, 'MM') = '12'",
    "from_utc_timestamp(t, 'Europe/Berlin') = TIMESTAMP'2023-03-01 01:00:00'", "unix_millis(t) = 1677628800000",
    "unix_seconds(t) > 1700000000", "timestampdiff(DAY, TIMESTAMP'2023-01-01 00:00:00', t) = 59",
    "monthname(d) = 'Dec'", "make_date(2000 + i, 1, 1) = DATE'2035-01-01'", "greatest(i, 12) = 25", "least(i, 12) < 3",
    "greatest(i, j) < 12", "concat('p-', k) = 'p-k33'", "concat(k, '-', k) = 'k33-k33'",
    "split_part(k, '-', 1) = 'k33'", "substring_index(k, '-', 1) = 'k33'", "trim(k) = 'k33'", "regexp_like(k, '^k3')",
    "lower(k) = 'k33'", "instr(k, 'k3') = 1", "locate('k3', k) = 1", "reverse(k) = '33k'", "hex(i) = '1F'",
    "ascii(k) = 97", "find_in_set(k, 'k33,k05') > 0", "CAST(s AS DATE) = DATE'2023-03-01'",
    "CAST(s AS TIMESTAMP) = TIMESTAMP'2023-03-01 00:00:00'", "shiftleft(i, 2) = 100", "shiftright(i, 3) = 5",
    "~i = -42", "-i > -3", "abs(i) < 4", "sqrt(x) > 6.6D", "cbrt(x) > 3.5D", "ln(x + 1) < 1D", "log10(x + 1) > 1.66D",
    "exp(x) < 10D", "power(x, 2) > 1900D", "degrees(x) > 2500D", "round(x, 0) = 45D", "floor(x) = 12",
    "factorial(i) = 120", "width_bucket(x, 0, 50, 5) = 4", "try_add(i, 3) = 44", "nvl(i, 0) = 41",
    "if(i > 40, 1, 0) = 1", "year(d) = 2023",
)  # fmt: skip


@pytest.fixture(scope="module")
def table(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ds.DeltaTable]:
    """Five files, each with ten rows and a range of its own in every column."""
    catalog = ds.catalog(f"warehouse:{tmp_path_factory.mktemp('lake')}")
    catalog.create_namespace("db")
    path: Path = tmp_path_factory.mktemp("five") / "t"
    made = ds.DeltaTable.create(path, "i INT, j INT, k STRING, s STRING, x DOUBLE, t TIMESTAMP, d DATE")
    for f in range(5):
        i = pa.array(range(10 * f, 10 * f + 10), pa.int32())
        days = [f"202{f}-0{1 + n // 4}-{1 + n % 4:02d}" for n in range(10)]
        times = pc.cast(pc.strptime(pa.array(days), "%Y-%m-%d", "us"), pa.timestamp("us", "UTC"))
        texts = pa.array([f"k{f}{n}" for n in range(10)])
        columns = {"i": i, "j": i, "k": texts, "s": days, "x": pc.cast(i, pa.float64()), "t": times}
        made.append(pa.table({**columns, "d": pc.cast(times, pa.date32())}))
    catalog.register_table(("db", "five"), str(path))
    with ds.install_catalog(spark, "five_lake", catalog):
        yield ds.DeltaTable(path)


def test_functions_prune_alike_by_text_columns_and_sql(spark: Any, table: ds.DeltaTable) -> None:
    folder = Path(table.uri.removeprefix("file://"))
    rows = spark.read.parquet(*map(str, folder.glob("*.parquet")))

    def check(where: str) -> None:
        by_text = table.scan(where=where).files().num_rows
        by_column = table.scan(where=F.expr(where)).files().num_rows
        frame = spark.sql(f"SELECT i FROM five_lake.db.five WHERE {where}")
        found = sorted(row.i for row in frame.collect())
        assert found == sorted(row.i for row in rows.where(where).collect())
        # Spark hands over split_part as the element of an array.
        by_sql = by_text if where.startswith("split_part") else files_read(frame)
        assert (by_text, by_column, by_sql) == (by_text,) * 3
        assert by_text < 5

    each(some(CASES, 12), check)


def test_a_time_beside_a_pattern_is_not_lost_where_the_pattern_is_null(spark: Any, tmp_path: Path) -> None:
    """Spark does not evaluate the pattern of a time, but that of a text and of `date_format`."""
    table = ds.DeltaTable.create(tmp_path / "t", "ts TIMESTAMP, d DATE, n TIMESTAMP_NTZ, x STRING, f STRING")
    times = {"ts": [datetime(2024, 10, 27, 1, tzinfo=UTC)], "d": [date(2024, 10, 27)], "n": [datetime(2024, 10, 27)]}
    table.append(pa.table({**times, "x": ["2024"], "f": pa.nulls(1, pa.string())}))
    frame = table.scan().to_spark(spark)
    functions = ("to_timestamp", "to_timestamp_ntz", "unix_timestamp", "to_unix_timestamp", "try_to_timestamp")
    functions += ("to_date", "try_to_date", "date_format")
    calls = [f"{name}({time}, {p})" for name in functions for time in ["ts", "d", "n", "x"] for p in ("f", "NULL")]
    answers = frame.select(*(F.expr(f"{call} IS NOT NULL") for call in calls)).first()
    assert answers is not None and 0 < sum(answers) < len(calls)
    for call, is_there in zip(calls, answers, strict=True):
        found = table.scan(f"{call} IS NOT NULL", time_zone="UTC")
        assert not is_there or len(found.paths()) == 1, call
        try:
            assert found.count() == is_there, call
        except ds.UnsupportedFeature:
            continue
