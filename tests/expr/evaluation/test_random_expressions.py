"""Random expressions over all functions: by column they have the values and the errors that they have row by row."""

from __future__ import annotations

import itertools
import random

from tests.expr.random_expressions import ZONES, Maker, Rows
from tests.extent import extent, seed

EXPRESSIONS = extent(120, 5000)
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
