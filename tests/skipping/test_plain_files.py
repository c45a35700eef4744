"""`scan.paths(plain=True)`: the list of files alone is enough for a Parquet reader, or is refused with the reason."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import deltaskip as ds

VECTORS = {"delta.enableDeletionVectors": "true"}


def widened(table: ds.DeltaTable) -> None:
    table.alter_sql("ALTER COLUMN n TYPE BIGINT")


@pytest.mark.parametrize(
    ("columns", "partitions", "properties", "change", "reason"),
    [
        ("id BIGINT, n INT", [], {}, None, None),
        ("id BIGINT, n INT", ["n"], {}, None, "partition columns n are in the log"),
        ("id BIGINT, n INT", [], {"delta.columnMapping.mode": "name"}, None, "column id under a physical name"),
        ("id BIGINT, n INT", [], {"delta.enableTypeWidening": "true"}, widened, "type of the column n was widened"),
        ("id BIGINT, n INT, s CHAR(3)", [], {}, None, "length or the collation of the column s"),
        ("id BIGINT, n INT", [], VECTORS, lambda table: table.delete("id = 1"), "1 of 1 files have deleted rows"),
        ("id BIGINT, n INT", [], {}, lambda table: table.alter_sql("ADD COLUMN z INT"), "lacks the column z"),
        ("id BIGINT, n INT, st STRUCT<a: INT>", [], {}, lambda table: table.alter_sql("ADD COLUMN st.b INT"),
            "column b"),
    ],
)  # fmt: skip
def test_what_the_list_alone_would_lose_is_refused(
    tmp_path: Path,
    columns: str,
    partitions: list[str],
    properties: dict[str, str],
    change: Callable[[ds.DeltaTable], object] | None,
    reason: str | None,
) -> None:
    table = ds.DeltaTable.create(tmp_path / "t", columns, partitions, properties=properties)
    table.append({"id": [1, 2], "n": [1, 1]})
    if change is not None:
        change(table)
    scan = table.scan("id > 0")
    assert len(scan.paths()) == 1
    if reason is None:
        assert pq.read_table(scan.paths(plain=True)).to_pylist() == scan.to_arrow().to_pylist()
        return
    with pytest.raises(ds.UnsupportedFeature, match=reason):
        scan.paths(plain=True)


def test_a_scan_that_keeps_nothing_has_no_paths(tmp_path: Path) -> None:
    table = ds.DeltaTable.create(tmp_path / "t", "id BIGINT")
    assert table.append({"id": [1]}) and table.scan("id > 5").paths(plain=True) == []
