"""Evaluation by column against Spark's answers at the edges of types (`edges.py`), and against single rows."""

import itertools
import math
import random
from decimal import Decimal
from itertools import islice
from typing import Any

import pyarrow as pa
import pytest

from deltaskip.sparkexpr import EvaluationError, parse_sql
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.bind import bind, bind_expression
from deltaskip.sparkexpr.coerce import type_of
from deltaskip.sparkexpr.collations import Collations
from deltaskip.sparkexpr.collations.lookup import SPARK_VERSION
from deltaskip.sparkexpr.evaluation import batch, evaluate
from deltaskip.sparkexpr.evaluation import columns as columns_module
from deltaskip.sparkexpr.evaluation.columns import Evaluator, never_fails
from deltaskip.sparkexpr.evaluation.rows import value_of
from deltaskip.sparkexpr.nodes import Case as CaseNode
from deltaskip.sparkexpr.nodes import Compare, In, IsNull, Literal, Node, Not, columns_of
from deltaskip.sparkexpr.normalize import FALSE_LITERAL, TRUE_LITERAL
from deltaskip.sparkexpr.types.arrow import arrow_type
from deltaskip.sparkexpr.types.ddl import parse_columns
from deltaskip.sparkexpr.types.json import simple_string
from deltaskip.sparkexpr.values.arrow_values import domain_values, typed_array
from deltaskip.sparkexpr.values.calendar import civil_from_days, format_timestamp, instant_of, local_of, zone_of
from deltaskip.sparkexpr.values.dates import DATE_FIELDS, TIME_FIELDS
from deltaskip.sparkexpr.values.time_patterns import formatted
from tests.each import each, refuses
from tests.extent import extent, some
from tests.sparkexpr.edge_values import EDGES
from tests.sparkexpr.edges import ERROR, bound, cases, encoded
from tests.sparkexpr.test_edges import answered

EACH = extent(149, 1)


def column(values: list[Any], type_: t.DataType) -> dict[str, pa.Array]:
    return {"c": typed_array(values, arrow_type(type_))}


def test_values_are_those_of_spark() -> None:
    def check(type_: t.DataType) -> None:
        wrong: list[str] = []
        agreed = undecided = 0
        by_case = itertools.groupby(answered(type_, "on", extent(10, 1)), lambda found: (found[0], found[1]))
        for (case, node), rows in by_case:
            evaluator = Evaluator(node, case.zone)
            known = [(edge, answer) for _, _, edge, answer in rows]
            has_value = [(edge, answer) for edge, answer in known if answer != ERROR]
            results = attempted(evaluator, [edge for edge, _ in has_value], type_)
            for (edge, answer), found in zip(has_value, results, strict=True):
                if found is UNDECIDED:
                    undecided += 1
                    continue
                agreed += 1
                shown = encoded(found, type_of(node) or t.BOOLEAN)
                if shown != answer:
                    wrong.append(f"{case.key} of {edge!r}: {shown}, in Spark {answer}")
            # One by one, since one that fails hides the others.
            for edge in some([edge for edge, answer in known if answer == ERROR], 2):
                if attempted(evaluator, [edge], type_) != [UNDECIDED]:
                    wrong.append(f"{case.key} of {edge!r} has a value, and fails in Spark")
        assert not wrong, f"{len(wrong)}: " + "\n".join(wrong[:40])
        # Functions of text take BINARY, and leave bytes that are not UTF-8 to Spark.
        assert agreed > (2 if type_ == t.BINARY else 3) * undecided, (agreed, undecided)

    each(list(EDGES), check, simple_string)


UNDECIDED = object()


def attempted(evaluator: Evaluator, edges: list[Any], type_: t.DataType) -> list[Any]:
    """The values of all rows at once; if that fails, those of each row."""
    try:
        return list(domain_values(evaluator.values(column(edges, type_), len(edges))))
    except EvaluationError:
        return [UNDECIDED] if len(edges) == 1 else [attempted(evaluator, [edge], type_)[0] for edge in edges]


def predicates(node: Node, results: list[Any]) -> list[Node]:
    type_ = type_of(node)
    assert type_ is not None
    known = list({repr(result): result for result in results if result is not None}.values())
    found: list[Node] = [IsNull(node), Not(IsNull(node))]
    for result in islice(known, 3):
        literal = Literal(result, type_)
        found += [Compare(op, node, literal) for op in ("=", "!=", "<", ">=", "<=>")] + [Compare(">", literal, node)]
    found.append(In(node, tuple(Literal(result, type_) for result in [*known[:2], None])))
    found.append(Not(In(node, tuple(Literal(result, type_) for result in known[1:4] or [None]))))
    return [*found, CaseNode(((found[-1], FALSE_LITERAL),), TRUE_LITERAL)]


