"""The evaluator against Spark itself: random predicates over a table of every type, row by row, in two time zones."""

import logging
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from deltaskip.errors import PredicateError
from deltaskip.sparkexpr import EvaluationError, Undecided, parse_sql
from deltaskip.sparkexpr.bind import bind
from deltaskip.sparkexpr.evaluation import evaluate
from deltaskip.sparkexpr.nodes import Literal, Node, children_of, walk
from tests.extent import extent
from tests.sparkexpr.predicates import SCHEMA, Maker, arrow_table, rows

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("settings_put_back")]

ROWS = rows()
BATCH = 20
BATCHES = 15


@pytest.fixture(autouse=True, scope="module")
def quiet() -> Iterator[None]:
    """Every refused predicate would be logged with the whole of its Java stack."""
    level = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(level)


@pytest.fixture(scope="module")
def parquet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("evaluator") / "table.parquet"
    pq.write_table(arrow_table(), path)
    return path


@pytest.mark.long(gate=1)
@pytest.mark.parametrize("batch", range(extent(3, BATCHES)))
@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
def test_random_predicates_have_spark_s_values(spark: Any, parquet: Path, zone: str, batch: int) -> None:
    spark.conf.set("spark.sql.session.timeZone", zone)
    frame = spark.read.parquet(str(parquet)).coalesce(1)
    first = batch * BATCH + (10**6 if zone != "UTC" else 0)
    texts = [Maker(random.Random(first + n)).predicate() for n in range(BATCH)]
    for text, answer in zip(texts, answers(frame, texts), strict=True):
        compare(text, answer, zone)


def compare(text: str, answer: list[Any] | Exception, zone: str) -> None:
    """Spark's answers, or its error, against those of the evaluator."""
    try:
        bound = bind(parse_sql(text), SCHEMA, time_zone=zone)
    except PredicateError as error:
        assert is_analysis(answer), f"{text}: refused here: {error}"
        return
    if is_analysis(answer):
        return
    ours = [value_of(bound, row, zone) for row in ROWS]
    if isinstance(answer, Exception):
        # Spark evaluates constants before it knows whether a row needs them.
        assert any(isinstance(v, EvaluationError) for v in ours) or has_failing_constant(bound), f"{text}: {answer}"
        return
    wrong = [
        (index, here, there)
        for index, (here, there) in enumerate(zip(ours, answer, strict=True))
        # An error here and none there: the optimizer took the failing operand away. It only ever keeps files.
        if not isinstance(here, EvaluationError) and here is not there
    ]
    assert not wrong, f"{text}: {wrong[:3]}"


def answers(frame: Any, texts: list[str]) -> list[list[Any] | Exception]:
    """The values of each predicate for every row, or the error; all in one query unless one of them fails."""
    from pyspark.errors import PySparkException

    try:
        columns = [f"({text}) AS c{n}" for n, text in enumerate(texts)]
        found = sorted(frame.selectExpr("id", *columns).collect(), key=lambda row: row["id"])
    except PySparkException as error:
        if len(texts) == 1:
            return [error]
        half = len(texts) // 2
        return answers(frame, texts[:half]) + answers(frame, texts[half:])
    return [[row[f"c{n}"] for row in found] for n in range(len(texts))]


def is_analysis(answer: list[Any] | Exception) -> bool:
    return type(answer).__name__ in ("AnalysisException", "ParseException")


def value_of(bound: Node, row: dict[tuple[str, ...], object], zone: str) -> object:
    try:
        return evaluate(bound, row, zone)
    except EvaluationError as error:
        return error


def has_failing_constant(bound: Node) -> bool:
    """Whether a constant part was left unfolded, which is so only where its evaluation raises."""
    return any(
        (below := children_of(part)) and all(isinstance(child, Literal) for child in below) for part in walk(bound)
    )


def test_most_random_predicates_are_decided_here() -> None:
    undecided = decided = 0
    for seed in range(300):
        try:
            bound = bind(parse_sql(Maker(random.Random(seed)).predicate()), SCHEMA)
        except PredicateError:
            continue
        values = [value_of(bound, row, "UTC") for row in ROWS]
        undecided += any(isinstance(value, Undecided) for value in values)
        decided += not any(isinstance(value, EvaluationError) for value in values)
    assert decided > 5 * undecided
