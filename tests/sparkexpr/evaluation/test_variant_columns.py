"""Variants by column: the values and the errors of each row, over variants of every kind and bytes that are none."""

import json
import random
from decimal import Decimal
from typing import Any

import pyarrow as pa

from deltaskip.sparkexpr import EvaluationError, parse_sql
from deltaskip.sparkexpr.bind import bind_expression
from deltaskip.sparkexpr.coerce import type_of
from deltaskip.sparkexpr.evaluation import evaluate
from deltaskip.sparkexpr.evaluation.columns import Evaluator
from deltaskip.sparkexpr.failures import Undecided
from deltaskip.sparkexpr.types import data_types as t
from deltaskip.sparkexpr.types.arrow import arrow_type
from deltaskip.sparkexpr.types.ddl import parse_columns
from deltaskip.sparkexpr.values.arrow_values import domain_values, typed_array
from deltaskip.sparkexpr.values.variant_reading import VariantPrimitive, tree_of, variant_of
from tests.each import each
from tests.sparkexpr.kernels.test_json_paths import ODD

ZONE = "America/New_York"
SCHEMA = parse_columns(
    "js STRING, v VARIANT, i INT, x DOUBLE, d DECIMAL(20,3), b BINARY, f BOOLEAN, day DATE, ts TIMESTAMP,"
    "st STRUCT<z: INT, a: STRUCT<q: STRING, z: DOUBLE>>, o ARRAY<STRUCT<p: INT, q: ARRAY<STRING>>>, a ARRAY<INT>"
)
TYPES = [
    *("boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal(9,2)", "decimal(38,18)"),
    *("string", "binary", "date", "timestamp", "timestamp_ntz", "variant"),
]
EXPRESSIONS = [
    *("parse_json(js)", "try_parse_json(js)", "is_variant_null(v)", "variant_get(v, '$.a')"),
    *("variant_get(v, '$[1].b')", "variant_get(v, '$.nothing', 'int')", "variant_get(v, '$.a', 'array<int>')"),
    *("variant_get(v, 'a', 'int')", "to_variant_object(st)", "to_variant_object(o)"),
    *[f"CAST({name} AS VARIANT)" for name in ("js", "i", "x", "d", "b", "f", "a", "day", "ts")],
    *[f"variant_get(v, '$', '{type_}')" for type_ in TYPES],
    *[f"try_variant_get(v, '$.a', '{type_}')" for type_ in TYPES],
    *("TRY_CAST(v AS STRING)", "TRY_CAST(v AS DATE)", "CAST(v AS INT)", "CAST(v AS DECIMAL(5,1))"),
]
NUMBERS = [
    *("0", "-0", "1.0", "-0.0", "0.10", "12345678.9", "1e5", "-2.5E-3", "1e300", "0e1", "127", "-128", "128", "32768"),
    *("2147483648", "9223372036854775807", "9223372036854775808", "123456789.012345678", "1234567890.1234567890"),
    *("0.0000000000000000001", "1.5e400"),
]
TEXTS = [
    *('"x"', '"' + "\u00e9" * 40 + '"', '{"\u00e9": 1, "\\u00e9b": 2}', '{"\ue000": 1}', '"\\ud83d\\ude00"'),
    *("[" * 61 + "]" * 61, json.dumps({f"k{k * 7 % 300}": k for k in range(300)}), json.dumps(list(range(300)))),
    *(
        '{"b": {"a": 1, "b": [true, null]}, "a": "2020-02-29"}',
        '{"a": 1, "a": 2}',
        '[0, {"b": "t"}]',
        '"12"',
        '{"": 1}',
    ),
    *('"2020-02-29 12:30:00"', '{"a": "2020-03-08 02:30:00"}', ' {"a" : [ 1 , 2 ] } ', "true", '{"a": "true"}', "1 2"),
]
ITEMS = [
    *(
        (t.BOOLEAN, False),
        (t.LONG, -(2**63)),
        (t.DOUBLE, float("nan")),
        (t.DOUBLE, 1e19),
        (t.DOUBLE, -0.5),
        (t.FLOAT, 1.5),
    ),
    *(
        (t.DATE, 18_321),
        (t.DATE, -(10**6)),
        (t.TIMESTAMP, 1_583_625_600_000_000),
        (t.TIMESTAMP_NTZ, -1),
        (t.BINARY, b"\xff\0"),
    ),
    *((t.BINARY, b"12"), (t.STRING, "y" * 80), (t.VOID, None), (t.DecimalType(3, 2), Decimal("1.25"))),
    *((t.DecimalType(38, 10), Decimal("12345678901234567890.5")), (t.DecimalType(10, 9), Decimal("0.000000001"))),
]
OTHERS: dict[str, list[Any]] = {
    "i": [None, 0, -129, 2**31 - 1],
    "x": [None, 0.5, float("inf"), -0.0],
    "d": [None, Decimal("1.500"), Decimal("-99999999999999999.999")],
    "b": [None, b"", b"\xff"],
    "f": [None, True, False],
    "day": [None, 0, 18_321],
    "ts": [None, 0, 1_583_625_600_000_001],
    "st": [None, (1, None), (None, ("q", 0.5)), (2, (None, None))],
    "a": [None, (), (1, None)],
    "o": [None, (), (None, (1, None)), ((2, ("s", None)), (None, ()))],
}


