"""Texts that fail by column without being read are texts that no cast reads."""

import random
import re

import pytest

from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.values import column_casts
from deltaskip.sparkexpr.values.calendar import zone_of
from deltaskip.sparkexpr.values.casts import try_cast_value
from tests.extent import extent, seed
from tests.sparkexpr.edge_values import EDGES

TYPES: dict[str, tuple[t.DataType, ...]] = {
    "integer": (t.BYTE, t.INTEGER, t.LONG),
    "number": (t.FLOAT, t.DOUBLE),
    "decimal": (t.DecimalType(10, 2), t.DecimalType(38, 10)),
    "date": (t.DATE,),
    "time": (t.TIMESTAMP, t.TIMESTAMP_NTZ),
}
WORDS = ["T01:02", "t1", "epoch", "now", "today", "inf", "-Inf", "nan", "Infinity", "Z", "1d", "2f", "1e5", "0x1P3f"]
CHARACTERS = "eEdDfFtTzZaAiInNpPxXyY0123456789+-.: gmU"


@pytest.mark.parametrize("kind", TYPES)
def test_no_cast_reads_them(kind: str) -> None:
    chance = random.Random(seed())
    words = [*WORDS, *EDGES[t.STRING]]
    for _ in range(extent(2000, 100_000)):
        words.append("".join(chance.choice(CHARACTERS) for _ in range(chance.randrange(1, 9))))
    never = [word for word in words if re.search(column_casts._NEVER[kind], word)]
    assert len(never) > len(words) / 20
    zone = zone_of("Europe/Berlin")
    read = [(word, type_) for word in never for type_ in TYPES[kind] if try_cast_value(word, t.STRING, type_, zone)]
    assert not read