def test_evaluation_by_column_is_evaluation_row_by_row() -> None:
    def check(type_: t.DataType) -> None:
        values = [*EDGES[type_], None]
        columns = column(values, type_)
        for case in [case for case in cases() if case.type == type_][::EACH]:
            node = bound(case)
            if node is None:
                continue
            for predicate in predicates(node, [result(node, value, case.zone) for value in values]):
                keep = Evaluator(predicate, case.zone).may_be_true(columns, len(values))
                wanted = [result(predicate, value, case.zone, True) is True for value in values]
                assert keep.tolist() == wanted, (case.key, predicate)

    each(list(EDGES), check, simple_string)


def result(node: Node, value: Any, zone: str, failed: Any = None) -> Any:
    try:
        return evaluate(node, {("c",): value}, zone)
    except EvaluationError:
        return failed


TEXTS = ["", "a", "A", "ab", "aB", "\u00e9", "e\u0301", "\u0130", "v77", "V77", "z\0", "\ud7ff", None]


def test_texts_by_column_are_kept_where_row_by_row_keeps_them() -> None:
    def check(collation: str | None, where: str) -> None:
        metadata = {"__COLLATIONS": {"c": collation}} if collation else {}
        node = bind(parse_sql(where), t.StructType((t.StructField("c", t.STRING, metadata=metadata),)))
        collations = Collations(SPARK_VERSION)
        keep = Evaluator(node, "UTC", collations).may_be_true(column(TEXTS, t.STRING), len(TEXTS))
        for text, kept in zip(TEXTS, keep.tolist(), strict=True):
            try:
                assert kept == (evaluate(node, {("c",): text}, order=collations.order) is True), text
            except EvaluationError:
                assert kept, text

    each(
        itertools.product(
            [None, "icu.UNICODE_CI", "spark.UTF8_LCASE"],
            [
                "c = 'V77'", "'a' < c", "c IN ('A', 'V77', NULL)", "c NOT IN ('A', 'b')", "c <=> 'AB'",
                "c >= 'a' AND c < 'b' OR c IS NULL", "c LIKE 'a%'", "c LIKE '%b'", "c LIKE '%7%'", "c LIKE 'v77'",
                "startswith(c, 'a')", "upper(c) = 'V77'", "c COLLATE UTF8_BINARY = 'A'",
            ],
        ),
        lambda case: check(*case),
    )  # fmt: skip


TIME_ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Pacific/Apia", "Pacific/Kiritimati", "+05:00")


