"""Arguments of each type are cast, or refused, as by Spark's analyzer."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import deltaskip as ds
from tests.each import each, refuses
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


@pytest.mark.parametrize("call", ["to_date(true)", "to_date(1.5D)", "to_timestamp(true)", "to_timestamp_ntz(20Y)"])
def test_a_text_that_is_no_time_is_an_error_of_the_row(tmp_path: Path, call: str) -> None:
    table = ds.DeltaTable.create(tmp_path / "t", "s STRING")
    table.append(pa.table({"s": ["x"]}))
    refuses(ds.PredicateError, r"cannot be cast|is not a", lambda: table.scan(f"s = CAST({call} AS STRING)").to_arrow())


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
    refuses(ds.PredicateError, "is not valid in Spark SQL", lambda: table.scan(predicate).files())


@pytest.mark.spark
@pytest.mark.long(gate=1)
def test_answers_are_those_of_the_installed_spark(expression_session: Any) -> None:
    sample = cases()[::50]
    assert collect(expression_session, sample) == {text: answers()[text] for text in sample}
