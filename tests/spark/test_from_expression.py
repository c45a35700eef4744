"""Catalyst's expressions as nodes: what knows how it fails keeps it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions as F

from deltaskip.spark.columns.from_expression import expression_to_node
from deltaskip.spark.session.session_settings import session_settings
from deltaskip.sparkexpr.functions import FUNCTIONS
from deltaskip.sparkexpr.functions.jsons import JSONS
from deltaskip.sparkexpr.functions.lambdas import LAMBDAS
from deltaskip.sparkexpr.functions.variants import VARIANTS
from deltaskip.sparkexpr.nodes import Call, Cast, Column, Literal, Node, Opaque, walk
from deltaskip.sparkexpr.types.data_types import INTEGER, STRING
from deltaskip.sparkexpr.types.json import simple_string
from tests.each import each
from tests.looped import looped
from tests.sparkexpr.edge_values import EDGES
from tests.sparkexpr.edges import Case, bound, calls

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def frame(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    path: Path = tmp_path_factory.mktemp("frame") / "f.parquet"
    pq.write_table(pa.table({"a": [2**63 - 1, 1], "b": [1, 0], "s": ["x", "2024-01-01"]}), path)
    return spark.read.parquet(str(path))


def pushed(frame: Any, where: str) -> Node:
    """The condition of the optimized filter."""
    plan = frame.where(where)._jdf.queryExecution().optimizedPlan()
    while plan.getClass().getSimpleName() != "Filter":
        plan = plan.children().head()
    return expression_to_node(plan.condition())


@looped(
    "where, name",
    [
        ("try_add(a, b) IS NULL", "try_add"),
        ("try_subtract(a, -b) IS NULL", "try_subtract"),
        ("try_multiply(a, a) IS NULL", "try_multiply"),
        ("try_divide(a, b) IS NULL", "try_divide"),
        ("try_mod(a, b) IS NULL", "try_mod"),
        ("try_to_date(s) IS NULL", "a cast"),
        ("try_to_timestamp(s, 'yyyy-MM-dd') IS NULL", "try_to_timestamp"),
        ("try_to_date(s, 'yyyy-MM-dd') IS NULL", "try_to_timestamp"),
        ("try_make_timestamp(CAST(a AS INT), 1, 1, 0, 0, 0) IS NULL", "try_make_timestamp"),
        ("try_make_timestamp_ltz(CAST(b AS INT), 1, 1, 0, 0, 0) IS NULL", "try_make_timestamp"),
        ("try_make_timestamp_ntz(CAST(b AS INT), 1, 1, 0, 0, 0) IS NULL", "try_make_timestamp_ntz"),
        ("try_to_timestamp(s) IS NULL", "a cast"),
    ],
)
def test_functions_that_give_null_are_not_taken_for_those_that_raise(frame: Any, where: str, name: str) -> None:
    parts = list(walk(pushed(frame, where)))
    called = {part.name for part in parts if isinstance(part, Call)}
    unsafe = [part for part in parts if isinstance(part, Cast) and not part.safe and part.type.name == "date"]  # type: ignore[attr-defined]
    assert not called & {"+", "-", "*", "/", "%"} and not unsafe
    assert name in called or any(isinstance(part, Opaque) for part in parts)


_OTHERS = frozenset(
    (
        "split_part",
        "base64",
        "array_compact",
        "array_sort",
        "arrays_zip()",
        "map_from_arrays",
        # Spark makes calls of Java's methods of them.
        *("encode", "decode", "to_binary", "try_to_binary", "luhn_check", "quote"),
        *("bitmap_bit_position", "bitmap_bucket_number", "bitmap_count"),
        *("is_valid_utf8", "make_valid_utf8", "validate_utf8", "try_validate_utf8"),
        *("url_encode", "url_decode", "try_url_decode", "parse_url", "try_parse_url"),
        # Errors, and what Spark replaces by other expressions.
        *("assert_true", "raise_error", "regexp_count", "regexp_substr"),
        *("try_to_date", "try_to_timestamp"),
        *LAMBDAS,
        *JSONS,
        *VARIANTS,
    )
)
"""Functions of constant arrays or with more than their arguments, and those of which Spark's optimizer makes others."""


