"""Pages left out of files that Spark wrote, against DuckDB, and the page indexes of files that it writes for us."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaskip as ds
from deltaskip.stats.footer import OpenSource, read_footer
from deltaskip.stats.page_index import page_statistics, pages_of
from tests.extent import extent
from tests.reading.test_page_index import (  # noqa: F401
    PAGE_ROWS,
    ROWS,
    check_against_duckdb,
    left_out,
    live_rows,
    pages_alone,
    table_of,
    table_with,
)

pytestmark = pytest.mark.spark


@pytest.mark.long(gate=1)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("truncated", [1, 64])
def test_random_predicates_find_the_rows_in_files_of_spark(
    spark: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    left_out: list[int],  # noqa: F811
    truncated: int,
) -> None:
    monkeypatch.setattr("deltaskip.settings.options.read_staged_bytes", 1)
    limits = {
        "parquet.page.row.count.limit": PAGE_ROWS,
        "parquet.page.size.row.check.min": 1,
        "parquet.columnindex.truncate.length": truncated,
    }

    def write(_: str, rows: pa.Table, path: Path) -> None:
        pq.write_table(rows, path.with_suffix(".in"))
        folder = path.with_suffix(".spark")
        frame = spark.read.parquet(str(path.with_suffix(".in"))).coalesce(1)
        frame.write.options(**limits).parquet(str(folder))
        [file] = folder.glob("*.parquet")
        file.rename(path)

    files = {"f": table_of(random.Random(5), 0, {})}
    table = table_with(tmp_path / "t", files, write)
    check_against_duckdb(table, live_rows(files), extent(25, 150))
    assert sum(left_out) > ROWS


def test_files_that_spark_writes_have_page_indexes(spark: Any, tmp_path: Path) -> None:
    table = ds.DeltaTable.create(tmp_path / "t", "id BIGINT")
    table.append(spark.range(100_000).coalesce(1))
    [file] = (path for path in (tmp_path / "t").rglob("*.parquet") if "_delta_log" not in path.parts)
    with pa.OSFile(str(file)) as source:
        footer = read_footer(OpenSource(source), "")
        pages = pages_of(source, footer, 0, [0])
        assert len(pages[0]) == len(page_statistics(source, footer, 0, pages)[0]) == 5
