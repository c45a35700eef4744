"""Arguments of each type are cast, or refused, as by Spark's analyzer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import deltaskip as ds
from tests.each import each
from tests.looped import looped
from tests.sparkexpr.spark_arguments import CONSTANTS, LEFT, REFUSED, answers, cases, collect, told

# Calls that are accepted here and refused by Spark, or the reverse.
_UNLIKE = {
    "regexp_replace(bo,'^.',ci,2)", "NULL / de", "CASE WHEN NULL THEN i ELSE i END",
    "CASE WHEN NULL THEN i WHEN bo THEN i END", "CASE WHEN bo THEN i WHEN NULL THEN i END",
    *(f"{a} {form} {b}" for form in ("LIKE", "ILIKE", "NOT LIKE") for a, b in (("ci", "s"), ("s", "ci"))),
    *(f"to_date({a})" for a in ("bo", "i", "x", "de", "b")),
    *(f"to_date({a})" for a in CONSTANTS if a != "NULL"),
}  # fmt: skip


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
