"""Expressions over data of Arrow, pandas and Polars."""

import datetime as dt
from decimal import Decimal
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import deltaskip as ds
from deltaskip import InvalidArgument, InvalidArgumentType, PredicateError, UnsupportedFeature
from deltaskip.spark.session.session_settings import session_settings
from deltaskip.sparkexpr import CheckedExpression, check, evaluate, filter
from tests.each import refuses

ROWS: dict[str, list[Any]] = {
    "id": [1, 2, None, 4], "name": ["ada", "Bob", None, "çelik"],
    "price": [Decimal("1.50"), None, Decimal("-2.25"), Decimal(0)],
    "ts": [dt.datetime(2026, 3, 29, 0, 30, tzinfo=dt.UTC), dt.datetime(2026, 11, 1, tzinfo=dt.UTC), None,
           dt.datetime(1900, 1, 1, tzinfo=dt.UTC)],
    "tags": [["a", "b"], [], None, ["c"]],
}  # fmt: skip
TABLE = pa.table(ROWS)
EXPRESSIONS = (
    "id + 1", "id * price", "upper(name) || '!'", "length(name)", "name LIKE '%b'", "price / 3", "round(price, 1)",
    "coalesce(id, -1)", "CASE WHEN id > 1 THEN 'big' ELSE name END", "CAST(ts AS STRING)", "date_trunc('DAY', ts)",
    "hour(ts)", "ts + INTERVAL 1 DAY", "CAST(price AS INT)", "get(tags, 0)", "size(tags)",
    "name IN ('ada', 'x')", "id IS DISTINCT FROM 2", "named_struct('a', id, 'b', name)", "map('k', price)",
    "hash(id, name)", "to_json(named_struct('t', ts))", "name COLLATE UTF8_LCASE = 'BOB'", "array_contains(tags, 'a')",
    "regexp_extract(name, '(a)', 1)",
)  # fmt: skip


POLARS = pl.DataFrame(TABLE)
TEXT, TAGS, NAMES = pl.col("name"), pl.col("tags"), ["ada", "Bob", "çelik"]
VIEWS = pa.large_list_view(pa.string())
RUNS = pa.RunEndEncodedArray.from_arrays(
    pa.array(range(1, 9), pa.int32()), pa.array([*ROWS["name"], *ROWS["name"]], pa.string_view())
)


class _Raising:
    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        raise LookupError("mine")


def frames() -> dict[str, Any]:
    return {
        "table": TABLE, "batch": TABLE.to_batches()[0], "reader": TABLE.to_reader(), "polars": pl.from_arrow(TABLE),
        "pandas": TABLE.to_pandas(types_mapper=pd.ArrowDtype).set_index(pd.Index([7, 8, 9, 5])),
        "dictionary": TABLE.set_column(1, "name", TABLE["name"].dictionary_encode()),
        "views": TABLE.set_column(1, "name", TABLE["name"].cast(pa.string_view())),
        "polars of categories": POLARS.with_columns(TEXT.cast(pl.Categorical), TAGS.cast(pl.List(pl.Categorical))),
        "polars of enums": POLARS.with_columns(TEXT.cast(pl.Enum(NAMES)), TAGS.cast(pl.List(pl.Enum(["a", "b", "c"])))),
        "dictionary of views": TABLE.set_column(1, "name", pa.DictionaryArray.from_arrays(
            [0, 1, None, 2], pa.array(NAMES, pa.string_view()))),
        "runs": TABLE.set_column(1, "name", pc.run_end_encode(TABLE["name"])),
        "sliced runs": pa.concat_tables([TABLE, TABLE]).set_column(1, "name", RUNS).slice(4),
        "list views": TABLE.set_column(4, "tags", pa.array(ROWS["tags"], pa.list_view(pa.string_view()))),
        "sliced list views": pa.table({**ROWS, "tags": pa.array([None, ["z"], *ROWS["tags"]], VIEWS).slice(2)}),
        "empty chunk": pa.concat_tables([TABLE.slice(0, 2), TABLE.slice(2, 0), TABLE.slice(2)]),
        "chunks": pa.concat_tables([TABLE.slice(0, 1), TABLE.slice(1)]),
        "nanoseconds": TABLE.set_column(3, "ts", TABLE["ts"].cast(pa.timestamp("ns", "Europe/Berlin"))),
    }  # fmt: skip


