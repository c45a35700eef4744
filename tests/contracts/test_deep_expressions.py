"""Expressions that are nested far beyond Python's recursion limit mean at every door what flat ones mean."""

from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import deltaskip as ds
from tests.extent import extent

# Either is beyond the limit of a function that calls itself once a level.
LEVELS = extent(1_100, 2_000)
ROWS = pa.table(
    {
        "p": pa.array([1, 1, 2, 2, 3], pa.int32()),
        "a": pa.array([1, 2, 3, None, 5], pa.int32()),
        "b": pa.array([1, 2, 3, 4, None], pa.int64()),
        "s": pa.array(["k", "x", None, "kx", ""]),
    }
)
_numbers = count()

# The predicate with that many levels, and a flat one that is TRUE for the same rows.
SHAPES: dict[str, tuple[Callable[[int], str], str]] = {
    "and in or": (lambda k: "".join(f"(a = {2 * i} OR (a != {2 * i + 1} AND " for i in range(
        k // 2)) + "a > 0" + "))" * (k // 2), "a = 2"),
    "not": (lambda k: "NOT (" * k + "a = 1" + ")" * k, "a = 1"),
    "case": (lambda k: "".join(f"CASE WHEN a = {i + 2} THEN {i} ELSE " for i in range(k)) + "a" + " END" * k + " = 1",
             "a = 1 OR a = 3"),
    "functions": (lambda k: "upper(trim(" * (k // 2) + "s" + "))" * (k // 2) + " = 'K'", "s = 'k'"),
    "sum": (lambda k: "a" + " + 1" * k + f" = {k + 3}", "a = 3"),
    "concat": (lambda k: "s" + " || 'x'" * k + f" = concat('k', repeat('x', {k}))", "s = 'k'"),
    "partitions": (lambda k: "".join(f"(p = {i + 2} {('OR', 'AND')[i % 2]} " for i in range(k)) + "p = 3" + ")" * k,
        "p = 2"),
}  # fmt: skip


def rows_of(table: ds.DeltaTable) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = table.scan().to_arrow().to_pylist()
    return sorted(found, key=repr)


def scanned(table: ds.DeltaTable, where: str) -> object:
    scan = table.scan(where)
    rows = sorted(scan.to_arrow().to_pylist(), key=repr)
    assert scan.count() == len(rows)
    assert str(scan.explain())
    return rows, sorted(scan.paths())[:0], len(list(scan.paths()))


def deleted(table: ds.DeltaTable, where: str) -> object:
    table.delete(where)
    return rows_of(table)


def updated(table: ds.DeltaTable, where: str) -> object:
    table.update({"b": f"CASE WHEN {where} THEN 10 ELSE 20 END"}, where=f"NOT ({where}) OR a IS NOT NULL")
    return rows_of(table)


def merged(table: ds.DeltaTable, where: str) -> object:
    source = pa.table({"key": ROWS["a"]})
    merge = table.merge(source, on=f"t.a = s.key AND ({where})", source_alias="s", target_alias="t")
    merge.when_matched_update({"b": f"CASE WHEN {where} THEN 10 END"}).when_not_matched_by_source_delete(
        where
    ).execute()
    return rows_of(table)


def overwritten(table: ds.DeltaTable, where: str) -> object:
    table.overwrite(ROWS.slice(0, 0), where=where)
    return rows_of(table)


def constrained(table: ds.DeltaTable, where: str) -> object:
    table.delete(f"NOT coalesce({where}, false)")
    table.alter(ds.AddConstraint("c", where))
    found = []
    for at in range(len(ROWS)):
        try:
            table.append(ROWS.slice(at, 1))
        except ds.DeltaSkipError as error:
            found.append(type(error).__name__)
    return rows_of(table), found


DOORS = [scanned, deleted, updated, merged, overwritten, constrained]


@pytest.mark.long(gate=9)
@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
@pytest.mark.parametrize("shape", SHAPES)
def test_deep_expressions_mean_the_same(tmp_path: Path, door: Callable[[ds.DeltaTable, str], Any], shape: str) -> None:
    deep, flat = SHAPES[shape]

    def table() -> ds.DeltaTable:
        made = ds.DeltaTable.create(str(tmp_path / f"t{next(_numbers)}"), "p INT, a INT, b BIGINT, s STRING", ["p"])
        made.append(ROWS)
        return made

    if door is scanned:
        found, expected = door(table(), deep(LEVELS)), door(table(), flat)
        assert found[0] == expected[0]
        assert found[2] >= expected[2] if shape != "partitions" else found == expected
    else:
        assert door(table(), deep(LEVELS)) == door(table(), flat)


def test_generated_columns_are_as_deep(tmp_path: Path) -> None:
    expression = "CAST(a" + " + 1" * LEVELS + " AS BIGINT)"
    table = ds.DeltaTable.create(str(tmp_path / "t"), f"a INT, g BIGINT GENERATED ALWAYS AS ({expression})")
    table.append(pa.table({"a": ROWS["a"]}))
    assert rows_of(table) == sorted(
        ({"a": a, "g": None if a is None else a + LEVELS} for a in ROWS["a"].to_pylist()), key=repr
    )


def test_columns_of_methods_are_as_deep(tmp_path: Path) -> None:
    table = ds.DeltaTable.create(str(tmp_path / "t"), "p INT, a INT, b BIGINT, s STRING", partition_by=["p"])
    table.append(ROWS)
    where = ds.col("a") == 2
    for i in range(LEVELS):
        where = ~(~where & (ds.col("a") != 2)) if i % 2 else where & ~(ds.col("a") == 3)
    assert table.scan(where).to_arrow()["a"].to_pylist() == [2]
    table.delete(where)
    assert len(rows_of(table)) == 4
