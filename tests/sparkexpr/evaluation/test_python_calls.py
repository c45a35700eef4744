"""Functions of the table by column: how often Python calls a function does not depend on the number of rows."""

import base64
import json
import random
import sys
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from deltaskip.sparkexpr import parse_sql
from deltaskip.sparkexpr.bind import bind_expression
from deltaskip.sparkexpr.evaluation.columns import Evaluator
from deltaskip.sparkexpr.functions import FUNCTIONS
from deltaskip.sparkexpr.functions.shapes import SHAPES
from deltaskip.sparkexpr.nodes import Call, walk
from deltaskip.sparkexpr.types.arrow import arrow_type
from deltaskip.sparkexpr.types.ddl import parse_columns
from deltaskip.sparkexpr.values.arrow_values import typed_array
from tests.each import each

SCHEMA = parse_columns(
    "id BIGINT, i INT, j INT, price DOUBLE, q DOUBLE, d DECIMAL(22,2), ts TIMESTAMP, nt TIMESTAMP_NTZ, day DATE,"
    "s STRING, u STRING, b BINARY, flag BOOLEAN, a ARRAY<INT>, a2 ARRAY<INT>, ta ARRAY<STRING>, da ARRAY<DOUBLE>,"
    "n ARRAY<ARRAY<INT>>, o ARRAY<STRUCT<p: INT, q: STRING>>, m MAP<STRING, INT>, m2 MAP<STRING, INT>,"
    "st STRUCT<x: INT, y: STRING>, js STRING, ja STRING, num STRING, hx STRING, dt STRING, tt STRING, url STRING,"
    "b64 STRING, v VARIANT"
)
ZONE = "Europe/Berlin"

