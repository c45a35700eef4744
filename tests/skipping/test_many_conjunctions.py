"""An OR of many conjunctions keeps the files that a model keeps: loops over files, conjunctions and leaves."""

import json
import random
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import deltaskip as ds
from tests.builder import protocol_of
from tests.log.builder import PROTOCOL, TableBuilder, add, metadata
from tests.skipping.kept_files import kept

Leaf = tuple[str, str, Any]
_FIELDS = [("a", "long"), ("b", "decimal(9,1)"), ("c", "string"), ("p", "long")]
_SCHEMA = {"type": "struct", "fields": [{"name": n, "type": t, "nullable": True, "metadata": {}} for n, t in _FIELDS]}


def _files(chance: random.Random, count: int) -> list[dict[str, Any]]:
    """The least and greatest values of each column by file; None where the file has no statistics of it."""
    files = []
    for _ in range(count):
        bounds: dict[str, Any] = {"p": (value := chance.randrange(4), value)}
        for name in "abc":
            low = chance.randrange(40)
            high = low + chance.randrange(5)
            made = {"a": (low, high), "b": (low / 2, high / 2), "c": (f"k{low:02}", f"k{high:02}")}
            bounds[name] = made[name] if chance.random() < 0.9 else None
        files.append(bounds)
    return files


def _leaf(chance: random.Random, name: str) -> Leaf:
    op = chance.choice(["=", "<", "<=", ">", ">=", "IN"])
    number = [chance.randrange(45) for _ in range(2 if op == "IN" else 1)]
    values = {
        "a": number,
        "b": [n / 2 for n in number],
        "c": [f"k{n:02}" for n in number],
        "p": [n % 5 for n in number],
    }
    return name, op, values[name]


def _text(leaf: Leaf) -> str:
    name, op, values = leaf
    texts = [repr(value) if isinstance(value, str) else str(value) for value in values]
    return f"{name} IN ({', '.join(texts)})" if op == "IN" else f"{name} {op} {texts[0]}"


def _may(bounds: tuple[Any, Any] | None, op: str, values: list[Any]) -> bool:
    if bounds is None:
        return True
    low, high = bounds
    match op:
        case "<":
            return bool(low < values[0])
        case "<=":
            return bool(low <= values[0])
        case ">":
            return bool(high > values[0])
        case ">=":
            return bool(high >= values[0])
        case _:
            return any(low <= value <= high for value in values)


@pytest.mark.parametrize("partitioned", [False, True])
def test_an_or_of_conjunctions_keeps_what_the_model_keeps(tmp_path: Path, partitioned: bool) -> None:
    chance = random.Random(30)
    files, table = _files(chance, 60), TableBuilder(tmp_path / "t")
    adds = []
    for number, bounds in enumerate(files):
        there = {name: each for name, each in bounds.items() if each is not None and not (partitioned and name == "p")}
        stats = {
            "numRecords": 9,
            "minValues": {name: each[0] for name, each in there.items()},
            "maxValues": {name: each[1] for name, each in there.items()},
            "nullCount": dict.fromkeys(there, 0),
        }
        values = {"p": str(bounds["p"][0])} if partitioned else {}
        adds.append(add(f"f{number}", partitionValues=values, stats=json.dumps(stats)))
    partitions = {"partitionColumns": ["p"]} if partitioned else {}
    table.commit(PROTOCOL, metadata(schemaString=json.dumps(_SCHEMA), **partitions), *adds)
    opened = ds.DeltaTable(table.path)
    fewer = 0
    for count in (1, 2, 3, 8, 30) * 4:
        # Each column once in a conjunction, so that no rule about several leaves of one column adds to the model.
        legs = [[_leaf(chance, name) for name in chance.sample("abcp", chance.randrange(1, 4))] for _ in range(count)]
        where = " OR ".join(f"({' AND '.join(map(_text, leg))})" for leg in legs)
        expected = {
            f"f{number}"
            for number, bounds in enumerate(files)
            if any(all(_may(bounds[name], op, values) for name, op, values in leg) for leg in legs)
        }
        assert set(kept(opened, where)) == expected, where
        fewer += len(expected) < len(files)
    assert fewer > 5


@pytest.mark.parametrize("type_", ["date", "timestamp_ntz"])
def test_days_named_by_year_month_and_day_keep_the_files_that_reach_one(tmp_path: Path, type_: str) -> None:
    chance = random.Random(31)
    since = datetime(1961, 3, 1)
    spans = [(low := chance.randrange(30_000), low + chance.choice([0, 1, 40, 400])) for _ in range(80)]
    ranges = [(since + timedelta(low), since + timedelta(high, hours=5)) for low, high in spans]
    shown = (lambda at: str(at.date())) if type_ == "date" else datetime.isoformat
    adds = [
        add(f"f{number}", stats=_bounds_of("d", shown(low), shown(high))) for number, (low, high) in enumerate(ranges)
    ]
    schema = {"type": "struct", "fields": [{"name": "d", "type": type_, "nullable": True, "metadata": {}}]}
    table = TableBuilder(tmp_path / "t")
    table.commit({"protocol": protocol_of(("timestampNtz",))}, metadata(schemaString=json.dumps(schema)), *adds)
    opened = ds.DeltaTable(table.path)
    for count in (1, 3, 60):
        days = [since + timedelta(chance.randrange(30_000)) for _ in range(count)]
        fields = [[f"year(d) = {d.year}", f"month(d) = {d.month}", f"day(d) = {d.day}"] for d in days]
        where = " OR ".join(f"({' AND '.join(chance.sample(each, 3))})" for each in fields)
        expected = {
            f"f{number}"
            for number, (low, high) in enumerate(ranges)
            if any(low.date() <= day.date() <= high.date() for day in days)
        }
        assert set(kept(opened, where)) == expected, where


def _bounds_of(name: str, low: str, high: str) -> str:
    return json.dumps({"numRecords": 9, "minValues": {name: low}, "maxValues": {name: high}, "nullCount": {name: 0}})
