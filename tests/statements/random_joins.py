"""Random queries that join two to four tables, in SQL that Spark and DuckDB read alike."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa

import deltaskip as ds

COLUMNS = {"i": "INT", "l": "BIGINT", "d": "DOUBLE", "s": "STRING", "c": "DATE"}
_KINDS = [pa.int32(), pa.int64(), pa.float64(), pa.string(), pa.date32()]
_SAME = {"i": "il", "l": "il", "d": "d", "s": "s", "c": "c"}
_WORDS = ["a", "A", "b", "bb", "ä", "", "ab", "z"]


class Tables:
    """Four Delta tables, clustered by some column or by none, and their rows.

    Args:
        rng: Decides about everything.
        folder: Their folder.
        collation: The collation of their strings; None for their bytes.
    """

    def __init__(self, rng: random.Random, folder: Path, collation: str | None = None) -> None:
        self.tables: dict[str, ds.DeltaTable] = {}
        self.rows: dict[str, pa.Table] = {}
        for number in range(4):
            name = f"t{number}"
            rows = _rows(rng, rng.choice([0, 3, 10, 20]))
            ddl = ", ".join(f"{column} {type_}" for column, type_ in COLUMNS.items())
            if collation is not None:
                ddl = ddl.replace("STRING", f"STRING COLLATE {collation}")
            table = ds.DeltaTable.create(folder / name, ddl)
            start = 0
            while start < len(rows):
                size = rng.choice([1, 2, 5, 8])
                table.append(rows.slice(start, size))
                start += size
            self.tables[name] = ds.DeltaTable(folder / name)
            self.rows[name] = rows


def _rows(rng: random.Random, count: int) -> pa.Table:
    numbers = [rng.randrange(-3, 12) for _ in range(count)]
    if rng.random() < 0.7:
        numbers.sort()

    def values(make: Any) -> list[Any]:
        near = rng.random() < 0.6
        return [None if rng.random() < 0.12 else make(each if near else rng.randrange(-3, 12)) for each in numbers]

    odd = [float("nan"), -0.0, 0.0, 1.5]
    columns = [
        values(lambda each: each),
        values(lambda each: each),
        values(lambda each: rng.choice(odd) if rng.random() < 0.3 else float(each)),
        values(lambda each: _WORDS[each % len(_WORDS)]),
        values(lambda each: 18_000 + each),
    ]
    stored = [pa.int32() if kind == pa.date32() else kind for kind in _KINDS]
    arrays = [pa.array(each, kind) for each, kind in zip(columns, stored, strict=True)]
    return pa.table([each.cast(kind) for each, kind in zip(arrays, _KINDS, strict=True)], [*COLUMNS])


def random_query(rng: random.Random, name: Any = str) -> tuple[str, list[str]]:
    """A query, and the tables that it names in the order of its text.

    name: Returns the text for the name of a table.
    """
    named: list[str] = []

    def table() -> str:
        named.append(f"t{rng.randrange(4)}")
        return str(name(named[-1]))

    count = rng.choice([1, 2, 2, 2, 3, 3, 4])
    aliases, visible = ["a"], ["a"]
    text = f"{_relation(rng, table)} AS a"
    # A name without a column of its own is none that later conditions may use.
    for number in range(1, count):
        alias = "abfg"[number]
        kind = f"{rng.choice(['', '', 'INNER', 'LEFT', 'RIGHT', 'FULL', 'SEMI', 'ANTI', 'CROSS'])} JOIN".strip()
        joined = f"{_relation(rng, table)} AS {alias}"
        if kind == "CROSS JOIN":
            text += f" CROSS JOIN {joined}"
        else:
            parts = [_equal(rng, rng.choice(visible), alias)]
            if rng.random() < 0.3:
                parts.append(_equal(rng, rng.choice(visible), alias))
            if rng.random() < 0.3:
                parts.append(_filter(rng, rng.choice([*visible, alias])))
            text += f" {kind} {joined} ON {' AND '.join(parts)}"
        aliases.append(alias)
        if kind not in ("SEMI JOIN", "ANTI JOIN"):
            visible.append(alias)
    where = []
    for _ in range(rng.choice([0, 1, 1, 2])):
        where.append(_filter(rng, rng.choice(visible)))
    if len(visible) > 1 and rng.random() < 0.4:
        where.append(_equal(rng, *rng.sample(visible, 2)))
    if rng.random() < 0.35 or count == 1:
        outer = rng.choice(visible)
        column = rng.choice([*COLUMNS])
        other = rng.choice(_SAME[column])
        inner = f" WHERE {_filter(rng, 'x')}" if rng.random() < 0.6 else ""
        form = rng.randrange(4)
        if form == 0:
            query = f"SELECT x.{other} FROM {table()} AS x{inner}"
            match rng.randrange(3):
                case 1:
                    query += f" GROUP BY x.{other}"
                case 2:
                    query += f" UNION SELECT x.{other} FROM {table()} AS x"
            where.append(f"{outer}.{column} IN ({query})")
        elif form == 1:
            where.append(f"{outer}.{column} NOT IN (SELECT x.{other} FROM {table()} AS x WHERE x.{other} IS NOT NULL)")
        else:
            more = inner.replace(" WHERE ", " AND ")
            negated = "NOT " if form == 2 else ""
            where.append(f"{negated}EXISTS (SELECT 1 FROM {table()} AS x WHERE x.{other} = {outer}.{column}{more})")
    shown = ", ".join(f"{alias}.{column} AS {alias}{column}" for alias in visible for column in COLUMNS)
    text = f"SELECT {shown} FROM {text}"
    return text + (f" WHERE {' AND '.join(where)}" if where else ""), named


def _relation(rng: random.Random, table: Any) -> str:
    """A table, or a query of one."""
    if rng.random() < 0.85:
        return str(table())
    inner = f"SELECT i, l, d, s, c FROM {table()} AS y WHERE {_filter(rng, 'y')}"
    return f"({inner})" if rng.random() < 0.6 else f"({inner} GROUP BY i, l, d, s, c)"


def _equal(rng: random.Random, one: str, other: str) -> str:
    column = rng.choice([*COLUMNS])
    found = [f"{one}.{column}", f"{other}.{rng.choice(_SAME[column])}"]
    return " = ".join(found if rng.random() < 0.5 else found[::-1])


def _filter(rng: random.Random, alias: str) -> str:
    column = rng.choice([*COLUMNS])
    op = rng.choice(["=", "=", "<", ">=", "!="])
    match column:
        case "s":
            return f"{alias}.s {op} '{rng.choice(_WORDS)}'"
        case "c":
            return f"{alias}.c {op} DATE '2019-04-{rng.randrange(10, 26)}'"
        case _ if rng.random() < 0.2:
            return f"{alias}.{column} IS {rng.choice(['', 'NOT '])}NULL"
        case _ if rng.random() < 0.2:
            return f"({alias}.{column} = {rng.randrange(-3, 12)} OR {alias}.i = {rng.randrange(-3, 12)})"
        case _:
            return f"{alias}.{column} {op} {rng.randrange(-3, 12)}"
