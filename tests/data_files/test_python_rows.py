"""Rows as a list of dicts or a dict of lists: through every door as Arrow data with the same values, or refused."""

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import strategies as st

import deltaskip as ds
from deltaskip.data_files import data
from deltaskip.errors import DeltaSkipError
from tests.each import refuses

COLUMNS = (
    "id INT, n STRING DEFAULT 'x', ts TIMESTAMP, d DATE, p DECIMAL(5,2), s STRUCT<d: DATE, t: TIMESTAMP>, l ARRAY<INT>"
)
AT = datetime(2026, 1, 2, 3)
ROWS: list[dict[str, Any]] = [
    {"id": 1},
    {"id": 2, "ts": AT.replace(tzinfo=UTC), "d": AT.date(), "p": Decimal("1.5")},
    {"id": 3, "s": {"d": AT.date(), "t": AT.replace(tzinfo=UTC)}, "l": [1, None]},
]
STORED = [
    {"id": 1, "n": "x", "ts": None, "d": None, "p": None, "s": None, "l": None},
    {"id": 2, "n": "x", "ts": AT.replace(tzinfo=UTC), "d": AT.date(), "p": Decimal("1.50"), "s": None, "l": None},
    {"id": 3, "n": "x", "ts": None, "d": None, "p": None, "s": ROWS[2]["s"], "l": [1, None]},
]


def test_every_door_takes_them(tmp_path: Path) -> None:
    by_column = {name: [row.get(name) for row in ROWS] for name in ("id", "ts", "d", "p", "s", "l")}
    catalog = ds.catalog(f"warehouse:{tmp_path / 'wh'}")
    for number, rows in enumerate((ROWS, by_column)):
        made = [ds.DeltaTable.create(tmp_path / f"{number}{door}", COLUMNS) for door in range(5)]
        made[0].append(rows)
        made[1].overwrite(rows)
        made[2].merge(rows, "target.id = source.id").when_not_matched_insert(
            {name: f"source.{name}" for name in by_column}
        ).execute()
        with made[3].transaction() as txn:
            txn.append(rows)
        made[4].overwrite(rows, "id < 9")
        with catalog.stage_create(f"t{number}", COLUMNS) as staged:  # type: ignore[attr-defined]
            staged.append(rows)
        for table in (*made, catalog.load_table(f"t{number}")):
            assert table.refresh().scan().to_arrow().sort_by("id").to_pylist() == STORED


def test_what_has_no_one_type_is_refused_by_name(tmp_path: Path) -> None:
    table = ds.DeltaTable.create(tmp_path / "t", COLUMNS)
    aware = AT.replace(tzinfo=UTC)
    for rows, says in (
        ([{"id": 1}, {"id": 2, "x": 1}], r"t has no column x: remove it from the rows"),
        ([{"ts": AT}, {"ts": aware}], "ts of data has datetimes with a time zone and datetimes without one"),
        ([{"d": AT.date()}, {"d": AT}], "d of data has dates and datetimes"),
        ([{"s": {"d": AT}}, {"s": {"d": AT.date()}}], r"s\.d of data has dates and datetimes"),
        ({"l": [[AT], [aware]]}, r"l\.element of data has datetimes with"),
        ([{"n": "a"}, {"n": b"\xff"}], "n of data has bytes and texts"),
        ([{"id": 1}, {"id": "a"}], "column id of data have no common Arrow type: .* with None for NULL"),
        ([{"n": "a"}, {"n": float("nan")}], "column n of data have no common Arrow type"),
        ([{"p": Decimal("sNaN")}], r"column p of data has Decimal\('sNaN'\), which is not a DECIMAL: give floats"),
        ({"p": [Decimal("-Infinity"), Decimal(1)]}, r"column p of data has Decimal\('-Infinity'\)"),
        ([{"p": 1 << 70}], "column p of data has an integer that does not fit BIGINT"),
        ([{1: 2}], "Each column of data must be a str, not int"),
        ({"id": [1, 2], "n": ["a"]}, "the same number of values, not id 2, n 1"),
        ([{"id": 1}, None], "a list of dicts such as"),
        ({}, "data is empty"),
    ):
        refuses(DeltaSkipError, says, table.append, rows)
    refuses(DeltaSkipError, "source is empty", table.merge, [], "target.id = source.id")
    assert table.refresh().version == 0


