"""Columns that hidden partitions are made of: their names change, and the expressions of the partitions follow."""

from collections.abc import Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import deltaskip as ds
from deltaskip import transforms as t
from deltaskip.schema.properties import PARTITIONING_KEY
from deltaskip.sparkexpr.types.data_types import StructField, StructType
from tests.looped import looped

COLUMNS = "id INT, name STRING, ts TIMESTAMP, e STRUCT<at: DATE, n: STRUCT<ntz: TIMESTAMP_NTZ>>"
TYPES: list[tuple[str, pa.DataType]] = [
    ("id", pa.int32()),
    ("name", pa.string()),
    ("ts", pa.timestamp("us", "UTC")),
    ("e", pa.struct([("at", pa.date32()), ("n", pa.struct([("ntz", pa.timestamp("us"))]))])),
]
VALUES: list[Any] = [
    [7, None, -3],
    ["abc", "äöü", None],
    [datetime(2024, 5, 1, 3, tzinfo=UTC), datetime(1969, 12, 31, 23, tzinfo=UTC), None],
    [{"at": date(2024, 2, 29), "n": {"ntz": datetime(2024, 2, 29, 7)}}, {"at": date(1969, 1, 1), "n": {"ntz": None}},
        {"at": None, "n": None}],
]  # fmt: skip


def table_of(folder: Path, transforms: Sequence[t.Transform]) -> ds.DeltaTable:
    return ds.DeltaTable.create(
        folder, COLUMNS, partition_by=list(transforms), properties={"delta.columnMapping.mode": "name"}
    )


def rows_of(table: ds.DeltaTable) -> pa.Table:
    """The same values for the columns of a table, by position, whatever their names are."""
    fields = table.schema.fields
    columns = [
        _renamed(pa.array(values, type_), field)
        for field, (_, type_), values in zip(fields, TYPES, VALUES, strict=False)
    ]
    return pa.table(columns, names=[field.name for field in fields[: len(columns)]])


def _renamed(column: pa.Array, field: StructField) -> pa.Array:
    if not isinstance(field.type, StructType):
        return column
    inner = [_renamed(column.field(i), each) for i, each in enumerate(field.type.fields)]
    return pa.StructArray.from_arrays(inner, [each.name for each in field.type.fields], mask=column.is_null())


CASES: list[tuple[t.Transform, Sequence[ds.RenameColumn], t.Transform]] = [
    (t.year("ts"), [ds.RenameColumn("ts", "at")], t.year("at")),
    (t.month("ts"), [ds.RenameColumn("TS", "a b")], t.month("`a b`")),
    (t.date("ts"), [ds.RenameColumn("ts", "a.b")], t.date(("a.b",))),
    (t.datehour("ts"), [ds.RenameColumn("ts", "TS")], t.datehour("TS")),
    (t.bucket("id", 4), [ds.RenameColumn("id", "key")], t.bucket("key", 4)),
    (t.truncate("name", 2), [ds.RenameColumn("name", "title")], t.truncate("title", 2)),
    (t.truncate("id", 5), [ds.RenameColumn("id", "key")], t.truncate("key", 5)),
    (t.identity("e.at"), [ds.RenameColumn("e.at", "when")], t.identity("e.when")),
    (t.month("e.at"), [ds.RenameColumn("e", "event")], t.month("event.at")),
    (t.datehour("e.n.ntz"), [ds.RenameColumn("e.n", "inner"), ds.RenameColumn("e", "event"),
        ds.RenameColumn("event.inner.ntz", "at")], t.datehour("event.inner.at")),
    (t.date("ts"), [ds.RenameColumn("ts_day", "day")], t.date("ts")),
    (t.date("ts"), [ds.RenameColumn("ts", "at"), ds.RenameColumn("id", "ts")], t.date("at")),
]  # fmt: skip


@looped("case", list(enumerate(CASES)))
def test_the_partition_follows_the_name_and_stays_the_same_function(
    tmp_path: Path, case: tuple[int, tuple[t.Transform, Sequence[ds.RenameColumn], t.Transform]]
) -> None:
    number, (before, changes, after) = case
    table = table_of(tmp_path / str(number), [before])
    table.append(rows_of(table), time_zone="UTC")
    files = table.detail().num_files
    table.alter(*changes)
    assert table.partitioning == (after,)
    assert table.hidden_columns == table.partition_columns
    again = ds.DeltaTable(table.uri)
    again.append(rows_of(again), time_zone="UTC")
    # The same values are in the same partitions, whoever wrote them.
    rows = again.scan(time_zone="UTC", hidden=True).to_arrow()
    made = rows[again.partition_columns[0]].to_pylist()
    assert sorted(map(repr, made[: len(made) // 2])) == sorted(map(repr, made[len(made) // 2 :]))
    assert again.detail().num_files == 2 * files


def test_predicates_on_the_new_name_prune_files_of_both_names(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t", [t.date("ts")])
    table.append(rows_of(table), time_zone="UTC")
    table.alter(ds.RenameColumn("ts", "at"))
    table.append(rows_of(table), time_zone="UTC")
    scan = table.scan("at >= '2024-01-01'", time_zone="UTC")
    assert len(scan.paths()) == 2
    assert scan.to_arrow()["id"].to_pylist() == [7, 7]
    assert table.properties[PARTITIONING_KEY] == (
        '[{"transform": "day", "source": "at", "field": "ts_day", "hidden": true}]'
    )


@looped(
    "name, columns",
    [
        ("own", "ts TIMESTAMP, d DATE GENERATED ALWAYS AS (CAST(ts AS DATE))"),
        ("other", "ts TIMESTAMP, d STRING GENERATED ALWAYS AS (concat(CAST(ts AS STRING), 'x'))"),
    ],
)
def test_what_no_transform_has_added_still_refuses_the_change(tmp_path: Path, name: str, columns: str) -> None:
    table = ds.DeltaTable.create(
        tmp_path / name, columns, partition_by=["d"], properties={"delta.columnMapping.mode": "name"}
    )
    with pytest.raises(ds.SchemaError, match=r"ts .* cannot be renamed, because delta.generationExpression"):
        table.alter(ds.RenameColumn("ts", "at"))


def test_positions_are_counted_among_the_columns_that_users_see(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t", [t.date("ts"), t.bucket("id", 2)])
    table.alter(ds.AddColumn("last", "INT"))
    for name, position, after in (
        ("id", 4, ["name", "ts", "e", "last", "id"]),
        ("last", 0, ["last", "name", "ts", "e", "id"]),
        ("id", 3, ["last", "name", "ts", "id", "e"]),
    ):
        table.alter(ds.MoveColumn(name, position))
        assert table.scan().to_arrow().column_names == after
    with pytest.raises(ds.SchemaError, match=r"position 5: there are 5 columns, counted from 0"):
        table.alter(ds.MoveColumn("id", 5))
