"""Odd and malformed predicates over a small table, and Spark's answers to them, stored in spark_odd.json.

An answer is "parse" or "analysis" for a predicate that Spark refuses, "run" for one that fails when rows are read, or
the numbers of the rows that match. `python -m tests.sparkexpr.spark_odd` renews the answers.
"""

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from deltaskip.sparkexpr.types.ddl import parse_columns

ANSWERS = Path(__file__).with_name("spark_odd.json")

SCHEMA = parse_columns(
    "id BIGINT, i INT, y TINYINT, d DOUBLE, f FLOAT, amount DECIMAL(10,2), name STRING, flag BOOLEAN, day DATE,"
    "ts TIMESTAMP, local TIMESTAMP_NTZ, bin BINARY, arr ARRAY<INT>, m MAP<STRING, INT>, st STRUCT<a: INT, s: STRING>,"
    "`my col` INT"
)


def _separated(text: str) -> tuple[str, ...]:
    """The parts of a text between broken bars."""
    return tuple(part.strip() for part in text.split("¦"))


_NAMES = [field.name for field in SCHEMA.fields]
ROWS: list[dict[str, Any]] = [
    dict(zip(_NAMES, values, strict=True))
    for values in (
        (
            *(5, 7, 1, 1.5, 0.5, Decimal("2.50"), "abc", True, date(2026, 1, 15)),
            *(datetime(2026, 1, 15, 12, tzinfo=UTC), datetime(2026, 1, 15, 12), b"ab", [1, 2], [("k", 1)]),
            *({"a": 3, "s": "x"}, 1),
        ),
        (
            *(1000, -7, 100, -2.25, 1e10, Decimal("-99.99"), "5", False, date(1999, 12, 31)),
            *(datetime(1999, 12, 31, 23, 59, tzinfo=UTC), datetime(1999, 12, 31), b"\x00", [], []),
            *({"a": None, "s": "5"}, 2),
        ),
        (
            *(-3, 0, 0, 0.0, 0.0, Decimal("0.00"), "", True, date(2026, 2, 28)),
            *(datetime(2026, 2, 28, tzinfo=UTC), datetime(2026, 2, 28), b"", [None], [("k", None)]),
            *({"a": 0, "s": ""}, 3),
        ),
        (None,) * len(_NAMES),
    )
]

