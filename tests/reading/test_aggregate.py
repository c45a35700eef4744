"""Totals: those of a plain loop over all rows, from the log where it proves them."""

from __future__ import annotations

import random
import tempfile
import warnings
from functools import cmp_to_key
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import deltaskip as ds
from deltaskip.sparkexpr.values.arrow_values import domain_values
from tests.extent import extent
from tests.reading.random_rows import columns_of, compared, keys_at, table_with_files
from tests.skipping.random_predicates import random_predicate

TOTALS_PER_TABLE = 16


def random_aggregates(rng: random.Random, columns: list[str]) -> dict[str, str]:
    """Some aggregates of random columns, by their names."""
    found = {}
    for number in range(rng.randint(1, 4)):
        column = rng.choice(columns)
        forms = ["count(*)", "count({})", "min({})", "max({})", "count_if({} IS NULL)", "count_if({} IS NOT NULL)"]
        found[f"a{number}"] = rng.choice(forms).format(column)
    return found


def plain_total(text: str, columns: dict[str, list[Any]], rows: list[int]) -> Any:
    """The aggregate of rows by a loop."""
    if text == "count(*)":
        return len(rows)
    function, _, inside = text.rstrip(")").partition("(")
    values = [columns[inside.partition(" IS ")[0]][row] for row in rows]
    some = [value for value in values if value is not None]
    match function:
        case "count":
            return len(some)
        case "count_if":
            return len(some) if inside.endswith("NOT NULL") else len(values) - len(some)
        case "min":
            return min(some, key=cmp_to_key(compared), default=None)
    return max(some, key=cmp_to_key(compared), default=None)


def check_totals(seed: int) -> tuple[int, int, int]:
    """Random totals of a random table; how many were compared, how many files were read, and how many there were."""
    rng = random.Random(seed)
    count = read = files = 0
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made, table = table_with_files(rng, Path(folder) / "t")
        for _ in range(TOTALS_PER_TABLE):
            where = random_predicate(rng, made, depth=1) if rng.random() < 0.6 else None
            try:
                columns = columns_of(table.scan(where).to_arrow())
            except (ds.UnsupportedFeature, ds.PredicateError):
                continue
            by = list(made.partition_columns) if rng.random() < 0.6 else []
            wanted = random_aggregates(rng, sorted(columns))
            total = len(next(iter(columns.values())))
            groups: dict[tuple[str, ...], list[int]] = {} if by else {(): list(range(total))}
            keys = keys_at([columns[name] for name in by], list(range(total)))
            for row, key in enumerate(keys if by else []):
                groups.setdefault(key, []).append(row)
            plain = {
                key: keys_at([[plain_total(text, columns, rows)] for text in wanted.values()], [0])[0]
                for key, rows in groups.items()
            }
            scan = table.scan(where)
            answer = scan.aggregate(by, **wanted)
            found = {name: domain_values(answer[name]) for name in answer.column_names}
            places = list(range(len(answer)))
            got = keys_at([found[name] for name in by], places) if by else [()]
            values = keys_at([found[name] for name in wanted], places)
            assert dict(zip(got, values, strict=True)) == plain, f"seed {seed}: {wanted} BY {by} WHERE {where}"
            count += 1
            assert scan.metrics is not None
            read += scan.metrics.files
            files += len(table.scan(where).files())
    return count, read, files


@settings(max_examples=extent(40, 2000))
@given(st.integers(0, 1 << 48))
def test_totals_are_those_of_a_loop_over_all_rows(seed: int) -> None:
    check_totals(seed)


def test_files_are_counted_by_the_log_and_not_only_read() -> None:
    count, read, files = map(sum, zip(*map(check_totals, range(extent(12, 300))), strict=True))
    assert count > 150
    assert read < 0.8 * files
