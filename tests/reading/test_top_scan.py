"""The first rows of an order: as a plain sort of all rows finds them, from as few files as the bounds allow."""

from __future__ import annotations

import random
import tempfile
import warnings
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

import deltaskip as ds
from tests.extent import extent
from tests.reading.random_rows import columns_of, keys_at, sorted_positions, table_with_files
from tests.skipping.random_predicates import random_predicate

ORDERS_PER_TABLE = 16


def check_orders(seed: int) -> tuple[int, int, int]:
    """Random orders of a random table; how many were compared, how many files were read, and how many there were."""
    rng = random.Random(seed)
    compared = read = files = 0
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made, table = table_with_files(rng, Path(folder) / "t")
        for _ in range(ORDERS_PER_TABLE):
            where = random_predicate(rng, made, depth=1) if rng.random() < 0.5 else None
            try:
                rows = table.scan(where).to_arrow()
            except (ds.UnsupportedFeature, ds.PredicateError):
                continue
            columns = columns_of(rows)
            names = rng.sample(sorted(columns), k=min(len(columns), rng.choice([1, 1, 2, 3])))
            orders = [(rng.random() < 0.5, rng.random() < 0.5) for _ in names]
            terms = [
                f"{name} {'DESC' if down else 'ASC'} NULLS {'FIRST' if first else 'LAST'}"
                for name, (down, first) in zip(names, orders, strict=True)
            ]
            number = rng.choice([0, 1, 1, 2, 3, 5, 40])
            keys = [columns[name] for name in names]
            wanted = keys_at(keys, sorted_positions(keys, orders)[:number])
            scan = table.scan(where).top(number, ", ".join(terms))
            found = columns_of(scan.to_arrow())
            got = keys_at([found[name] for name in names], list(range(len(wanted))))
            assert got == wanted, f"seed {seed}: {where} ORDER BY {terms} LIMIT {number}"
            assert all(len(values) == len(wanted) for values in found.values()), f"seed {seed}"
            compared += 1
            if scan.metrics is not None:
                read += scan.metrics.files
                files += len(table.scan(where).files())
                assert scan.metrics.files <= len(scan.files())
    return compared, read, files


@settings(max_examples=extent(40, 2000))
@given(st.integers(0, 1 << 48))
def test_the_first_rows_are_those_of_a_sort_of_all_rows(seed: int) -> None:
    check_orders(seed)


def test_files_are_left_out_and_not_only_sorted() -> None:
    compared, read, files = map(sum, zip(*map(check_orders, range(extent(12, 300))), strict=True))
    assert compared > 100
    assert read < 0.8 * files
