"""Functions of the clock: the condition without the clock holds wherever the leaf does at some later instant."""

import random
from datetime import UTC, datetime
from typing import Any

import pytest

from deltaskip.sparkexpr import EvaluationError, parse_sql
from deltaskip.sparkexpr.bind import bind, bind_expression
from deltaskip.sparkexpr.clock import SLACK, Clock, reads_clock
from deltaskip.sparkexpr.functions import PRESENT
from deltaskip.sparkexpr.nodes import And, Call, Literal, Node, Or, transform
from deltaskip.sparkexpr.normalize import normalize
from deltaskip.sparkexpr.text.render import to_sql
from deltaskip.sparkexpr.text.type_names import sql_name
from deltaskip.sparkexpr.types.data_types import DATE, STRING, TIMESTAMP, TIMESTAMP_NTZ, StructType
from deltaskip.sparkexpr.types.ddl import parse_columns
from deltaskip.sparkexpr.values.calendar import MICROS_PER_DAY, MICROS_PER_SECOND, Zone, local_of, zone_of
from deltaskip.sparkexpr.values.casts import cast_value
from deltaskip.sparkexpr.values.intervals import moved
from tests.each import each
from tests.extent import extent
from tests.sparkexpr.odd import sums
from tests.sparkexpr.test_spark import value_of

SCHEMA = parse_columns("day DATE, ts TIMESTAMP, local TIMESTAMP_NTZ, i BIGINT, k INT, s STRING")
ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Atlantic/Azores", "+14:00", "Pacific/Apia")

TIMES = (
    *("now()", "current_timestamp", "now() - INTERVAL {n} DAYS", "now() - INTERVAL '{n} 02:03:04' DAY TO SECOND"),
    *("dateadd(HOUR, -{n}, now())", "timestampadd(MONTH, -{n}, current_timestamp())", "date_trunc('day', now())"),
    *(
        "date_trunc('week', now() - INTERVAL {n} HOURS)",
        "current_date() - INTERVAL {n} HOURS",
        "'today'",
        "'yesterday'",
    ),
    *("CAST(current_date() AS TIMESTAMP)", "now() + INTERVAL {n} MINUTES", "localtimestamp() - INTERVAL {n} DAYS"),
)
DAYS = (
    *("current_date()", "current_date", "curdate()", "current_date() - {n}", "date_sub(current_date(), {n})"),
    *("date_add(current_date(), -{n})", "current_date() - INTERVAL {n} DAYS", "current_date() - INTERVAL {n} MONTHS"),
    *("add_months(current_date(), -{n})", "trunc(current_date(), 'MM')", "last_day(current_date())", "to_date(now())"),
    *(
        "CAST(now() - INTERVAL {n} DAYS AS DATE)",
        "DATE'today'",
        "'tomorrow'",
        "CAST(date_trunc('month', now()) AS DATE)",
    ),
)
TEXTS = (
    *(
        "CAST(current_date() - {n} AS STRING)",
        "date_format(now(), 'yyyy-MM-dd')",
        "date_format(current_date(), 'yyyy-MM')",
    ),
    *("CAST(now() AS STRING)", "date_format(now() - INTERVAL {n} DAYS, 'yyyy-MM-dd')"),
)
NUMBERS = (
    *("unix_timestamp()", "unix_timestamp() - 86400 * {n}", "unix_millis(now()) - {n} * 1000", "unix_timestamp(now())"),
    *("unix_timestamp() * 1000", "CAST(date_format(current_date() - {n}, 'yyyyMMdd') AS INT)", "year(current_date())"),
    *("unix_seconds(now() - INTERVAL {n} DAYS)", "CAST(now() AS BIGINT)", "unix_micros(current_timestamp())"),
)
LEAVES = (
    *(("ts", time) for time in TIMES),
    *(("local", time) for time in TIMES[:8]),
    *(("day", day) for day in (*DAYS, *TIMES[:4])),
    *(("s", text) for text in TEXTS),
    *(("i", number) for number in NUMBERS),
    *((f"datediff({day}, day)", "{n}") for day in DAYS[:6]),
    *(("datediff(day, current_date())", "-{n}"), ("date_add(day, {n})", "current_date()")),
    *(("to_date(ts)", "current_date() - {n}"), ("unix_timestamp() - i", "{n} * 3600"), ("year(day)", "year(now())")),
)


def test_the_condition_holds_wherever_the_leaf_does_at_a_later_instant() -> None:
    def check(seed: int) -> None:
        chance = random.Random(seed)
        zone = chance.choice(ZONES)
        planned = near_a_clock_change(chance)
        known = chance.random() < 0.8
        for _ in range(8):
            leaf = normalize(bind(parse_sql(predicate(chance)), SCHEMA, time_zone=zone))
            weakest = Clock(planned, zone if known else None).weakest(leaf)
            if weakest is None:
                continue
            assert not reads_clock(weakest)
            condition = normalize(weakest)
            for _ in range(12):
                instant = planned + chance.choice((-SLACK, 0, 3600 * MICROS_PER_SECOND, 90 * MICROS_PER_DAY))
                instant += int(chance.random() * 3 * 3600) * MICROS_PER_SECOND
                row = around(chance, instant, zone_of(zone))
                if value_of(at(leaf, instant, zone), row, zone) is True:
                    assert value_of(condition, row, zone) is not False, (leaf, condition, row, zone, planned, instant)
                    assert value_of(condition, row, zone) is not None, (leaf, condition, row, zone, planned, instant)

    each(range(extent(60, 400)), check)


