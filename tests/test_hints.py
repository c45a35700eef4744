"""Habits of other libraries: the error says what deltaskip has in their place."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import deltaskip as ds


@pytest.fixture
def table(tmp_path: Path) -> ds.DeltaTable:
    return ds.DeltaTable.create(tmp_path / "t", "id INT, name STRING")


def test_predicates_of_other_libraries(table: ds.DeltaTable) -> None:
    doors: list[Callable[..., object]] = [table.scan, table.delete, lambda where: table.update({"id": "1"}, where)]
    for door in doors:
        for mask in (pd.Series([True]), np.array([True]), pl.Series([True]), pd.Series([True], dtype="boolean")):
            with pytest.raises(ds.InvalidArgumentType, match=r"a mask has values of rows .* write .*col\('id'\) > 5"):
                door(mask)
        with pytest.raises(ds.InvalidArgumentType, match=r"not Series\.|not ndarray\."):
            door(pd.Series([1]))
    for name in ("predicate", "filter", "filters", "condition"):
        for method in (table.scan, table.delete, partial(table.overwrite, pa.table({"id": [1]}))):
            with pytest.raises(ds.InvalidArgumentType, match=rf"'{name}'\. Did you mean where\? Its arguments are"):
                method(**{name: "id = 1"})


def test_names_of_other_libraries(table: ds.DeltaTable) -> None:
    with pytest.raises(AttributeError, match=r"A scan has no collect: write scan\(\)\.to_arrow\(\), scan\(\)\.to_pol"):
        _ = table.scan().collect  # type: ignore[attr-defined]
    for name, says in (("columns", r"schema\.names"), ("insert", r"append\(rows\)"), ("show", r"scan\(\)\.head\(\)")):
        with pytest.raises(AttributeError, match=rf"A DeltaTable has no {name}: write {says}\.$"):
            getattr(table, name)


def test_a_version_in_quotes(table: ds.DeltaTable) -> None:
    for text, said in (("1", r"write version=1\."), ("2024-01-01", "or timestamp='2024-01-01' for a time")):
        with pytest.raises(ds.InvalidArgumentType, match=said):
            ds.DeltaTable(table.uri, version=text)
    assert table.append(pa.table({"id": pa.array([1], pa.int32())})).version == 1


def test_one_name_is_a_list_of_it_and_none_is_no_name(tmp_path: Path) -> None:
    rows = pa.table({"id": pa.array([1, 2], pa.int32()), "d": ["a", "b"]})
    for number, (chosen, kept) in enumerate((("d", ("d",)), (ds.transforms.identity("d"), ("d",)), (None, ()))):
        table = ds.DeltaTable.create(tmp_path / f"p{number}", "id INT, d STRING", partition_by=chosen)
        assert table.partition_columns == kept
        table.append(rows)
        table.overwrite(rows, schema_mode="replace", partition_by=chosen)
        assert table.partition_columns == kept
        assert table.scan(columns="id").to_arrow().column_names == ["id"]
        assert table.scan().files(columns="path").column_names == ["path"]
        table.optimize(zorder_by=None)
    table.optimize(zorder_by="id")
    for chosen, count in (("id", 1), (["id"], 1), (None, 0)):
        made = ds.DeltaTable.create(tmp_path / f"c{chosen}", "id INT, d STRING", cluster_by=chosen)
        assert len(made.detail().clustering_columns or ()) == count