def plain(values: Any) -> list[Any]:
    return values.to_arrow().to_pylist() if isinstance(values, pl.Series) else pa.array(values).to_pylist()


@pytest.mark.parametrize("kind", frames())
def test_every_kind_of_data_gives_the_same_values(kind: str) -> None:
    for text in ("upper(name) || id", "CAST(ts AS STRING)", "get(tags, 0)", "id * price"):
        wanted = evaluate(text, TABLE, time_zone="Europe/Berlin").to_pylist()
        assert plain(evaluate(text, frames()[kind], time_zone="Europe/Berlin")) == wanted


@pytest.mark.parametrize("kind", frames())
def test_a_filter_gives_the_rows_in_the_kind_of_the_data(kind: str) -> None:
    data = frames()[kind]
    found = filter(ds.col("id") > 1, data)
    assert type(found) is (type(data) if kind.startswith(("pandas", "polars")) else pa.Table)
    assert plain(evaluate("id", found)) == [2, 4]
    if kind == "pandas":
        assert list(found.index) == [8, 5] and list(evaluate("id", data).index) == [7, 8, 9, 5]


def test_a_check_names_what_needs_spark() -> None:
    found = check("id + 2 > 3", "id BIGINT NOT NULL, ts TIMESTAMP")
    assert found == CheckedExpression(ds.PrimitiveType("boolean"), False, (), None)
    assert check("coalesce(id, 1)", "id BIGINT").type == ds.PrimitiveType("long")
    found = check("xpath_int(name, 'a') + my_function(id)", TABLE.schema)
    assert found.needs_spark == ("xpath_int", "my_function") and "xpath_int" in str(found.reason)
    with pytest.raises(UnsupportedFeature, match=r"xpath_int.* without Spark: .* Evaluate it with PySpark"):
        evaluate("xpath_int(name, 'a')", TABLE)


def test_an_error_is_that_of_spark_or_names_the_argument() -> None:
    with pytest.raises(PredicateError, match=r"The expression 1 div id fails for a row of the data: .*zero"):
        evaluate("1 div id", pa.table({"id": [1, 0]}))
    refuses(UnsupportedFeature, "has a value without it", evaluate, "1 div id", pa.table({"id": [1, 0]}), ansi=False)
    refuses(PredicateError, "There is no column nmae", evaluate, "nmae", TABLE)
    with pytest.raises(InvalidArgumentType, match="data must be a DataFrame of pandas or Polars, or Arrow data"):
        evaluate("id", {"id": [1]})
    refuses(InvalidArgument, "The data cannot be read as Arrow: mine", lambda: evaluate("id", _Raising()))
    refuses(InvalidArgumentType, "expression must be SQL text or a Column", evaluate, 5, TABLE)
    with pytest.raises(InvalidArgument, match=r"The column t of type timestamp.ns. .* cast it before"):
        evaluate("t", pa.table({"t": pa.array([1], pa.timestamp("ns"))}))
    with pytest.raises(InvalidArgument, match="The column s has strings that are not UTF-8"):
        evaluate("s", pa.table({"s": pa.array([b"\xff"]).view(pa.string())}))


@pytest.mark.spark
@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_values_are_those_of_spark(spark: Any, zone: str) -> None:
    with session_settings(spark, {"spark.sql.session.timeZone": zone}):
        frame = spark.createDataFrame(TABLE)
        for text in EXPRESSIONS:
            wanted = frame.selectExpr(f"{text} AS v").toArrow()["v"].to_pylist()
            assert evaluate(text, TABLE, time_zone=zone).to_pylist() == wanted, text
