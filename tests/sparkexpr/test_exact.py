"""Predicates as tuples and as expressions of Polars and pyarrow: their rows are those that each library finds."""

import random
import warnings
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import deltaskip as ds
from deltaskip.errors import DeltaSkipError, InvalidArgument, InvalidArgumentType, PredicateError
from deltaskip.predicates import given_predicate
from deltaskip.schema.user_schema import schema_of
from deltaskip.sparkexpr.exact import Inexact
from deltaskip.sparkexpr.text.render import to_sql
from tests.extent import extent

pl = pytest.importorskip("polars")

NAN, INF = float("nan"), float("inf")
TIMES = [datetime(1970, 1, 1), datetime(2024, 1, 1, 0, 0, 0, 1)]
LONG = ("9007199254740993.000000000000000001", "9007199254740993.000000000000000002", "-12345678901234567890.5")
# The edges of each type, with NULL; one file holds the first half, another one the rest.
VALUES: dict[str, tuple[str, pa.DataType, list[Any]]] = {
    "b": ("BOOLEAN", pa.bool_(), [True, False, None, True]),
    "i": ("INT", pa.int32(), [-(2**31), -1, 0, 7, 2**31 - 1, None, 5, 6]),
    "l": ("BIGINT", pa.int64(), [-(2**63), 2**53 + 1, 0, 2**63 - 1, None, 1]),
    "f": ("FLOAT", pa.float32(), [-INF, -0.0, 0.0, 0.5, INF, NAN, None, 0.1]),
    "g": ("DOUBLE", pa.float64(), [-INF, -0.0, 0.0, 0.1, INF, NAN, None, 2.0**53]),
    "s": ("STRING", pa.string(), ["", "a", "A", "ä", "b\0", "\U0001f600", "\uffff", None]),
    "u": ("STRING COLLATE UNICODE_CI", pa.string(), ["", "a", "A", "ä", "Ä", "b", None]),
    "y": ("BINARY", pa.binary(), [b"", b"\x7f", b"\x80", b"\xff\x00", None]),
    "d": ("DATE", pa.date32(), [date(1582, 10, 15), date(1970, 1, 1), date(2024, 2, 29), date(9999, 12, 31), None]),
    "t": ("TIMESTAMP", pa.timestamp("us", "UTC"), [each.replace(tzinfo=UTC) for each in TIMES] + [None]),
    "n": ("TIMESTAMP_NTZ", pa.timestamp("us"), [*TIMES, None]),
    "c": ("DECIMAL(10,2)", pa.decimal128(10, 2), [Decimal("-1.25"), Decimal("0.00"), Decimal("5.00"), None]),
    "w": ("DECIMAL(38,18)", pa.decimal128(38, 18), [*map(Decimal, LONG), Decimal(1).scaleb(-18), None]),
    "v": ("DECIMAL(38,0)", pa.decimal128(38), [Decimal(10**38 - 1), Decimal(1 - 10**38), Decimal(10**37 + 1), None]),
}  # fmt: skip
ROWS = 48
EXPRESSIONS = extent(160, 400)
SCHEMA = ", ".join(f"{name} {kind}" for name, (kind, _, _) in VALUES.items()) + ", st STRUCT<x: INT>"


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> ds.DeltaTable:
    rng = random.Random(5)
    made = ds.DeltaTable.create(tmp_path_factory.mktemp("exact") / "t", SCHEMA)
    for half in range(2):
        columns = {}
        for name, (_, arrow, values) in VALUES.items():
            some = values[: len(values) // 2] if half == 0 else values[len(values) // 2 :]
            columns[name] = pa.array([rng.choice(some) for _ in range(ROWS // 2)], arrow)
        members = [rng.choice([None, {"x": None}, {"x": 1}, {"x": 2}]) for _ in range(ROWS // 2)]
        made.append(pa.table({**columns, "st": pa.array(members, pa.struct([("x", pa.int32())]))}))
    return made


def random_tree(rng: random.Random, leaf: Callable[[random.Random], Any], depth: int = 2) -> Any:
    choice = rng.randrange(4) if depth else 3
    if choice == 0:
        return ~random_tree(rng, leaf, depth - 1)
    if choice < 3:
        left, right = random_tree(rng, leaf, depth - 1), random_tree(rng, leaf, depth - 1)
        return left & right if choice == 1 else left | right
    return leaf(rng)


def compare(op: int, left: Any, right: Any) -> Any:
    return [left == right, left != right, left < right, left <= right, left > right, left >= right][op]


def polars_leaf(rng: random.Random) -> Any:
    name = rng.choice(list(VALUES))
    value = rng.choice([each for each in VALUES[name][2] if each is not None])
    column = pl.col(name)
    match rng.randrange(13):
        case 0:
            return column.is_null()
        case 1:
            return column.is_in([value, *rng.choices(VALUES[name][2], k=2)])
        case 2 if name in "fg":
            return column.is_nan() if rng.random() < 0.5 else column.is_not_nan()
        case 2 if name in "su":
            return column.str.starts_with(value)
        case 3:
            return column.eq_missing(value)
        case 4:
            return column.is_between(value, value, closed=rng.choice(["both", "left", "right", "none"]))
        case 5 if name == "b":
            return column
        case 6:
            return pl.col("st").struct.field("x") == rng.randrange(3)
        case 7 if name in "ilfgc":
            return compare(rng.randrange(6), column, rng.choice([0, 5, 2**24, 2**53, 0.5, 0.1]))
        case 8:
            return column.is_in([value, *rng.choices(VALUES[name][2], k=2)], nulls_equal=True)
        case 9 if name in "dtn":
            days = [date(2024, 1, 1), date(1970, 1, 1), date(1969, 12, 31)]
            part = column.dt.date() if rng.random() < 0.5 else column.cast(pl.Date)
            return part.is_in(days[:2]) if rng.random() < 0.3 else compare(rng.randrange(6), part, rng.choice(days))
        case 10 if name in "dtn":
            year = column.dt.year()
            return year.is_in([1970, 2024]) if rng.random() < 0.3 else compare(rng.randrange(6), year, 1970)
        case 11 if name in "ilc":
            kind = pl.Decimal(38, rng.choice([0, 2, 9])) if name == "c" else rng.choice([pl.Int32, pl.Int64])
            return compare(rng.randrange(6), column.cast(kind, strict=False), rng.choice([0, 5, 7]))
        case 12 if name in "tn":
            zone = "UTC" if name == "t" else None
            return compare(rng.randrange(6), column, pl.datetime(2024, 1, 1, time_zone=zone))
        case 12:
            known = compare(rng.randrange(6), column, value)
            return (
                known.fill_null(False) if rng.random() < 0.5 else pl.when(known).then(True).otherwise(column.is_null())
            )
    return compare(rng.randrange(6), column, value)


def arrow_leaf(rng: random.Random) -> Any:
    name = rng.choice(list(VALUES))
    _, arrow, values = VALUES[name]
    value = rng.choice([each for each in values if each is not None])
    column = pc.field(name)
    match rng.randrange(9):
        case 0:
            return column.is_null() if rng.random() < 0.5 else column.is_valid()
        case 1:
            return column.isin(pa.array([value, *rng.choices(values, k=2)], arrow))
        case 2 if name in "fg":
            return column.is_nan()
        case 2 if name in "su":
            return pc.starts_with(column, value)
        case 3 if name == "b":
            return column
        case 4:
            return compare(rng.randrange(6), pc.field("st", "x"), rng.randrange(3))
        case 5 if name in "ilfgc":
            return compare(rng.randrange(6), column, rng.choice([0, 5, 2**24, 0.5, 0.1]))
        case 6:
            null = pa.scalar(None, pa.bool_())
            return pc.if_else(column.is_valid(), column.isin(pa.array([value, *rng.choices(values, k=2)], arrow)), null)
        case 7:
            condition = column.is_null() if rng.random() < 0.5 else column.is_valid()
            return pc.if_else(condition, pc.field("i") > 0, column == pa.scalar(value, arrow))
    return compare(rng.randrange(6), column, pa.scalar(value, arrow))


def translated(table: ds.DeltaTable, expression: Any) -> pa.Table | None:
    try:
        return table.scan(expression).to_arrow()
    except PredicateError as error:
        assert "is not known to mean the same in Spark" in str(error), error
        return None


def same(one: pa.Table, other: pa.Table) -> bool:
    return repr(one.to_pylist()) == repr(other.to_pylist())


def test_an_expression_of_polars_finds_the_rows_that_polars_finds(table: ds.DeltaTable) -> None:
    rng, found = random.Random(31), 0
    every = table.scan().to_arrow()
    frame = pl.from_arrow(every).with_row_index("row")
    for _ in range(EXPRESSIONS):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expression = random_tree(rng, polars_leaf)
        try:
            wanted = frame.filter(expression)["row"].to_list()
        except pl.exceptions.PolarsError:
            # Such as a Boolean that is ordered.
            continue
        rows = translated(table, expression)
        if rows is not None:
            found += 1
            assert same(rows, every.take(pa.array(wanted, pa.int64()))), (str(expression), given(expression))
    assert found > EXPRESSIONS * 0.3


def test_an_expression_of_pyarrow_finds_the_rows_that_pyarrow_finds(table: ds.DeltaTable) -> None:
    rng, found = random.Random(32), 0
    every = table.scan().to_arrow()
    for _ in range(EXPRESSIONS):
        expression = random_tree(rng, arrow_leaf)
        try:
            wanted = every.filter(expression)
        except pa.ArrowException:
            # Such as a Boolean that is ordered.
            continue
        rows = translated(table, expression)
        if rows is not None:
            found += 1
            assert same(rows, wanted), (str(expression), given(expression))
    assert found > EXPRESSIONS * 0.7


def given(where: Any) -> str:
    found: Any = given_predicate(where, None, schema_of(SCHEMA + ", h CHAR(3)"))
    return to_sql(found.node)


def test_forms_have_the_predicate_that_is_expected() -> None:
    forms: list[tuple[Any, str]] = [
        ([("i", "=", 1)], "i = 1"),
        ([("i", "==", 1), ("s", "!=", "x")], "i = 1 AND s != 'x'"),
        ([[("i", "<", 1)], [("i", ">=", 2), ("s", "in", ["a", "b"])]], "i < 1 OR i >= 2 AND s IN ('a', 'b')"),
        ([("i", "not in", {1})], "i NOT IN (1)"),
        ([("st.x", "<=", 5)], "st.x <= 5"),
        (pl.col("i") > 5, "i > 5"),
        (pl.col("i") > 5, "i > 5"),
        (pl.col("u") == "a", "u COLLATE UTF8_BINARY = 'a'"),
        (pl.col("i").is_in([1, None]), "i IN (1)"),
        (pc.field("g") > 5.0, "g > 5.0 AND g <= inf"),
        (pc.field("i").isin([1, None]), "i IN (1) OR i IS NULL"),
        (pc.field("st", "x") == 5, "st.x = 5"),
        (pc.struct_field(pc.field("st"), "x") == 5, "st.x = 5"),
        (~pc.struct_field(pc.field("st"), ["x"]).is_valid(), "NOT (st.x IS NOT NULL)"),
        (~((pc.field("st", "x") == 5) & (pc.field("i") == 1)), "NOT (st.x = 5 AND i = 1)"),
        (pl.col("d").dt.year() == 2024, "d >= DATE'2024-01-01' AND d < DATE'2025-01-01'"),
        (pl.lit(date(2024, 1, 1)) < pl.col("n").dt.date(), "n >= TIMESTAMP_NTZ'2024-01-02 00:00:00'"),
        (
            pl.col("t").cast(pl.Date) != date(2024, 1, 1),
            "t < TIMESTAMP'2024-01-01 00:00:00 UTC' OR t >= TIMESTAMP'2024-01-02 00:00:00 UTC'",
        ),
        (pl.col("i").cast(pl.Int64) == 5, "i = 5"),
        (pl.col("d") >= pl.lit("2024-01-01").str.to_date(), "d >= DATE'2024-01-01'"),
        (pl.col("i").is_in(pl.Series([1, 2])), "i IN (1, 2)"),
        (pc.if_else(pc.field("i").is_valid(), pc.field("i").isin([1]), pa.scalar(None, pa.bool_())), "i IN (1)"),
        ((pc.field("i") == 1) & ((pc.field("i") == 2) | ~(pc.field("i") > 3)), "i = 1 AND (i = 2 OR NOT (i > 3))"),
    ]
    for where, text in forms:
        assert given(where) == text, where


def test_what_has_no_exact_predicate_is_refused_with_the_sql_to_write() -> None:
    refused: list[tuple[Any, type[DeltaSkipError], str]] = [
        (pl.col("i") == 2.5, PredicateError, 'i is INT, compared with 2.5: write where as SQL text, such as "i = 2.5"'),
        (pl.col("f") > 0.1, PredicateError, "f is FLOAT, compared with 0.1"),
        (pl.col("i") + 1 > 5, PredicateError, r'Plus of i is not translated: .*, such as "\(i \+ 1\) > 5"'),
        (pl.col("l").list.len() > 1, PredicateError, r'Length of l is not .*, such as "size\(l\) > 1", or filter'),
        (~(pl.col("l").list.contains("a")), PredicateError, r"""with "array_contains\(l, 'a'\)" for that part,"""),
        ((pl.col("i") > 1) & (pl.col("s").str.to_uppercase() == "A"), PredicateError, r"with \"upper\(s\) = 'A'\" for"),
        (pl.col("s").str.contains("^a"), PredicateError, """such as "s RLIKE '^a'",""".replace("^", r"\^")),
        (pl.col("s").str.contains("a", literal=True), PredicateError, r"""such as "contains\(s, 'a'\)","""),
        (pl.col("i").shift(1) > 2, PredicateError, "Shift of i is not translated: write where as SQL text, or filter"),
        (pl.col("i").cum_sum() > 2, PredicateError, "CumSum of i is not translated: write where as SQL text, or"),
        (pl.col("i") == pl.col("i").max(), PredicateError, "Max of i is not translated: write where as SQL text, or"),
        (pc.field("st").is_null(), PredicateError, 'st is nested: write where as SQL text, such as "st IS NULL"'),
        (pl.col("h") == "x", PredicateError, r"h is char\(3\), which Spark pads"),
        (pl.col("I") == 1, PredicateError, "the column is i, not I"),
        (pl.col("i").map_elements(bool, pl.Boolean), PredicateError, "not write it as JSON|is not translated"),
        (pc.field("i").cast("int64") == 1, PredicateError, "cast is not a column: write where as SQL text, or filter"),
        (pc.field(0) == 1, PredicateError, "Arrow does not write it"),
        (pl.col("nothing") == 1, PredicateError, "There is no column nothing"),
        (("i", "=", 1), InvalidArgumentType, r"must be a list of tuples, not a tuple"),
        ([], InvalidArgument, "where is an empty list"),
        ([[]], InvalidArgument, "where has an empty list"),
        ([("i", "like", 1)], InvalidArgument, "'like' is not an operator of where"),
        ([("i", "=", None)], InvalidArgument, "where='i IS NULL'"),
        ([("i", "in", [1, None])], InvalidArgument, "where='i IS NULL'"),
        ([("i", "in", 3)], InvalidArgument, "operator 'in' of where needs a list of values"),
        ([("i", ">")], InvalidArgumentType, "must be a tuple"),
        (["i = 1"], InvalidArgumentType, "must be a tuple"),
        ([("i", "=", object())], InvalidArgumentType, "not object"),
    ]  # fmt: skip
    for where, error, message in refused:
        with pytest.raises(error, match=message):
            given(where)


def test_every_door_takes_every_form(table: ds.DeltaTable, tmp_path: Path) -> None:
    made = ds.DeltaTable.create(tmp_path / "t", "i INT, v INT", properties={"delta.enableChangeDataFeed": "true"})
    for forms in ([("i", "=", 1)], [[("i", "=", 1)]], pl.col("i") == 1, pc.field("i") == 1, ds.col("i") == 1, "i = 1"):
        made.overwrite(pa.table({"i": pa.array([1, 2], pa.int32()), "v": pa.array([1, 2], pa.int32())}))
        where: Any = forms
        assert made.scan(where).count() == 1
        assert made.changes(made.version, made.version, where).to_arrow().num_rows >= 1
        assert made.delete(where, dry_run=True).operation == "DELETE"
        assert made.update({"v": "5"}, where).metrics["numUpdatedRows"] == 1
        made.overwrite(pa.table({"i": pa.array([1], pa.int32()), "v": pa.array([7], pa.int32())}), where=where)
        assert made.scan(where).to_arrow()["v"].to_pylist() == [7]
        assert made.recompute_plan(where).files == 1
        with made.transaction() as transaction:
            transaction.delete(where)
        assert made.refresh().scan(where).count() == 0
    source = pa.table({"i": pa.array([2], pa.int32()), "v": pa.array([9], pa.int32())})
    builder = made.merge(source, "t.i = s.i", source_alias="s", target_alias="t")
    assert builder.when_matched_update_all(where=[("s.v", ">", 8)]).execute().metrics["numTargetRowsUpdated"] == 1


def test_a_deep_expression_is_refused_or_translated_but_never_fails(table: ds.DeltaTable) -> None:
    deep = pc.field("i") == 0
    for number in range(2000):
        deep = deep | (pc.field("i") == number)
    with pytest.raises((PredicateError, Inexact)):
        raise PredicateError(str(len(given(deep))))