BY_COLUMN = """
    try_add(i, j); try_subtract(i, j); try_multiply(i, j); try_divide(price, q); try_mod(id, j); d + q; d + d; id + j;
    d - d; id - j; d * d; id * i; price * 2; d / 3; price / q; id / j; id % 7; d % d; price % q; id div 3; d div 2; -d;
    -id; +d; abs(d); abs(price); pmod(id, 7); sign(price); sign(d); signum(q); isnan(price); floor(price); floor(d);
    floor(d, 1); ceil(q); ceil(d); round(d, 1); round(price, 1); round(id, -2); bround(price, 1); bround(d, 1);
    atan(q / 11); exp(q / 11); expm1(q / 11); sinh(q / 11); acos(q / 11); asin(q / 11); cosh(q / 11); asinh(q / 11);
    atanh(q / 11); ln(q / 11); log10(q / 11); log1p(q / 11); log2(q / 11); sqrt(q / 11); rint(q / 11); degrees(q / 11);
    radians(q / 11); acosh(q + 1); log(2, q); atan2(q, price); hypot(q, price); power(q, 3); power(q, price / 100);
    id & j; id | j; id ^ j; ~id; shiftleft(id, i); shiftright(id, i); shiftrightunsigned(id, i); bit_count(id);
    factorial(i); coalesce(q, price); nanvl(q, price); greatest(id, j); greatest(s, u); greatest(ts, ts);
    least(price, q); least(d, 5); assert_true(id >= 0); if(id < 0, raise_error(s), 1); substring(s, 2, 4);
    substring(b, 2, 2); left(s, 3); right(s, 3); overlay(s PLACING 'xy' FROM 2); substring_index(s, '-', 1);
    split_part(s, '-', -1); translate(s, 'nm', 'x'); instr(s, 'e-1'); locate('e', s, 3); position('e', s);
    replace(s, 'a', 'bb'); elt(i % 2 + 1, s, u); repeat(s, 2); lpad(s, 30, '*'); rpad(s, 30, '*'); space(i);
    concat_ws('-', s, u);
    concat_ws('-', ta, s); bit_length(s); upper(s); lower(s); initcap(s); trim(s); btrim(s, 'ns'); ltrim('n', s);
    rtrim('s', s); contains(s, '77'); contains(s, u); startswith(s, u); endswith(s, u); endswith(s, 'x'); reverse(s);
    reverse(a); quote(s); length(s); length(b); octet_length(s); concat(s, u); concat(s, 'x'); concat(b, b);
    concat(a, a2); s || id; collation(s); encode(s, 'utf-8'); decode(b, 'utf-8'); decode(b, 'utf-8');
    make_valid_utf8(s); validate_utf8(s); try_validate_utf8(s); md5(b); sha1(b); sha2(b, 256); s RLIKE '^na.*7';
    s RLIKE '[0-9]{3}'; regexp_count(s, '[0-9]'); regexp_instr(s, '[0-9]+'); regexp_substr(s, '[0-9]+');
    regexp_extract(s, '(n)ame-([0-9]+)', 2); regexp_extract_all(s, '([a-z]+)', 1); regexp_replace(s, '[0-9]+', 'x');
    split(s, ' '); split(s, '[ -]'); extract(SECOND FROM ts); date_part('year', day); unix_seconds(ts);
    unix_millis(ts); unix_micros(ts); unix_date(day); date_from_unix_date(j); year(ts); year(day); quarter(ts);
    quarter(day); month(ts); month(day); weekofyear(ts); weekofyear(day); dayofmonth(ts); dayofmonth(day);
    dayofweek(ts); dayofweek(day); weekday(ts); weekday(day); dayofyear(ts); dayofyear(day); hour(ts); minute(ts);
    second(ts); last_day(day); date_add(day, i); date_sub(day, 3); datediff(day, DATE'2020-01-01'); trunc(day, 'MM');
    date_trunc('HOUR', ts); date_trunc('DAY', ts); date_trunc('MONTH', ts); date_trunc('WEEK', ts);
    date_format(ts, 'yyyy-MM'); date_format(ts, 'EEE, d MMM yyyy'); to_timestamp(tt);
    to_timestamp(tt, 'yyyy-MM-dd HH:mm:ss'); to_timestamp_ntz(tt); to_timestamp_ntz(tt, 'yyyy-MM-dd HH:mm:ss');
    to_date(dt); try_to_timestamp(tt, 'yyyy-MM-dd HH:mm:ss'); unix_timestamp(tt);
    unix_timestamp(tt, 'yyyy-MM-dd HH:mm:ss'); unix_timestamp(ts); to_unix_timestamp(tt, 'yyyy-MM-dd HH:mm:ss');
    dayname(day); monthname(day); timestamp_seconds(id); timestamp_seconds(price); timestamp_millis(id);
    timestamp_micros(id); from_utc_timestamp(ts, 'Asia/Tokyo'); from_utc_timestamp(ts, 'America/New_York');
    to_utc_timestamp(ts, 'America/New_York'); convert_timezone('Europe/Berlin', 'America/New_York', nt);
    make_date(2000 + i, i, i); make_timestamp(2000 + i, i, i, i, i, q); try_make_timestamp(2000 + i, i, i, i, i, q);
    make_timestamp_ntz(2000 + i, i, i, i, i, q); try_make_timestamp_ntz(2000 + i, i, i, i, i, q); add_months(day, i);
    ts + INTERVAL 1 MONTH; ts + INTERVAL '1 02:03:04' DAY TO SECOND; day + INTERVAL 1 DAY; timestampadd(HOUR, i, ts);
    timestampadd(MONTH, i, ts); timestampdiff(HOUR, ts, TIMESTAMP'2021-01-01 00:00:00');
    timestampdiff(MONTH, ts, TIMESTAMP'2021-01-01 00:00:00'); months_between(ts, TIMESTAMP'2021-01-01 00:00:00');
    next_day(day, 'MON'); hash(id, s, d); xxhash64(id, s); xxhash64(a); array(i, j); struct(id, s); a[0]; st.x; o.q;
    m['k']; element_at(a, -1); element_at(m, 'l'); element_at(a, 1); try_element_at(a, i); get(a, i); size(a); size(m);
    array_size(a); typeof(a); array_contains(a, 5); array_contains(ta, 't7'); array_contains(da, 0.5D);
    array_position(a, i); array_remove(a, 5); array_distinct(a); array_distinct(ta); array_distinct(da);
    array_union(a, a2); array_union(ta, array('x')); array_intersect(a, a2); array_intersect(ta, array('t1', 't2'));
    array_except(a, a2); arrays_overlap(a, a2); arrays_overlap(ta, array('t1')); array_append(a, i);
    array_prepend(ta, s); array_join(ta, '-'); array_join(ta, ',', '?'); array_join(a, ','); array_min(a);
    array_min(da); array_min(ta); array_max(a); array_max(da); array_max(ta); array_repeat(s, 2); array_repeat(i, i);
    array_compact(a); sort_array(a); sort_array(a, false); sort_array(ta); sort_array(da); array_sort(a);
    array_sort(ta); slice(a, 2, 1); flatten(n); arrays_zip(a, ta); map('x', i, 'y', j); map_keys(m); map_values(m);
    map_entries(m); map_concat(m, m2); map_from_arrays(map_keys(m), map_values(m2)); map_from_entries(map_entries(m));
    transform(a, x -> x + 1); filter(a, x -> x > 3); exists(a, x -> x > 3); forall(a, x -> x > 3);
    aggregate(a, 0, (x, y) -> x + y); zip_with(a, a2, (x, y) -> x + y); map_filter(m, (k, v) -> v > 3);
    transform_keys(m, (k, v) -> concat(k, 'x')); transform_values(m, (k, v) -> v + 1); get_json_object(js, '$.a');
    get_json_object(js, '$.b.d[1]'); get_json_object(js, '$.b'); from_json(js, 'a INT').a; to_json(st); to_json(m);
    to_json(o); CAST(id AS STRING); CAST(price AS INT); CAST(num AS DOUBLE); CAST(num AS DECIMAL(10,2));
    CAST(d AS STRING); CAST(d AS INT); CAST(d AS DOUBLE); CAST(price AS DECIMAL(12,3)); CAST(dt AS DATE);
    CAST(tt AS TIMESTAMP); CAST(ts AS STRING); CAST(ts AS DATE); CAST(day AS STRING); CAST(id AS BOOLEAN);
    CAST(substring(s, 6, 1) AS INT); CAST(flag AS STRING); CAST(nt AS STRING); CAST(nt AS TIMESTAMP);
    CAST(ts AS BIGINT); CAST(price AS FLOAT); CAST(a AS ARRAY<STRING>); CAST(id AS DECIMAL(20,2)); CAST(id AS INT);
    CAST(s AS BINARY); CAST(b AS STRING); s LIKE '%99'; s LIKE 'n%e-_7%'; s ILIKE '%NAME%'; startswith(s, 'na');
    a = a2; st = st; price > q; s < u; day < dt; id IN (1, 2, 3); s IN ('a', 'b'); id IN (i, j); a IN (a2, array(1));
    CASE WHEN id > 5 THEN price ELSE q END; if(flag, s, u); nullif(id, j); substring(s, i, 3);
    find_in_set(s, 'a,name-7 of'); repeat(s, i); lpad(s, i, 'xy'); upper(u); lower(u); initcap(u);
    format_string('%s-%d', s, id); format_string('%05d', id); mask(s); date_format(ts, 'yyyy-MM-dd HH:mm:ss');
    date_format(day, 'yyyy-MM-dd'); from_unixtime(j); from_unixtime(j, 'yyyy-MM-dd'); to_timestamp(dt, 'yyyy-MM-dd');
    try_to_date(dt, 'yyyy-MM-dd'); try_to_date(dt); to_date(dt, 'yyyy-MM-dd'); try_to_timestamp(tt);
    months_between(day, DATE'2020-02-29'); CAST(day AS TIMESTAMP); a < a2; left(s, i); right(u, i); rpad(u, i, s);
    mask(u); s LIKE u; s ILIKE u; parse_json(js); try_parse_json(js); variant_get(v, '$.a', 'int');
    variant_get(v, '$.b.c', 'string'); variant_get(v, '$.e', 'double'); try_variant_get(v, '$.a', 'int');
    is_variant_null(v); to_variant_object(st); to_variant_object(o); CAST(s AS VARIANT); CAST(a AS VARIANT);
    CAST(variant_get(v, '$.a') AS INT); array_sort(a, (x, y) -> y - x);
    from_json(js, 'a INT, b STRUCT<c: STRING, d: ARRAY<INT>>, e DOUBLE'); from_json(ja, 'ARRAY<STRING>');
    from_json(js, 'MAP<STRING, STRING>'); from_json(js, 'a DECIMAL(9,1), e FLOAT, b MAP<STRING, STRING>');
    TRY_CAST(variant_get(v, '$.a') AS INT)
"""

