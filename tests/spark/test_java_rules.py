"""Instants and local times in every zone of Java, and the rows of predicates beside Spark's, by the session's rules."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaskip as ds
from deltaskip.spark.session.active import time_zone_of
from deltaskip.spark.session.java_rules import _JavaRules, _QueriedRules
from deltaskip.sparkexpr.preimages.time_steps import offsets
from deltaskip.sparkexpr.values import zone_rules
from deltaskip.sparkexpr.values.calendar import instant_of, local_of, parse_timestamp, zone_of
from deltaskip.sparkexpr.values.zones import instants, local_times
from tests.contracts.doors import connect_session
from tests.extent import some
from tests.spark.session_zone import session_zone

pytestmark = pytest.mark.spark

MICROS = 1_000_000
DAY = 86_400 * MICROS
# Until this year, every change of a zone is tried; zones repeat later.
KNOWN_YEARS = 2_400_000_000
FAR = 9_100_000_000_000_000_000


def names(spark: Any) -> list[str]:
    zones = spark._jvm.java.time.ZoneId
    return sorted([*zones.getAvailableZoneIds(), *zones.SHORT_IDS])


def changes(spark: Any, name: str) -> list[tuple[int, int]]:
    """The times of changes in the JVM with the greatest offset before or after, in seconds."""
    found = _JavaRules(spark._jvm)(name)
    assert found is not None
    file = found[1]
    count, types = struct.unpack(">4sc15x6l", file[44:88])[5:7]
    times = struct.unpack(f">{count}q", file[88 : 88 + 8 * count])
    kinds = [struct.unpack(">lbb", file[88 + 9 * count + 6 * i :][:6])[0] for i in range(types)]
    after = [kinds[i] for i in file[88 + 8 * count : 88 + 9 * count]]
    return list(zip(times, map(max, after, [kinds[0], *after]), strict=True))


def times_of(spark: Any, name: str, chance: random.Random) -> list[int]:
    found = {0, -FAR, FAR, -62_135_596_800 * MICROS, 253_402_300_799 * MICROS}
    for change, offset in changes(spark, name):
        if change < KNOWN_YEARS or chance.random() < 0.01:
            for at in (change, change + offset):
                found |= {
                    at * MICROS - 1,
                    at * MICROS,
                    (at - 1800) * MICROS,
                    at * MICROS + chance.randrange(3600 * MICROS),
                }
    found |= {chance.randrange(-FAR, FAR) for _ in range(20)}
    found |= {chance.randrange(-62_135_596_800, 253_402_300_800) * MICROS for _ in range(40)}
    return sorted(found)


def test_every_zone_of_java_is_the_same_here(spark: Any, tmp_path: Path) -> None:
    time_zone_of(spark)
    chance, columns = random.Random(7), []
    for name in some(names(spark), 6):
        times = times_of(spark, name, chance)
        columns.append(pa.table({"zone": pa.array([name] * len(times)), "at": pa.array(times, pa.int64())}))
    asked = pa.concat_tables(columns)
    pq.write_table(asked, tmp_path / "asked.parquet")
    frame = spark.read.parquet(str(tmp_path / "asked.parquet")).selectExpr(
        "zone",
        "at",
        "unix_micros(from_utc_timestamp(timestamp_micros(at), zone)) AS local",
        "unix_micros(to_utc_timestamp(timestamp_micros(at), zone)) AS instant",
    )
    frame.coalesce(1).write.parquet(str(tmp_path / "answers"))
    answers = pq.read_table(tmp_path / "answers").combine_chunks()
    assert len(answers) == len(asked) > 150 * len(columns)
    wrong = []
    for name in dict.fromkeys(answers["zone"].to_pylist()):
        rows = answers.filter(pa.compute.equal(answers["zone"], name))
        at, local, instant = (rows[column].to_numpy() for column in ("at", "local", "instant"))
        zone = zone_of(name)
        wrong += [
            (name, "local", *map(int, row))
            for row in zip(at, local, local_times(at, zone), strict=True)
            if row[1] != row[2]
        ]
        wrong += [
            (name, "instant", *map(int, row))
            for row in zip(at, instant, instants(at, zone), strict=True)
            if row[1] != row[2]
        ]
        for one in range(0, len(at), 37):
            assert local_of(int(at[one]), zone) == local[one], (name, at[one])
            assert instant_of(int(at[one]), zone) == instant[one], (name, at[one])
        least, most = offsets(name)
        assert ((least <= local - at) & (local - at <= most)).all(), name
    assert not wrong, (len(wrong), wrong[:10])


def test_a_name_that_java_does_not_have_is_no_zone(spark: Any) -> None:
    for rules in (_JavaRules(spark._jvm), _QueriedRules(spark)):
        assert rules("X/Y") is None


def test_a_server_answers_queries_as_a_jvm_does(spark: Any) -> None:
    in_jvm, queried = _JavaRules(spark._jvm), _QueriedRules(spark)
    assert queried.release() == in_jvm.release()
    for name in some(["Europe/Amsterdam", "Asia/Gaza", "SystemV/EST5EDT", "Etc/GMT+5", "PST", "EST"], 3):
        assert queried(name) == in_jvm(name)


@pytest.fixture
def without_session(spark: Any) -> Iterator[None]:
    """This process has not asked the session yet."""
    before = zone_rules._sources
    zone_rules._keep({})
    yield
    zone_rules._keep(before)


# Around these local times, rules differ between the files of systems, releases of the database, and Java.
MOMENTS = {
    "Europe/Amsterdam": "1910-01-15", "Europe/Oslo": "1947-07-15", "Europe/Stockholm": "1916-10-01",
    "Africa/Accra": "1943-01-01", "Atlantic/Reykjavik": "1917-02-20", "Europe/Luxembourg": "1929-10-06",
    "Europe/Copenhagen": "1945-05-02", "America/Vancouver": "2027-01-15", "Africa/Casablanca": "2026-12-15",
    "EST": "1900-01-01",
}  # fmt: skip


def predicates(day: str) -> list[str]:
    return [
        f"ts < TIMESTAMP'{day} 00:00:00'", f"ts >= '{day}'", f"ts = CAST('{day} 00:00:00' AS TIMESTAMP)",
        f"CAST(ts AS DATE) = DATE'{day}'", f"CAST(ts AS STRING) < '{day} 00'", "hour(ts) = 0", "hour(ts) = 23",
        f"date_trunc('DAY', ts) = TIMESTAMP'{day}'", f"date_format(ts, 'yyyy-MM-dd') >= '{day}'",
        f"CAST(text AS TIMESTAMP) <= TIMESTAMP'{day} 00:30:00'", f"day = DATE'{day}'",
    ]  # fmt: skip


def table_around(path: Path, zone: str, day: str) -> tuple[ds.DeltaTable, ds.DeltaTable]:
    """A plain table and one by days, with a row in a file of its own for every half hour around midnight."""
    midnight = parse_timestamp(day, zone_of(zone))
    assert midnight is not None
    ddl = "id INT, ts TIMESTAMP, text STRING, day DATE GENERATED ALWAYS AS (CAST(ts AS DATE))"
    plain = ds.DeltaTable.create(path / "plain", ddl)
    hidden = ds.DeltaTable.create(
        path / "hidden", "id INT, ts TIMESTAMP, text STRING", partition_by=[ds.transforms.date("ts")]
    )
    for number, minutes in enumerate(range(-90, 91, 30)):
        at = midnight + minutes * 60 * MICROS
        columns = {
            "id": pa.array([number], pa.int32()),
            "ts": pa.array([at], pa.timestamp("us", "UTC")),
            "text": pa.array([f"{day} 00:{number * 8:02d}:00"]),
        }
        plain.append(pa.table(columns), time_zone=zone)
        hidden.append(pa.table(columns), time_zone=zone)
    return plain, hidden


def test_rows_are_those_of_spark_by_every_door(spark: Any, tmp_path: Path) -> None:
    wrong = []
    for zone in some(MOMENTS, 2):
        day = MOMENTS[zone]
        with session_zone(spark, zone):
            time_zone_of(spark)
            for table in table_around(tmp_path / zone, zone, day):
                every = table.scan().to_spark(spark)
                wheres = [where for where in predicates(day) if "day" in every.columns or not where.startswith("day")]
                answers = every.selectExpr("id", *(f"{where} AS w{i}" for i, where in enumerate(wheres))).collect()
                for i, where in enumerate(wheres):
                    expected = sorted(row.id for row in answers if row[f"w{i}"])
                    scan = table.scan(where, time_zone=zone)
                    found = {
                        "to_arrow": scan.to_arrow()["id"].to_pylist(),
                        "to_spark": [row.id for row in scan.to_spark(spark).select("id").collect()],
                    }
                    wrong += [
                        (zone, where, door, expected, ids) for door, ids in found.items() if sorted(ids) != expected
                    ]
                table.delete(wheres[0], time_zone=zone)
                left = sorted(table.scan().to_arrow()["id"].to_pylist())
                assert left == sorted(row.id for row in answers if not row["w0"]), (zone, wheres[0])
    assert not wrong, (len(wrong), wrong[:10])


@pytest.mark.usefixtures("without_session")
def test_a_scan_of_before_the_session_is_planned_again_by_its_rules(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    zone, day = "America/Vancouver", MOMENTS["America/Vancouver"]
    zone_rules.use_rules("of the past", lambda name: ("America/Vancouver", zone_rules.region_file(-5 * 3600, [])))
    plain, hidden = table_around(tmp_path, zone, day)
    with monkeypatch.context() as patched:
        patched.setattr("deltaskip.skipping.log_scan.session_meaning", lambda given, schema: None)
        scans = [table.scan(f"CAST(ts AS DATE) = DATE'{day}'", time_zone=zone) for table in (plain, hidden)]
    assert all(scan.files().num_rows < 7 for scan in scans)
    zone_rules._keep({})
    with session_zone(spark, zone):
        every = plain.scan().to_spark(spark)
        expected = sorted(row.id for row in every.where(f"CAST(ts AS DATE) = DATE'{day}'").collect())
        for scan in scans:
            assert sorted(row.id for row in scan.to_spark(spark).collect()) == expected
            assert sorted(scan.to_arrow()["id"].to_pylist()) == expected


@pytest.mark.usefixtures("without_session")
def test_a_scan_through_connect_has_the_rules_of_the_server(spark: Any, tmp_path: Path) -> None:
    pytest.importorskip("grpc", reason="needs a client of Spark Connect: pip install 'pyspark[connect]'")
    connect = connect_session(spark)
    try:
        zone, day = "America/Vancouver", MOMENTS["America/Vancouver"]
        connect.conf.set("spark.sql.session.timeZone", zone)
        assert time_zone_of(connect) == zone
        assert list(zone_rules._sources) == [_JavaRules(spark._jvm).release()]
        plain, _ = table_around(tmp_path, zone, day)
        where = f"CAST(ts AS DATE) = DATE'{day}'"
        expected = sorted(row.id for row in plain.scan().to_spark(connect).where(where).collect())
        assert sorted(row.id for row in plain.scan(where).to_spark(connect).collect()) == expected
        assert sorted(plain.scan(where, time_zone=zone).to_arrow()["id"].to_pylist()) == expected
    finally:
        connect.stop()
