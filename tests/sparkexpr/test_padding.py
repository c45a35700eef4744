"""Strings of type char(n) as they are read: by row and by column, in texts, and what stays as it is stored.

tests/spark/test_char.py compares the comparisons with Spark's.
"""

import pyarrow as pa

from deltaskip.schema.user_schema import schema_of
from deltaskip.sparkexpr import parse_sql
from deltaskip.sparkexpr.bind import bind_expression
from deltaskip.sparkexpr.evaluation import evaluate
from deltaskip.sparkexpr.evaluation.columns import Evaluator
from deltaskip.sparkexpr.padding import as_read, padded_column
from deltaskip.sparkexpr.text.render import to_sql

SCHEMA = schema_of("c CHAR(4), d CHAR(6), s STRUCT<c: CHAR(3), n: INT>, a ARRAY<CHAR(2)>, v VARCHAR(4), t STRING")


def test_values_are_padded_and_never_shortened_by_row_and_by_column() -> None:
    texts = ["", "ab", "abcd", "abcdef", "é", "\U0001f600", "a\t", " ", None]
    for sql in ("c", "concat(c, '|')", "c = 'ab'", "c > 'a'", "c IN ('ab', 'abcdefg')", "c = d"):
        node = bind_expression(as_read(parse_sql(sql), SCHEMA, "UTC"), SCHEMA)
        found = Evaluator(node, "UTC").values({"c": pa.array(texts), "d": pa.array(texts)}, len(texts))
        by_row = [evaluate(node, {("c",): text, ("d",): text}, "UTC") for text in texts]
        assert found.to_pylist() == by_row, sql
        if sql == "c":
            assert by_row == [None if text is None else text.ljust(4) for text in texts]


def test_a_text_shows_columns_as_they_are_written() -> None:
    for sql, shown in (
        ("c = 'ab' OR s.c < 'x'", "c = 'ab  ' OR s.c < 'x'"),
        ("c IN ('a', 'abcdef')", "rpad(c, 6) IN ('a     ', 'abcdef')"),
        ("c BETWEEN 'a' AND d", "c >= 'a' AND c <= d"),
        ("trim(c) = 'a' AND c IS NULL", "trim(c) = 'a' AND c IS NULL"),
        ("v = 'a' AND t = c", "v = 'a' AND t = c"),
    ):
        assert to_sql(as_read(parse_sql(sql), SCHEMA, "UTC")) == shown


def test_what_is_not_known_is_named() -> None:
    for sql, path in (
        ("a = a", ("a",)),
        ("s IN (named_struct('c', 'x', 'n', 1), s)", ("s",)),
        ("nullif(c, 'a') IS NULL", ("c",)),
        ("c = current_user()", ("c",)),
        ("c = 'a' COLLATE UNICODE_CI", ("c",)),
        ("c IN ('a', CAST(NULL AS STRING))", ("c",)),
        ("a[0] = 'k' AND s = named_struct('c', 'x', 'n', 1)", None),
        ("size(a) = 1 AND s IS NULL AND s.n = 1 AND s.c = 'x' AND c = d AND trim(c) > 'a'", None),
    ):
        found = padded_column(bind_expression(as_read(parse_sql(sql), SCHEMA, "UTC"), SCHEMA), SCHEMA)
        assert (None if found is None else found[0]) == path, sql
