"""What has rows becomes a DataFrame of pandas and Polars by one base class."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import deltaskip as ds
from deltaskip.as_frames import frame_of
from deltaskip.errors import UnsupportedFeature
from tests.each import refuses


def test_what_has_rows_becomes_a_data_frame(tmp_path: Path) -> None:
    polars = pytest.importorskip("polars")
    pytest.importorskip("pandas")
    properties = {"delta.enableChangeDataFeed": "true"}
    table = ds.DeltaTable.create(tmp_path / "t", "id INT, c STRING", properties=properties)
    table.append(pa.table({"id": pa.array([1, None], pa.int32()), "c": ["a", "b"]}), user_metadata="x")
    table.delete("c = 'b'")
    history = table.history()
    having: list[Any] = [table.scan(), table.scan().pieces(1)[0], table.changes(1), history, history[:1]]
    for each in having:
        rows = each.to_arrow()
        assert each.to_polars().equals(polars.DataFrame(rows)), each
        assert each.to_pandas().equals(rows.to_pandas()), each
        assert list(each.to_pandas(types="arrow").columns) == rows.column_names
        refuses(ds.InvalidArgument, "types must be numpy or arrow", each.to_pandas, types="x")
    entries = history.to_arrow().to_pylist()
    assert [each["version"] for each in entries] == [2, 1, 0]
    assert dict(entries[1]["operation_metrics"])["numOutputRows"] == "2"
    assert [int(each["timestamp"].timestamp() * 1000) for each in entries] == [each.timestamp_ms for each in history]


@pytest.mark.parametrize("days", [4_000_000, -4_000_000])
@pytest.mark.parametrize("column", ["d DATE", "d STRUCT<x: DATE>", "d ARRAY<DATE>"])
def test_dates_beyond_the_years_of_python_stay_in_arrow(tmp_path: Path, days: int, column: str) -> None:
    pytest.importorskip("pandas")
    dates = pa.array([days], pa.int32()).cast(pa.date32())
    arrays = {"STRUCT": pa.StructArray.from_arrays([dates], ["x"]), "ARRAY": pa.ListArray.from_arrays([0, 1], dates)}
    table = ds.DeltaTable.create(tmp_path / "t", column)
    table.append(pa.table({"d": arrays.get(column.removeprefix("d ").split("<")[0], dates)}))
    refuses(ds.UnsupportedFeature, "1 to 9999", lambda: table.scan().to_pandas())
    found = pa.array(table.scan().to_pandas(types="arrow")["d"])
    assert found.equals(table.scan().to_arrow()["d"].combine_chunks())


def test_a_schema_becomes_one_of_arrow(tmp_path: Path) -> None:
    table = ds.DeltaTable.create(tmp_path / "t", "id BIGINT NOT NULL, s STRUCT<a: INT>, ts TIMESTAMP")
    fields = [pa.field("id", pa.int64(), False), pa.field("s", pa.struct({"a": pa.int32()}))]
    assert table.schema.to_arrow() == pa.schema([*fields, pa.field("ts", pa.timestamp("us", "UTC"))])


def test_polars_before_2_gets_lists_for_maps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Polars 1.33 to 1.38 take a NULL map for an empty one."""
    kind = pa.map_(pa.string(), pa.int64())
    maps = pa.array([[("a", 1)], None, []], kind)
    inside = pa.array([{"x": [[("a", 1)], None]}, None, {"x": None}], pa.struct([("x", pa.list_(kind))]))
    table = pa.table({"m": pa.chunked_array([maps, maps.slice(1)]), "s": pa.chunked_array([inside, inside.slice(1)])})
    monkeypatch.setattr("polars.__version__", "1.38.0")
    entry = {"key": "a", "value": 1}
    found = frame_of(table).to_dict(as_series=False)
    assert found == {
        "m": [[entry], None, [], None, []],
        "s": [{"x": [[entry], None]}, None, {"x": None}, None, {"x": None}],
    }
    assert frame_of(table.slice(0, 0)).columns == ["m", "s"]


def test_an_older_polars_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polars.__version__", "1.27.1")
    with pytest.raises(UnsupportedFeature, match=r"Polars 1\.27\.1 is .* needs 1\.33 or newer: pip install"):
        frame_of(pa.table({"id": [1]}))
