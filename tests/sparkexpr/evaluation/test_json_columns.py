"""JSON by column: the values and the errors of each row, over texts of every kind."""

import json
import random
from typing import Any

import pyarrow as pa

from deltaskip.sparkexpr import parse_sql
from deltaskip.sparkexpr.bind import bind_expression
from deltaskip.sparkexpr.evaluation import evaluate
from deltaskip.sparkexpr.evaluation.columns import Evaluator
from deltaskip.sparkexpr.types.ddl import parse_columns
from deltaskip.sparkexpr.values.arrow_values import domain_values
from tests.each import each
from tests.sparkexpr.kernels.test_json_paths import ODD
from tests.sparkexpr.random_expressions import Rows

SCHEMA = parse_columns("js STRING, t STRING, i INT, f BOOLEAN")
EXPRESSIONS = (
    "get_json_object(js, '$.a')",
    "get_json_object(js, '$')",
    "get_json_object(js, '$.a.b')",
    "get_json_object(js, '$.a[1]')",
    "get_json_object(js, '$[0]')",
    "get_json_object(js, '$.a[*]')",
    "get_json_object(js, 'a')",
    "get_json_object(js, '$. a')",
    "json_array_length(js)",
    "from_json(js, 'a INT, b STRING')",
    "from_json(js, 'a BIGINT, b DOUBLE, c BOOLEAN')",
    "from_json(js, 'a STRUCT<b: STRING, a: SMALLINT>, b STRUCT<a: DOUBLE>').a.b",
    "from_json(js, 'a ARRAY<INT>')",
    "from_json(js, 'a TINYINT, b DATE, c DECIMAL(5,2)')",
    "from_json(js, 'a FLOAT, b TIMESTAMP, c TIMESTAMP_NTZ')",
    "from_json(js, 'a ARRAY<STRING>, b ARRAY<ARRAY<TINYINT>>, c MAP<STRING, DOUBLE>')",
    "from_json(js, 'a STRUCT<a: ARRAY<BOOLEAN>, b: MAP<STRING, STRING>>, b ARRAY<STRUCT<a: BIGINT, c: STRING>>')",
    "from_json(js, 'ARRAY<STRUCT<a: INT>>')",
    "from_json(js, 'ARRAY<DECIMAL(4,1)>')",
    "from_json(js, 'MAP<STRING, STRING>')",
    "from_json(js, 'MAP<STRING, ARRAY<INT>>')",
    "json_object_keys(js)",
    "to_json(struct(t, i, f))",
    "to_json(array(t, 'x', NULL))",
    "to_json(map(coalesce(t, 'k'), i))",
    "to_json(map(i, array(struct(t, NULL AS x))))",
    "to_json(named_struct('q\"', t, 'e', array(i)))",
)
TEXTS = ["", "a", 'q"', "\\", "a\nb", "\t", "\x01", "é", "\U0001f600", "\x7f", "/", None]

TIMES = [
    *("2021-03-28", "2021-02-29", "2021-03-28T02:30:00", "1500-01-01 00:00:00.123456", "2021-03-28 02:30:00Z"),
    *("12.5", "-7", "+1.25", "99999", "1e2", "NaN", "0000-01-01", "12021-01-01"),
]


def value(chance: random.Random, depth: int = 3) -> Any:
    kind = chance.randrange(10 if depth else 8)
    if kind < 7:
        return [None, True, chance.randrange(-300, 300), 2.5, "x", 'q"\\', chance.randrange(-(10**19), 10**19)][kind]
    if kind == 7:
        return chance.choice(TIMES)
    inner = [value(chance, depth - 1) for _ in range(chance.randrange(3))]
    return inner if kind == 8 else dict(zip(chance.sample("abc", len(inner)), inner, strict=True))


def test_values_by_column_are_those_of_each_row() -> None:
    chance = random.Random(11)
    texts: list[str | None] = [None, *ODD]
    texts += [json.dumps({"a": value(chance), "b": value(chance), "c": value(chance)}) for _ in range(120)]
    texts += [json.dumps([value(chance, 2) for _ in range(chance.randrange(4))]) for _ in range(30)]
    rows = len(texts)
    cells: dict[str, list[Any]] = {
        "js": texts,
        "t": [chance.choice(TEXTS) for _ in range(rows)],
        "i": [chance.choice([None, *range(-3, 9)]) for _ in range(rows)],
        "f": [chance.choice([None, True, False]) for _ in range(rows)],
    }
    each(EXPRESSIONS, Rows.with_values(SCHEMA, cells).check)


def test_an_element_beyond_its_type_makes_the_whole_null() -> None:
    """The values are those of Spark 4.1."""
    answers = {
        ("[2.5, 99999]", "ARRAY<DECIMAL(4,1)>"): None,
        ('[2.5, "99999"]', "ARRAY<DECIMAL(4,1)>"): None,
        ("[2.5, 256]", "ARRAY<TINYINT>"): None,
        ('{"a": [1, 99999], "b": 1}', "a ARRAY<DECIMAL(4,1)>, b INT"): (None, 1),
        ('{"a": 99999, "b": 1}', "a DECIMAL(4,1), b INT"): (None, 1),
        ('{"a": "99999"}', "MAP<STRING, DECIMAL(4,1)>"): None,
    }
    for (text, type_), wanted in answers.items():
        node = bind_expression(parse_sql(f"from_json(js, '{type_}')"), SCHEMA)
        assert evaluate(node, {("js",): text}) == wanted, text
        assert domain_values(Evaluator(node).values({"js": pa.array([text])}, 1)) == [wanted], text
