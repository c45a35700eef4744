"""Texts and folders of partitions: what Hive and Spark write, and what reads back."""

import datetime
import json
import math
import re
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaskip.actions import PartitionValueError, hadoop_path, parse_partition_value
from deltaskip.actions.partition_folders import HIVE_NULL, hive_folder, partition_folder, random_folder, random_prefix
from deltaskip.actions.partition_values import partition_texts
from deltaskip.actions.paths import decode_path, encode_location, encode_path
from deltaskip.schema.properties import TableProperties
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.values.arrow_values import domain_values
from tests.each import refuses
from tests.looped import looped

# As delta-spark 4.4 writes them, beside the text of the log.
IN_NEW_YORK = 1_710_052_200_000_000  # 2024-03-10 01:30:00 in New York
FOLDERS: list[tuple[t.DataType, Any, str | None, str]] = [
    (t.STRING, "a b/%:é+#", "a b/%:é+#", "p=a b%2F%25%3Aé+%23"),
    (t.STRING, None, None, f"p={HIVE_NULL}"),
    (t.STRING, "", None, f"p={HIVE_NULL}"),
    (t.STRING, "..", "..", "p=.."),
    (t.STRING, "a=b'c\"d*e?f\\g{h}i[j]k^l\x7fm\nn\x00", "a=b'c\"d*e?f\\g{h}i[j]k^l\x7fm\nn\x00",
        "p=a%3Db%27c%22d%2Ae%3Ff%5Cg%7Bh}i%5Bj%5Dk%5El%7Fm%0An%00"),
    (t.LONG, -(2**63), "-9223372036854775808", "p=-9223372036854775808"),
    (t.BOOLEAN, True, "true", "p=true"),
    (t.DOUBLE, -0.0, "-0.0", "p=-0.0"),
    (t.DOUBLE, math.nan, "NaN", "p=NaN"),
    (t.DOUBLE, -math.inf, "-Infinity", "p=-Infinity"),
    (t.DOUBLE, 1e21, "1.0E21", "p=1.0E21"),
    (t.FLOAT, 0.10000000149011612, "0.1", "p=0.1"),
    (t.DecimalType(20, 3), Decimal("-12345678901234567.125"), "-12345678901234567.125", "p=-12345678901234567.125"),
    (t.DecimalType(38, 38), Decimal("1E-38"), "0." + "0" * 37 + "1", "p=0." + "0" * 37 + "1"),
    (t.BINARY, b"a/b", "a/b", "p=a%2Fb"),
    (t.BINARY, b"", None, f"p={HIVE_NULL}"),
    (t.DATE, 0, "1970-01-01", "p=1970-01-01"),
    (t.DATE, -141_428, "1582-10-14", "p=1582-10-14"),
    (t.DATE, -719_529, "-0001-12-31", "p=-0001-12-31"),
    (t.TIMESTAMP, IN_NEW_YORK, "2024-03-10T06:30:00.000000Z", "p=2024-03-10 01%3A30%3A00"),
    (t.TIMESTAMP, -1, "1969-12-31T23:59:59.999999Z", "p=1969-12-31 18%3A59%3A59.999999"),
    (t.TIMESTAMP_NTZ, -62_135_596_800_000_000, "0001-01-01 00:00:00", "p=0001-01-01 00%3A00%3A00"),
    (t.TIMESTAMP_NTZ, 500_000, "1970-01-01 00:00:00.500000", "p=1970-01-01 00%3A00%3A00.500000"),
]  # fmt: skip


@looped("data_type, value, text, folder", FOLDERS)
def test_partitions_are_those_of_delta_spark(data_type: t.DataType, value: Any, text: str | None, folder: str) -> None:
    array = values_of([value, None], data_type)
    assert partition_texts(array, data_type).to_pylist() == [text, None]
    assert partition_folder([t.StructField("p", data_type)], [value], "America/New_York") == folder


def values_of(values: list[Any], data_type: t.DataType) -> pa.Array:
    arrow = t.arrow_type(data_type)
    if data_type == t.DATE:
        return pa.array(values, pa.int32()).view(arrow)
    if data_type in (t.TIMESTAMP, t.TIMESTAMP_NTZ):
        return pa.array(values, pa.int64()).view(arrow)
    return pa.array(values, arrow)


def test_the_path_of_the_log_is_the_folder_encoded_once() -> None:
    folder = hive_folder("p", "a b/%:é+#")
    assert encode_path(f"{folder}/part-0.parquet") == "p=a%20b%252F%2525%253Aé+%2523/part-0.parquet"


