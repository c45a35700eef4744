"""Mathematical functions, rounding and casts of floating point numbers against a live session of Spark."""

import random
from decimal import ROUND_HALF_UP, Context, Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deltaskip.sparkexpr import EvaluationError, parse_sql
from deltaskip.sparkexpr.bind import bind_expression
from deltaskip.sparkexpr.evaluation.columns import Evaluator
from deltaskip.sparkexpr.kernels import agreed_math, strict_math
from deltaskip.sparkexpr.types.arrow import from_arrow
from deltaskip.sparkexpr.types.data_types import DOUBLE, FLOAT, DecimalType, StructField, StructType
from deltaskip.sparkexpr.values.arithmetic import arithmetic_type
from tests.extent import extent, seed
from tests.sparkexpr.kernels.java_math import AGREED, STRICT, STRICT_PAIRS, asked, sample

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("settings_put_back")]

SCHEMA = StructType((StructField("x", DOUBLE), StructField("f", FLOAT)))
ROUNDED = [f"{name}({c}, {scale})" for name in ("round", "bround") for c in "xf" for scale in (0, 1, 2, 5, -1, -3)]
CAST = [f"CAST({c} AS {target})" for c in "xf" for target in ("STRING", "DECIMAL(20,2)", "DECIMAL(38,10)")]


def bits(values: pa.Array) -> Any:
    found = values.to_numpy(zero_copy_only=False).astype(np.float64)
    return np.where(np.isnan(found), np.nan, found).view(np.int64)


def test_every_bit_of_random_results_is_that_of_spark(spark: Any) -> None:
    table = asked(spark, 10_000, np.random.default_rng(seed()).integers(2**31)).combine_chunks()
    x, y = (table[each].chunk(0) for each in "xy")
    zero = [pa.array(each.to_numpy() + 0.0) for each in (x, y)]
    for name in (*STRICT, *STRICT_PAIRS, *AGREED):
        certain: Any = True
        if name in STRICT:
            found = strict_math.unary(name, x)
        elif name in STRICT_PAIRS:
            found = strict_math.binary(name, *(zero if name == "atan2" else (x, y)))
        else:
            found, doubtful = agreed_math.agreed(name, x)
            certain = ~doubtful.to_numpy().astype(np.bool_)
        wanted = table[name].chunk(0)
        same = (bits(found) == bits(wanted)) | wanted.is_null().to_numpy(zero_copy_only=False)
        odd = np.flatnonzero(~same & certain)
        assert not len(odd), [(name, x[int(i)], y[int(i)], found[int(i)], wanted[int(i)]) for i in odd[:5]]


def test_rounded_and_cast_numbers_are_those_of_spark(spark: Any, tmp_path: Path) -> None:
    random, count = np.random.default_rng(seed()), extent(300, 3_000)
    short = random.integers(-(10**7), 10**7, count) / random.choice([1, 8, 10, 100, 1000, 2000], count)
    x = np.concatenate([short, sample(100, int(random.integers(2**31)))[0]])
    with np.errstate(over="ignore"):
        table = pa.table({"x": x, "f": x.astype(np.float32)})
    path = str(tmp_path / "x.parquet")
    pq.write_table(table, path)
    spark.conf.set("spark.sql.ansi.enabled", "false")
    try:
        texts = [*ROUNDED, *CAST]
        frame = spark.read.parquet(path).coalesce(1)
        wanted = frame.selectExpr(*(f"{text} AS c{i}" for i, text in enumerate(texts))).toArrow()
    finally:
        spark.conf.set("spark.sql.ansi.enabled", "true")
    columns = {name: table[name].combine_chunks() for name in table.column_names}
    decided = 0
    for i, text in enumerate(texts):
        evaluator = Evaluator(bind_expression(parse_sql(text), SCHEMA))
        answers = wanted[f"c{i}"].to_pylist()
        for at, value in enumerate(values(evaluator, columns, len(table))):
            if value is not Ellipsis:
                decided += 1
                assert repr(value) == repr(answers[at]), (text, x[at])
    assert decided > len(x) * len(texts) // 2


def values(evaluator: Evaluator, columns: dict[str, pa.Array], rows: int) -> list[Any]:
    """The value of each row; Ellipsis where it is left to Spark, or fails with ANSI mode."""
    try:
        return list(evaluator.values(columns, rows).to_pylist())
    except EvaluationError:
        if rows == 1:
            return [...]
    half = rows // 2
    one = {name: each.slice(0, half) for name, each in columns.items()}
    other = {name: each.slice(half) for name, each in columns.items()}
    return values(evaluator, one, half) + values(evaluator, other, rows - half)


def test_decimals_are_rounded_once_as_in_spark(spark: Any, tmp_path: Path) -> None:
    """Products and quotients whose exact value is rounded another way than one of 39 digits, or of 39 places."""
    chance, context = random.Random(seed()), Context(prec=150)
    cases = [("/", (38, 38), (20, 0)), ("/", (20, 20), (18, 0)), ("/", (38, 37), (20, 0)), ("*", (38, 38), (38, 0)),
             ("*", (38, 10), (38, 0)), ("*", (38, 20), (38, 20))]  # fmt: skip
    columns: dict[str, pa.Array] = {}
    asked: list[str] = []
    for number, (op, *sides_of) in enumerate(cases):
        types = [DecimalType(*each) for each in sides_of]
        result = arithmetic_type(op, *types)
        assert isinstance(result, DecimalType)

        def at(value: Decimal, places: int) -> Decimal:
            return value.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP, context)

        pairs: list[tuple[Decimal, ...]] = []
        for _ in range(20_000):
            pair = [
                Decimal(chance.randrange(1, 10 ** chance.randrange(1, of.precision + 1))).scaleb(-of.scale, context)
                for of in types
            ]
            exact = context.multiply(*pair) if op == "*" else context.divide(*pair)
            fits = context.multiply(2, exact) < Decimal(10) ** (result.precision - result.scale)
            first = Context(prec=39, rounding=ROUND_HALF_UP).plus(exact) if op == "*" else at(exact, 39)
            if fits and at(exact, result.scale) != at(first, result.scale):
                pairs.append(tuple(pair))
            if len(pairs) == 20:
                break
        for side, values, of in zip("ab", zip(*pairs, strict=True), types, strict=False):
            filled = [*values, *[None] * (20 - len(values))]
            columns[f"{side}{number}"] = pa.array(filled, pa.decimal128(of.precision, of.scale))
        if pairs:
            asked.append(f"a{number} {op} b{number}")
    assert len(asked) == len(cases)
    table, path = pa.table(columns), str(tmp_path / "d.parquet")
    pq.write_table(table, path)
    wanted = spark.read.parquet(path).selectExpr(*asked).toArrow()
    schema, arrays = from_arrow(table.schema), {name: table[name].combine_chunks() for name in table.column_names}
    for text, of_spark in zip(asked, wanted.columns, strict=True):
        node = bind_expression(parse_sql(text), schema)
        assert Evaluator(node).values(arrays, len(table)).to_pylist() == of_spark.to_pylist(), text