_JUNK = {
    "id": _separated(
        r"""
        'abc' ¦ '' ¦ '5 ' ¦ '5.5' ¦ '1e3' ¦ '99999999999999999999' ¦ '0x10' ¦ '١' ¦ 5.5 ¦ 1e400 ¦ true
        """
    ),
    "i": ("'abc'", "99999999999", "'99999999999'", "1.5", "DATE'2026-01-01'", "X'01'"),
    "y": ("1000", "'1000'", "1000Y", "7L", "7S", "7Y"),
    "d": ("'abc'", "'1e400'", "'NaN'", "'infinity'", "1e400", "1e-400", "'1.5d'", "1.5F", "1.5D", "1.5BD"),
    "f": ("'abc'", "1e39F", "0.5F", "'0x1p3'"),
    "amount": _separated(
        r"""
        'abc' ¦ '2.5' ¦ '1e400' ¦ 12345678901234567890 ¦ 123456789012345678901234567890123456789BD ¦ NaN
        """
    ),
    "name": _separated(
        r"""
        5 ¦ abc ¦ true ¦ DATE'2026-01-01' ¦ X'6162' ¦ 'it''s' ¦ 'it\'s' ¦ "abc" ¦ 'unclosed ¦ N'abc'
        """
    ),
    "flag": ("'yes'", "'maybe'", "1", "0", "2", "'true'", "1.0", "DATE'2026-01-01'"),
    "day": _separated(
        r"""
        'junk' ¦ '2026-13-45' ¦ '2026-02-30' ¦ '2026' ¦ '2026-1-5' ¦ '15.01.2026' ¦ '2026/01/15' ¦ 20260115 ¦
        '2026-01-15 10:00' ¦ '2026-01-15T' ¦ DATE'2026-13-45' ¦ DATE'junk' ¦ DATE '2026-1-5' ¦ 2026-01-15 ¦ 'today' ¦
        DATE'today' ¦ 'now' ¦ 'epoch' ¦ TIMESTAMP'2026-01-15' ¦ 5 ¦ 1.5 ¦ true ¦ '' ¦ current_dat()
        """
    ),
    "ts": _separated(
        r"""
        'x' ¦ '2026-01-15' ¦ '2026-01-15 12:00:00' ¦ '2026-01-15 25:00:00' ¦ '12:00' ¦ TIMESTAMP'junk' ¦ 5 ¦
        '2026-01-15 12:00:00 Nowhere/City' ¦ TIMESTAMP'2026-01-15 12:00:00Z' ¦ TIMESTAMP_LTZ'2026-01-15' ¦ 1.5 ¦
        TIMESTAMP_NTZ'2026-01-15 12:00:00' ¦ DATE'2026-01-15' ¦ 'now' ¦ TIMESTAMP'2026-01-15 25:00:00'
        """
    ),
    "local": _separated(
        r"""
        'x' ¦ '2026-01-15 12:00:00' ¦ '2026-01-15 12:00:00Z' ¦ 5 ¦ TIMESTAMP_NTZ'junk' ¦ DATE'2026-01-15'
        """
    ),
    "bin": ("'ab'", "X'6162'", "X'616'", "X'zz'", "5", "X''"),
    "arr": ("5", "'x'", "array(1, 2)", "NULL"),
    "m": ("5", "map('k', 1)"),
    "st": ("5", "'x'", "struct(3, 'x')", "named_struct('a', 3, 's', 'x')"),
}
_FORMS = (
    "{0} = {1}",
    "{0} > {1}",
    "{1} <= {0}",
    "{0} <=> {1}",
    "{0} IN ({1})",
    "{0} BETWEEN {1} AND {1}",
    "NOT ({0} = {1})",
)
_ONE_FORM = frozenset(("arr", "m", "st", "local", "f", "y"))

