"""Random expressions over all functions against Spark: `python -m tests.sparkexpr.spark_random_expressions`.

Each expression is evaluated over random rows, by column and row by row, and by Spark. What differs from Spark is
printed: a value, an error, a type, and a file that is skipped though Spark finds a row in it. The last lines say how
many were compared, and which functions deltaskip refused or left undecided. The exit status is 1 if anything differs.
"""

from __future__ import annotations

import argparse
import itertools
import logging
import random
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from deltaskip.sparkexpr.nodes import Literal
from deltaskip.sparkexpr.text.render import to_sql
from deltaskip.sparkexpr.types.arrow import arrow_type
from deltaskip.sparkexpr.types.data_types import BOOLEAN, ArrayType, MapType, StructType
from deltaskip.sparkexpr.types.json import simple_string
from deltaskip.sparkexpr.values.arrow_nested import conformed
from deltaskip.sparkexpr.values.arrow_values import domain_values, one_chunk
from tests.sparkexpr.random_expressions import COLLATIONS, ERROR, UNDECIDED, ZONES, Made, Maker, RowFiles, Rows, shown

BATCH = 100
REFUSED = "refused"
LEFT = "left"
_ASKED = 10
"""So many of a batch's expressions that deltaskip refuses are asked of Spark."""

_RULES = tuple(
    f"org.apache.spark.sql.catalyst.optimizer.{rule}"
    for rule in (
        *("BooleanSimplification", "CombineConcats", "ConstantFolding", "ConstantPropagation"),
        *("FoldablePropagation", "LikeSimplification", "NullDownPropagation", "NullPropagation"),
        *("OptimizeCsvJsonExprs", "OptimizeIn", "PushFoldableIntoBranches", "ReorderAssociativeOperator"),
        *("ReplaceNullWithFalseInPredicate", "SimplifyBinaryComparison", "SimplifyCaseConversionExpressions",
            "SimplifyCasts"),
        *("SimplifyConditionals", "SimplifyConditionalsInPredicate", "SimplifyDateTimeConversions",
            "SimplifyExtractValueOps"),
        "UnwrapCastInBinaryComparison",
    )
)  # fmt: skip
"""Rules of Spark's optimizer that take operands away, which then cannot fail."""

# Types that no data file has.
_NOT_STORED = re.compile(r"interval|variant|void|\btime\(|geo")

# Values that no literal of Spark SQL has.
_UNWRITTEN = re.compile(r"\b(inf|nan|\w*days|\w*seconds)\b")


class Mode(NamedTuple):
    """How Spark evaluates a batch."""

    zone: str
    ansi: bool
    optimized: bool
    compiled: bool
    collated: bool

    @classmethod
    def of(cls, batch: int) -> Mode:
        """The mode of a batch: all zones with and without ANSI mode in ten batches."""
        ansi = batch // len(ZONES) % 2 == 0
        return cls(ZONES[batch % len(ZONES)], ansi, batch % 4 == 3, batch % 16 == 7, batch % 3 == 1)

    def configuration(self) -> dict[str, str]:
        """What decides the value of an expression, and that one of them does not decide for another."""
        rules = () if self.optimized else _RULES
        return {
            "spark.sql.adaptive.enabled": "false",
            "spark.sql.session.timeZone": self.zone,
            "spark.sql.ansi.enabled": str(self.ansi).lower(),
            "spark.sql.subexpressionElimination.enabled": "false",
            "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
            "spark.sql.optimizer.excludedRules": ",".join(rules),
            "spark.sql.codegen.factoryMode": "CODEGEN_ONLY" if self.compiled else "NO_CODEGEN",
            "spark.sql.codegen.wholeStage": str(self.compiled).lower(),
        }


class Told(NamedTuple):
    """What came of one expression: its kind, a text about it, and the function called last."""

    kind: str
    text: str = ""
    name: str = ""