def test_every_function_of_the_registry_is_known_by_its_expression(frame: Any) -> None:
    """What Spark's optimizer makes of a call is that call, or another with a node of its own."""
    refused: list[str] = []
    for name in FUNCTIONS:
        for type_ in EDGES:
            case = next((Case(type_, text.replace("{c}", "c")) for text in calls(name)), None)
            node = None if case is None else bound(case)
            if case is None or node is None or any(isinstance(part, Opaque) for part in walk(node)):
                continue
            column = f"CAST(s AS {simple_string(type_)})"
            try:
                shown = frame.selectExpr(f"{column} AS c", "b").select(F.expr(case.sql).alias("r"), "b")
                plan = shown.where("b > 0")._jdf.queryExecution().optimizedPlan()
            except PySparkException:
                continue
            found = expression_to_node(plan.projectList().head().child())
            if any(isinstance(part, Opaque) for part in walk(found)):
                refused.append(name)
            break
    assert " ".join(sorted(set(refused) - _OTHERS)) == ""


def test_arguments_of_functions_of_text_keep_their_order_and_the_way_they_fail(frame: Any) -> None:
    def check(where: str, call: Node | None) -> None:
        found = list(walk(pushed(frame, f"s IS NOT NULL AND {where}")))
        assert call in found if call is not None else any(isinstance(part, Opaque) for part in found), found

    text = Column(("s",))
    each(
        [
            ("trim('x', s) = 'y'", Call("trim", (Literal("x", STRING), text))),
            ("trim(s) = 'y'", Call("trim", (text,))),
            ("trim(LEADING 'x' FROM s) = 'y'", Call("ltrim", (Literal("x", STRING), text))),
            ("rtrim('x', s) = 'y'", Call("rtrim", (Literal("x", STRING), text))),
            ("btrim(s, 'x') = 'y'", Call("trim", (Literal("x", STRING), text))),
            ("locate('x', s) = 1", Call("locate", (Literal("x", STRING), text))),
            ("locate('x', s, 2) = 1", Call("locate", (Literal("x", STRING), text, Literal(2, INTEGER)))),
            ("overlay(s, 'x', 2) = 'y'", Call("overlay", (text, Literal("x", STRING), *two(2, -1)))),
            ("levenshtein(s, 'x') = 1", Call("levenshtein", (text, Literal("x", STRING)))),
            ("levenshtein(s, 'x', 2) = 1", Call("levenshtein", (text, Literal("x", STRING), Literal(2, INTEGER)))),
            ("find_in_set('x', s) = 1", Call("find_in_set", (Literal("x", STRING), text))),
            ("elt(1, s, 'x') = 'y'", Call("elt", (Literal(1, INTEGER), text, Literal("x", STRING)))),
            ("unhex(s) = x'61'", Call("unhex", (text,))),
            ("unbase64(s) = x'61'", Call("unbase64", (text,))),
            ("to_binary(s) = x'61'", None),
            ("to_binary(s, 'base64') = x'61'", None),
            ("try_to_binary(s) = x'61'", None),
        ],
        lambda case: check(*case),
    )


def two(first: int, second: int) -> tuple[Node, Node]:
    return Literal(first, INTEGER), Literal(second, INTEGER)


@looped(
    "where, name",
    [
        ("pow(a, b) > 5", "power"),
        ("getbit(a, 3) = 1", "bit_get"),
        ("ceiling(a / 3) = 7", "ceil"),
        ("ceiling(CAST(a AS DECIMAL(20, 3)), 1) = 7", "ceil"),
        ("log(a) > 2", "log"),
    ],
)
def test_functions_are_known_by_their_other_names(frame: Any, where: str, name: str) -> None:
    assert name in {part.name for part in walk(pushed(frame, where)) if isinstance(part, Call)}


