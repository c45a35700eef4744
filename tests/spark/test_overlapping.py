"""Values that operations change for a moment are what they were afterwards, however operations overlap."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import deltaskip as ds
from deltaskip.spark.session.session_settings import holding, session_settings
from deltaskip.spark.write.parquet_writes import WRITE_SETTINGS

TIMESTAMPS = "spark.sql.parquet.outputTimestampType"


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2))))
def test_the_last_block_left_decides(steps: list[tuple[int, int]]) -> None:
    """Against a list of open blocks; each step opens the block of a number, or ends it."""
    value = [9]
    open_blocks: dict[int, Any] = {}
    asked: dict[int, int] = {}
    for number, wanted in steps:
        if number in open_blocks:
            open_blocks.pop(number).__exit__(None, None, None)
            del asked[number]
        else:
            block = holding("a value", wanted, lambda: value[0], lambda new: value.__setitem__(0, new))
            block.__enter__()
            open_blocks[number], asked[number] = block, wanted
        assert value[0] == ([9, *asked.values()])[-1]
    for block in open_blocks.values():
        block.__exit__(None, None, None)
    assert value == [9]


def test_a_value_that_cannot_be_put_is_not_held() -> None:
    def put(_value: int) -> None:
        raise OSError("no")

    for _ in range(2):
        with pytest.raises(OSError, match="no"), holding("another value", 1, lambda: 0, put):
            raise AssertionError("not reached")


@pytest.mark.spark
def test_a_write_that_ends_leaves_the_settings_of_one_that_runs(spark: Any, tmp_path: Path) -> None:
    with session_settings(spark, {TIMESTAMPS: "INT96"}):
        first, second = (session_settings(spark, WRITE_SETTINGS) for _ in range(2))
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        spark.sql("SELECT timestamp_seconds(1) AS ts").write.parquet(str(tmp_path / "rows"))
        second.__exit__(None, None, None)
        assert spark.conf.get(TIMESTAMPS) == "INT96"
    assert [pq.read_schema(path).field("ts").type.unit for path in (tmp_path / "rows").glob("*.parquet")] == ["us"]


@pytest.mark.spark
def test_threads_that_write_leave_the_sessions_settings(spark: Any, tmp_path: Path) -> None:
    before = dict(spark.conf.getAll)
    tables = [ds.DeltaTable.create(tmp_path / f"t{number}", "id BIGINT, ts TIMESTAMP") for number in range(4)]
    frame = spark.range(0, 100, 1, 2).selectExpr("id", "timestamp_seconds(id) AS ts")
    with ThreadPoolExecutor(4) as pool:
        for _ in range(3):
            list(pool.map(lambda table: table.append(frame), tables))
    assert dict(spark.conf.getAll) == before
    for table in tables:
        assert table.scan("ts >= TIMESTAMP'1970-01-01 00:00:50'", time_zone="UTC").to_arrow().num_rows == 150