_TEXTS = _separated(
    r"""
    id = ¦ = 5 ¦ id ¦ name ¦ flag ¦ 5 ¦ 1 ¦ 'true' ¦ true ¦ NULL ¦ id 5 ¦ id = = 5 ¦ id == 5 ¦ id => 5 ¦ id >> 5 ¦
    id = 5 AND ¦ AND id = 5 ¦ (id = 5 ¦ id = 5) ¦ id = (5 ¦ () ¦ id = () ¦ id === 5 ¦ id = 1; drop table t ¦ id = 1; ¦
    ; ¦ id = 1, i = 2 ¦ SELECT 1 ¦ select * from t ¦ WHERE id = 5 ¦ * ¦ id.* ¦ id = 5 -- comment ¦
    id = 5 /* comment */ ¦ /* id = 5 */ ¦ id = 5 /* open ¦ id = 5 # comment ¦ -- id = 5 ¦ id = 5 AS x ¦ id = 5 x ¦
    id := 5 ¦ id = :x ¦ id = ? ¦ :x ¦ id = $1 ¦ id = @x ¦ id = {x} ¦ id = ${x} ¦ id = 5 && i = 7 ¦ id = 5 || i = 7 ¦
    !flag ¦ ! flag ¦ NOT flag ¦ not not flag ¦ id <> 5 ¦ id != 5 ¦ id ^= 5 ¦ id = 5 OR ¦ id IN ¦ id IN () ¦ id IN (5 ¦
    id IN 5 ¦ id IN (5,) ¦ id IN (,5) ¦ id NOT IN () ¦ id IN (NULL) ¦ id BETWEEN 1 ¦ id BETWEEN 1 AND ¦
    id BETWEEN 1, 5 ¦ id LIKE ¦ name LIKE 'a%' ESCAPE ¦ name LIKE 'a' ESCAPE 'xy' ¦ name LIKE 'a\\' ¦
    name LIKE '!'  ESCAPE '!' ¦ name LIKE 5 ¦ id LIKE '5%' ¦ name RLIKE '[' ¦ name RLIKE 'a.c' ¦ id IS 5 ¦
    id IS NULL ¦ id IS NOT ¦ id = NULL ¦ id != NULL ¦ NULL = NULL ¦ id <=> NULL ¦ id = 'NULL' ¦
    CASE WHEN flag THEN true END ¦ CASE WHEN flag THEN 1 END ¦ CASE flag ¦ CASE WHEN id THEN true END ¦ CASE END ¦
    idd = 5 ¦ Id = 5 ¦ ID = 5 ¦ `id` = 5 ¦ `id = 5 ¦ [id] = 5 ¦ "id" = 5 ¦ my col = 1 ¦ `my col` = 1 ¦ nme = 'a' ¦
    t.id = 5 ¦ st.a = 3 ¦ st.b = 3 ¦ st.A = 3 ¦ st['a'] = 3 ¦ st.a.b = 3 ¦ id.a = 3 ¦ m.k = 1 ¦ m['k'] = 1 ¦
    arr[0] = 1 ¦ arr[9] = 1 ¦ arr.a = 1 ¦ element_at(arr, 0) = 1 ¦ element_at(arr, 9) = 1 ¦ `st.a` = 3 ¦
    dya > '2026' ¦ sum(id) > 5 ¦ count(*) > 1 ¦ count(1) > 0 ¦ max(day) = day ¦ avg(id) > 1 AND i > 0 ¦ any(flag) ¦
    collect_list(id) = 5 ¦ row_number() OVER (ORDER BY id) = 1 ¦ sum(id) OVER () > 5 ¦ rank() = 1 ¦ lag(id) = 1 ¦
    explode(arr) = 1 ¦ foo(id) > 5 ¦ yaer(ts) = 2026 ¦ uper(name) = 'ABC' ¦ db.foo(id) = 5 ¦ `foo`(id) = 5 ¦
    upper() = 'A' ¦ upper(name, 'x') = 'A' ¦ substring(name) = 'a' ¦ year() = 2026 ¦ year(ts, 1) = 2026 ¦ abs() = 1 ¦
    coalesce() = 1 ¦ if(flag) = 1 ¦ nvl(id) = 1 ¦ year(name) = 2026 ¦ year(id) = 2026 ¦ year(flag) = 2026 ¦
    year('junk') = 2026 ¦ abs(flag) = 1 ¦ abs('x') = 1 ¦ upper(arr) = 'A' ¦ length(arr) = 1 ¦ id + 'x' > 5 ¦
    id + flag > 5 ¦ id + day > 5 ¦ day + 1 > '2026-01-01' ¦ day + 'x' > day ¦ day - day > 5 ¦ day * 2 > 5 ¦
    name + 1 = 6 ¦ name + name = 'x' ¦ name || 1 = 'abc1' ¦ -name = 1 ¦ -flag ¦ ~id = 5 ¦ ~d = 5 ¦ id & 1 = 1 ¦
    id | 'x' = 1 ¦ id << 1 = 10 ¦ shiftleft(id, 1) = 10 ¦ greatest(id, 'x') = 1 ¦ coalesce(id, 'x') = 5 ¦ id = 1/0 ¦
    id = 5 % 0 ¦ i / 0 = 1 ¦ i = 2147483647 + 1 ¦ id = 9223372036854775807 + 1 ¦ y = 127Y + 1Y ¦ i = -2147483648 ¦
    id = 9223372036854775808 ¦ id = -9223372036854775808 ¦ i = abs(-2147483648) ¦ id = int('abc') ¦
    id = cast('abc' AS INT) ¦ id = try_cast('abc' AS INT) ¦ id = cast(5 AS nothing) ¦ id = cast(5 AS) ¦ id = cast(5) ¦
    cast(id AS date) = day ¦ cast(day AS int) = 5 ¦ cast(flag AS date) = day ¦ cast(arr AS string) = 'x' ¦
    cast(name AS array<int>) = arr ¦ id::int = 5 ¦ id = cast(1e30 AS INT) ¦ id = cast(300 AS TINYINT) ¦
    amount = cast(1e30 AS decimal(5,2)) ¦ amount = cast('x' AS decimal(50,2)) ¦ day = to_date('junk') ¦
    day = to_date('15.01.2026', 'dd.MM.yyyy') ¦ day = to_date('junk', 'dd.MM.yyyy') ¦ ts = to_timestamp('junk') ¦
    day = make_date(2026, 13, 1) ¦ day = date('junk') ¦ day = date_add('junk', 1) ¦ day = date_add(day, 'x') ¦
    day = last_day('junk') ¦ date_trunc('nothing', ts) = ts ¦ trunc(day, 'nothing') = day ¦
    date_trunc(ts, 'day') = ts ¦ extract(nothing FROM ts) = 1 ¦ extract(year FROM ts) = 2026 ¦
    extract(year ts) = 2026 ¦ date_part('nothing', ts) = 1 ¦ date_format(ts, 'bbb') = 'x' ¦ day > INTERVAL 1 DAY ¦
    ts > INTERVAL '1' DAY ¦ ts > ts - INTERVAL 1 DAY ¦ ts > ts - INTERVAL 1 NOTHING ¦ ts > INTERVAL 'x' DAY ¦
    day = day - INTERVAL 1 MONTH ¦ ts > ts - INTERVAL '1 02:03:04' DAY TO SECOND ¦
    ts > ts - INTERVAL '1' MONTH 2 DAYS ¦ name = 'x' COLLATE nothing ¦ name COLLATE UNICODE_CI = 'ABC' ¦
    name COLLATE UTF8_LCASE = 'ABC' ¦ id COLLATE UNICODE = 5 ¦ name = upper('abc' ¦ name = upper 'abc' ¦
    name = 'a' 'b' ¦ name = 'ab' 'c' ¦ name = r'a\b' ¦ name = 'a\u0062c' ¦ EXISTS (SELECT 1) ¦ id IN (SELECT 5) ¦
    id = (SELECT 5) ¦ id = (SELECT 5, 6) ¦ id IN (SELECT x FROM nothing) ¦ EXISTS (SELECT) ¦ x -> x + 1 ¦
    exists(arr, x -> x = 1) ¦ filter(arr, x -> x > 0) = arr ¦ transform(arr, x) = arr ¦ (id, i) = (5, 7) ¦
    (id, i) IN ((5, 7)) ¦ rand() > 2 ¦ rand(1) < 2 ¦ rand('x') > 2 ¦ uuid() = 'x' ¦ current_user() = 'x' ¦
    current_user = 'x' ¦ input_file_name() = '' ¦ monotonically_increasing_id() > 100 ¦ spark_partition_id() > 100 ¦
    _metadata.file_name = 'x' ¦ _metadata.nothing = 'x' ¦ _metadta.file_name = 'x' ¦ raise_error('x') ¦
    assert_true(flag) ¦ id > raise_error('x') ¦ version() = 'x' ¦ typeof(id) = 'bigint' ¦ hash(id) > 0 ¦
    day > current_date - 365000 ¦ day > current_date() - 365000 ¦ ts < now() ¦ ts < current_timestamp ¦
    local < localtimestamp ¦ ts < now ¦ ts < current_timestamp(3) ¦ day < current_date(1) ¦ ts < now(1) ¦
    day < curdate() ¦ current_timezone() = 'UTC' ¦ day < today() ¦ false AND id = 'abc' ¦ true OR id = 'abc' ¦
    id = 'abc' OR true ¦ 1 = 0 AND day = 'junk' ¦ NULL AND id = 'abc' ¦ id > 0 AND day = 'junk' ¦
    id > 0 OR day = 'junk' ¦ if(true, id = 5, day = 'junk') ¦ coalesce(5, 'x') = 5 ¦
    CASE WHEN false THEN day = 'junk' ELSE true END ¦ CASE WHEN flag THEN id = 5 ELSE day = 'junk' END ¦
    nvl(id, 'x') = 5 ¦ id IN (5, 'abc') ¦ id IN (5, NULL, 7) ¦ id IN (5, DATE'2026-01-01') ¦
    day IN ('2026-01-15', 'junk') ¦ id IN ((5)) ¦ name IN ('a', 5) ¦ id BETWEEN 'a' AND 'b' ¦
    day BETWEEN '2026-01-01' AND 'junk' ¦ day BETWEEN '2026-01-01' AND '2026-12-31' ¦ id NOT BETWEEN 1 AND 'x' ¦
    flag = 'x' = true ¦ id = 5 = true ¦ id > 5 > 3 ¦ 1 < id < 5 ¦ id = 5 IS TRUE ¦ flag IS TRUE ¦ id IS TRUE ¦
    flag IS UNKNOWN ¦ flag AND id ¦ flag OR name ¦ NOT id ¦ NOT name ¦ NOT 'true' ¦ id AND true ¦ name AND true ¦
    'abc' AND flag ¦ flag AND NULL ¦ id ISNULL ¦ id NOTNULL ¦ isnull(id) ¦ id IS DISTINCT FROM 5 ¦
    id IS NOT DISTINCT FROM 5 ¦ id IS DISTINCT 5 ¦ id ~ '5' ¦ name SIMILAR TO 'a' ¦ name ILIKE 'ABC' ¦
    name NOT LIKE 'a%' ¦ name LIKE ANY ('a%', 'b%') ¦ name LIKE ALL () ¦ name GLOB 'a*' ¦ name REGEXP 'a' ¦
    name MATCH 'a' ¦ day = 2026-01-15 ¦ day > 2026 ¦ day = '2026-01-15' + 1 ¦ TOP 5 ¦ LIMIT 5 ¦ id = 5 LIMIT 1 ¦
    id = 5 ORDER BY id ¦ id = 5 GROUP BY id ¦ id = 5L ¦ id = 5l ¦ id = 5Q ¦ id = 5_000 ¦ id = 0x10 ¦ id = 5. ¦
    id = .5 ¦ id = 5e ¦ id = 5e1 ¦ id = 1e400 ¦ id = +5 ¦ id = 99999999999999999999999999999999999999999 ¦
    id = 1e39BD ¦ d = 1e308 * 10 ¦ d = float('nan') ¦ d = double('x') ¦ d = 'nan'
    """
)
_SPACED = ("", " ", "id = --5\n5")