def cells(chance: random.Random) -> dict[str, list[Any]]:
    texts: list[Any] = [None, *ODD, *NUMBERS, *[f'{{"a": {number}}}' for number in NUMBERS], *TEXTS]
    variants: list[Any] = [None]
    for text in texts[1:]:
        try:
            variants.append(evaluate(bind_expression(parse_sql("parse_json(js)"), SCHEMA), {("js",): text}))
        except EvaluationError:
            continue
    for type_, value in ITEMS:
        item = VariantPrimitive(type_, value)
        variants += [variant_of(item), variant_of({"a": item, "\u00e9": VariantPrimitive(t.LONG, 1)})]
    value, names = variant_of({"a": VariantPrimitive(t.STRING, "t" * 70), "b": [VariantPrimitive(t.LONG, 300)]})
    variants += [(value[:at], names) for at in range(0, len(value), 9)]
    variants += [(b"", b""), (value, b""), (value, b"\x02\0\0"), (value, names[:-1]), (b"\x05\xff", b"\1\0\0")]
    variants += [(bytes([chance.randrange(256) for _ in range(9)]), names) for _ in range(40)]
    rows = max(len(texts), len(variants))
    given = {"js": texts, "v": variants, **OTHERS}
    return {name: [each[at % len(each)] for at in range(rows)] for name, each in given.items()}


def test_values_by_column_are_those_of_each_row() -> None:
    given = cells(random.Random(3))
    rows = len(given["v"])
    columns = {f.name: typed_array(given[f.name], arrow_type(f.type)) for f in SCHEMA.fields}
    outside = {(name,): values for name, values in given.items()}

    def shown(value: Any, node: Any) -> str:
        return repr(tree_of(value)) if value is not None and type_of(node) == t.VARIANT else repr(value)

    def alone(node: Any, at: int) -> Any:
        try:
            return shown(evaluate(node, {path: values[at] for path, values in outside.items()}, ZONE), node)
        except EvaluationError as error:
            return type(error)

    def some(node: Any, at: list[int]) -> list[str]:
        chosen = {name: column.take(pa.array(at, pa.int64())) for name, column in columns.items()}
        found = Evaluator(node, ZONE).values(chosen, len(at))
        found.validate(full=True)
        assert found.type == arrow_type(type_of(node) or t.VOID)
        return [shown(value, node) for value in domain_values(found)]

    def check(text: str) -> None:
        node = bind_expression(parse_sql(text), SCHEMA, time_zone=ZONE)
        wanted = [alone(node, at) for at in range(rows)]
        good = [at for at, value in enumerate(wanted) if isinstance(value, str)]
        assert some(node, good) == [wanted[at] for at in good]
        for at in [at for at, value in enumerate(wanted) if value is EvaluationError][::5]:
            try:
                found: Any = some(node, [at])
            except EvaluationError as error:
                assert not isinstance(error, Undecided)
                continue
            raise AssertionError(f"{given['js'][at]!r}, {given['v'][at]!r} fail alone, and here have {found}")

    each(EXPRESSIONS, check)
