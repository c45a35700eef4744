"""`hash` and `xxhash64` against Spark itself: edge values of every type that Spark hashes, alone and nested."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deltaskip.sparkexpr import parse_sql
from deltaskip.sparkexpr.bind import bind_expression
from deltaskip.sparkexpr.coerce import type_of
from deltaskip.sparkexpr.evaluation import evaluate
from deltaskip.sparkexpr.evaluation.columns import Evaluator
from deltaskip.sparkexpr.types.arrow import arrow_type
from deltaskip.sparkexpr.types.data_types import DecimalType, StructType
from deltaskip.sparkexpr.types.ddl import parse_columns, type_text
from deltaskip.sparkexpr.values.arrow_values import domain_values, typed_array
from tests.sparkexpr.edge_values import EDGES

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("settings_put_back")]

NESTED = """
    st STRUCT<a: INT, b: STRING, c: STRUCT<d: DATE, e: DOUBLE>>, items ARRAY<BIGINT>, pairs ARRAY<STRUCT<x: FLOAT>>,
    lists ARRAY<ARRAY<TINYINT>>
"""
ROWS: list[dict[str, Any]] = [
    {"st": {"a": 1, "b": "é", "c": {"d": 5, "e": -0.0}}, "items": [1, None, 3], "pairs": [{"x": 1.5}], "lists": [[1]]},
    {"st": {"a": None, "b": None, "c": None}, "items": [], "pairs": [None], "lists": [[], None, [2, None]]},
    {"st": None, "items": None, "pairs": None, "lists": None},
    {"st": {"a": -1, "b": "", "c": {"d": None, "e": float("nan")}}, "items": [None], "pairs": [], "lists": [[None]]},
]


def compared(spark: Any, table: pa.Table, schema: StructType, texts: list[str], path: Path, by_row: bool) -> None:
    """Compare each expression over a table with Spark: by whole columns, and row by row."""
    pq.write_table(table, path)
    frame = spark.read.parquet(str(path)).coalesce(1)
    expected = frame.selectExpr(*[f"{text} AS c{i}" for i, text in enumerate(texts)]).toArrow()
    columns = {name: table[name].combine_chunks() for name in table.column_names}
    for i, text in enumerate(texts):
        node = bind_expression(parse_sql(text), schema)
        assert type_of(node) is not None, text
        found = Evaluator(node).values(columns, len(table))
        assert found.to_pylist() == expected[f"c{i}"].to_pylist(), text
        if by_row:
            lists = {(name,): domain_values(column) for name, column in columns.items()}
            rows = [evaluate(node, {path: v[at] for path, v in lists.items()}) for at in range(len(table))]
            assert rows == expected[f"c{i}"].to_pylist(), text


def test_hashes_of_edge_values_are_spark_s(spark: Any, tmp_path: Path) -> None:
    short = [Decimal("12.34"), Decimal("-0.01"), Decimal("99999999999999.9999"), Decimal(0)]
    types = {**EDGES, DecimalType(18, 4): short}
    names = {f"c{i}": type_ for i, type_ in enumerate(types)}
    rows = max(map(len, types.values())) + 1
    arrays = [typed_array([*v, *[None] * (rows - len(v))], arrow_type(t)) for t, v in types.items()]
    fields = ", ".join(f"{name} {type_}" for name, type_ in zip(names, [type_text(t) for t in types], strict=True))
    texts = [f"{function}({name})" for function in ("hash", "xxhash64") for name in names]
    texts += [f"hash({', '.join(names)})", f"xxhash64({', '.join(reversed(names))}, NULL, 1, 'a')"]
    texts += [f"pmod(hash({name}), 16)" for name in names]
    compared(spark, pa.table(dict(zip(names, arrays, strict=True))), parse_columns(fields), texts, tmp_path / "t", True)


def test_hashes_of_nested_values_are_spark_s(spark: Any, tmp_path: Path) -> None:
    schema = parse_columns(NESTED)
    table = pa.Table.from_pylist(ROWS, pa.schema([pa.field(f.name, arrow_type(f.type)) for f in schema.fields]))
    texts = [f"{function}({name})" for function in ("hash", "xxhash64") for name in schema.names]
    texts += ["hash(st, items, pairs, lists)", "xxhash64(lists, st.c, 1)"]
    compared(spark, table, schema, texts, tmp_path / "t", False)
