"""Fractions that store assignment cuts or rounds: one warning for each write, through every door."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaskip as ds

DDL = "id INT, amount DECIMAL(10,2), st STRUCT<x: BIGINT>, tags ARRAY<TINYINT>, price DOUBLE"


def said(write: Callable[[], object]) -> list[str]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        write()
    assert all(each.category is ds.WriteWarning and each.filename == __file__ for each in found)
    return [str(each.message) for each in found]


@pytest.fixture
def table(tmp_path: Path) -> ds.DeltaTable:
    made = ds.DeltaTable.create(tmp_path / "t", DDL, properties={"delta.enableChangeDataFeed": "true"})
    made.append(pa.table({"id": pa.array([1], pa.int32()), "price": [2.5]}))
    return made


def test_the_first_value_that_loses_is_told_once_with_what_is_stored(table: ds.DeltaTable) -> None:
    for column, values, given, kept, declared in (
        ("id", [2.0, None, 1.7, 3.5], "1.7", "1", "INT"),
        ("id", pa.array([-1.5], pa.float32()), "-1.5", "-1", "INT"),
        ("id", [Decimal("1.00"), Decimal("7.99")], "7.99", "7", "INT"),
        ("id", [Decimal("0.9")], "0.9", "0", "INT"),
        ("amount", pa.array([Decimal("0.005")], pa.decimal128(3, 3)), "0.005", "0.01", "DECIMAL(10,2)"),
        ("amount", [Decimal("1.200"), Decimal("1.239")], "1.239", "1.24", "DECIMAL(10,2)"),
        ("amount", [9.99, 1.239], "1.239", "1.24", "DECIMAL(10,2)"),
        ("st.x", [{"x": 1.0}, None, {"x": 0.5}], "0.5", "0", "BIGINT"),
        ("tags.element", [[], [1.0, -2.5]], "-2.5", "-2", "TINYINT"),
    ):
        rows = pa.table({column.partition(".")[0]: values})
        [text] = said(lambda rows=rows: table.append(rows))
        said_first, _, rest = text.partition(f" of {table.snapshot.root}, which is {declared}, as Spark stores it.")
        assert (said_first, bool(rest)) == (f"The value {given} is stored as {kept} in the column {column}", True)
    many = pa.table({"id": np.r_[np.zeros(300_000), 0.25], "amount": np.r_[np.zeros(300_000), 0.125]})
    [text] = said(lambda: table.append(many))
    assert "are rounded, too." in text and {"id", "amount"} <= set(text.replace(".", "").split())


def test_values_that_keep_their_digits_are_not_told(table: ds.DeltaTable) -> None:
    for rows in (
        {"id": [1.0, None]}, {"id": [Decimal("1.00")]}, {"amount": [Decimal("1.2300"), None]},
        {"amount": [9.99, 0.1 + 0.2, float("nan")]}, {"amount": pa.array([9.99, 1234.5], pa.float32())},
        {"price": [Decimal("1.239")]}, {"amount": [3]}, {"st": [{"x": 2.0}], "tags": [[1.0]]},
    ):  # fmt: skip
        assert said(lambda rows=rows: table.append(pa.table(rows))) == [], rows


def test_every_door_tells_once(table: ds.DeltaTable) -> None:
    rows = pa.table({"id": [1.0, 5.5], "amount": [Decimal("0.005"), Decimal("0.50")]})

    def merge(**values: Any) -> Any:
        found = table.merge(rows, "target.id = source.id").when_matched_update(values)
        return found.when_not_matched_insert({"id": "source.id", "amount": "source.amount"}).execute()

    doors: list[Callable[[], Any]] = [
        lambda: table.append(rows),
        lambda: table.overwrite(rows),
        lambda: table.overwrite(rows, where="id < 9"),
        lambda: table.update({"id": "1.7"}),
        lambda: table.update({"id": 1.7}),
        lambda: table.update({"amount": Decimal("0.005")}, "id = 1"),
        lambda: merge(amount="source.amount"),
    ]
    for door in doors:
        assert len(said(door)) == 1
    # What an expression computes is rounded as it is in Spark.
    table.overwrite(pa.table({"id": pa.array([1], pa.int32()), "price": [2.5]}))
    assert said(lambda: table.update({"amount": "price / 3", "id": "id * 1.0"})) == []
    new = pa.table({"id": pa.array([1], pa.int32()), "rate": [0.333]})
    builder = table.merge(new, "target.id = source.id").when_matched_update({"amount": "source.rate * 2"})
    assert said(builder.execute) == []


def test_the_command_line_tells(table: ds.DeltaTable, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    from deltaskip.cli.commands import main

    pq.write_table(pa.table({"id": [1.7]}), tmp_path / "rows.parquet")
    for command in (["append", table.uri, str(tmp_path / "rows.parquet")], ["update", table.uri, "id=1.7", "--all"]):
        main(command)
        assert capfd.readouterr().err.count("deltaskip: warning: The value 1.7 is stored as 1 in the column id") == 1
