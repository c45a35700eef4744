"""Predicates of changes without Spark are evaluated in the time zone of the call."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest

from deltaskip import DeltaTable

# Of these instants, the second is the midnight that begins 4 January in Berlin.
_HOURS = (22, 23)


def _rows(ids: list[int], hours: tuple[int, ...]) -> pa.Table:
    times = pa.array([datetime(2026, 1, 3, hour, tzinfo=UTC) for hour in hours], pa.timestamp("us", "UTC"))
    return pa.table({"id": pa.array(ids, pa.int32()), "ts": times})


@pytest.mark.parametrize("partition_by", [(), ("ts",)])
@pytest.mark.parametrize(
    ("change", "left"),
    [
        (lambda table, where, zone: table.delete(where, time_zone=zone), [1]),
        (lambda table, where, zone: table.update({"id": "9"}, where, time_zone=zone), [1, 9]),
        (lambda table, where, zone: table.overwrite(_rows([7], (23,)), where, time_zone=zone), [1, 7]),
    ],
)
def test_a_time_without_a_zone_is_one_of_the_given_zone(
    tmp_path: Path, change: Callable[[DeltaTable, str, str], object], left: list[int], partition_by: tuple[str, ...]
) -> None:
    table = DeltaTable.create(tmp_path / "t", "id INT, ts TIMESTAMP", partition_by)
    table.append(_rows([1, 2], _HOURS))
    change(table, "ts >= '2026-01-04 00:00:00'", "Europe/Berlin")
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == left
