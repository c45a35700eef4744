"""Calendar and time zones against Python's own where it has them, and Java's rules beyond."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaskip.expr.datetimes import (
    civil_from_days,
    days_from_civil,
    days_in_month,
    format_date,
    format_timestamp,
    instant_of,
    local_of,
    parse_date,
    parse_timestamp,
    parse_timestamp_ntz,
    zone_of,
)

ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "Pacific/Apia"]
EPOCH = datetime(1970, 1, 1)
CYCLE = 146_097 * 86_400_000_000


def micros(moment: datetime) -> int:
    return (moment - EPOCH) // timedelta(microseconds=1)


@given(st.dates())
def test_days_agree_with_python_s_dates(day: date) -> None:
    days = (day - date(1970, 1, 1)).days
    assert days_from_civil(day.year, day.month, day.day) == days
    assert civil_from_days(days) == (day.year, day.month, day.day)
    assert parse_date(format_date(days)) == days


@given(st.integers(-(2**31), 2**31 - 1))
def test_every_day_has_one_civil_date(days: int) -> None:
    year, month, day = civil_from_days(days)
    assert days_from_civil(year, month, day) == days
    assert 1 <= day <= days_in_month(year, month)


@given(st.datetimes(datetime(2, 1, 1), datetime(9998, 1, 1)), st.sampled_from(ZONES))
def test_local_times_agree_with_zoneinfo(moment: datetime, zone: str) -> None:
    instant = micros(moment)
    offset = moment.replace(tzinfo=UTC).astimezone(ZoneInfo(zone)).utcoffset()
    assert offset is not None
    assert local_of(instant, zone_of(zone)) - instant == offset // timedelta(microseconds=1)


@given(st.integers(-(2**63), 2**63 - 1), st.sampled_from(ZONES))
def test_every_instant_comes_back_from_its_local_time_or_the_overlap_s_other_one(instant: int, zone: str) -> None:
    local = local_of(instant, zone_of(zone))
    back = instant_of(local, zone_of(zone))
    assert local_of(back, zone_of(zone)) == local
    assert back <= instant


@given(st.integers(2**61, 2**62), st.sampled_from(ZONES))
def test_the_far_future_repeats_every_four_hundred_years(instant: int, zone: str) -> None:
    assert local_of(instant + CYCLE, zone_of(zone)) == local_of(instant, zone_of(zone)) + CYCLE


def test_gaps_move_on_and_overlaps_take_the_earlier_instant() -> None:
    berlin = zone_of("Europe/Berlin")
    gap = micros(datetime(2024, 3, 31, 2, 30))
    assert local_of(instant_of(gap, berlin), berlin) == micros(datetime(2024, 3, 31, 3, 30))
    overlap = micros(datetime(2024, 10, 27, 2, 30))
    assert instant_of(overlap, berlin) == micros(datetime(2024, 10, 27, 0, 30))


def test_local_mean_time_has_seconds() -> None:
    midnight = micros(datetime(1890, 1, 1))
    assert midnight - instant_of(midnight, zone_of("Europe/Berlin")) == (53 * 60 + 28) * 1_000_000


@pytest.mark.parametrize(
    ("name", "seconds"),
    [
        ("Z", 0),
        ("UTC", 0),
        ("GMT+1", 3600),
        ("UTC-08:30", -30600),
        ("UT+0130", 5400),
        ("+2", 7200),
        ("+2:00", 7200),
        ("-08", -28800),
        ("+01:2", 3720),
        ("+01:02:03", 3723),
        ("-010203", -3723),
        ("+18:00", 64800),
        ("EST", -18000),
    ],
)
def test_fixed_offsets_are_read_as_java_does(name: str, seconds: int) -> None:
    assert local_of(0, zone_of(name)) == seconds * 1_000_000


@pytest.mark.parametrize("name", ["", "X/Y", "+18:01", "+1:60", "utc", "europe/berlin", "+", "UTC+", "../etc/passwd"])
def test_unknown_zones_are_refused(name: str) -> None:
    with pytest.raises(LookupError):
        zone_of(name)


def test_short_names_are_java_s() -> None:
    assert zone_of("PST").rules == ZoneInfo("America/Los_Angeles")


@given(st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31)))
def test_formatted_timestamps_are_read_back(moment: datetime) -> None:
    value = micros(moment)
    assert parse_timestamp_ntz(format_timestamp(value)) == value
    assert parse_timestamp(format_timestamp(value) + " UTC", zone_of("Asia/Tokyo")) == value


def test_a_zone_in_a_local_timestamp_is_dropped_or_refused() -> None:
    assert parse_timestamp_ntz("1970-01-01 00:00:00+05:00") == 0
    assert parse_timestamp_ntz("1970-01-01 00:00:00+05:00", allow_zone=False) is None


def test_a_time_alone_is_no_constant() -> None:
    with pytest.raises(LookupError):
        parse_timestamp("10:00", zone_of("UTC"))
    assert parse_timestamp_ntz("10:00") is None
