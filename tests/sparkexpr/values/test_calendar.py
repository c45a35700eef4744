"""Calendar, time zones and their texts: against Spark's recorded answers, and against Python where it has the years."""

import json
import re
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaskip.sparkexpr.values import calendar
from deltaskip.sparkexpr.values.zone_rules import UnknownZone
from tests.each import refuses
from tests.looped import looped

ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "Pacific/Apia"]
ZONES += ["Asia/Kathmandu", "Africa/Monrovia"]
EPOCH = datetime(1970, 1, 1)
CYCLE = 146_097 * 86_400_000_000
HOUR = 3_600_000_000

# Each text with CAST(… AS DATE), CAST(CAST(… AS TIMESTAMP_NTZ) AS STRING), and the microseconds of CAST(… AS TIMESTAMP)
# in the session time zones UTC and America/Los_Angeles: Spark 4.1.4 without ANSI. "today": the cast uses today's date.
SPARK_TEXTS = json.loads((Path(__file__).parent / "spark_texts.json").read_text(encoding="utf-8"))
SESSION_ZONES = ("UTC", "America/Los_Angeles")
# Java has rules for these names, Python has none.
JAVA_ONLY = re.compile(r"SystemV/")


def micros(moment: datetime) -> int:
    return (moment - EPOCH) // timedelta(microseconds=1)


def outcome(parse: Any, text: str, *args: Any) -> Any:
    """The value, or the name of the error that leaves the cast to Spark."""
    try:
        return parse(text, *args)
    except UnknownZone:
        return "unknown zone"
    except LookupError:
        return "today"


def test_dates_are_read_as_spark_casts_them() -> None:
    assert {text: calendar.parse_date(text) for text, *_ in SPARK_TEXTS} == {
        text: date for text, date, *_ in SPARK_TEXTS
    }


def test_local_timestamps_are_read_as_spark_casts_them() -> None:
    wrong = {}
    for text, _, expected, *_ in SPARK_TEXTS:
        found = outcome(calendar.parse_timestamp_ntz, text)
        if found != "unknown zone":
            found = None if found is None else calendar.format_timestamp(found)
            if found != expected:
                wrong[text] = (found, expected)
        elif expected is not None and not JAVA_ONLY.search(text):
            wrong[text] = (found, expected)
    assert not wrong


@pytest.mark.parametrize(("zone", "position"), [(zone, 3 + i) for i, zone in enumerate(SESSION_ZONES)])
def test_instants_are_read_as_spark_casts_them(zone: str, position: int) -> None:
    wrong = {}
    for row in SPARK_TEXTS:
        text, expected = row[0], row[position]
        found = outcome(calendar.parse_timestamp, text, calendar.zone_of(zone))
        # What is left to Spark may be NULL there; a value or NULL that is given here must be Spark's.
        if found == "unknown zone" and (expected is None or JAVA_ONLY.search(text)):
            continue
        if found == "today" and expected is None and calendar.is_time_of_day(text):
            continue
        if found != expected:
            wrong[text] = (found, expected)
    assert not wrong


@pytest.mark.spark
def test_the_recorded_answers_are_spark_s(expression_session: Any) -> None:
    spark = expression_session
    spark.conf.set("spark.sql.ansi.enabled", "false")
    frame = spark.createDataFrame([(i, row[0]) for i, row in enumerate(SPARK_TEXTS)], "i INT, t STRING").coalesce(1)
    answers: dict[str, list[Any]] = {}
    for zone in SESSION_ZONES:
        spark.conf.set("spark.sql.session.timeZone", zone)
        casts = ["unix_date(CAST(t AS DATE))", "CAST(CAST(t AS TIMESTAMP_NTZ) AS STRING)"]
        rows = frame.selectExpr(*casts, "unix_micros(CAST(t AS TIMESTAMP))", "i").collect()
        for date_, ntz, instant, i in rows:
            recorded = SPARK_TEXTS[i]
            moving = recorded[3] == "today" and instant is not None
            answers.setdefault(recorded[0], [date_, ntz]).append("today" if moving else instant)
    assert answers == {text: rest for text, *rest in SPARK_TEXTS}


@looped(
    "text, date_, local",
    [
        # What one of the former copies of this code read and another did not, each as Spark reads it.
        ("0002020-01-02", 18263, None),  # seven digits of year: a date's, not a timestamp's
        ("5881580-07-12", None, None),  # one day beyond 32 bits
        ("2020-01-02T10:11:12+010:00", 18263, None),  # an offset with three digits of hour
        ("2020-01-02T10:11:12+99:99", 18263, None),  # no such offset
        ("2020-01-02T10:11:12 PST", 18263, 1577959872 * calendar.MICROS_PER_SECOND),  # a short name of Java
        ("2020-01-02T10:11:12  Z", 18263, 1577959872 * calendar.MICROS_PER_SECOND),  # two blanks before the zone
        ("2020-01-02T10:11:12\tUTC+1", 18263, 1577959872 * calendar.MICROS_PER_SECOND),  # a control character
        ("\x7f2020-01-02T10:11:12\x00", 18263, 1577959872 * calendar.MICROS_PER_SECOND),
        ("2020-01-02T10:11:12 ROC", 18263, None),  # in the time zone database, not in Java
        ("2020-01-02T10:11:12 posix/Europe/Berlin", 18263, None),
        ("2020-01-0٢", None, None),  # digits of another script
    ],
)
def test_texts_on_which_copies_of_this_code_had_differed(text: str, date_: int | None, local: int | None) -> None:
    assert calendar.parse_date(text) == date_
    assert calendar.parse_timestamp_ntz(text) == local


