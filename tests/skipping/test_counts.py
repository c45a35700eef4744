"""Counts from the log and LIMIT by the fewest files."""

from pathlib import Path

import pytest

import deltaskip as ds
from deltaskip.sparkexpr.types.data_types import INTEGER, STRING
from tests.builder import TableBuilder, add, bounds

VECTOR = {"storageType": "u", "pathOrInlineDv": "0" * 20, "sizeInBytes": 40, "cardinality": 4}


@pytest.fixture
def table(tmp_path: Path) -> ds.DeltaTable:
    """Partition a: files of 10 and 20 rows; partition b: 30 rows less 4 deleted, and a file without a row count."""
    builder = TableBuilder(tmp_path / "t", {"p": STRING, "i": INTEGER}, ["p"])
    builder.commit(
        add("a1", bounds(10, i=(1, 9)), partitionValues={"p": "a"}),
        add("a2", bounds(20, i=(10, 19)), partitionValues={"p": "a"}),
        add("b1", bounds(30, i=(20, 29)), partitionValues={"p": "b"}, deletionVector=VECTOR),
        add("c1", None, partitionValues={"p": "c"}),
    )
    return ds.DeltaTable(tmp_path / "t")


@pytest.mark.parametrize(
    ("where", "rows"),
    [
        ("p = 'a'", 30),
        ("p IN ('a', 'b')", 56),
        ("p = 'nowhere'", 0),
        ("p = 'a' AND i < 10", 10),
        ("p = 'a' AND i >= 1", 30),
        ("p = 'a' AND i IS NULL", 0),
        ("p != 'c' AND i BETWEEN 10 AND 29", 46),
    ],
)
def test_a_count_is_exact_where_files_match_wholly_or_not_at_all(table: ds.DeltaTable, where: str, rows: int) -> None:
    assert table.scan(where).count() == rows


@pytest.mark.parametrize("where", ["p = 'a' AND i < 5", "p = 'a' AND rand() < 2", "p = 'a' AND i + 1 = i"])
def test_a_count_is_refused_where_a_file_may_match_in_part(table: ds.DeltaTable, where: str) -> None:
    with pytest.raises(ds.NotProvable, match=r"version 0 does not prove the row count: . files? may contain both rows"):
        table.scan(where).count(read=False)


def test_a_count_is_refused_where_a_row_count_is_missing(table: ds.DeltaTable) -> None:
    with pytest.raises(ds.NotProvable, match="1 file has no row count"):
        table.scan().count(read=False)


def test_an_estimate_takes_files_without_a_row_count_as_average_ones(table: ds.DeltaTable) -> None:
    assert table.scan("p = 'b'").estimated_rows() == 26
    assert table.scan().estimated_rows() == 56 + 56 // 3


@pytest.mark.parametrize(
    ("where", "limit", "files"),
    [
        (None, 0, []),
        (None, 5, ["b1"]),
        (None, 27, ["a2", "b1"]),
        (None, 56, ["a1", "a2", "b1"]),
        (None, 57, ["a1", "a2", "b1", "c1"]),
        ("p = 'a'", 15, ["a2"]),
        ("p = 'a'", 31, ["a1", "a2"]),
        ("p = 'a' AND i >= 5", 20, ["a2"]),
        ("p = 'a' AND i >= 5", 21, ["a1", "a2"]),
        ("p = 'a' AND rand() < 0.5", 1, ["a1", "a2"]),
    ],
)
def test_a_limit_keeps_the_fewest_files_that_certainly_hold_so_many_rows(
    table: ds.DeltaTable, where: str | None, limit: int, files: list[str]
) -> None:
    scan = table.scan(where, limit=limit)
    assert scan.files()["path"].to_pylist() == files
    assert [path.rpartition("/")[2] for path in scan.paths()] == files
