"""What depends on the session's time zone: of a write, by the plans of rows with several columns; and predicates."""

from typing import Any

import pytest

from deltaskip.rows.plan import plan_rows
from deltaskip.rows.zone_dependence import predicate_depends_on_zone, zone_dependent
from deltaskip.schema.properties import TableProperties
from deltaskip.sparkexpr.types.ddl import parse_columns
from tests.looped import looped

SCHEMA = "id BIGINT, ts TIMESTAMP, ntz TIMESTAMP_NTZ, d DATE, s STRING"
DEPENDENT = (
    "ts = '2025-03-09 03:00:00'", "ts >= timestamp'2025-03-09 03:00:00'", "ts IN ('2025-03-09 03:00:00')",
    "ts BETWEEN '2025-03-09 02:00:00' AND '2025-03-09 04:00:00'",
    "ts > '2025-03-09'", "ts >= d", "ts = ntz", "hour(ts) = 3", "date(ts) = DATE'2025-03-09'",
    "CAST(ts AS STRING) LIKE '%03:00:00'", "date_trunc('DAY', ts) = ts", "date_format(ts, 'HH') = '03'",
    "unix_timestamp(s, 'yyyy-MM-dd HH:mm:ss') = 1741489200", "id = 7 OR NOT (ts < '2025-03-09 03:00:00')",
    "CAST(s AS TIMESTAMP) = ts", "d = CAST(timestamp'2025-03-09 03:00:00Z' AS DATE)",
    "convert_timezone('UTC', ntz) = timestamp_ntz'2025-03-09 03:00:00'",
)  # fmt: skip
INDEPENDENT = (
    "id = 1", "ts IS NOT NULL", "ts <=> NULL", "ts > '2025-03-09T00:00:00Z'",
    "ts < timestamp'2025-03-09 03:00:00+01:00'", "ts = coalesce(ts, NULL)", "d = '2025-03-09'",
    "d >= DATE'2025-03-09' AND year(d) = 2025", "ntz = '2025-03-09 03:00:00'", "hour(ntz) = 3",
    "s LIKE '2025%' AND length(s) > 3", "unix_seconds(ts) = 1741489200", "rlike(s, 'a')",
    "convert_timezone('Asia/Tokyo', 'UTC', ntz) = timestamp_ntz'2025-03-09 03:00:00'",
)  # fmt: skip


@looped(
    "table, rows, check, found",
    [
        ("id INT, ts TIMESTAMP", "id BIGINT, ts TIMESTAMP", None, None),
        ("s STRING", "s TIMESTAMP", None, "conversion of the column s"),
        ("d DATE", "d TIMESTAMP", None, "conversion of the column d"),
        ("ts TIMESTAMP_NTZ", "ts TIMESTAMP", None, "conversion of the column ts"),
        ("a ARRAY<STRUCT<ts: TIMESTAMP>>", "a ARRAY<STRUCT<ts: DATE>>", None, "conversion of the column a"),
        ("d DATE, y INT GENERATED ALWAYS AS (year(d))", "d DATE", None, None),
        ("ts TIMESTAMP, d DATE GENERATED ALWAYS AS (CAST(ts AS DATE))", "ts TIMESTAMP", None, "expression CAST"),
        ("id INT, ts TIMESTAMP, d DATE GENERATED ALWAYS AS (CAST(ts AS DATE))", "id INT", None, None),
        ("id INT, s STRING GENERATED ALWAYS AS (from_unixtime(id))", "id INT", None, "expression from_unixtime"),
        ("id INT, ts TIMESTAMP DEFAULT current_timestamp()", "id INT", None, None),
        ("id INT, d DATE DEFAULT current_date()", "id INT", None, "expression current_date"),
        ("id INT, d DATE", "id INT, d DATE", "id > 0 AND d >= DATE '2026-01-01'", None),
        ("id INT, ts TIMESTAMP", "id INT", "ts > '2026-01-01'", "rule"),
    ],
)
def test_times_and_their_conversions_depend_on_it(table: str, rows: str, check: str | None, found: str | None) -> None:
    properties = TableProperties({} if check is None else {"delta.constraints.c": check}, "/t")
    said = zone_dependent(plan_rows(parse_columns(table), properties, parse_columns(rows)))
    assert (said is None) == (found is None), said
    assert found is None or found in said


@looped("where", DEPENDENT)
def test_what_a_time_zone_changes_is_found(where: str) -> None:
    assert predicate_depends_on_zone(where, parse_columns(SCHEMA))


@looped("where", INDEPENDENT)
def test_what_no_time_zone_changes_is_left_alone(where: str) -> None:
    assert not predicate_depends_on_zone(where, parse_columns(SCHEMA))


@pytest.mark.long
@pytest.mark.spark
def test_the_independent_ones_match_the_same_rows_in_every_zone_of_spark(spark: Any) -> None:
    """And most of the others do not, so that the comparison says something."""
    hours = [(i, f"2025-03-{8 + i // 24:02} {i % 24:02}:00:00") for i in range(72)]
    rows = spark.createDataFrame(hours, "id BIGINT, s STRING").selectExpr(
        "id", "timestamp_seconds(1741392000 + id * 3600) AS ts", "CAST(s AS TIMESTAMP_NTZ) AS ntz",
        "CAST(substring(s, 1, 10) AS DATE) AS d", "s",
    )  # fmt: skip

    def found(zone: str) -> list[frozenset[int]]:
        spark.conf.set("spark.sql.session.timeZone", zone)
        return [
            frozenset(row.id for row in rows.where(where).select("id").collect())
            for where in (*INDEPENDENT, *DEPENDENT)
        ]

    try:
        answers = [found(zone) for zone in ("UTC", "America/New_York", "Asia/Tokyo")]
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    differ = [len({each[number] for each in answers}) > 1 for number in range(len(answers[0]))]
    assert not any(differ[: len(INDEPENDENT)])
    assert sum(differ[len(INDEPENDENT) :]) > len(DEPENDENT) // 2
