"""Random expressions over all functions: their values by column and by row, and the files kept, are those of Spark."""

from __future__ import annotations

import itertools
import logging
import os
import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deltaskip.schema.arrow import arrow_type
from deltaskip.schema.arrow_nested import conformed
from deltaskip.schema.arrow_values import domain_values, one_chunk
from deltaskip.schema.json import simple_string
from deltaskip.schema.types import BOOLEAN, DataType
from tests.expr.random_expressions import ERROR, UNDECIDED, ZONES, Maker, Rows, shown
from tests.extent import extent, seed

pytestmark = pytest.mark.spark

BATCH = 100
REFUSED = "refused"


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
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        if not texts:
            return []
        try:
            self.chosen(texts).write.mode("overwrite").parquet(self._written)
        except (PySparkException, Py4JError):
            if len(texts) == 1:
                return [None]
            half = len(texts) // 2
            return self.answers(texts[:half]) + self.answers(texts[half:])
        table = pq.read_table(self._written)
        return [one_chunk(table[f"r{number}"]) for number in range(len(texts))]


def differences(session: Any, path: Path, chance: random.Random, zone: str, ansi: bool, count: int) -> Iterator[str]:
    """What is not as in Spark, for so many random expressions over random rows; yields "ok" for one that agrees."""
    for name, value in configuration(zone, ansi).items():
        session.conf.set(name, value)
    table = Rows.of(chance)
    pq.write_table(table.table, path)
    files = table.files(path.with_suffix(".table"))
    asked = Asked(session, path)
    typed = []
    for made, node in itertools.islice(Maker(chance, zone, ansi).made(), count):
        type_ = asked.type_of(made.sql)
        if type_ is None:
            yield REFUSED
        elif type_ != simple_string(made.type):
            yield f"TYPE {made.sql}: the type is {simple_string(made.type)}, in Spark {type_}"
        else:
            typed.append((made, node))
    for (made, node), structs in zip(typed, asked.answers([made.sql for made, _ in typed]), strict=True):
        where = f"{made.sql} [{zone}, ANSI {'on' if ansi else 'off'}]"
        if structs is None:
            # The whole query fails, which says nothing of single rows.
            yield REFUSED
            continue
        wanted = spark_rows(structs, made.type, made.sql)
        kept = files.kept(made.sql, zone, ansi) if made.type == BOOLEAN else None
        lost = [at for at, there in enumerate(kept or ()) if not there and wanted[at] == ("True",)]
        if lost:
            yield f"LOST {where}: it is TRUE of {table.each[lost[0]]}"
        found, alone = table.by_column(node, zone), table.by_row(node, zone)
        if not ansi:
            # What fails in ANSI mode has a value without it, which is left to Spark.
            found, alone = ([UNDECIDED if here == ERROR else here for here in each] for each in (found, alone))
        for door, here in (("by column", found), ("by row", alone)):
            pairs = list(zip(here, wanted, strict=True))
            # An error here and a value there: Spark's optimizer took the operand that fails away.
            known = [there if UNDECIDED in (value, there) else value for value, there in pairs]
            if known != wanted:
                kind = "MORE" if all(a in (b, ERROR) for a, b in zip(known, wanted, strict=True)) else "WRONG"
                yield f"{kind} {where}: {door} {table.told(node, known, wanted)}"
                break
        else:
            yield UNDECIDED if UNDECIDED in found else "ok"


def spark_rows(structs: pa.Array, type_: DataType, sql: str) -> list[Any]:
    """Spark's value of each row, or ERROR; UNDECIDED where the query cannot tell."""
    inner = structs.field(0)
    if pa.types.is_timestamp(inner.type):
        inner = inner.cast(arrow_type(type_))
    try:
        values = [shown(value) for value in domain_values(conformed(inner, arrow_type(type_)))]
    except UnicodeDecodeError:
        return [UNDECIDED] * len(structs)
    found = [value if there else ERROR for value, there in zip(values, structs.is_valid().to_pylist(), strict=True)]
    if "map" in sql and ERROR in found:
        # The keys of a map that fails are still in its builder when that of the next row is made; the builder may also
        # fail because it is not empty (ArrayBasedMapBuilder.from).
        first = found.index(ERROR) + 1
        found[first:] = [UNDECIDED] * len(found[first:])
    return found


@pytest.mark.long(gate=1)
@pytest.mark.parametrize("batch", range(extent(1, 16)))
def test_random_expressions_are_those_of_spark(spark: Any, tmp_path: Path, batch: int) -> None:
    chance = random.Random(seed() + batch)
    zone, ansi = ZONES[batch % len(ZONES)], batch // len(ZONES) % 2 == 0
    told = list(differences(spark, tmp_path / "rows.parquet", chance, zone, ansi, BATCH))
    counts = Counter(each.split()[0] for each in told)
    wrong = [each for each in told if each.split()[0] not in ("ok", "MORE", UNDECIDED, REFUSED)]
    assert not wrong, f"seed {batch}: " + "\n".join(wrong[:10])
    assert counts["ok"] > BATCH / 3, counts
