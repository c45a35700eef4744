"""Names and types in predicates and new values are refused alike, whatever rows there are and whichever method runs."""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from deltaskip import DeltaTable
from deltaskip.errors import DeltaSkipError, PredicateError, SchemaError, UnsupportedFeature
from tests.dml.tables import files_below
from tests.each import refuses
from tests.looped import looped

DDL = "id BIGINT, v STRING, p INT, s STRUCT<x: INT>, a ARRAY<INT>"
ROWS = pa.table(
    {
        "id": pa.array([1, 2, 3], pa.int64()),
        "v": ["a", "b", "c"],
        "p": pa.array([1, 1, 2], pa.int32()),
        "s": pa.array([{"x": 1}, {"x": 2}, {"x": 3}], pa.struct([("x", pa.int32())])),
        "a": pa.array([[1], [2], []], pa.list_(pa.int32())),
    }
)
DOORS: dict[str, Callable[[DeltaTable, str], Any]] = {
    "delete": lambda t, where: t.delete(where),
    "delete, planned": lambda t, where: t.delete(where, dry_run=True),
    "update": lambda t, where: t.update({"v": "'x'"}, where),
    "overwrite": lambda t, where: t.overwrite(ROWS, where=where),
    "scan": lambda t, where: t.scan(where).to_arrow(),
    "transaction": lambda t, where: t.transaction().delete(where),
}
REFUSED: dict[str, type[Exception]] = {
    "zz = 1": PredicateError, "t.id = 1": PredicateError, "id > 100 AND zz = 1": PredicateError,
    "p = 7 AND s.y = 1": PredicateError, "id = DATE'2020-01-01'": PredicateError, "s = 1": PredicateError,
    "a > 1": PredicateError, "id": PredicateError, "CAST(s AS INT) = 1": PredicateError,
    "CAST(a AS DATE) IS NULL": PredicateError, "p = 7 AND CAST(id AS DATE) IS NULL": PredicateError,
    "nosuch(id) = 1": UnsupportedFeature, "p = 7 AND nosuch(id) = 1": UnsupportedFeature,
    "id > 100 AND to_csv(struct(v)) = 'x'": UnsupportedFeature,
}  # fmt: skip


def made(folder: Path, rows: int, *partitions: str) -> DeltaTable:
    table = DeltaTable.create(folder / "t", DDL, partitions)
    if rows:
        table.append(ROWS.slice(0, rows))
    return table


@looped("where", REFUSED)
def test_a_predicate_is_refused_whatever_rows_there_are(tmp_path: Path, where: str) -> None:
    tables = {"rows": made(tmp_path / "a", 3), "none": made(tmp_path / "b", 0), "parts": made(tmp_path / "c", 3, "p")}
    before = files_below(tmp_path)
    for table in tables.values():
        for door in DOORS.values():
            # What cannot be proved is a warning of its own.
            with pytest.raises(REFUSED[where]), warnings.catch_warnings(action="ignore"):
                door(table, where)
    assert files_below(tmp_path) == before


@looped(
    "values, kind",
    [
        ({"zz": "1"}, SchemaError),
        ({"t.v": "1"}, SchemaError),
        ({"s.y": "1"}, SchemaError),
        ({"v": "zz"}, PredicateError),
        ({"v": "t.v"}, PredicateError),
        ({"id": "s"}, SchemaError),
        ({"s": "1"}, SchemaError),
        ({"id": "DATE'2020-01-01'"}, SchemaError),
        ({"id": "CAST(s AS BIGINT)"}, PredicateError),
        ({"v": "nosuch(v)"}, UnsupportedFeature),
        ({"v": "upper(nosuch(v))"}, UnsupportedFeature),
        ({"v": "'a'", "V": "'b'"}, SchemaError),
        ({"s": "s", "s.x": "1"}, SchemaError),
    ],
)
def test_a_bad_value_is_refused_anyway(tmp_path: Path, values: dict[str, str], kind: type[DeltaSkipError]) -> None:
    table, empty = made(tmp_path / "a", 3), made(tmp_path / "b", 0)
    before = files_below(tmp_path)
    for where in (None, "id = 2", "id = 77", "FALSE"):
        for one in (table, empty):
            refuses(kind, None, one.update, values, where)
    # Rows are not read before.
    for path in table.scan().paths():
        (Path(table.snapshot.root) / path).rename(tmp_path / "away")
        refuses(kind, None, table.update, values, "id = 2 AND v > 'a'")
        (tmp_path / "away").rename(Path(table.snapshot.root) / path)
    assert files_below(tmp_path) == before
