"""Predicates with the present time over rows: every row is compared with the time at which the scan was made."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pyarrow as pa

import deltaskip as ds

PREDICATES = {
    "day < current_date() - INTERVAL 1 DAY": [0, 1, 2],
    "day = current_date": [4],
    "day > 'yesterday'": [4, 5, 6, 7],
    "day >= curdate()": [4, 5, 6, 7],
    "NOT (day != date_sub(current_date(), 2))": [2],
    "day BETWEEN current_date() - INTERVAL 1 DAY AND current_date()": [3, 4],
    "ts > now()": [4, 5, 6, 7],
    "ts <= current_timestamp() - INTERVAL 2 HOURS": [0, 1],
    "unix_timestamp(ts) > unix_timestamp()": [4, 5, 6, 7],
    "local < localtimestamp()": [0, 1, 2, 3],
}


def today(zone: str) -> date:
    return datetime.now(ZoneInfo(zone)).date()


def made(path: Path, zone: str) -> ds.DeltaTable:
    """Two files of four rows; days and times before and after the present one."""
    table = ds.DeltaTable.create(
        path,
        "id BIGINT, day DATE, ts TIMESTAMP, local TIMESTAMP_NTZ",
        properties={"delta.enableChangeDataFeed": "true"},
    )
    for first in (0, 4):
        ids = range(first, first + 4)
        times = [datetime.now(UTC) + timedelta(hours=at - 4, minutes=30) for at in ids]
        local = [time.astimezone(ZoneInfo(zone)).replace(tzinfo=None) for time in times]
        table.append(
            pa.table(
                {
                    "id": ids,
                    "day": [today(zone) + timedelta(at - 4) for at in ids],
                    "ts": pa.array(times, pa.timestamp("us", "UTC")),
                    "local": pa.array(local, pa.timestamp("us")),
                }
            )
        )
    return table


def found(path: Path, zone: str, where: str) -> list[list[int]]:
    """Ids of the rows that each door takes for those of the predicate."""
    table = made(path, zone)
    scan = table.scan(where, time_zone=zone)
    ids = [
        scan.to_arrow()["id"],
        pa.concat_arrays([piece.to_arrow()["id"].combine_chunks() for piece in scan.pieces(2)]),
        table.changes(0, where=where, time_zone=zone).to_arrow()["id"],
    ]
    answers = [sorted(each.to_pylist()) for each in ids]
    assert scan.count() == len(answers[0])
    table.update({"id": "id + 100"}, where, time_zone=zone)
    after = table.refresh().scan().to_arrow()["id"].to_pylist()
    answers.append(sorted(each - 100 for each in after if each >= 100))
    table.delete(where, time_zone=zone)
    left = table.refresh().scan().to_arrow()["id"].to_pylist()
    answers.append(sorted({*range(8)} - {each % 100 for each in left}))
    return answers


def test_every_door_takes_the_rows_of_the_present_time(tmp_path: Path) -> None:
    for at, (where, wanted) in enumerate(PREDICATES.items()):
        zone = ("UTC", "Pacific/Kiritimati", "America/New_York")[at % 3]
        day = today(zone)
        answers = found(tmp_path / f"{at}", zone, where)
        if today(zone) != day:
            # Midnight passed meanwhile.
            answers = found(tmp_path / f"{at} again", zone, where)
        assert answers == [wanted] * 5, where


def test_a_column_goes_before_a_function_without_parentheses(tmp_path: Path) -> None:
    table = ds.DeltaTable.create(tmp_path / "t", "current_date DATE, id BIGINT")
    table.append(pa.table({"current_date": [date(2020, 1, 1), date(2021, 1, 1)], "id": [1, 2]}))
    scan = table.scan("current_date = DATE'2020-01-01' AND now() > TIMESTAMP'2020-01-01'")
    assert scan.to_arrow()["id"].to_pylist() == [1]
