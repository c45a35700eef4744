"""Long IN lists in one array prune and match as lists of literals do."""

import itertools
import random
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import deltaskip as ds
from deltaskip.sparkexpr import col, literal_list, parse_sql
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.bind import bind
from deltaskip.sparkexpr.evaluation import evaluate
from deltaskip.sparkexpr.literal_list import LiteralList
from deltaskip.sparkexpr.nodes import In, Node, transform
from deltaskip.sparkexpr.normalize import normalize
from tests.builder import TableBuilder, add, bounds
from tests.each import each

TYPES = {"b": t.BYTE, "i": t.INTEGER, "l": t.LONG, "s": t.STRING, "d": t.DOUBLE, "n": t.DecimalType(12, 2), "t": t.DATE}
SCHEMA = t.StructType(tuple(t.StructField(name, type_) for name, type_ in TYPES.items()))
NUMBERS: list[list[int]] = [
    list(range(100)),
    [k * 7 for k in range(-50, 50)] * 2,
    [k * k * k for k in range(-2000, 2000, 37)],
    [2**31 + k * 3 for k in range(80)],
    [-(2**63), 2**63 - 1, *range(0, 1000, 9)],
    [500, *range(10_000, 10_200)],
]
TEXTS = [
    [f"k{k:03}" for k in range(0, 400, 3)],
    ["", "\U0001f600", "\uffff", *(chr(97 + k % 26) * k for k in range(90))],
]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> ds.DeltaTable:
    path = tmp_path_factory.mktemp("lists")
    files = []
    for k in range(60):
        low, text = (k - 20) * 97, f"k{k * 7:03}"
        stats = bounds(b=(k, k + 1), i=(low, low + k), l=(low * k, low * k + 5), s=(text, text + "z" * (k % 3)))
        files.append(add(f"f{k}", stats, partitionValues={"p": str(k * 3), "q": f"k{k:03}"}))
    schema = {name: TYPES[name] for name in ("b", "i", "l", "s")} | {"p": t.LONG, "q": t.STRING}
    TableBuilder(path, schema, ["p", "q"]).commit(*files)
    return ds.DeltaTable(path)


def in_tuples(node: Node) -> Node:
    node = In(node.child, tuple(node.values)) if isinstance(node, In) else node
    return transform(node, in_tuples)


def test_long_lists_skip_the_files_that_short_ones_skip(table: ds.DeltaTable) -> None:
    def check(name: str, at: int, negated: bool) -> None:
        values: list[Any] = TEXTS[at % 2] if name in "sq" else NUMBERS[at]
        random.Random(at).shuffle(values)
        where = col(name).isin(values)
        assert isinstance(where.node, In)
        assert isinstance(where.node.values, LiteralList)
        short = type(where)(in_tuples(where.node))
        for also in (col("i") >= 0, col("i") == 97, col(name).is_not_null()):
            long, brief = (~where & also, ~short & also) if negated else (where & also, short & also)
            assert table.scan(where=long).paths() == table.scan(where=brief).paths()
        long, brief = (~where, ~short) if negated else (where, short)
        assert table.scan(where=long).paths() == table.scan(where=brief).paths()
        assert table.scan(where=long).files(stats=False).num_rows == table.scan(where=brief).files().num_rows

    each(itertools.product(["b", "i", "l", "s", "p", "q"], range(6), [False, True]), lambda case: check(*case))


def test_long_lists_have_the_value_of_short_ones() -> None:
    def check(name: str, at: int) -> None:
        if name in ("s", "t"):
            return
        values = NUMBERS[at]
        text = f"{name} IN ({', '.join(map(str, values))})".replace(str(-(2**63)), "-9223372036854775807")
        long, brief = parse_sql(text), in_tuples(parse_sql(text))
        for node, other in ((bind(long, SCHEMA), bind(brief, SCHEMA)),):
            for value in (None, 0, 7, 14, 127, 501):
                row = {(name,): value if name != "d" or value is None else float(value)}
                if name == "n" and value is not None:
                    row = {(name,): Decimal(f"{value}.00")}
                assert evaluate(node, row) == evaluate(other, row), value
                assert (evaluate(normalize(node), row) is True) == (evaluate(normalize(other), row) is True)

    each(itertools.product(list(TYPES), range(6)), lambda case: check(*case))


@pytest.mark.parametrize(
    "values",
    [
        np.arange(100, dtype=np.int32),
        np.arange(100)[::-1],
        pa.array(range(100), pa.int16()),
        pa.chunked_array([list(range(50)), list(range(50, 100))]),
        range(100),
        set(range(100)),
        tuple(range(100)),
    ],
    ids=["numpy", "reversed", "array", "chunked array", "range", "set", "tuple"],
)
def test_arrays_and_collections_are_one_array(values: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []
    literal = literal_list.Literal  # type: ignore[attr-defined]
    monkeypatch.setattr(literal_list, "Literal", lambda *args: made.append(args) or literal(*args))
    node = col("i").isin(values).node
    assert isinstance(node, In)
    normal = normalize(bind(node, SCHEMA))
    assert not made
    assert isinstance(normal, In)
    assert sorted(value.value for value in normal.values) == list(range(100))  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "values", [[None, *range(100)], [True] * 100, [1.5] * 100, [2**63, *range(100)], ["\ud800"] * 99]
)
def test_other_lists_are_literals(values: list[Any]) -> None:
    node = col("i").isin(values).node
    assert isinstance(node, In)
    assert isinstance(node.values, tuple)


def test_a_scan_of_a_long_list_makes_few_literals(table: ds.DeltaTable, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []
    literal = literal_list.Literal  # type: ignore[attr-defined]
    monkeypatch.setattr(literal_list, "Literal", lambda *args: made.append(args) or literal(*args))
    for where in ("i IN ({})", "l IN ({}) AND i > 5", "p IN ({})"):
        table.scan(where=where.format(", ".join(map(str, range(0, 1000, 3))))).paths()
    for where in ("s IN ({})", "q IN ({}) OR s IS NULL"):
        table.scan(where=where.format(", ".join(f"'k{k}'" for k in range(0, 1000, 3)))).paths()
    # Some are shown.
    assert len(made) < 100