@pytest.mark.parametrize("zone", TIME_ZONES)
def test_local_times_by_column_are_those_of_each_instant(zone: str) -> None:
    chance = random.Random(zone)
    changes = [1_301_187_600, 1_698_541_200, 1_710_054_000, 1_325_239_200, 788_868_000]
    instants = [at * 10**6 + chance.randrange(-(10**11), 10**11) for at in changes for _ in range(300)]
    instants += [chance.randrange(-(6 * 10**16), 2 * 10**17) for _ in range(300)]
    schema = parse_columns("ts TIMESTAMP, d DATE")
    days = sorted({at // 86_400_000_000 for at in instants} | set(range(9129, 9135)) | set(range(15_335, 15_341)))
    columns = {"ts": [*instants, None], "d": [days[i % len(days)] for i in range(len(instants))] + [None]}
    for text, expected in (
        ("CAST(ts AS DATE)", lambda ts, d: local_of(ts, zone_of(zone)) // 86_400_000_000),
        ("year(ts)", lambda ts, d: civil_from_days(local_of(ts, zone_of(zone)) // 86_400_000_000)[0]),
        ("date_format(ts, 'yyyy-MM')", lambda ts, d: formatted(local_of(ts, zone_of(zone)), "yyyy-MM")),
        ("date_format(ts, 'yyyy-MM-dd-HH')", lambda ts, d: formatted(local_of(ts, zone_of(zone)), "yyyy-MM-dd-HH")),
        ("date_format(d, 'yyyy-MM')", lambda ts, d: formatted(midnight(d, zone), "yyyy-MM")),
        ("substring(CAST(ts AS STRING), 1, 13)", lambda ts, d: format_timestamp(local_of(ts, zone_of(zone)))[:13]),
    ):
        node = bind_expression(parse_sql(text), schema, time_zone=zone)
        arrays = {field.name: typed_array(columns[field.name], arrow_type(field.type)) for field in schema.fields}
        found = domain_values(Evaluator(node, zone).values(arrays, len(columns["ts"])))
        rows = zip(columns["ts"], columns["d"], strict=True)
        assert found == [None if ts is None or d is None else expected(ts, d) for ts, d in rows], text


def midnight(day: int, zone: str) -> int:
    return local_of(instant_of(day * 86_400_000_000, zone_of(zone)), zone_of(zone))


BY_COLUMN_ALONE = (
    "price * 2 > 150",
    "q > 0 AND price / q > 20",
    "abs(price - 50) < 0.1",
    "d * 2 > 15000",
    "d + q > 9000",
    "d / 3 > 3000",
    "id % 7 = 3 AND id div 2 > 1",
    "pmod(id, 7) = 3",
    "CAST(price AS INT) = 70",
    "floor(price) = 70 AND ceil(q) > 2 AND round(d, 1) > 5",
    "hour(ts) = 3 AND minute(ts) < 30",
    "year(ts) = 2021 OR dayofweek(ts) = 2 OR weekofyear(ts) = 7",
    "date_trunc('HOUR', ts) < TIMESTAMP'2021-01-01 00:00:00'",
    "CAST(ts AS DATE) >= DATE'2021-01-01'",
    "CAST(ts AS STRING) > '2022'",
    "last_day(CAST(ts AS DATE)) > date_add(CAST(ts AS DATE), 3)",
    "unix_seconds(ts) % 60 = 0",
    "from_utc_timestamp(ts, 'Asia/Tokyo') > ts",
    "upper(s) = 'NAME-7' OR lower(s) LIKE 'n%e-_7%'",
    "concat(s, 'x') = 'name-7x' OR concat_ws('-', s, s) = ''",
    "substring(s, 1, 4) = 'name' AND length(s) = 8 AND right(s, 2) <> 'zz'",
    "instr(s, '99') = 6 OR contains(s, '77') OR lpad(s, 12, '*') < 'a'",
    "initcap(s) = 'Name-7' OR hex(s) < base64(s) OR md5(s) < sha2(s, 512)",
    "trim('n-', s) = 'ame' OR trim(TRAILING '7' FROM s) <> s OR overlay(s PLACING 'x' FROM 2 FOR 3) = 'nx'",
    "substring_index(s, '-', 1) = 'name' AND split_part(s, '-', -1) = '77' OR translate(s, 'na', 'm') = s",
    "locate('m', s, 3) = 3 OR find_in_set(s, 'a,name-7') = 2 OR levenshtein(s, 'name-1', 2) = 1",
    "encode(s, 'utf-16') = unhex(hex(s)) OR decode(unbase64(base64(s)), 'utf-8') <> s OR crc32(s) % 7 = 3",
    "replace(s, 'a', 'aaa') = lpad(s, 9, 'xy') OR substring(s, id % 5, 2) = 'am' OR contains('name-77', s)",
    "elt(id % 2 + 1, s, 'x') = 'x' OR soundex(s) = 'N500' OR luhn_check(s) OR ascii(s) = 110 OR chr(id) = 'a'",
    "s NOT LIKE '%99' AND s IN ('name-1', 'name-2', NULL)",
    "CASE WHEN id > 500 THEN price ELSE q END > 3",
    "coalesce(maybe, q) > 5 OR nullif(maybe, q) IS NULL",
    "CAST(id AS STRING) = '77' OR CAST(CAST(id AS STRING) AS INT) = 8",
    "greatest(id, 5) = 5 AND least(ts, ts) = ts",
    "sqrt(price) > 3 AND degrees(q) > 1",
    "xxhash64(id, s) % 3 = 1",
    "try_divide(price, q) > 2",
)


def test_common_expressions_are_never_evaluated_row_by_row(monkeypatch: pytest.MonkeyPatch) -> None:
    chance, rows = random.Random(7), 500
    values: dict[str, tuple[t.DataType, list[Any]]] = {
        "id": (t.LONG, [chance.randrange(10_000) for _ in range(rows)]),
        "price": (t.DOUBLE, [chance.random() * 200 for _ in range(rows)]),
        "q": (t.DOUBLE, [chance.random() * 10 + 0.1 for _ in range(rows)]),
        "maybe": (t.DOUBLE, [chance.choice([None, chance.random() * 10]) for _ in range(rows)]),
        "d": (t.DecimalType(22, 2), [Decimal(chance.randrange(10**8)).scaleb(-2) for _ in range(rows)]),
        "ts": (t.TIMESTAMP, [1_600_000_000_000_000 + chance.randrange(10**14) for _ in range(rows)]),
        "s": (t.STRING, [chance.choice([None, f"name-{chance.randrange(5000)}"]) for _ in range(rows)]),
    }
    schema = t.StructType(tuple(t.StructField(name, type_) for name, (type_, _) in values.items()))
    columns = {name: typed_array(given, arrow_type(type_)) for name, (type_, given) in values.items()}

    def refuse(node: Node, *rest: Any) -> Any:
        # Constants are folded row by row.
        assert not columns_of(node), node
        return value_of(node, *rest)

    def check(where: str) -> None:
        node = bind(parse_sql(where), schema, time_zone="Europe/Berlin")
        found = Evaluator(node, "Europe/Berlin").mask(columns, rows)
        cells = {(name,): given for name, (_, given) in values.items()}
        wanted = [
            evaluate(node, {path: given[at] for path, given in cells.items()}, "Europe/Berlin") is True
            for at in range(rows)
        ]
        assert found.tolist() == wanted

    monkeypatch.setattr(columns_module, "evaluate", refuse)
    monkeypatch.setattr(batch, "value_of", refuse)
    each(BY_COLUMN_ALONE, check)


def test_arguments_that_spark_never_looks_at_do_not_fail() -> None:
    """A format or a collation is asked for only where no argument is NULL."""
    schema = parse_columns("t TIMESTAMP_NTZ, s STRING COLLATE UTF8_LCASE")
    texts = ("to_char(t, '$0999D99MI')", "date_format(t, 'c')", "s LIKE 'a%'", "s ILIKE '%a'", "startswith(s, 'a')")

    def check(text: str) -> None:
        evaluator = Evaluator(bind_expression(parse_sql(text), schema))
        empty = {field.name: pa.nulls(2, arrow_type(field.type)) for field in schema.fields}
        assert evaluator.values(empty, 2).null_count == 2
        given = {name: typed_array([None, 0 if name == "t" else "a"], array.type) for name, array in empty.items()}
        refuses(EvaluationError, None, evaluator.values, given, 2)

    each(texts, check)


def test_what_never_fails_has_a_value_for_every_row() -> None:
    schema = parse_columns("i INT, b BIGINT, t STRING, d DATE, ts TIMESTAMP, n TIMESTAMP_NTZ, x DOUBLE, r BINARY")
    micros = [0, -(2**63), 2**63 - 1, -62_135_596_800_000_001, 1_700_000_000_000_000, None]
    values = {
        "i": [-(2**31), 2**31 - 1, 0, None, 1, 2], "b": [-(2**63), 2**63 - 1, 0, None, 1, 2],
        "t": ["", "a\U0001f600", "\x00", None, "é", "ab"], "d": [-(2**31), 2**31 - 1, 0, None, -141_428, 20_000],
        "ts": micros, "n": micros, "x": [math.nan, -0.0, math.inf, None, 5e-324, 1.0],
        "r": [b"", b"\xff", None, b"a", b"b", b"c"],
    }  # fmt: skip
    columns = {field.name: typed_array(values[field.name], arrow_type(field.type)) for field in schema.fields}
    fields_of_times = (*DATE_FIELDS, *TIME_FIELDS)
    texts = [f"{name}({column}) > 3" for name in fields_of_times for column in ("d", "ts", "n")]
    texts += ["length(t) = 2", "length(r) = 1", "CAST(ts AS DATE) < d", "CAST(n AS DATE) = d", "i < b", "i IN (1, b)"]
    texts += ["coalesce(i, b) > 1", "trim(t) = 'a'", "rtrim(t) IN ('', ltrim(t))", "isnan(x)", "nullif(t, 'a') = 'ab'"]
    texts += ["CASE WHEN i > 1 THEN t WHEN b > 1 THEN 'b' END = 'b'"]
    texts += ["x = 'NaN'", "t IS NULL OR NOT (d > DATE'2020-01-01')", "i + 1 > 2", "CAST(t AS INT) = 1", "ts = n"]
    for zone in ("UTC", "America/Los_Angeles"):
        known = 0
        for text in texts:
            node = bind_expression(parse_sql(text), schema, time_zone=zone)
            if never_fails(node):
                known += 1
                assert len(Evaluator(node, zone).values(columns, 6)) == 6, text
        # All but the sum, the cast of a text, and casts of dates and between the types of timestamps to the other one.
        assert known == len(texts) - 3 - len(TIME_FIELDS)
