"""Random expressions over all functions: their values by column and by row, and the files kept, are those of Spark."""

from __future__ import annotations

import itertools
import logging
import os
import random
import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaskip as ds
from deltaskip.expr import EvaluationError, Undecided, columns_of, evaluate
from deltaskip.expr.evaluation.columns import Evaluator
from deltaskip.expr.nodes import Node
from deltaskip.schema.arrow import arrow_type
from deltaskip.schema.arrow_nested import conformed
from deltaskip.schema.arrow_values import domain_values, one_chunk
from deltaskip.schema.json import simple_string
from deltaskip.schema.types import BOOLEAN, DataType
from tests.expr.random_expressions import ZONES, Made, Maker, rows, schema
from tests.extent import extent, seed

pytestmark = pytest.mark.spark

BATCH = 100
ERROR, UNDECIDED, REFUSED = "error", "undecided", "refused"


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    """A small session; what it was configured to before is left as it was."""
    sql = pytest.importorskip("pyspark.sql")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    existing = sql.SparkSession.getActiveSession()
    builder = sql.SparkSession.builder.master("local[2]").config("spark.driver.memory", "2g")
    session = builder.config("spark.ui.enabled", "false").getOrCreate()
    before = {name: session.conf.get(name, None) for name in configuration("UTC", True)}
    level = logging.root.manager.disable
    # Every refused expression would be logged with the whole of its Java stack.
    logging.disable(logging.CRITICAL)
    yield session
    logging.disable(level)
    for name, value in before.items():
        session.conf.unset(name) if value is None else session.conf.set(name, value)
    if existing is None:
        session.stop()


def configuration(zone: str, ansi: bool) -> dict[str, str]:
    """What decides the value of an expression, and that one of them does not decide for another."""
    return {
        "spark.sql.session.timeZone": zone,
        "spark.sql.ansi.enabled": str(ansi).lower(),
        "spark.sql.subexpressionElimination.enabled": "false",
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    }


class Asked:
    """Expressions asked of Spark in one query over the rows of a Parquet file."""

    def __init__(self, session: Any, path: Path) -> None:
        jvm = session._jvm
        self.session = session
        self.frame = session.read.parquet(str(path)).coalesce(1)
        self._catch = jvm.org.apache.spark.sql.catalyst.expressions.TryEval
        self._column = jvm.org.apache.spark.sql.classic.ExpressionUtils.column
        self._listed = jvm.org.apache.spark.api.python.PythonUtils.toSeq
        self._list = jvm.java.util.ArrayList
        self._parser = session._jsparkSession.sessionState().sqlParser()
        self._written = str(path.with_suffix(".answers"))

    def chosen(self, texts: Sequence[str]) -> Any:
        """A DataFrame of a struct for each expression, which is NULL where it fails."""
        from pyspark.sql import DataFrame

        listed = self._list()
        for number, text in enumerate(texts):
            parsed = self._parser.parseExpression(f"named_struct('v', {text})")
            listed.add(self._column(self._catch(parsed)).alias(f"r{number}"))
        return DataFrame(self.frame._jdf.select(self._listed(listed)), self.session)

    def type_of(self, text: str) -> str | None:
        """The type of an expression; None if Spark refuses it, or fails on a constant in it."""
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        try:
            chosen = self.chosen([text])
            chosen._jdf.queryExecution().optimizedPlan()
        except (PySparkException, Py4JError):
            return None
        return str(chosen.schema.fields[0].dataType.fields[0].dataType.simpleString())

    def answers(self, texts: Sequence[str]) -> list[pa.Array | None]:
        """The values of each expression as `chosen` has them; None if the query fails for it."""
        from pyspark.errors import PySparkException

        if not texts:
            return []
        try:
            self.chosen(texts).write.mode("overwrite").parquet(self._written)
        except PySparkException:
            if len(texts) == 1:
                return [None]
            half = len(texts) // 2
            return self.answers(texts[:half]) + self.answers(texts[half:])
        table = pq.read_table(self._written)
        return [one_chunk(table[f"r{number}"]) for number in range(len(texts))]