def test_values_are_changed_with_the_warning_of_arrow_rows(tmp_path: Path) -> None:
    table = ds.DeltaTable.create(tmp_path / "t", COLUMNS)
    with pytest.warns(ds.WriteWarning, match=r"The value 1\.7 is stored as 1 in the column id"):
        table.append([{"id": 1.7}])
    assert table.scan(columns=["id"]).to_arrow() == pa.table({"id": pa.array([1], pa.int32())})
    table.append([{"d": date(2026, 1, 2)}] * 3)
    assert table.scan("d = '2026-01-02'").count() == 3


def test_objects_of_several_kinds_are_refused_in_every_form_of_rows(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    np = pytest.importorskip("numpy")
    day, aware = AT.date(), AT.replace(tzinfo=UTC)
    pairs = [(day, AT), (AT, day), (AT, aware), (aware, AT), (day, 7), (AT, 7), (AT, 1.5), (day, True), (True, 7)]
    forms: list[Callable[[list[object]], object]] = [
        lambda values: [{"c": each} for each in values],
        lambda values: {"c": np.array(values, object)},
        lambda values: pd.DataFrame({"c": pd.Series(values, dtype=object)}),
        lambda values: pd.DataFrame({"c": pd.Categorical(values)}),
        lambda values: pd.DataFrame({"c": pd.Series([None, values], dtype=object)}),
        lambda values: pd.DataFrame({"c": pd.Series([np.array(values, object)], dtype=object)}),
        lambda values: pd.DataFrame({"c": pd.Series([{"x": each} for each in values], dtype=object)}),
        lambda values: pd.DataFrame({"x": 1}, index=pd.Index(values, dtype=object, name="c")),
    ]
    table = ds.DeltaTable.create(tmp_path / "t", "c TIMESTAMP, x INT")
    for form in forms:
        for pair in pairs:
            with pytest.raises(DeltaSkipError, match=r"c.* of data has .* and .*: convert the values to one type"):
                table.append(form([*pair]))
    table.append(pd.DataFrame({"c": pd.Series([AT, pd.NaT, None, pd.NA, float("nan")], dtype=object)}))
    assert table.scan().to_arrow()["c"].null_count == 4


def test_arrays_of_a_fixed_width_keep_nuls(tmp_path: Path) -> None:
    np = pytest.importorskip("numpy")
    ds.write(tmp_path / "t", {"b": np.array([b"a\0b", b"c"]), "s": np.array(["a\0b", "cd"])})
    table = ds.DeltaTable(tmp_path / "t")
    table.append({"b": np.array([b"\0\0d"]), "s": np.array(["\0e"])})
    assert sorted(table.scan().to_arrow().to_pylist(), key=str) == [
        {"b": b"\0\0d", "s": "\0e"}, {"b": b"a\0b", "s": "a\0b"}, {"b": b"c", "s": "cd"},
    ]  # fmt: skip


@pytest.mark.parametrize("unit", ["Y", "M", "W", "D", "h", "m", "s", "ns"])
def test_times_of_numpy_have_every_unit(tmp_path: Path, unit: str) -> None:
    value = np.datetime64("2024-01-02T03:00", unit)
    expected = value.astype("datetime64[D]" if unit in "YMWD" else "datetime64[us]").item()
    rows = (
        [{"c": value}, {"c": None}],
        {"c": [value, np.datetime64("NaT", unit)]},
        {"c": np.array([value, "NaT"], value.dtype)},
    )
    for number, given in enumerate(rows):
        ds.write(tmp_path / f"{number}", given)
        assert ds.DeltaTable(tmp_path / f"{number}").scan().to_arrow()["c"].to_pylist() == [expected, None]


def test_a_day_beyond_the_dates_of_python_is_kept(tmp_path: Path) -> None:
    far = np.datetime64(3_000_000, "D")
    near = np.datetime64("2024-01-02")
    lists: list[list[np.datetime64]] = [[far], [near, far]]
    for number, days in enumerate(lists):
        ds.write(tmp_path / f"{number}", [{"c": day} for day in days])
        found = ds.DeltaTable(tmp_path / f"{number}").scan().to_arrow()["c"].cast(pa.int32()).to_pylist()
        assert found == [int(day.astype(np.int64)) for day in days]


def test_times_of_pandas_keep_nanoseconds_or_are_refused(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    time = pd.Timestamp("2024-01-02 03:00:00.000000789", tz="UTC")
    for number, (declared, rows) in enumerate((
        ("TIMESTAMP_NANOS", [{"x": time}]), ("TIMESTAMP", {"x": [None, time]}),
        ("ARRAY<TIMESTAMP_NANOS>", [{"x": [time]}]), ("INTERVAL DAY TO SECOND", [{"x": pd.Timedelta(789, "ns")}]),
    )):  # fmt: skip
        table = ds.DeltaTable.create(tmp_path / str(number), f"x {declared}")
        refuses(DeltaSkipError, r"x.* of data has times of pandas with nanoseconds", table.append, rows)
    table = ds.DeltaTable.create(tmp_path / "t", "x TIMESTAMP_NANOS")
    table.append(pd.DataFrame({"x": [time]}))
    table.append([{"x": time.floor("us")}])
    assert sorted(each.value for each in table.scan().to_arrow()["x"]) == [time.value - 789, time.value]


def test_decimals_with_a_text_of_their_own_are_refused(tmp_path: Path) -> None:
    class Money(Decimal):
        def __str__(self) -> str:
            return f"{self:.0f}"

    class Named(Decimal):
        pass

    table = ds.DeltaTable.create(tmp_path / "t", "x DECIMAL(5,2), l ARRAY<DECIMAL(5,2)>")
    given: list[Any] = [
        [{"x": Money("1.50")}], {"x": [Decimal("1.50"), Money("1.50")]}, [{"l": [Money("1.50")]}],
        pd.DataFrame({"x": [None, Money("1.50")]}), pd.DataFrame({"l": [[Money("1.50")]]}),
        pd.DataFrame({"x": pd.Categorical([Money("1.50")])}),
    ]  # fmt: skip
    for rows in given:
        refuses(DeltaSkipError, r"[xl].* of data has decimals of a class with a text of its own", table.append, rows)
    table.append([{"x": Named("1.50")}])
    table.append(pd.DataFrame({"x": [Named("1.50"), None, float("nan")]}))
    assert sorted(map(str, table.scan().to_arrow()["x"].to_pylist())) == ["1.50", "1.50", "None", "None"]


def test_relations_of_duckdb_with_values_that_arrow_lacks_are_refused(tmp_path: Path) -> None:
    connection = pytest.importorskip("duckdb").connect()
    for query, says in (
        ("SELECT {'a': [1::UHUGEINT]} AS c", "column c of data has values of DuckDB's type UHUGEINT"),
        ("SELECT map{'k': '01'::BIT} AS c", "column c of data has values of DuckDB's type BIT"),
        ("SELECT 'infinity'::DATE AS c", "column c of data has a date or timestamp 'infinity'"),
        ("SELECT [map{1: '-infinity'::TIMESTAMP_S}] AS c", "column c of data has a date or timestamp 'infinity'"),
        ("SELECT {'t': 'infinity'::TIMESTAMPTZ} AS c", "column c of data has a date or timestamp 'infinity'"),
    ):
        with pytest.raises(ds.InvalidArgument, match=says):
            ds.write(tmp_path / "t", connection.sql(query))
        assert not (tmp_path / "t").exists()
    finite = "SELECT [DATE '5881580-07-10'] AS d, map{1: NULL::TIMESTAMP} AS m, [1, 2]::INT[2] AS f, 7::HUGEINT AS h"
    ds.write(tmp_path / "t", connection.sql(finite))
    rows = ds.DeltaTable(tmp_path / "t").scan(columns=["f", "h"]).to_arrow().to_pylist()
    assert rows == [{"f": [1, 2], "h": Decimal(7)}]


@hypothesis.given(
    st.lists(
        st.sampled_from([
            None, "a", b"b", True, 1, 2.5, float("nan"), Decimal("1.5"), Decimal("NaN"), date(2026, 1, 1), timedelta(1),
            datetime(2026, 1, 1), datetime(2026, 1, 1, tzinfo=UTC), [1], {"x": 1}, pd.NaT, pd.Timestamp(1),
            np.datetime64("2026-01-01"), np.int64(3),
        ]),
        max_size=4,
    )
)  # fmt: skip
def test_values_that_are_not_looked_at_one_by_one_have_one_kind(values: list[Any]) -> None:
    kinds = {kind for _, kind in data._kinds(values, ("c",))}
    if data._has_one_kind(values):
        assert len(kinds) < 2, values
