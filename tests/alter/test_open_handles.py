"""A handle that has read a table, and goes on after a change of its columns, reads what a new handle reads."""

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

import deltaskip as ds
from tests.looped import looped

ALL = {"delta.enableTypeWidening": "true", "delta.columnMapping.mode": "name", "delta.checkpointInterval": "2"}
# The type of a column, its later type, values, and predicates over its later type.
WIDENED: list[tuple[str, str, pa.DataType, list[Any], tuple[str, ...]]] = [
    ("BYTE", "SHORT", pa.int8(), [1, 2, 3], ("c = 2", "c > 2", "c < 300S")),
    ("INT", "BIGINT", pa.int32(), [1, 2, 3], ("c = 2", "c IN (1, 3)", "c < 3000000000")),
    ("INT", "DOUBLE", pa.int32(), [1, 2, 3], ("c = 2", "c < 2.5D")),
    ("INT", "DECIMAL(12, 2)", pa.int32(), [1, 2, 3], ("c = 2", "c < 2.50BD")),
    ("FLOAT", "DOUBLE", pa.float32(), [0.1, 0.2, 1.5], ("c = 0.1D", "c > 0.1D", "c = 0.10000000149011612D")),
    ("DATE", "TIMESTAMP_NTZ", pa.date32(), [0, 1, 2], ("c > TIMESTAMP_NTZ'1970-01-01 12:00:00'", "c IS NOT NULL")),
    ("DECIMAL(4, 1)", "DECIMAL(8, 3)", pa.decimal128(4, 1), [Decimal(1), Decimal(2)], ("c = 2", "c < 2.125BD")),
]


def _outcomes(table: ds.DeltaTable, predicates: tuple[str, ...]) -> list[object]:
    """The rows, and of partition columns, whose values are exact, the files that are kept."""
    found: list[object] = []
    for where in (None, *predicates):
        scan = table.scan(where)
        found.append(sorted(map(str, scan.to_arrow().to_pylist())))
        if table.partition_columns:
            found += [sorted(scan.paths()), scan.count()]
    return found


def _after(tmp_path: Path, column: str, values: pa.Array, partitioned: bool, change: Callable[[Any], object]) -> list:  # type: ignore[type-arg]
    """The handle that changes the table itself, one that refreshes, and a new one."""
    own = ds.DeltaTable.create(
        str(tmp_path), f"k BIGINT, {column}", partition_by=["c"] if partitioned else [], properties=ALL
    )
    for k, value in enumerate(values):
        own.append(pa.table({"k": [k], "c": pa.array([value.as_py()], values.type)}))
    other = ds.DeltaTable(str(tmp_path))
    for handle in (own, other):
        handle.scan("c IS NOT NULL").to_arrow()
        handle.scan("k > 0").files(stats=True)
    change(own)
    other.refresh()
    return [own, other, ds.DeltaTable(str(tmp_path))]


@looped("case, partitioned", ((case, partitioned) for case in WIDENED for partitioned in (True, False)))
def test_handles_of_the_narrow_type_see_the_wider_one(tmp_path: Path, case: tuple[Any, ...], partitioned: bool) -> None:
    old, new, type_, values, predicates = case
    feature = (ds.AddFeature("timestampNtz"),) if new == "TIMESTAMP_NTZ" else ()

    def widen(table: ds.DeltaTable) -> None:
        table.alter(*feature, ds.UpdateColumn("c", new))

    folder = tmp_path / f"{old}-{new}-{partitioned}".replace(" ", "")
    column = pa.array(values, type_)
    handles = _after(folder, f"c {old}", column, partitioned, widen)
    *seen, wanted = (_outcomes(handle, predicates) for handle in handles)
    assert seen == [wanted, wanted]


@looped("partitioned", (True, False))
def test_a_new_name_is_seen_by_handles_that_have_read_the_old_one(tmp_path: Path, partitioned: bool) -> None:
    column = pa.array([1, 2, 3], pa.int32())
    handles = _after(
        tmp_path / str(partitioned), "c INT", column, partitioned, lambda t: t.alter(ds.RenameColumn("c", "d"))
    )
    *seen, wanted = (_outcomes(handle, ("d = 2", "d > 1")) for handle in handles)
    assert seen == [wanted, wanted]
    assert handles[0].scan().files()["partition_values"].type == handles[2].scan().files()["partition_values"].type
