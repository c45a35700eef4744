"""Random expressions over all functions: by column they have the values and the errors that they have row by row."""

import itertools
import random

from deltaskip.sparkexpr.types.ddl import parse_columns
from deltaskip.sparkexpr.types.json import simple_string
from tests.extent import extent, seed, some
from tests.sparkexpr.edge_values import EDGES
from tests.sparkexpr.random_expressions import ZONES, Maker, Rows, bound, with_a_column

EXPRESSIONS = extent(120, 5000)
EACH_TYPE = extent(3, 1)
"""The gate has every call with a third of the types, and every type with a third of the calls."""
BATCH = 60


def test_random_expressions_by_column_are_those_of_each_row() -> None:
    decided = 0
    for number in range(EXPRESSIONS // BATCH):
        chance = random.Random(seed() + number)
        zone, ansi = ZONES[number % len(ZONES)], chance.random() < 0.7
        table = Rows.of(chance)
        for made, node in itertools.islice(Maker(chance, zone, ansi, table.schema).made(), BATCH):
            found, alone = table.by_column(node, zone), table.by_row(node, zone)
            assert found == alone, f"{made.sql} [{zone}, ANSI {ansi}, seed {number}]: {table.told(node, found, alone)}"
            decided += all(isinstance(value, tuple) for value in found)
    assert decided > EXPRESSIONS / 3


def test_an_argument_that_is_null_in_some_rows_is_null_by_column() -> None:
    tried = 0
    for number, (call, of, value) in enumerate(some(with_a_column(), 300)):
        if not isinstance(value, str) and not -(2**31) <= value < 2**31:
            continue
        for type_, edges in list(EDGES.items())[number % EACH_TYPE :: EACH_TYPE]:
            schema = parse_columns(f"k {simple_string(of)}, c {simple_string(type_)}")
            sql = call.replace("{c}", "c")
            node = bound(sql, schema, "Europe/Berlin", True)
            if node is None:
                continue
            given = {"k": [value, None] * 3, "c": [edges[0], edges[-1], None, None, edges[1], edges[0]]}
            table = Rows.with_values(schema, given)
            found, alone = (by(node, "Europe/Berlin") for by in (table.by_column, table.by_row))
            assert found == alone, f"{sql} of {simple_string(type_)}: {table.told(node, found, alone)}"
            tried += 1
    assert tried > extent(200, 300)