def test_a_region_that_only_java_may_know_is_left_to_spark() -> None:
    text = "2020-01-02T10:11:12 SystemV/PST8"
    assert calendar.has_zone(text)
    refuses(UnknownZone, None, lambda: calendar.parse_timestamp(text, calendar.zone_of("UTC")))
    refuses(UnknownZone, None, calendar.parse_timestamp_ntz, text)


@given(st.dates())
def test_days_agree_with_python_s_dates(day: date) -> None:
    days = (day - date(1970, 1, 1)).days
    assert calendar.days_from_civil(day.year, day.month, day.day) == days
    assert calendar.civil_from_days(days) == (day.year, day.month, day.day)
    assert calendar.parse_date(calendar.format_date(days)) == days


@given(st.integers(-(2**31), 2**31 - 1))
def test_every_day_has_one_civil_date(days: int) -> None:
    year, month, day = calendar.civil_from_days(days)
    assert calendar.days_from_civil(year, month, day) == days
    assert 1 <= day <= calendar.days_in_month(year, month)


@given(st.integers(-(2**63), 2**63 - 1), st.sampled_from(ZONES))
def test_every_instant_comes_back_from_its_local_time_or_the_overlap_s_other_one(instant: int, zone: str) -> None:
    local = calendar.local_of(instant, calendar.zone_of(zone))
    back = calendar.instant_of(local, calendar.zone_of(zone))
    assert calendar.local_of(back, calendar.zone_of(zone)) == local
    assert back <= instant


def test_gaps_move_on_and_overlaps_take_the_earlier_instant() -> None:
    berlin = calendar.zone_of("Europe/Berlin")
    gap = micros(datetime(2024, 3, 31, 2, 30))
    assert calendar.local_of(calendar.instant_of(gap, berlin), berlin) == micros(datetime(2024, 3, 31, 3, 30))
    overlap = micros(datetime(2024, 10, 27, 2, 30))
    assert calendar.instant_of(overlap, berlin) == micros(datetime(2024, 10, 27, 0, 30))


def test_local_mean_time_has_seconds() -> None:
    midnight = micros(datetime(1890, 1, 1))
    assert midnight - calendar.instant_of(midnight, calendar.zone_of("Europe/Berlin")) == (53 * 60 + 28) * 1_000_000


@looped(
    "name, seconds",
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
    assert calendar.local_of(0, calendar.zone_of(name)) == seconds * 1_000_000


@pytest.mark.parametrize("name", ["", "X/Y", "+18:01", "+1:60", "utc", "europe/berlin", "+", "UTC+", "../etc/passwd"])
def test_unknown_zones_are_refused(name: str) -> None:
    refuses(LookupError, None, calendar.zone_of, name)


def test_short_names_are_java_s() -> None:
    assert getattr(calendar.zone_of("PST").rules, "key", None) == "America/Los_Angeles"


@given(st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31)))
def test_formatted_timestamps_are_read_back(moment: datetime) -> None:
    value = micros(moment)
    assert calendar.parse_timestamp_ntz(calendar.format_timestamp(value)) == value
    assert calendar.parse_timestamp(calendar.format_timestamp(value) + " UTC", calendar.zone_of("Asia/Tokyo")) == value


def test_a_zone_in_a_local_timestamp_is_dropped_or_refused() -> None:
    assert calendar.parse_timestamp_ntz("1970-01-01 00:00:00+05:00") == 0
    assert calendar.parse_timestamp_ntz("1970-01-01 00:00:00+05:00", allow_zone=False) is None


def test_a_time_alone_is_no_constant() -> None:
    refuses(LookupError, None, lambda: calendar.parse_timestamp("10:00", calendar.zone_of("UTC")))
    assert calendar.parse_timestamp_ntz("10:00") is None


@given(st.datetimes())
def test_clock_times_agree_with_python_s(moment: datetime) -> None:
    found = calendar.read_timestamp(str(moment))
    assert found is not None and found.local_micros == micros(moment)
    assert calendar.format_timestamp(micros(moment), " ", 6) == f"{moment:%Y-%m-%d %H:%M:%S.%f}".rjust(26, "0")
    assert calendar.format_timestamp(micros(moment), "T", 3) == moment.isoformat(timespec="milliseconds")


@pytest.mark.parametrize(
    ("digits", "fractions"),
    [
        (None, ["00", "00.5", "00.00001", "59.999999"]),
        (3, ["00.000", "00.500", "00.000", "59.999"]),
        (6, ["00.000000", "00.500000", "00.000010", "59.999999"]),
    ],
)
def test_fractions_have_the_digits_that_are_wanted(digits: int | None, fractions: list[str]) -> None:
    texts = [calendar.format_timestamp(value, " ", digits) for value in (0, 500_000, 10, -1)]
    assert [text[len("1970-01-01 00:00:") :] for text in texts] == fractions


@given(st.datetimes(datetime(2, 1, 1), datetime(9998, 1, 1)), st.sampled_from(ZONES), st.integers(-700, 700))
def test_offsets_agree_with_zoneinfo_and_repeat_by_cycle_far_away(moment: datetime, name: str, cycles: int) -> None:
    zone, instant = calendar.zone_of(name), micros(moment)
    for asked, found in (
        (moment.replace(tzinfo=UTC).astimezone(ZoneInfo(name)), calendar.local_of(instant, zone) - instant),
        (moment.replace(tzinfo=ZoneInfo(name)), instant - calendar.instant_of(instant, zone)),
    ):
        offset = asked.utcoffset()
        assert offset is not None and found == offset // timedelta(microseconds=1)
    far = 2**62 + instant % CYCLE
    assert calendar.local_of(far + cycles % 300 * CYCLE, zone) == calendar.local_of(far, zone) + cycles % 300 * CYCLE
    far = instant + (20_000 + cycles) * CYCLE
    assert abs(calendar.instant_of(far, zone) - far) <= 18 * HOUR
