"""Random types, and values at their edges: far years, changes of the clock, ends of ranges, odd texts."""

import random
from decimal import Decimal
from typing import Any

from deltaskip.sparkexpr import types as t
from tests.skipping.random_tables import random_value

ATOMS = (
    t.BYTE, t.SHORT, t.INTEGER, t.LONG, t.FLOAT, t.DOUBLE, t.BOOLEAN, t.STRING, t.BINARY, t.DATE, t.TIMESTAMP,
    t.TIMESTAMP_NTZ,
)  # fmt: skip
DAY = 86_400_000_000
EDGES: dict[t.DataType, list[Any]] = {
    t.DOUBLE: [127.5, -128.9, 32767.99, 2147483647.5, -2147483648.9, 9.223372036854774e18, 9.3e18, 0.005, 1e-7, 99.995],
    t.FLOAT: [16777216.0, 127.5, 2147483648.0, 0.5, 1e10],
    t.LONG: [127, 128, -129, 32768, 2**31, 2**53 + 1, 999, 1000, -1000],
    t.INTEGER: [127, 128, -129, 32768, 99_999, 100_000],
    t.STRING: ["abc", "abcd", "é😀a", "ab  ", "", "abcdef"],
    t.DATE: [-719_162, -719_163, -141_428, -141_427, 2_932_896, 2_932_897, 5_000_000, -800_000, 19_792, -1],
    t.TIMESTAMP: [19_792 * DAY + 7 * 3_600_000_000, -62_135_596_800_000_000, 253_402_300_800_000_000, -1, 4 * 10**17],
    t.TIMESTAMP_NTZ: [19_792 * DAY + 2 * 3_600_000_000 + 1, -62_135_596_800_000_000, 253_402_300_800_000_000, -1],
}


def random_decimal(chance: random.Random) -> t.DecimalType:
    precision = chance.choice([1, 3, 5, 9, 10, 18, 19, 20, 38])
    return t.DecimalType(precision, chance.randint(0, precision))


def random_atom(chance: random.Random) -> t.DataType:
    return random_decimal(chance) if chance.random() < 0.25 else chance.choice(ATOMS)


def random_type(chance: random.Random, depth: int = 2) -> t.DataType:
    """A type, now and then a nested one."""
    kind = chance.random() if depth else 1.0
    if kind < 0.12:
        fields = (t.StructField(f"f{i}", random_type(chance, depth - 1)) for i in range(chance.randint(1, 3)))
        return t.StructType(tuple(fields))
    if kind < 0.22:
        return t.ArrayType(random_type(chance, depth - 1), True)
    return (
        t.MapType(chance.choice([t.STRING, t.LONG, t.DATE]), random_type(chance, depth - 1), True)
        if kind < 0.3
        else (random_atom(chance))
    )


def value_of(chance: random.Random, kind: t.DataType) -> Any:
    """A value, often at an edge, at any depth null now and then."""
    match kind:
        case t.StructType(fields):
            return {f.name: nullable(chance, f.type) for f in fields}
        case t.ArrayType(element):
            return [nullable(chance, element) for _ in range(chance.randint(0, 3))]
        case t.MapType(key, value):
            keys = {repr(each): each for each in (value_of(chance, key) for _ in range(chance.randint(0, 2)))}
            return [(each, nullable(chance, value)) for each in keys.values()]
        case t.DecimalType(precision, scale):
            digits = str(chance.randrange(10**precision))
            unscaled = chance.choice(["9" * precision, "5", "0", "15"[:precision], digits])
            sign = int(bool(int(unscaled)) and chance.random() < 0.5)
            return Decimal((sign, tuple(map(int, unscaled)), -scale))
        case _:
            return chance.choice(EDGES[kind]) if kind in EDGES and chance.random() < 0.5 else random_value(chance, kind)


def nullable(chance: random.Random, kind: t.DataType) -> Any:
    return None if chance.random() < 0.1 else value_of(chance, kind)