# What is still computed once for each value, or each combination of values.
BY_VALUE = """
    schema_of_variant(v); width_bucket(price, 0, 200, i); bitmap_bit_position(id); bitmap_bucket_number(id);
    bitmap_count(b); levenshtein(s, u); levenshtein(s, 'name-5'); soundex(s); hex(s); hex(id); hex(b); bin(id);
    unhex(hx); base64(b); unbase64(b64); to_binary(hx, 'hex'); to_binary(b64, 'base64'); try_to_binary(hx, 'hex');
    is_valid_utf8(s); ascii(s); chr(id); luhn_check(hx); crc32(b); url_encode(s); url_decode(u); try_url_decode(u);
    conv(hx, 16, 10); conv(id, 10, 36); conv(hx, i + 10, j); encode(s, 'utf-16'); encode(u, 'utf-32');
    to_char(d, '999,999,999.99'); to_char(id, 'S999,999,999'); to_number(num, '999999.99');
    try_to_number(num, '999999.99'); format_number(price, 2); format_number(d, 1); format_number(id, 0);
    format_number(d, '#,##0.00'); bit_get(id, i); array_insert(a, 2, i); sequence(0, i);
    str_to_map(concat('a:', id, ',b:', s), ',', ':'); json_array_length(ja); parse_url(url, 'HOST');
    parse_url(url, 'QUERY', 'x'); try_parse_url(url, 'PATH'); sequence(day, date_add(day, i)); CAST(a AS STRING);
    CAST(st AS STRING); CAST(m AS STRING); find_in_set('x', u); greatest(a, a2); least(st, st);
    map_zip_with(m, m2, (k, x, y) -> coalesce(x, y)); json_object_keys(js)
"""