PREDICATES: tuple[str, ...] = tuple(
    dict.fromkeys(
        (
            *(
                form.format(column, literal)
                for column, literals in _JUNK.items()
                for literal in literals
                for form in (_FORMS[:1] if column in _ONE_FORM else _FORMS)
            ),
            *_SPACED,
            *_TEXTS,
        )
    )
)


INTERVALS = _separated(
    r"""
    INTERVAL 7 DAYS ¦ INTERVAL '7' DAY ¦ interval 7 day ¦ INTERVAL -7 DAYS ¦ INTERVAL '-7' DAYS ¦ INTERVAL +7 DAY ¦
    INTERVAL 1 WEEK ¦ INTERVAL 2 weeks ¦ INTERVAL 1 MONTH ¦ INTERVAL 13 MONTHS ¦ INTERVAL 1 YEAR ¦ INTERVAL -1 YEAR ¦
    INTERVAL 1 QUARTER ¦ INTERVAL 1 YEAR 2 MONTHS ¦ INTERVAL 1 DAY 2 HOURS ¦ INTERVAL 1 DAY -2 HOURS ¦
    INTERVAL 36 HOURS ¦ INTERVAL 1 MONTH 1 DAY ¦ INTERVAL 90 MINUTES ¦ INTERVAL 1.5 SECONDS ¦ INTERVAL '1.5' SECOND ¦
    INTERVAL 1.5 DAYS ¦ INTERVAL 1500 MILLISECONDS ¦ INTERVAL 5 MICROSECONDS ¦ INTERVAL 5 NANOSECONDS ¦
    INTERVAL '1.1234567' SECONDS ¦ INTERVAL '1 02:03:04' DAY TO SECOND ¦ INTERVAL '1 02:03:04.5' DAY TO SECOND ¦
    INTERVAL '1 02' DAY TO HOUR ¦ INTERVAL '-1 02:03' DAY TO MINUTE ¦ INTERVAL '02:03:04' HOUR TO SECOND ¦
    INTERVAL '02:03' HOUR TO MINUTE ¦ INTERVAL '03:04' MINUTE TO SECOND ¦ INTERVAL '1-2' YEAR TO MONTH ¦
    INTERVAL '-1-2' YEAR TO MONTH ¦ INTERVAL '1-12' YEAR TO MONTH ¦ INTERVAL '7 days' ¦ INTERVAL '1 day 2 hours' ¦
    INTERVAL 'interval 7 days' ¦ INTERVAL '1 month' ¦ INTERVAL '1 month 2 days' ¦ INTERVAL '-1 day' ¦
    INTERVAL ' 7 ' DAY ¦ INTERVAL '7' ¦ INTERVAL 7 ¦ INTERVAL 'x' DAY ¦ INTERVAL 7 NOTHING ¦
    INTERVAL '25:00:00' HOUR TO SECOND ¦ INTERVAL '1 25:00:00' DAY TO SECOND ¦ INTERVAL '1 2:3:4' DAY TO SECOND ¦
    INTERVAL '100' SECOND ¦ INTERVAL -'7' DAY ¦ - INTERVAL 7 DAYS ¦ INTERVAL '1 02:03:04' HOUR TO SECOND ¦
    INTERVAL 9999999999 DAYS ¦ INTERVAL '7' DAYS '2' HOURS ¦ INTERVAL DAY ¦ INTERVAL (7) DAY
    """
)
_UNITS = ("DAY", "WEEK", "MONTH", "QUARTER", "YEAR", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND")
SUMS: tuple[str, ...] = (
    *(
        f"{start} {sign} {interval}"
        for interval in INTERVALS
        for start in ("TIMESTAMP'2026-03-31 12:30:00'", "DATE'2026-03-31'", "TIMESTAMP_NTZ'2026-03-31 12:30:00'")
        for sign in "+-"
    ),
    *(
        f"{name}({unit}, {quantity}, {start})"
        for name in ("dateadd", "timestampadd", "date_add")
        for unit in _UNITS
        for quantity in (-7, 40)
        for start in ("TIMESTAMP'2026-03-31 12:30:00'", "DATE'2026-03-31'", "TIMESTAMP_NTZ'2026-03-31 12:30:00'")
        if name == "dateadd" or unit in ("DAY", "MONTH")
    ),
    *("INTERVAL 1 DAY + DATE'2026-03-31'", "DATE'2026-03-31' + 1", "DATE'2026-03-31' - 1"),
    *("dateadd(DATE'2026-03-31', 1)", "dateadd('DAY', 1, DATE'2026-03-31')", "dateadd(DAYS, 1, DATE'2026-03-31')"),
    "dateadd(dayofyear, 1, DATE'2026-03-31')",
)
"""Dates and timestamps plus intervals; the stored answer is the type and the text of the sum, None for an error."""


def sums() -> dict[str, dict[str, str | None]]:
    """Spark's stored answers to SUMS in two time zones."""
    found: dict[str, dict[str, str | None]] = json.loads(ANSWERS.read_text(encoding="utf-8"))["sums"]
    return found


def answers() -> dict[str, dict[str, Any]]:
    """Spark's stored answers: for each predicate one with ANSI mode "on" and one "off"."""
    found: dict[str, dict[str, Any]] = json.loads(ANSWERS.read_text(encoding="utf-8"))["predicates"]
    return found
