"""Catalyst's expressions as nodes: what knows how it fails keeps it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deltaskip.expr import Node
from deltaskip.expr.nodes import Call, Cast, Opaque, walk
from deltaskip.spark.from_expression import expression_to_node
from tests.each import each

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


def test_functions_that_give_null_where_they_fail_are_not_taken_for_those_that_raise(frame: Any) -> None:
    def check(where: str, name: str) -> None:
        parts = list(walk(pushed(frame, where)))
        called = {part.name for part in parts if isinstance(part, Call)}
        unsafe = [part for part in parts if isinstance(part, Cast) and not part.safe and part.type.name == "date"]
        assert not called & {"+", "-", "*", "/", "%"} and not unsafe
        assert name in called or any(isinstance(part, Opaque) for part in parts)

    each(
        [
            ("try_add(a, b) IS NULL", "try_add"),
            ("try_subtract(a, -b) IS NULL", "try_subtract"),
            ("try_multiply(a, a) IS NULL", "try_multiply"),
            ("try_divide(a, b) IS NULL", "try_divide"),
            ("try_mod(a, b) IS NULL", "try_mod"),
            ("try_to_date(s) IS NULL", "a cast"),
            ("try_to_timestamp(s) IS NULL", "a cast"),
        ],
        lambda case: check(*case),
    )


def test_operators_of_the_session_keep_their_names(frame: Any) -> None:
    called = {part.name for part in walk(pushed(frame, "a + b = 7 AND a % 3 = 1")) if isinstance(part, Call)}
    assert called == {"+", "%"}
    assert any(isinstance(part, Cast) for part in walk(pushed(frame, "CAST(s AS INT) = 7")))
