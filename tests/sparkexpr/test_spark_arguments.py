"""Arguments of each type are cast, or refused, as by Spark's analyzer."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import deltaskip as ds
from tests.each import each
from tests.looped import looped
from tests.sparkexpr.spark_arguments import LEFT, REFUSED, answers, cases, collect, told

# Calls that are accepted here and refused by Spark, or the reverse.
_UNLIKE = {"regexp_replace(bo,'^.',ci,2)"}


def test_calls_have_the_type_of_spark_or_are_left_to_it() -> None:
    def check(text: str) -> None:
        found = told(text)
        assert found in (answers()[text], LEFT), (found, answers()[text])

    each([text for text in cases() if text not in _UNLIKE], check)


def test_most_calls_have_a_type() -> None:
    found = [told(text) for text in cases()[::10]]
    assert len(found) - found.count(LEFT) > 0.5 * len(found)
    assert REFUSED in found


def test_every_case_has_an_answer() -> None:
    assert answers().keys() == set(cases())


# Spark 4.1.4
@looped("call, value", [
    ("to_date(2024)", "2024-01-01"), ("to_date(X'323032342D30312D3032')", "2024-01-02"),
    ("to_date(2024BD)", "2024-01-01"),
    ("to_date(parse_json('2024'))", "2024-01-01"), ("to_date(NULL)", None), ("try_to_date(2024)", "2024-01-01"),
    ("try_to_date(true)", None), ("to_timestamp(2024)", "1970-01-01 00:33:44"),
    ("to_timestamp(X'32303234')", "2024-01-01 00:00:00"),
    ("to_timestamp_ltz(X'32303234')", "2024-01-01 00:00:00"), ("to_timestamp_ntz(2024)", "2024-01-01 00:00:00"),
    ("to_timestamp_ntz(2024BD)", "2024-01-01 00:00:00"), ("try_to_timestamp(X'32303234')", "2024-01-01 00:00:00"),
    ("to_date(DATE'2024-01-02')", "2024-01-02"), ("to_date(TIMESTAMP'2024-01-02 03:04:05')", "2024-01-02"),
    ("format_string('%s', array(1, NULL))", "[1,null]"), ("printf('%8s', struct(1, 'x'))", "   [1,x]"),
    ("format_string('%s', map('a', array(1.5D)))", "keys: [a], values: [[1.5]]"),
    ("format_string('%S', array(named_struct('a', 'b')))", "[[B]]"), ("format_string('%b', array(1))", "true"),
    ("format_string('%s %d', DATE'2024-01-01', TIMESTAMP'1970-01-01 00:00:01Z')", "19723 1000000"),
    ("format_string('%s', CAST(NULL AS ARRAY<INT>))", "null"), ("format_string('%.3s', array(1, 2))", "[1,"),
    ("format_string('%s', array(DATE'1970-01-03'))", "[2]"), ("format_string('%x', DATE'2024-01-01')", "4d0b"),
    ("format_string('%s', CAST(array(1) AS ARRAY<STRING>))", "[1]"),
    ("format_string('%s', array(1.50BD, 0.0000001BD))", "[1.5000000,1E-7]"),
])  # fmt: skip
def test_constants_of_each_type_are_read_and_written_as_by_spark(tmp_path: Path, call: str, value: str | None) -> None:
    table = ds.DeltaTable.create(tmp_path / "t", "s STRING")
    table.append(pa.table({"s": [value]}))
    assert table.scan(f"s <=> CAST({call} AS STRING)").to_arrow().num_rows == 1


@pytest.mark.parametrize("call", ["to_date(true)", "to_date(1.5D)", "to_timestamp(true)", "to_timestamp_ntz(20Y)"])
def test_a_text_that_is_no_time_is_an_error_of_the_row(tmp_path: Path, call: str) -> None:
    table = ds.DeltaTable.create(tmp_path / "t", "s STRING")
    table.append(pa.table({"s": ["x"]}))
    with pytest.raises(ds.PredicateError, match=r"cannot be cast|is not a"):
        table.scan(f"s = CAST({call} AS STRING)").to_arrow()


@pytest.mark.parametrize("call", ["format_string('%s', a)", "format_string('%s', array(i))", "format_string('%s', b)"])
def test_addresses_in_memory_are_left_to_spark(call: str) -> None:
    # Spark writes the address of a nested value of a row, and of bytes.
    assert told(call) == LEFT


@looped("predicate, ids", [
    ("s LIKE parse_json('\"a%\"')", [1]), ("s NOT ILIKE parse_json('\"A_C\"')", [2]),
    ("startswith(s, parse_json('\"ab\"'))", [1]), ("parse_json('\"abc\"') LIKE s", [1]),
    ("s LIKE CAST(parse_json('\"%z\"') AS STRING)", [2]),
])  # fmt: skip
def test_a_variant_as_text_or_pattern_is_cast_to_a_string(tmp_path: Path, predicate: str, ids: list[int]) -> None:
    table = ds.DeltaTable.create(tmp_path / "t", "id BIGINT, s STRING")
    table.append(pa.table({"id": [1, 2], "s": ["abc", "xyz"]}))
    assert table.scan(predicate).to_arrow()["id"].to_pylist() == ids


@pytest.mark.parametrize(
    "predicate", ["startswith(s, a)", "s LIKE a", "a ILIKE s", "st LIKE 'a'", "startswith(m, 'a')"]
)
def test_nested_values_are_no_pattern(tmp_path: Path, predicate: str) -> None:
    table = ds.DeltaTable.create(tmp_path / "t", "s STRING, a ARRAY<INT>, m MAP<STRING, INT>, st STRUCT<x: INT>")
    with pytest.raises(ds.PredicateError, match="is not valid in Spark SQL"):
        table.scan(predicate).files()


@pytest.mark.spark
@pytest.mark.long(gate=1)
def test_answers_are_those_of_the_installed_spark(expression_session: Any) -> None:
    sample = cases()[::50]
    assert collect(expression_session, sample) == {text: answers()[text] for text in sample}