class Asked:
    """Expressions asked of Spark in one query over the rows of a Parquet file."""

    def __init__(self, session: Any, path: Path, table: Rows) -> None:
        jvm = session._jvm
        self.session = session
        pq.write_table(table.table, path)
        collated = [name for name in table.table.column_names if name[0] in "st" and name != "st"]
        names = {name: f"{name} COLLATE {COLLATIONS[int(name[1:])]} AS {name}" for name in collated}
        frame = session.read.parquet(str(path)).coalesce(1)
        self.frame = frame.selectExpr(*(names.get(name, name) for name in table.table.column_names))
        self._catch = jvm.org.apache.spark.sql.catalyst.expressions.TryEval
        self._column = jvm.org.apache.spark.sql.classic.ExpressionUtils.column
        self._listed = jvm.org.apache.spark.api.python.PythonUtils.toSeq
        self._list = jvm.java.util.ArrayList
        self._parser = session._jsparkSession.sessionState().sqlParser()
        self._written = str(path.with_suffix(".answers"))

    def resolved(self, text: str) -> tuple[str, Any] | None:
        """The type of an expression, and a struct of its value, NULL where it fails; None if Spark refuses it."""
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        try:
            parsed = self._parser.parseExpression(f"named_struct('v', {text})")
            struct = self._chosen([self._catch(parsed)]).queryExecution().analyzed().projectList().apply(0).child()
        except (PySparkException, Py4JError):
            return None
        return re.sub(r" collate \w+", "", struct.dataType().apply(0).dataType().simpleString()), struct

    def answers(self, structs: Sequence[Any]) -> list[pa.Array | None]:
        """The values of each expression that `resolved` has found; None if the query fails or Arrow cannot read it."""
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        if not structs:
            return []
        try:
            self._chosen(structs).write().mode("overwrite").parquet(self._written)
            table = pq.read_table(self._written)
        except (PySparkException, Py4JError, OSError):
            if len(structs) == 1:
                return [None]
            half = len(structs) // 2
            return self.answers(structs[:half]) + self.answers(structs[half:])
        return [one_chunk(table[f"r{number}"]) for number in range(len(structs))]

    def _chosen(self, expressions: Sequence[Any]) -> Any:
        """A Java DataFrame."""
        listed = self._list()
        for number, each in enumerate(expressions):
            listed.add(self._column(each).alias(f"r{number}"))
        return self.frame._jdf.select(self._listed(listed))


def compared(session: Any, path: Path, chance: random.Random, mode: Mode, count: int) -> Iterator[Told]:
    """What came of so many random expressions over random rows, and of some that deltaskip refuses."""
    for name, value in mode.configuration().items():
        session.conf.set(name, value)
    table = Rows.of(chance, mode.collated)
    files = table.files(path.with_suffix(".table"), chance.choice((1, 1, 3)))
    asked = Asked(session, path, table)
    maker = Maker(chance, mode.zone, mode.ansi, table.schema)
    typed = []
    for made, node in itertools.islice(maker.made(), count):
        found = asked.resolved(made.sql)
        if found is None:
            yield Told(REFUSED, made.sql, made.name)
        elif found[0] != simple_string(made.type):
            text = f"{made.sql} {mode}: the type is {simple_string(made.type)}, in Spark {found[0]}"
            yield Told("TYPE", text, made.name)
        else:
            typed.append((made, node, found[1]))
    for name, sql in chance.sample(maker.refused, min(_ASKED, len(maker.refused))):
        found = asked.resolved(sql)
        if found is not None and not _NOT_STORED.search(found[0]):
            yield Told(LEFT, f"{sql} {mode}: {found[0]}", name)
    answers = asked.answers([struct for _, _, struct in typed])
    for (made, node, struct), structs in zip(typed, answers, strict=True):
        try:
            told = list(_compared(made, node, structs, table, files, mode, chance))
            if any(map(differs, told)) and not mode.compiled:
                # Spark may have another value, or another order of operands, where it compiles an expression.
                for name, value in mode._replace(compiled=True).configuration().items():
                    session.conf.set(name, value)
                [structs] = asked.answers([struct])
                for name, value in mode.configuration().items():
                    session.conf.set(name, value)
                again = list(_compared(made, node, structs, table, files, mode, chance))
                told = again if any(map(differs, again)) else [Told("two", f"{made.sql} {mode}", made.name)]
            yield from told
        except Exception as error:
            yield Told("FAILS", f"{made.sql} {mode}: {type(error).__name__}: {str(error).splitlines()[0]}", made.name)


def _compared(
    made: Made, node: Any, structs: pa.Array | None, table: Rows, files: RowFiles, mode: Mode, chance: random.Random
) -> Iterator[Told]:
    if structs is None:
        # The whole query fails, which says nothing of single rows.
        yield Told(REFUSED, made.sql, made.name)
        return
    values, wanted = spark_rows(structs, made)
    for predicate, true in _predicates(made, values, wanted, chance):
        kept = files.kept(predicate, mode.zone, mode.ansi)
        lost = [at for at, there in enumerate(kept or ()) if not there and true[at]]
        if lost:
            yield Told("LOST", f"{predicate} {mode}: it is TRUE of {table.given(node, lost[0])}", made.name)
    found, alone = table.by_column(node, mode.zone), table.by_row(node, mode.zone)
    if not mode.ansi:
        # What fails in ANSI mode has a value without it, which is left to Spark.
        found, alone = ([UNDECIDED if here == ERROR else here for here in each] for each in (found, alone))
    for door, here in (("by column", found), ("by row", alone)):
        pairs = list(zip(here, wanted, strict=True))
        known = [there if UNDECIDED in (value, there) else value for value, there in pairs]
        if known != wanted:
            # Spark's optimizer may take the operand that fails away.
            more = mode.optimized and all(a in (b, ERROR) for a, b in zip(known, wanted, strict=True))
            text = f"{made.sql} {mode}: {door} {table.told(node, known, wanted)}"
            yield Told("more" if more else "WRONG", text, made.name)
            return
    yield Told(UNDECIDED if UNDECIDED in found else "ok", made.sql, made.name)