def test_characters_are_escaped_and_encoded_as_spark_and_hadoop_do() -> None:
    answers = json.loads(Path(__file__).with_name("spark_folder.json").read_text(encoding="utf-8"))
    folder = hive_folder("p", answers["text"][:60])
    assert folder == "p=" + "".join(hive_folder("", c)[1:] for c in answers["text"][:60])
    folder = "p=" + "".join(hive_folder("", c)[1:] for c in answers["text"])
    assert folder == f"p={answers['folder']}"
    assert encode_path(f"{folder}/f") == answers["uri"]


def test_names_of_columns_are_escaped_like_values() -> None:
    assert hive_folder("a=b c/d", "x") == "a%3Db c%2Fd=x"


def test_folders_of_several_columns_are_nested_in_order() -> None:
    columns = [t.StructField("day", t.DATE), t.StructField("City", t.STRING)]
    assert partition_folder(columns, [19_000, "New York/NY"]) == "day=2022-01-08/City=New York%2FNY"


def test_a_value_longer_than_a_file_name_gets_a_folder_of_its_own() -> None:
    long, longer = "é" * 300, "é" * 300 + "x"
    folders = {hive_folder("p", long), hive_folder("p", longer)}
    assert len(folders) == 2
    assert all(len(folder.encode()) <= 255 and folder.startswith("p=é") for folder in folders)


def test_bytes_that_are_not_utf8_are_refused() -> None:
    refuses(PartitionValueError, "not UTF-8", partition_texts, pa.array([b"\xff"]), t.BINARY)


def test_lone_surrogates_are_refused_by_name() -> None:
    refuses(PartitionValueError, "not valid Unicode", lambda: encode_path(hive_folder("p", "\ud800")))


def test_random_folders_have_letters_and_digits_and_differ() -> None:
    found = {random_folder(12) for _ in range(50)}
    assert len(found) == 50
    assert all(re.fullmatch("[A-Za-z0-9]{12}", folder) for folder in found)


def test_mapped_tables_and_those_that_ask_for_it_have_random_folders() -> None:
    asked = TableProperties({"delta.randomizeFilePrefixes": "true", "delta.randomPrefixLength": "5"})
    assert random_prefix(TableProperties({}), "none") is None
    assert random_prefix(TableProperties({}), "name") == random_prefix(TableProperties({}), "id") == 2
    assert random_prefix(asked, "none") == random_prefix(asked, "name") == 5


@given(st.text())
def test_every_text_reads_back_from_the_folder_and_from_the_log(text: str) -> None:
    folder = hive_folder("p", text)
    assert "/" not in folder
    assert decode_path(encode_path(folder)) == folder
    if text and len(folder.encode()) < 255:
        assert unquote(folder.removeprefix("p=")) == text


@given(st.text(), st.text())
def test_two_texts_never_share_a_folder(one: str, other: str) -> None:
    assert (hive_folder("p", one) == hive_folder("p", other)) == (one == other or {one, other} <= {"", HIVE_NULL})


@given(
    st.sampled_from(
        [
            (t.DATE, st.integers(-700_000, 2_900_000)),
            (t.TIMESTAMP, st.integers(-(2**62), 2**62)),
            (t.TIMESTAMP_NTZ, st.integers(-(2**62), 2**62)),
            (t.BYTE, st.integers(-128, 127)),
            (t.DOUBLE, st.floats()),
            (t.DecimalType(18, 4), st.decimals(-(10**13), 10**13, places=4)),
        ]
    ).flatmap(lambda pair: st.tuples(st.just(pair[0]), st.lists(st.none() | pair[1])))
)
def test_texts_of_columns_read_back_as_the_values(drawn: tuple[t.DataType, list[Any]]) -> None:
    data_type, values = drawn
    array = values_of(values, data_type)
    texts = partition_texts(array, data_type).to_pylist()
    assert [repr(parse_partition_value(text, data_type)) for text in texts] == [
        repr(value) for value in domain_values(array)
    ]


def test_domain_values_are_days_and_microseconds() -> None:
    days = pa.array([datetime.date(1970, 1, 2), None])
    assert domain_values(days) == [1, None]
    assert domain_values(pa.array([5, None]).view(pa.timestamp("us", "Europe/Berlin"))) == [5, None]


@pytest.mark.parametrize(
    ("location", "logged"),
    [
        ("/data/t/f.parquet", "file:/data/t/f.parquet"),
        ("/data/a b%20é/p=x:y/#", "file:/data/a%20b%2520é/p=x:y/%23"),
        ("s3://bucket/a b/é", "s3://bucket/a%20b/é"),
        ("abfss://c@account.dfs.core.windows.net/t/f", "abfss://c@account.dfs.core.windows.net/t/f"),
    ],
)
def test_rule_17_absolute_paths_are_spelled_as_hadoop_spells_them(location: str, logged: str) -> None:
    assert encode_location(location) == logged
    assert hadoop_path("/", logged) == location