def predicate(chance: random.Random) -> str:
    column, clock = chance.choice(LEAVES)
    sides = [side.replace("{n}", str(chance.choice((0, 1, 7, 40)))) for side in (column, clock)]
    if chance.random() < 0.3:
        sides.reverse()
    match chance.randrange(8):
        case 0:
            return f"{sides[0]} IN ({sides[1]}, {sides[1]})"
        case 1:
            return f"NOT ({sides[0]} {chance.choice(('<', '>', '<=', '>='))} {sides[1]})"
        case _:
            return f"{sides[0]} {chance.choice(('<', '>', '<=', '>=', '=', '!=', '<=>'))} {sides[1]}"


def near_a_clock_change(chance: random.Random) -> int:
    found = chance.choice(((10, 25, 0, 30), (3, 29, 0, 59), (11, 1, 5, 30), (4, 4, 15, 1), (7, 1, 0, 0)))
    moment = datetime(2026, *found, tzinfo=UTC)
    spread = chance.choice((0, 2, 30)) * 3600
    return int(moment.timestamp() + (chance.random() - 0.5) * spread) * MICROS_PER_SECOND


def around(chance: random.Random, instant: int, zone: Zone) -> dict[tuple[str, ...], object]:
    """A row whose values are near the instant, or a round number of days before it."""
    moment = instant - chance.choice((0, 1, 7, 40)) * MICROS_PER_DAY
    moment += int((chance.random() - 0.5) * chance.choice((4, 60, 3000))) * 60 * MICROS_PER_SECOND
    local = local_of(moment, zone)
    day = local // MICROS_PER_DAY + chance.choice((-1, 0, 0, 0, 1))
    seconds = moment // MICROS_PER_SECOND
    return {
        ("day",): day,
        ("ts",): moment,
        ("local",): local,
        ("i",): chance.choice((seconds, seconds * 1000, moment, int(str_of(day).replace("-", "")), 2026)),
        ("k",): int(str_of(day).replace("-", "")),
        ("s",): chance.choice((str_of(day), str_of(day)[:7])),
    }


def str_of(day: int) -> str:
    return str(cast_value(day, DATE, STRING, zone_of("UTC")))


def at(node: Node, instant: int, zone: str) -> Node:
    """The node with the clock's functions at an instant, and sums with intervals of constants computed."""
    node = transform(node, lambda child: at(child, instant, zone))
    match node:
        case Call(name, ()) if name in PRESENT:
            local = local_of(instant, zone_of(zone))
            values = {DATE: local // MICROS_PER_DAY, TIMESTAMP: instant, TIMESTAMP_NTZ: local}
            type_ = PRESENT[name]
            return Literal(values.get(type_, instant // MICROS_PER_SECOND), type_)
        case Call("add_interval", (one, interval), type_):
            found = value_of(one, {}, zone)
            if isinstance(found, int) and isinstance(interval, Literal) and type_ is not None:
                try:
                    return Literal(moved(found, type_, interval, zone_of(zone)), type_)
                except EvaluationError:
                    return node
    return node


@pytest.mark.parametrize(
    ("predicate", "condition"),
    [
        ("ts > now() - INTERVAL 7 DAYS", "ts > TIMESTAMP'2026-06-23 23:50:00 UTC'"),
        ("ts < now()", "ts < TIMESTAMP'9000-01-01 00:00:00 UTC'"),
        ("day >= current_date()", "day >= DATE'2026-06-30'"),
        ("day = current_date", "day <= DATE'9000-01-01' AND day >= DATE'2026-06-30'"),
        ("day != current_date()", "day IS NOT NULL"),
        ("current_date() IS NULL", "FALSE"),
        ("'2026-01-01' > current_date()", "FALSE"),
        ("current_date() > '2026-01-01'", "TRUE"),
    ],
)
def test_the_condition_of(predicate: str, condition: str) -> None:
    planned = int(datetime(2026, 7, 1, tzinfo=UTC).timestamp()) * MICROS_PER_SECOND
    leaf = normalize(bind(parse_sql(predicate), SCHEMA))
    weakest = Clock(planned, "UTC").weakest(leaf)
    assert weakest is not None
    assert to_sql(normalize(weakest)) == condition


@pytest.mark.parametrize(
    "predicate",
    [
        "month(day) = month(current_date())",
        "coalesce(day, current_date()) > '2026-01-01'",
        "date_format(now(), 'dd.MM.yyyy') < s",
        "date_format(current_date(), 'EEEE') = s",
        "day <=> date_add(day, datediff(current_date(), day))",
        "s LIKE CAST(current_date() AS STRING)",
        "hour(now()) > k",
        "ts > now() - INTERVAL 9000 YEARS - INTERVAL 9000 YEARS",
    ],
)
def test_what_does_not_rise_or_fall_with_the_time_has_no_condition(predicate: str) -> None:
    leaf = normalize(bind(parse_sql(predicate), SCHEMA))
    assert not isinstance(leaf, And | Or)
    found = Clock(0, "UTC").weakest(leaf)
    assert found is None or "INTERVAL" in predicate


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
def test_sums_with_intervals_are_those_of_spark(zone: str) -> None:
    decided = 0
    for text, answers in sums().items():
        found = answer_of(text, zone)
        if found is not None:
            assert found == answers[zone], text
            decided += 1
        elif zone == "UTC":
            assert answers[zone] is None or "- INTERVAL 7 DAYS" in text or "dayofyear" in text, text
    assert decided > 250


def answer_of(text: str, zone: str) -> str | None:
    try:
        node: Any = bind_expression(parse_sql(text), StructType(()), time_zone=zone)
    except ValueError:
        return None
    if not isinstance(node, Literal) or node.value is None:
        return None
    return f"{sql_name(node.type).lower()} {cast_value(node.value, node.type, STRING, zone_of(zone))}"
