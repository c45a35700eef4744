"""Traps of partition values and paths: what their texts mean, and which files they keep."""

from pathlib import Path
from urllib.parse import quote

import pytest

import deltaskip as ds
from deltaskip.sparkexpr.types.data_types import BINARY, DATE, INTEGER, STRING, TIMESTAMP, TIMESTAMP_NTZ, DataType
from tests.builder import TableBuilder, add, remove
from tests.skipping.kept_files import kept


def partitioned(tmp_path: Path, type_: DataType, **files: str | None) -> Path:
    """One file a value of the partition column `p`."""
    builder = TableBuilder(tmp_path / "t", {"p": type_, "c": INTEGER}, ["p"])
    builder.commit(*[add(path, partitionValues={"p": value}) for path, value in files.items()])
    return tmp_path / "t"


def test_an_empty_partition_string_is_read_both_as_empty_and_as_null(tmp_path: Path) -> None:
    table = partitioned(tmp_path, STRING, empty="", null=None, other="x")
    assert kept(table, "p IS NULL") == ["empty", "null"]
    assert kept(table, "p = ''") == ["empty"]
    assert kept(table, "p IS NOT NULL") == ["empty", "other"]


def test_an_empty_partition_text_of_another_type_is_null(tmp_path: Path) -> None:
    assert kept(partitioned(tmp_path, INTEGER, empty="", one="1"), "p IS NULL") == ["empty"]


def test_zoneless_partition_timestamps_are_read_in_the_scans_zone(tmp_path: Path) -> None:
    table = partitioned(tmp_path, TIMESTAMP, f="2020-01-01 00:00:00")
    assert kept(table, "p = TIMESTAMP'2020-01-01 00:00:00 UTC'") == ["f"]
    assert kept(table, "p = TIMESTAMP'2020-01-01 05:00:00 UTC'") == []
    assert kept(table, "p = TIMESTAMP'2020-01-01 05:00:00 UTC'", time_zone="America/New_York") == ["f"]


def test_zoneless_partition_timestamps_of_an_unknown_zone_keep(tmp_path: Path) -> None:
    table = partitioned(tmp_path, TIMESTAMP, f="2020-01-01 00:00:00", zulu="2020-01-01T00:00:00.000000Z")
    assert kept(table, "p = TIMESTAMP'2020-01-01 13:00:00 UTC'", time_zone=None) == ["f"]


@pytest.mark.parametrize(
    ("type_", "text"),
    [
        (DATE, "5881580-07-12"),  # beyond 32 bits of days
        (TIMESTAMP, "0002020-01-01 00:00:00"),  # seven digits of year
        (TIMESTAMP, "2020-01-01 00:00:00+100"),  # an offset of three digits
        (TIMESTAMP, "2020-01-01 00:00:00 SystemV/PST8"),  # a zone that Java has
        (TIMESTAMP, "2020-01-01 00:00:00 posix/Europe/Berlin"),  # a zone that Python may have
        (TIMESTAMP_NTZ, "2020-01-01 00:00:00 SystemV/PST8"),
        (TIMESTAMP_NTZ, "2020-01-01 00:00:00+19:00"),
    ],
)
def test_partition_texts_that_no_cast_here_reads_keep_their_file(tmp_path: Path, type_: DataType, text: str) -> None:
    table = ds.DeltaTable(str(partitioned(tmp_path, type_, f=text)))
    day = "DATE'2020-01-01'"
    for where in (f"p = {day}", f"p < {day}", f"p > {day}", f"p != {day}", "p IS NULL", "p IS NOT NULL"):
        assert table.scan(where).files(columns=["path"])["path"].to_pylist() == ["f"]


def test_binary_partition_values_prove_nothing(tmp_path: Path) -> None:
    assert kept(partitioned(tmp_path, BINARY, f="\\u0001"), "p = X'02'") == ["f"]
    assert kept(partitioned(tmp_path / "2", BINARY, f=None), "p = X'02'") == []


def test_the_hive_default_name_is_an_ordinary_value_of_the_log(tmp_path: Path) -> None:
    table = partitioned(tmp_path, STRING, f="__HIVE_DEFAULT_PARTITION__")
    assert kept(table, "p IS NULL") == []
    assert kept(table, "p = '__HIVE_DEFAULT_PARTITION__'") == ["f"]


def test_any_deterministic_expression_over_partition_columns_is_exact(tmp_path: Path) -> None:
    table = partitioned(tmp_path, DATE, a="2020-02-29", b="2021-03-01", c="2020-12-31", none=None)
    assert kept(table, "year(p) = 2020 AND month(p) < 6") == ["a"]
    assert kept(table, "coalesce(p, DATE'2021-03-01') = DATE'2021-03-01'") == ["b", "none"]


def test_a_path_is_decoded_exactly_once(tmp_path: Path) -> None:
    names = ["a b", "a%20b", "p=50%/f", "é#+:;", "q?&=x"]
    TableBuilder(tmp_path / "t", {"c": INTEGER}).commit(*[add(quote(name, safe="/=")) for name in names])
    assert kept(tmp_path / "t", None) == names


def test_a_remove_finds_its_add_whatever_the_spelling(tmp_path: Path) -> None:
    builder = TableBuilder(tmp_path / "t", {"c": INTEGER})
    builder.commit(add("a%20b"), add("c"), add("%41")).commit(remove("a b"), remove("./c"), remove("A"))
    assert kept(tmp_path / "t", None) == []
