"""The bounds of one file in every spelling that writers have: no row that matches at a bound is lost.

Differential: rows are read back through the log's statistics, and compared with the values that the file was made of.
"""

import json
import random
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from decimal import Context, Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import deltaskip as ds
from tests.extent import extent
from tests.looped import looped

SCHEMA = "l BIGINT, i INT, d DOUBLE, f FLOAT, e DECIMAL(38,4), t TIMESTAMP, n TIMESTAMP_NTZ, s STRING"
ARROW = pa.schema(
    [
        ("l", pa.int64()),
        ("i", pa.int32()),
        ("d", pa.float64()),
        ("f", pa.float32()),
        ("e", pa.decimal128(38, 4)),
        ("t", pa.timestamp("us", "UTC")),
        ("n", pa.timestamp("us")),
        ("s", pa.string()),
    ]
)
FILES = 6
COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda a, b: a == b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "!=": lambda a, b: a != b,
}


def values(choose: random.Random) -> dict[str, Any]:
    micros = choose.choice([-(10**16), -(10**15), 0, 10**15, 1_600_000_000_000_000]) + choose.randrange(5000)
    at = datetime(1970, 1, 1) + timedelta(microseconds=micros)
    return {
        "l": choose.choice([choose.randrange(-(2**63), 2**63), 2**53 + choose.randrange(3), choose.randrange(100)]),
        "i": choose.randrange(-(2**31), 2**31),
        "d": choose.choice([choose.uniform(-1, 1), choose.uniform(-1e18, 1e18), 0.1]),
        "f": float(np.float32(choose.choice([choose.uniform(-1, 1), 0.1, 16777217.0, 1e30]))),
        "e": Decimal(
            choose.choice([choose.randrange(10**30), choose.randrange(10**18), choose.randrange(10**6)])
        ).scaleb(-4, Context(prec=60)),
        "t": at.replace(tzinfo=UTC),
        "n": at,
        "s": "".join(choose.choice("aé\U0001f600z\uffff") for _ in range(choose.randrange(1, 40))),
    }


def spelled(name: str, value: Any, side: str, choose: random.Random) -> str | None:
    """JSON text of a bound as some writer has it; None if it has none."""
    match name:
        case "l" | "i":
            double = float(value)
            short = f"{double:e}" if abs(value) < 100 else None
            return choose.choice([str(value), f"{double!r}", f"{double:.15g}", short])
        case "d":
            return choose.choice([repr(value), f"{value:.17g}", f"{value:.17e}"])
        case "f":
            return choose.choice([repr(value), str(np.float32(value)), f"{value:.9g}"])
        case "e":
            plain = f"{value:f}"
            return choose.choice([plain, f"{float(value)!r}", f"{float(value):.15g}", plain.rstrip("0").rstrip(".")])
        case "t" | "n":
            digits = choose.choice([3, 6])
            cut = value.replace(microsecond=value.microsecond // 1000 * 1000) if digits == 3 else value
            text = cut.replace(tzinfo=None).isoformat("T", "milliseconds" if digits == 3 else "microseconds")
            zone = choose.choice(["Z", "+00:00", "UTC"]) if name == "t" else ""
            return json.dumps(choose.choice([text, text.replace("T", " "), text]) + zone)
        case _:
            if len(value) <= 32:
                return json.dumps(value)
            return json.dumps(value[:32] if side == "min" else value[:32] + choose.choice(["", "\U0010ffff"]))


def literal(name: str, value: Any) -> str:
    match name:
        case "l" | "i":
            return f"CAST('{value}' AS BIGINT)"
        case "d" | "f":
            return f"CAST('{value!r}' AS DOUBLE)"
        case "e":
            return f"{value:f}BD"
        case "t":
            return f"TIMESTAMP'{value.replace(tzinfo=None).isoformat(' ')}Z'"
        case "n":
            return f"TIMESTAMP_NTZ'{value.isoformat(' ')}'"
        case _:
            return f"'{value}'"


@pytest.mark.filterwarnings("ignore::deltaskip.StatisticsWarning")
@looped("seed", range(extent(1, 6)))
def test_bounds_in_other_spellings_lose_no_row(tmp_path: Path, seed: int) -> None:
    choose = random.Random(seed)
    properties = {"delta.checkpoint.writeStatsAsStruct": "true", "delta.checkpoint.writeStatsAsJson": "false"}
    table = ds.DeltaTable.create(tmp_path / "t", SCHEMA, properties=properties)
    rows = []
    for _ in range(FILES):
        some = [values(choose) for _ in range(choose.choice([1, 1, 3]))]
        rows += some
        table.append(pa.Table.from_pylist(some, ARROW))
        commit = sorted((tmp_path / "t" / "_delta_log").glob("*.json"))[-1]
        actions = [json.loads(line) for line in commit.read_text(encoding="utf-8").splitlines()]
        sides = {
            side: [
                f'"{name}":{text}'
                for name in ARROW.names
                if (text := spelled(name, pick(row[name] for row in some), side, choose)) is not None
            ]
            for side, pick in (("min", min), ("max", max))
        }
        for action in actions:
            if "add" in action:
                members = ",".join(f'"{side}Values":{{{",".join(texts)}}}' for side, texts in sides.items())
                counts = ",".join(f'"{name}":0' for name in ARROW.names)
                action["add"]["stats"] = f'{{"numRecords":{len(some)},{members},"nullCount":{{{counts}}}}}'
        commit.write_text("".join(json.dumps(action) + "\n" for action in actions), encoding="utf-8")
    for state in ("text", "struct"):
        table = ds.DeltaTable(tmp_path / "t")
        if state == "struct":
            table.checkpoint()
            table = ds.DeltaTable(tmp_path / "t")
        skipped = 0
        for name in ARROW.names:
            for value in {row[name] for row in choose.sample(rows, 3)}:
                for op, holds in COMPARE.items():
                    where = f"{name} {op} {literal(name, value)}"
                    scan = table.scan(where)
                    # Strings by their bytes, as Spark does.
                    key = (lambda v: v.encode()) if name == "s" else (lambda v: v)
                    expected = sum(holds(key(row[name]), key(value)) for row in rows)
                    assert len(scan.to_arrow()) == expected, (state, where)
                    skipped += FILES - len(scan.files())
                    with suppress(ds.NotProvable):
                        assert scan.count() == expected, (state, where)
        assert skipped > 100
