"""Traps of partition values and paths: what their texts mean, and which files they keep."""

from pathlib import Path
from urllib.parse import quote

import deltaskip as ds
from deltaskip.sparkexpr.types.data_types import BINARY, DATE, INTEGER, STRING, TIMESTAMP, TIMESTAMP_NTZ, DataType
from tests.builder import TableBuilder, add, remove
from tests.looped import looped
from tests.skipping.kept_files import kept


def partitioned(tmp_path: Path, type_: DataType, **files: str | None) -> Path:
    """One file a value of the partition column `p`."""
    builder = TableBuilder(tmp_path / "t", {"p": type_, "c": INTEGER}, ["p"])
    builder.commit(*[add(path, partitionValues={"p": value}) for path, value in files.items()])
    return tmp_path / "t"


DAY = "DATE'2020-01-01'"
UNREAD = (f"p = {DAY}", f"p < {DAY}", f"p > {DAY}", f"p != {DAY}", "p IS NULL", "p IS NOT NULL")
HIVE = "__HIVE_DEFAULT_PARTITION__"
# Type, values of the files, what predicates keep, and options.
CASES: dict[str, tuple[DataType, dict[str, str | None], dict[str, str], dict[str, str | None]]] = {
    "an empty string is read both as empty and as NULL": (
        STRING, {"empty": "", "null": None, "other": "x"},
        {"p IS NULL": "empty null", "p = ''": "empty", "p IS NOT NULL": "empty other"}, {}),
    "an empty text of another type is NULL": (INTEGER, {"empty": "", "one": "1"}, {"p IS NULL": "empty"}, {}),
    "timestamps without a zone are read in the scan's": (
        TIMESTAMP, {"f": "2020-01-01 00:00:00"},
        {"p = TIMESTAMP'2020-01-01 00:00:00 UTC'": "f", "p = TIMESTAMP'2020-01-01 05:00:00 UTC'": ""}, {}),
    "timestamps without a zone are read in another zone": (
        TIMESTAMP, {"f": "2020-01-01 00:00:00"}, {"p = TIMESTAMP'2020-01-01 05:00:00 UTC'": "f"},
        {"time_zone": "America/New_York"}),
    "timestamps without a zone keep their file where it is not known": (
        TIMESTAMP, {"f": "2020-01-01 00:00:00", "zulu": "2020-01-01T00:00:00.000000Z"},
        {"p = TIMESTAMP'2020-01-01 13:00:00 UTC'": "f"}, {"time_zone": None}),
    **{f"no cast here reads {text} ({why})": (type_, {"f": text}, dict.fromkeys(UNREAD, "f"), {})
       for type_, text, why in (
        (DATE, "5881580-07-12", "beyond 32 bits of days"),
        (TIMESTAMP, "0002020-01-01 00:00:00", "seven digits of year"),
        (TIMESTAMP, "2020-01-01 00:00:00+100", "an offset of three digits"),
        (TIMESTAMP, "2020-01-01 00:00:00 SystemV/PST8", "a zone that Java has"),
        (TIMESTAMP, "2020-01-01 00:00:00 posix/Europe/Berlin", "a zone that Python may have"),
        (TIMESTAMP_NTZ, "2020-01-01 00:00:00 SystemV/PST8", "without a zone"),
        (TIMESTAMP_NTZ, "2020-01-01 00:00:00+19:00", "without a zone"))},
    "bytes prove nothing": (BINARY, {"f": "\\u0001"}, {"p = X'02'": "f"}, {}),
    "bytes that are NULL": (BINARY, {"f": None}, {"p = X'02'": ""}, {}),
    "Hive's default name is an ordinary value of the log": (
        STRING, {"f": HIVE}, {"p IS NULL": "", f"p = '{HIVE}'": "f"}, {}),
    "any deterministic expression over partition columns is exact": (
        DATE, {"a": "2020-02-29", "b": "2021-03-01", "c": "2020-12-31", "none": None},
        {"year(p) = 2020 AND month(p) < 6": "a", "coalesce(p, DATE'2021-03-01') = DATE'2021-03-01'": "b none"}, {}),
}  # fmt: skip


@looped("case", CASES)
def test_the_files_that_are_kept(tmp_path: Path, case: str) -> None:
    type_, files, expected, options = CASES[case]
    table = partitioned(tmp_path, type_, **files)
    opened = ds.DeltaTable(table)
    # Without the partition values, which need not be readable.
    found = {where: opened.scan(where, **options).files(columns=["path"]) for where in expected}
    assert {where: " ".join(files["path"].to_pylist()) for where, files in found.items()} == expected


def test_a_path_is_decoded_exactly_once(tmp_path: Path) -> None:
    names = ["a b", "a%20b", "p=50%/f", "é#+:;", "q?&=x"]
    TableBuilder(tmp_path / "t", {"c": INTEGER}).commit(*[add(quote(name, safe="/=")) for name in names])
    assert kept(tmp_path / "t", None) == names


def test_a_remove_finds_its_add_whatever_the_spelling(tmp_path: Path) -> None:
    builder = TableBuilder(tmp_path / "t", {"c": INTEGER})
    builder.commit(add("a%20b"), add("c"), add("%41")).commit(remove("a b"), remove("./c"), remove("A"))
    assert kept(tmp_path / "t", None) == []
