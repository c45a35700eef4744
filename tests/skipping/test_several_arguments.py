"""Calls whose arguments are several columns, in files in which one of them is NULL, or has one value: no row is lost.

Every function is called with columns of every pair and triple of some types that it takes. What is certain of every row
of a file, by which whole files are deleted, is held against the rows, too.
"""

from __future__ import annotations

import random
from collections import Counter
from itertools import product
from typing import Any

import pyarrow as pa
import pytest

import deltaskip as ds
from deltaskip import sparkexpr
from deltaskip.dml.files_to_change import files_to_change
from deltaskip.errors import DeltaSkipError
from deltaskip.sparkexpr.functions import FUNCTIONS
from tests.extent import extent, seed

COLUMNS = {"s": "STRING", "u": "STRING", "i": "INT", "j": "INT", "x": "DOUBLE", "y": "DOUBLE", "d": "DATE", "e": "DATE"}
VALUES: dict[str, list[Any]] = {
    "s": ["a", "b", "", "a,b"], "u": ["a", ",", "", "zz"], "i": [0, 1, -3, 2024], "j": [0, 1, 2, 7],
    "x": [0.0, 1.5, -2.0, float("nan")], "y": [0.0, 1.0, 2.0, -0.5], "d": [0, 19_000, 19_723], "e": [0, 19_000, 20_000],
}  # fmt: skip
PAIRS = ("su", "us", "si", "is", "ij", "xy", "xi", "de", "di", "id", "ds")
TRIPLES = ("sus", "suu", "sij", "sui", "iji", "xyx", "ssi")
NAMES = sorted(name for name in FUNCTIONS if name.isidentifier())
OPERATORS = ("+", "-", "*", "/", "%", "||", "&", "|", "^", "<=>", "=", "<", "LIKE")
FORMS = (
    "{0} IS NULL", "{0} IS NOT NULL", "{0} <=> NULL", "isnull({0}) OR s = 'none'",
    "coalesce(CAST({0} AS STRING), 'N') = 'N'", "{0} = {1}", "{0} <> {1}", "{0} > {1}", "NOT ({0} <= {1})",
    "{0} IN ({1}, NULL)",
)  # fmt: skip


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> ds.DeltaTable:
    """Files of up to three rows. A column of a file is NULL, has one value, one value and NULL, or several."""
    chance = random.Random(1)
    path = tmp_path_factory.mktemp("several") / "t"
    made = ds.DeltaTable.create(path, ", ".join(f"{name} {kind}" for name, kind in [*COLUMNS.items(), ("f", "INT")]))
    types = {"STRING": pa.string(), "INT": pa.int32(), "DOUBLE": pa.float64(), "DATE": pa.date32()}
    for number in range(40):
        rows = chance.choice([1, 2, 3])
        columns = {}
        for name, kind in COLUMNS.items():
            some = chance.sample([*VALUES[name], None], 2)
            only = chance.choice([[None], some[:1], [some[0], None], some])
            columns[name] = pa.array([chance.choice(only) for _ in range(rows)], types[kind])
        made.append(pa.table({**columns, "f": pa.array([number] * rows, pa.int32())}))
        if number == 30:
            made.checkpoint()
    return made.refresh()


def calls() -> list[str]:
    """The calls that can be bound."""
    schema = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
    texts = [f"{name}({', '.join(args)})" for name, args in product(NAMES, (*PAIRS, *TRIPLES))]
    texts += [f"({pair[0]} {operator} {pair[1]})" for operator, pair in product(OPERATORS, PAIRS)]
    found = []
    for text in texts:
        try:
            checked = sparkexpr.check(text, schema)
        except DeltaSkipError:
            continue
        if not checked.needs_spark and checked.type is not None:
            found.append(text)
    return found


def literal(value: Any) -> str:
    return (
        f"'{value}'"
        if isinstance(value, str)
        else f"CAST('{value}' AS DOUBLE)"
        if isinstance(value, float)
        else str(value)
    )


def others(rows: pa.Table, matching: pa.Table) -> set[int]:
    """The files with a row that does not match."""
    every, found = (Counter(each["f"].to_pylist()) for each in (rows, matching))
    return set(every - found)


@pytest.mark.filterwarnings("ignore::deltaskip.errors.PredicateWarning")
def test_no_row_is_lost_and_none_is_certain_that_does_not_match(table: ds.DeltaTable) -> None:
    chance = random.Random(seed())
    rows = table.scan().to_arrow()
    numbers = {table.scan(f"f = {number}").files()["path"][0].as_py(): number for number in set(rows["f"].to_pylist())}
    texts = calls()
    assert len(texts) > 200
    tried = 0
    for text in chance.sample(texts, min(len(texts), extent(100, len(texts)))):
        try:
            values = sparkexpr.evaluate(text, rows).to_pylist()
        except DeltaSkipError:
            continue
        known = [value for value in values if value is not None]
        plain = [value for value in known if isinstance(value, str | int | float) and not isinstance(value, bool)]
        wanted = literal(chance.choice(plain)) if plain else "NULL"
        for form in FORMS:
            where = form.format(text, wanted)
            try:
                expected = sparkexpr.filter(where, rows)
                scan = table.scan(where)
            except DeltaSkipError:
                continue
            tried += 1
            assert str(scan.to_arrow().to_pylist()) == str(expected.to_pylist()), where
            # Of files whose rows all match, none is left.
            certain = {numbers[path] for path in files_to_change(scan).whole.logged["path"].to_pylist()}
            assert certain <= set(numbers.values()) - others(rows, expected), where
    assert tried > extent(400, 1000)
