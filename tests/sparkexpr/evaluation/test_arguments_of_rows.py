"""Functions by column of arguments that differ in each row, and of odd texts: the values are those of single rows."""

import random
from typing import Any

from deltaskip.sparkexpr.types.ddl import parse_columns
from tests.each import each
from tests.extent import extent, seed
from tests.sparkexpr.evaluation.test_python_calls import texts
from tests.sparkexpr.random_expressions import Rows

SCHEMA = parse_columns(
    "s STRING, u STRING, url STRING, i INT, j INT, b BINARY, id BIGINT, day DATE, ts TIMESTAMP, t STRING,"
    "a ARRAY<INT>, ta ARRAY<STRING>, n ARRAY<ARRAY<INT>>, da ARRAY<DOUBLE>, o ARRAY<STRUCT<p: INT, q: STRING>>,"
    "m MAP<STRING, INT>, st STRUCT<x: INT, y: STRING>"
)
ZONE = "Europe/Berlin"
_PIECES = (
    *("a", "B", "z", " ", "\u00e9", "\u00c9", "\u00df", "\u03c2", "\u03a3", "\U0001f600", "-", "%", "%41", "%C3%A9"),
    *("+", "7", "_", "\u0130", "&x=", "=", "/", "\n", "\u0151", "\0", " \0 "),
)
_INTEGERS = (-5, -2, -1, 0, 1, 2, 3, 7, 2**31 - 1, -(2**31))
CALLS = """
    substring(s, i, j); substring(s, j); substring(b, i, j); substring('a\u00e9\U0001f600', i, j); left(s, i);
    right(s, i); right(u, j); repeat(s, j); repeat('ab', j); lpad(s, j, u); rpad(s, j, u); lpad(s, j); rpad(b, j);
    lpad(b, j, b); lpad(s, 5, u); lpad('x', j, '\u00e9'); upper(s); lower(s); initcap(s); crc32(b); crc32(s);
    url_encode(s); url_decode(s); try_url_decode(s); mask(s); mask(s, 'Q', NULL, 'd', 'o'); mask(s, NULL, '\u00e9');
    parse_url(url, 'HOST'); parse_url(url, 'PATH'); parse_url(url, 'QUERY'); parse_url(url, 'REF');
    parse_url(url, 'PROTOCOL'); parse_url(url, 'FILE'); parse_url(url, 'AUTHORITY'); parse_url(url, 'USERINFO');
    parse_url(url, 'QUERY', 'x'); parse_url(url, 'HOST', 'x'); try_parse_url(url, 'QUERY', 'x');
    try_parse_url(url, 'HOST'); parse_url(url, 'other'); find_in_set(s, 'a,\u00e9,,a,B'); find_in_set(s, '');
    format_string('%s-%d|%%%n%s', s, id, u); format_string('%05d|%3d', id, j); format_string('%5d %s', j, a IS NULL);
    s ILIKE '%\u00c9%'; s ILIKE 'a_'; date_format(ts, 'yyyy-MM-dd HH:mm:ss'); date_format(day, 'yyyy-MM-dd');
    date_format(ts, 'yyyyMMdd HHmm'); date_format(ts, 'dd.MM.yyyy ss'); date_format(ts, 'yy-M-d H:m');
    from_unixtime(id, 'yyyy-MM-dd HH:mm'); try_to_timestamp(t); try_to_date(t); sequence(day, date_add(day, j));
    CAST(a AS STRING); CAST(ta AS STRING); CAST(n AS STRING); CAST(da AS STRING); CAST(o AS STRING);
    CAST(m AS STRING); CAST(st AS STRING); CAST(struct(s, day) AS STRING); CAST(array(id, NULL) AS STRING);
    try_mod(id, j); try_divide(id, j); pmod(id, j); trim(s, u); trim(BOTH 'a' FROM s); array_join(ta, s, u);
    array_append(a, j); array_insert(a, j, j); try_add(day, j); try_add(ts, INTERVAL 1 MONTH);
    try_subtract(day, INTERVAL 25 HOUR); try_subtract(ts, INTERVAL '1 02:03:04' DAY TO SECOND);
    a < array(1, NULL); a >= sort_array(a); reverse(ta) < ta; ta <= slice(ta, 1, 1); n > reverse(n); da < reverse(da);
    struct(st, a) < struct(st, reverse(a)); o > reverse(o); array(i IS NULL, NULL) < array(j IS NULL, false);
    array(day, NULL) > array(last_day(day)); a <=> reverse(a)
"""


def table(chance: random.Random, count: int) -> Rows:
    def text() -> str:
        return "".join(chance.choice(_PIECES) for _ in range(chance.randrange(8)))

    def url() -> str:
        if chance.random() < 0.1:
            return text()
        return "".join(
            chance.choice(parts)
            for parts in (
                ("http", "https", "a+b", "1x"),
                ("://",),
                ("", "u@", "u:p@"),
                ("ex.com", "a-b.c.d.", "1.2.3.4", "x_y", "-a.b", "h" * 300),
                ("", ":80", ":", ":x"),
                ("", "/", "/a/b;c", "/a b", "//x"),
                ("", "?", "?x=1", "?y=2&x=3&x=4", "?x=a%41", "?a?b", "?xx=1&zx=2"),
                ("", "#", "#r", "#a#b"),
            )
        )

    def some(value: Any) -> tuple[Any, ...]:
        return tuple(value() for _ in range(chance.randrange(4)))

    def or_null(value: Any) -> Any:
        return None if chance.random() < 0.15 else value()

    def of(*values: Any) -> Any:
        return chance.choice(values)

    made = {
        "s": text,
        "u": text,
        "url": url,
        "i": lambda: of(*_INTEGERS),
        "j": lambda: of(-2, -1, 0, 1, 2, 3, 7, 20),
        "b": lambda: chance.randbytes(chance.randrange(6)),
        "id": lambda: chance.randrange(-(10**6), 10**6),
        "day": lambda: chance.randrange(-800_000, 3_000_000),
        "ts": lambda: chance.randrange(-(10**17), 3 * 10**17),
        "t": lambda: of("2020-01-01 00:00:00", "x", "2020-02-30", "2020-02-03", ""),
        "a": lambda: some(lambda: of(None, 1, -3)),
        "ta": lambda: some(lambda: or_null(text)),
        "n": lambda: some(lambda: or_null(lambda: some(lambda: of(None, 1)))),
        "da": lambda: some(lambda: of(None, 1.5, 0.1, float("nan"), -0.0)),
        "o": lambda: some(lambda: or_null(lambda: (of(None, 1), or_null(text)))),
        "m": lambda: tuple((key, of(None, 2)) for key in "abc"[: chance.randrange(4)]),
        "st": lambda: (of(None, 1), or_null(text)),
    }
    return Rows.with_values(SCHEMA, {name: [or_null(value) for _ in range(count)] for name, value in made.items()})


def test_values_by_column_are_those_of_single_rows() -> None:
    rows = table(random.Random(seed()), extent(60, 600))
    each(texts(CALLS), lambda text: rows.check(text, ZONE))