# Without a value by column: constants, or functions that only Spark decides for most doubles. No text calls padded().
OTHERS = {
    *("raise_error", "typeof", "collation", "as_variant()", "padded()"),
    *SHAPES,  # shapely takes whole columns
    *("cbrt", "tanh", "cos", "sin", "tan", "cot", "csc", "sec"),
}


def texts(block: str) -> list[str]:
    return [part.strip() for part in " ".join(block.split("\n")).split(";") if part.strip()]


def table(rows: int) -> dict[str, pa.Array]:
    """Rows of which no two are the same."""
    chance = random.Random(1)
    each_row = range(rows)

    def lists(least: int, of: Any) -> list[Any]:
        return [tuple(of() for _ in range(chance.randrange(least, 6))) for _ in each_row]

    cells: dict[str, list[Any]] = {
        "id": [k * 7919 + 3 for k in each_row],
        "i": [k % 9 + 1 for k in each_row],
        "j": [k * 31 % 10007 + 1 for k in each_row],
        "price": [chance.random() * 200 for _ in each_row],
        "q": [chance.random() * 10 + 0.1 for _ in each_row],
        "d": [Decimal(chance.randrange(10**8)).scaleb(-2) for _ in each_row],
        "ts": [1_600_000_000_000_000 + chance.randrange(10**11) for _ in each_row],
        "nt": [1_600_000_000_000_000 + chance.randrange(10**11) for _ in each_row],
        # The offset of a zone is looked up once for each day.
        "day": [18_000 + k % 150 for k in each_row],
        "s": [f"name-{k} of, things" for k in each_row],
        "u": [f"b{k * 3}-\u00e9" if k % 2 else f"Name-{k}" for k in each_row],
        "b": [f"bytes{k}".encode() for k in each_row],
        "flag": [k % 2 == 0 for k in each_row],
        "a": lists(1, lambda: chance.randrange(9)),
        "a2": lists(1, lambda: chance.randrange(9)),
        "ta": lists(1, lambda: f"t{chance.randrange(9)}"),
        "da": lists(1, chance.random),
        "n": [((k, 1), (2, k)) for k in each_row],
        "o": [((k, f"o{k}"),) for k in each_row],
        "m": [(("k", k), ("l", k + 1)) for k in each_row],
        "m2": [(("x", k), ("y", k + 1)) for k in each_row],
        "st": [(k, f"y{k}") for k in each_row],
        "js": [json.dumps({"a": k, "b": {"c": f"t{k}", "d": [1, 2, k]}, "e": k * 1.5, "f": None}) for k in each_row],
        "ja": [json.dumps([k, k + 1, {"z": k}]) for k in each_row],
        "num": [f"{chance.randrange(10**6)}.25" for _ in each_row],
        "hx": [f"{k * 37:06X}" for k in each_row],
        "dt": [str(np.datetime64("2001-01-01") + k % 150) for k in each_row],
        "tt": [str(np.datetime64("2001-01-01T00:00:00") + k * 61).replace("T", " ") for k in each_row],
        "url": [f"https://u{k}.example.com:80/p/{k}?x={k}&y=2#f" for k in each_row],
        "b64": [base64.b64encode(f"text {k}".encode()).decode() for k in each_row],
    }
    found = {f.name: typed_array(cells[f.name], arrow_type(f.type)) for f in SCHEMA.fields if f.name in cells}
    found["v"] = Evaluator(bind_expression(parse_sql("parse_json(js)"), SCHEMA)).values(found, rows)
    return found


