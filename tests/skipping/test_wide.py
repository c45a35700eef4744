"""Tables of many columns: the work grows with the bytes of their statistics, which calls in three sizes show."""

import itertools
import shutil
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import deltaskip as ds
from deltaskip.sparkexpr import types as t
from tests.builder import TableBuilder, add, bounds
from tests.extent import some
from tests.looped import looped

SIZES = (50, 100, 150)
VALUES: dict[t.DataType, Any] = {
    t.LONG: 1, t.DOUBLE: 1.5, t.STRING: "a", t.TIMESTAMP: "2024-01-01T00:00:00.000Z",
    t.DecimalType(9, 2): 1.25,
}  # fmt: skip
LITERALS = {
    t.LONG: "5", t.DOUBLE: "5.0", t.STRING: "'b'", t.TIMESTAMP: "TIMESTAMP '2025-01-01'",
    t.DecimalType(9, 2): "5",
}  # fmt: skip
PLACES = ["commit", "json", "struct"]
STATS_AS = {"delta.checkpoint.writeStatsAsJson": "json", "delta.checkpoint.writeStatsAsStruct": "struct"}
OPERATIONS: dict[str, Callable[[ds.DeltaTable, str], Any]] = {
    "paths": lambda table, where: table.scan(where=where).paths(),
    "explain": lambda table, where: table.scan(where=where).explain(),
    "stats": lambda table, where: table.stats(),
}


def wide_table(path: Path, columns: int, kept_in: str, nested: bool) -> tuple[Path, str]:
    """A table of three files, and an AND over all of its columns. kept_in: "commit", or the checkpoint's "json"."""
    types = [list(VALUES)[k % len(VALUES)] for k in range(columns)]
    fields = t.StructType(tuple(t.StructField(f"c{k}", type_) for k, type_ in enumerate(types)))
    stats: dict[str, Any] = bounds(2, **{f"c{k}": (VALUES[type_], VALUES[type_], 0) for k, type_ in enumerate(types)})
    if nested:
        fields = t.StructType((t.StructField("s", fields),))
        stats = {key: value if key == "numRecords" else {"s": value} for key, value in stats.items()}
    properties = {"delta.dataSkippingNumIndexedCols": "-1"}
    properties |= {name: str(kind == kept_in).lower() for name, kind in STATS_AS.items()}
    TableBuilder(path, fields, properties=properties).commit(*(add(f"f{k}", stats) for k in range(3)))
    if kept_in != "commit":
        ds.DeltaTable(path).checkpoint()
    prefix = "s." if nested else ""
    return path, " AND ".join(f"{prefix}c{k} < {LITERALS[type_]}" for k, type_ in enumerate(types))


def calls_of(operation: Callable[[ds.DeltaTable, str], Any], path: Path, where: str) -> int:
    """How many functions the operation on a newly opened table calls, in Python and in C, in all threads."""
    count = 0

    def counted(frame: Any, event: str, arg: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    threading.setprofile(counted)
    sys.setprofile(counted)
    try:
        operation(ds.DeltaTable(path), where)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return count


# In the gate each operation, each place and both shapes are met.
@looped("operation, kept_in, nested", some(itertools.product(OPERATIONS, PLACES, [False, True]), 3))
def test_each_column_costs_the_same_in_a_wide_table(tmp_path: Path, operation: str, kept_in: str, nested: bool) -> None:
    counts = []
    for columns in (3, *SIZES):
        path, where = wide_table(tmp_path / str(columns), columns, kept_in, nested)
        counts.append(calls_of(OPERATIONS[operation], path, where))
        shutil.rmtree(path)
    _, small, middle, large = counts
    assert large - middle < 1.05 * (middle - small)
