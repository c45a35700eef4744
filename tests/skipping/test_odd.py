"""Odd predicates against Spark's stored answers: what it accepts is not refused, what it refuses is not kept unsaid."""

import warnings
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from functools import cache
from typing import Any

import pytest

import deltaskip as ds
from tests.builder import TableBuilder, add
from tests.extent import extent, some
from tests.sparkexpr.odd import ANSWERS, PREDICATES, ROWS, SCHEMA, answers

# Spark reads the word at the end as the name of the result. It was hardly meant.
NAMED_RESULTS = frozenset(("id = 5 AND", "id = 5 OR", "id = 5 x", "name LIKE 'a%' ESCAPE"))
# Spark fails for the rows that reach the malformed part, and the others prune.
BY_ROW = frozenset(
    (*("coalesce(id, 'x') = 5", "nvl(id, 'x') = 5", "CASE WHEN flag THEN id = 5 ELSE day = 'junk' END"), "flag OR name")
)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> ds.DeltaTable:
    """A file for each row."""
    folder = tmp_path_factory.mktemp("odd") / "t"
    builder = TableBuilder(folder, SCHEMA)
    builder.commit(*(add(str(number), statistics_of(row)) for number, row in enumerate(ROWS)))
    return ds.DeltaTable(folder)


def statistics_of(row: dict[str, Any]) -> dict[str, Any]:
    flat = {**{name: value for name, value in row.items() if name != "st"}, "st": row["st"] or {"a": None, "s": None}}
    bounds = {name: bound_of(value) for name, value in flat.items() if bound_of(value) is not None}
    nulls = {name: null_count_of(value) for name, value in flat.items()}
    return {"numRecords": 1, "minValues": bounds, "maxValues": bounds, "nullCount": nulls}


def bound_of(value: Any) -> Any:
    match value:
        case dict():
            return {name: bound_of(field) for name, field in value.items() if field is not None}
        case bool() | bytes() | list() | None:
            return None
        case datetime():
            return value.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        case date():
            return value.isoformat()
        case Decimal():
            return float(value)
    return value


def null_count_of(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: int(field is None) for name, field in value.items()}
    return int(value is None)


Outcome = list[int] | ds.PredicateError


@cache
def outcome(table: ds.DeltaTable, text: str, ansi: bool) -> tuple[Outcome, list[str]]:
    """The kept files or the error, and what was said: warnings, and reasons of the parts."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            scan = table.scan(text, ansi=ansi)
        except ds.PredicateError as error:
            return error, []
        kept = sorted(map(int, scan.files()["path"].to_pylist()))
        reasons = [leaf.reason for leaf in scan.explain().leaves]
    return kept, [str(warning.message) for warning in said] or (reasons if all(reasons) else [])


def stored(mode: str) -> Iterator[tuple[str, Any]]:
    found = answers()
    assert set(found) == set(PREDICATES), f"{ANSWERS.name} has others: python -m tests.sparkexpr.spark_odd"
    for text in some(PREDICATES, 350):
        yield text, found[text][mode]


@pytest.mark.long(gate=1)
@pytest.mark.parametrize("mode", ["on", "off"])
def test_what_spark_accepts_is_not_refused_and_keeps_every_matching_row(table: ds.DeltaTable, mode: str) -> None:
    wrong = []
    for text, answer in stored(mode):
        if isinstance(answer, list) and text not in NAMED_RESULTS:
            ours, _ = outcome(table, text, mode == "on")
            if not isinstance(ours, list) or not set(answer) <= set(ours):
                wrong.append((text, answer, ours))
    assert not wrong


def test_what_spark_refuses_is_refused_or_explained(table: ds.DeltaTable) -> None:
    silent, refused = [], 0
    for text, answer in stored("on"):
        if isinstance(answer, str):
            ours, said = outcome(table, text, True)
            refused += not isinstance(ours, list)
            if isinstance(ours, list) and not said and text not in BY_ROW:
                silent.append((text, answer, ours))
    assert not silent
    assert refused > extent(126, 380)


def test_what_spark_cannot_parse_is_refused(table: ds.DeltaTable) -> None:
    unplaced = []
    for text, answer in stored("on"):
        if answer == "parse":
            ours, _ = outcome(table, text, True)
            assert isinstance(ours, ds.PredicateError), (text, ours)
            if "line 1, column " not in str(ours):
                unplaced.append(text)
    # Quotes that close at the next quote leave a name without a column.
    assert len(unplaced) <= 1