def _predicates(
    made: Made, values: list[Any], wanted: list[Any], chance: random.Random
) -> Iterator[tuple[str, list[bool]]]:
    """Predicates about the expression, and of which rows each must be TRUE, among others."""
    if made.type == BOOLEAN:
        yield made.sql, [value == ("True",) for value in wanted]
        return
    known = [at for at, value in enumerate(values) if value is not None and isinstance(wanted[at], tuple)]
    if not known or isinstance(made.type, ArrayType | MapType | StructType):
        return
    at = chance.choice(known)
    literal = to_sql(Literal(values[at], made.type))
    if _UNWRITTEN.search(literal):
        return
    true = [value == wanted[at] for value in wanted]
    yield chance.choice(("({}) = {}", "({}) >= {}", "({}) <= {}", "({}) IN ({})")).format(made.sql, literal), true


def spark_rows(structs: pa.Array, made: Made) -> tuple[list[Any], list[Any]]:
    """Spark's value of each row, and as shown, or ERROR; UNDECIDED where the query cannot tell."""
    inner = structs.field(0)
    if pa.types.is_timestamp(inner.type):
        inner = inner.cast(arrow_type(made.type))
    try:
        values = domain_values(conformed(inner, arrow_type(made.type)))
    except UnicodeDecodeError:
        return [None] * len(structs), [UNDECIDED] * len(structs)
    there = structs.is_valid().to_pylist()
    found = [shown(value) if valid else ERROR for value, valid in zip(values, there, strict=True)]
    if "map" in made.sql and ERROR in found:
        # The keys of a map that fails are still in its builder when that of the next row is made; the builder may also
        # fail because it is not empty (ArrayBasedMapBuilder.from).
        first = found.index(ERROR) + 1
        found[first:] = [UNDECIDED] * len(found[first:])
    return values, found


def session(threads: int = 1) -> Any:
    """A small Spark session."""
    from pyspark.sql import SparkSession

    # Every refused expression would be logged with the whole of its Java stack.
    logging.disable(logging.CRITICAL)
    builder = SparkSession.builder.master(f"local[{threads}]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.ui.showConsoleProgress", "false").config("spark.driver.memory", "2g")
    # A query is run once, for which less is compiled.
    builder = builder.config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
    found = builder.getOrCreate()
    found.sparkContext.setLogLevel("OFF")
    return found


def differs(told: Told) -> bool:
    """Whether it is a fault of deltaskip."""
    return told.kind.isupper()


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare random expressions with the installed Spark; 1 if anything differs."""
    parser = argparse.ArgumentParser(description="Compare random expressions with Spark.")
    parser.add_argument("--count", type=int, default=20_000, help="so many different expressions")
    parser.add_argument("--seed", type=int, default=0, help="another one makes other expressions")
    parser.add_argument("--left", action="store_true", help="print each expression that deltaskip refuses")
    given = parser.parse_args(arguments)
    spark = session()
    kinds, left, undecided, made = Counter[str](), Counter[str](), Counter[str](), set[str]()
    for batch in itertools.count():
        if len(made) >= given.count:
            break
        chance = random.Random(f"{given.seed} {batch}")
        with tempfile.TemporaryDirectory() as folder:
            for told in compared(spark, Path(folder) / "rows.parquet", chance, Mode.of(batch), BATCH):
                kinds[told.kind] += 1
                if told.kind == LEFT:
                    left[told.name] += 1
                elif told.kind == UNDECIDED:
                    undecided[told.name] += 1
                if differs(told) or (told.kind == LEFT and given.left) or told.kind in ("more", "two"):
                    print(f"{batch} {told.kind} {told.text}", flush=True)
                if told.kind not in (LEFT, "LOST"):
                    made.add(told.text)
        print(f"{batch} {len(made)} {dict(kinds)}", file=sys.stderr, flush=True)
    print({kind: f"{number} ({number / len(made):.1%})" for kind, number in kinds.most_common()})
    print(f"refused: {dict(left.most_common())}")
    print(f"undecided of a row: {dict(undecided.most_common())}")
    return int(any(kind.isupper() for kind in kinds))


if __name__ == "__main__":
    sys.exit(main())