FEW, MANY = 200, 600
TABLES = {rows: table(rows) for rows in (FEW, MANY)}


def python_calls(evaluator: Evaluator, rows: int) -> int:
    """How many functions, of Python and of C, Python calls for so many rows."""
    count = 0

    def profile(frame: Any, event: str, arg: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(profile)
    try:
        evaluator.values(TABLES[rows], rows)
    finally:
        sys.setprofile(None)
    return count


def per_row(text: str) -> float:
    evaluator = Evaluator(bind_expression(parse_sql(text), SCHEMA, time_zone=ZONE), ZONE)
    evaluator.values(TABLES[FEW], FEW)
    return (python_calls(evaluator, MANY) - python_calls(evaluator, FEW)) / (MANY - FEW)


def test_no_function_is_called_for_each_row() -> None:
    def check(text: str) -> None:
        # Few distinct hours and patterns are looked up one by one.
        assert per_row(text) < 0.5

    each(texts(BY_COLUMN), check)


def test_what_is_computed_for_each_value_is_known() -> None:
    def check(text: str) -> None:
        assert per_row(text) >= 0.5, "it is computed by column: move it to BY_COLUMN"

    each(texts(BY_VALUE), check)


def test_every_function_of_the_table_is_here() -> None:
    found = {
        part.name
        for text in texts(BY_COLUMN) + texts(BY_VALUE)
        for part in walk(bind_expression(parse_sql(text), SCHEMA, time_zone=ZONE))
        if isinstance(part, Call)
    }
    assert set(FUNCTIONS) - found - OTHERS == set()