def by_column(node: Node, zone: str, columns: dict[str, pa.Array], places: Sequence[int]) -> list[Any]:
    """The values of some rows; those that fail are looked for by halves."""
    taken = {name: array.take(pa.array(places)) for name, array in columns.items()}
    try:
        return [shown(value) for value in domain_values(Evaluator(node, zone).values(taken, len(places)))]
    except EvaluationError as error:
        if len(places) == 1:
            return [UNDECIDED if isinstance(error, Undecided) else ERROR]
    half = len(places) // 2
    return by_column(node, zone, columns, places[:half]) + by_column(node, zone, columns, places[half:])


def by_row(node: Node, zone: str, row: dict[tuple[str, ...], Any]) -> Any:
    """The value of a row."""
    try:
        return shown(evaluate(node, row, zone))
    except EvaluationError as error:
        return UNDECIDED if isinstance(error, Undecided) else ERROR


def shown(value: Any) -> tuple[str]:
    """A value as a text that tells everything apart that Spark does."""
    if isinstance(value, list | tuple):
        return (f"({', '.join(shown(each)[0] for each in value)})",)
    return (repr(value),)


def differences(session: Any, path: Path, chance: random.Random, zone: str, ansi: bool, count: int) -> Iterator[str]:
    """What is not as in Spark, for so many random expressions over random rows; yields "ok" for one that agrees."""
    for name, value in configuration(zone, ansi).items():
        session.conf.set(name, value)
    table = rows(chance)
    pq.write_table(table, path)
    fields = schema().fields
    columns = {field.name: one_chunk(table[field.name]) for field in fields}
    cells = {(name,): domain_values(array) for name, array in columns.items()}
    each_row = [{name: values[at] for name, values in cells.items()} for at in range(len(table))]
    asked = Asked(session, path)
    known = []
    for made, node in itertools.islice(Maker(chance, zone, ansi).made(), count):
        type_ = asked.type_of(made.sql)
        if type_ is None:
            yield REFUSED
        elif type_ != simple_string(made.type):
            yield f"TYPE {made.sql}: the type is {simple_string(made.type)}, in Spark {type_}"
        else:
            known.append((made, node))
    for (made, node), structs in zip(known, asked.answers([made.sql for made, _ in known]), strict=True):
        where = f"{made.sql} [{zone}, ANSI {'on' if ansi else 'off'}]"
        if structs is None:
            yield f"FAILS {where}: the query fails in Spark"
            continue
        wanted = spark_rows(structs, made.type)
        found = by_column(node, zone, columns, range(len(table)))
        alone = [by_row(node, zone, row) for row in each_row]
        if not ansi:
            # What fails in ANSI mode has a value without it, which is left to Spark.
            found, alone = ([UNDECIDED if here == ERROR else here for here in each] for each in (found, alone))
        yield told(where, wanted, found, alone, each_row, node)


def spark_rows(structs: pa.Array, type_: DataType) -> list[Any]:
    """Spark's value of each row, or ERROR."""
    inner = structs.field(0)
    if pa.types.is_timestamp(inner.type):
        inner = inner.cast(arrow_type(type_))
    values = [shown(value) for value in domain_values(conformed(inner, arrow_type(type_)))]
    return [value if there else ERROR for value, there in zip(values, structs.is_valid().to_pylist(), strict=True)]


def told(where: str, wanted: list[Any], found: list[Any], alone: list[Any], each_row: list[Any], node: Node) -> str:
    """"ok", or what disagrees first."""
    names = columns_of(node)
    for at, there in enumerate(wanted):
        for door, here in (("by column", found[at]), ("by row", alone[at])):
            if here not in (UNDECIDED, there):
                given = {name[0]: each_row[at][name[:1]] for name in names}
                kind = "MORE ERRORS" if here == ERROR else "WRONG"
                return f"{kind} {where}: {door} {here}, in Spark {there}, of {given}"
    return "ok" if UNDECIDED not in found else UNDECIDED