def test_a_url_that_may_be_none_keeps_how_it_fails(frame: Any) -> None:
    # Spark 4.1 makes a call of a method of Java of it, later or earlier versions may not.
    called = {part.name for part in walk(pushed(frame, "try_parse_url(s, 'HOST') IS NULL")) if isinstance(part, Call)}
    assert "parse_url" not in called


@looped(
    "where, known",
    [
        ("get(split(s, '-'), 0) = 'x'", "get"),
        ("split(s, '-')[0] = 'x'", "[]"),
        ("try_element_at(split(s, '-'), 1) = 'x'", "try_element_at"),
        ("element_at(split(s, '-'), 1) = 'x'", "element_at"),
        ("size(split(s, '-')) = 1", "size"),
        ("size(array_distinct(array(struct(s, a)))) = b", "named_struct"),
        ("str_to_map(s, '-', '=')['x'] IS NULL", "[]"),
        ("array_contains(split(s, '-'), 'x')", "array_contains"),
        ("to_json(struct(s, a), map('ignoreNullFields', 'false')) = ''", ""),
        ("from_json(s, 'x INT').x = 1", ""),
        ("variant_get(parse_json(s), '$', 'int') = 1", ""),
        ("exists(split(s, '-'), x -> x = 'a')", ""),
        ("arrays_zip(split(s, '-'), split(s, '='))[0].`0` = 'a'", ""),
    ],
)
def test_what_has_more_than_its_arguments_is_not_taken_without_it(frame: Any, where: str, known: str) -> None:
    node = pushed(frame, where)
    called = {part.name for part in walk(node) if isinstance(part, Call)}
    assert known in called if known else any(isinstance(part, Opaque) for part in walk(node))


def test_operators_of_the_session_keep_their_names(frame: Any) -> None:
    called = {part.name for part in walk(pushed(frame, "a + b = 7 AND a % 3 = 1")) if isinstance(part, Call)}
    assert called == {"+", "%"}
    assert any(isinstance(part, Cast) for part in walk(pushed(frame, "CAST(s AS INT) = 7")))


@looped(
    "where, name, first",
    [
        ("make_timestamp(CAST(b AS INT), 1, 1, 0, 0, 0) IS NULL", "make_timestamp", None),
        ("make_timestamp_ntz(CAST(b AS INT), 1, 1, 0, 0, 0) IS NULL", "make_timestamp_ntz", None),
        ("to_timestamp(s, 'yyyy') IS NULL", "to_timestamp", None),
        ("to_timestamp_ntz(s, 'yyyy') IS NULL", "to_timestamp_ntz", None),
        ("timestampadd(hour, b, to_timestamp(s, 'yyyy')) IS NULL", "timestampadd", "HOUR"),
        ("timestampdiff(MONTH, to_timestamp(s, 'yyyy'), now()) = 1", "timestampdiff", "MONTH"),
        ("extract(SECOND FROM to_timestamp(s, 'yyyy')) > 1", "date_part", "SECOND"),
        ("extract(YEAROFWEEK FROM to_timestamp(s, 'yyyy')) > 1", "date_part", "YEAROFWEEK"),
    ],
)
def test_functions_of_times_keep_their_kinds_and_units(frame: Any, where: str, name: str, first: object) -> None:
    [call] = [part for part in walk(pushed(frame, where)) if isinstance(part, Call) and part.name == name]
    assert first is None or call.args[0] == Literal(first, STRING)


def test_patterns_are_left_to_a_session_that_reads_them_as_before(spark: Any, frame: Any) -> None:
    wheres = ["from_unixtime(a, 'yyyy') > s", "unix_timestamp(s, 'yyyy') > a", "to_timestamp(s, 'yyyy') IS NULL"]
    with session_settings(spark, {"spark.sql.legacy.timeParserPolicy": "LEGACY"}):
        nodes = [pushed(frame, where) for where in wheres]
    assert all(any(isinstance(part, Opaque) for part in walk(node)) for node in nodes)
    assert not any(isinstance(part, Opaque) for where in wheres for part in walk(pushed(frame, where)))
