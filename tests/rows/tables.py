"""Tables of rows for the tests of plans: one schema with every kind of column and rule, and random rows for it."""

import random
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa

from deltaskip.rows.plan import RowPlan, plan_rows
from deltaskip.schema.properties import TableProperties
from deltaskip.sparkexpr.types import StructType, from_arrow
from deltaskip.sparkexpr.types.ddl import parse_columns
from deltaskip.sparkexpr.values.arrow_values import typed_array

SCHEMA = """
    id BIGINT NOT NULL, small SMALLINT, price DECIMAL(6,2) DEFAULT 1.5, name VARCHAR(4),
    ts TIMESTAMP, day DATE GENERATED ALWAYS AS (CAST(ts AS DATE)), doubled INT GENERATED ALWAYS AS (small * 2),
    part STRING, tags ARRAY<VARCHAR(2)>, st STRUCT<a: INT NOT NULL, b: STRUCT<c: FLOAT, d: STRING>>,
    m MAP<STRING, TINYINT>, local TIMESTAMP_NTZ DEFAULT TIMESTAMP_NTZ'2020-01-01 00:00:00', nothing STRING
"""
CONSTRAINTS = {
    "delta.constraints.positive": "price > 0 OR price IS NULL -- a comment",
    "delta.constraints.part": "part <> 'forbidden'",
    "delta.constraints.sums": "small + id % 10 < 32760",
}
INCOMING = pa.schema(
    [
        ("ID", pa.int32()),
        ("small", pa.int64()),
        ("price", pa.decimal128(12, 4)),
        ("Name", pa.string()),
        ("ts", pa.timestamp("us", "UTC")),
        ("doubled", pa.int64()),
        ("part", pa.string()),
        ("tags", pa.list_(pa.string())),
        ("ST", pa.struct([("B", pa.struct([("c", pa.float64())])), ("A", pa.int64())])),
        ("m", pa.map_(pa.string(), pa.int32())),
    ]
)


def plan_for(incoming: pa.Schema = INCOMING, **options: Any) -> RowPlan:
    """The plan for rows of an Arrow schema in the table."""
    properties = TableProperties(CONSTRAINTS, "/data/t")
    return plan_rows(parse_columns(SCHEMA), properties, from_arrow(incoming), partition_columns=["part"], **options)


def planned(schema: str, rows: pa.Schema | StructType, **options: Any) -> RowPlan:
    """The plan for rows in a table with the columns of DDL text."""
    properties = TableProperties(options.pop("configuration", {}), "/data/t")
    incoming = rows if isinstance(rows, StructType) else from_arrow(rows)
    return plan_rows(parse_columns(schema), properties, incoming, **options)


def random_row(seed: int) -> dict[str, Any]:
    """A row of INCOMING, of which about half violate some rule."""
    chance = random.Random(seed)

    def odd(usual: Any, *unusual: Any, often: float = 0.06) -> Any:
        return chance.choice(unusual) if chance.random() < often else usual

    small = odd(chance.randrange(-1000, 1000), None, 32_767, 40_000, often=0.1)
    fits = small is None or abs(small) < 20_000
    doubled = None if small is None else small * 2 if fits else 0
    return {
        "ID": odd(chance.randrange(10**6), None),
        "small": small,
        "price": odd(Decimal(chance.randrange(10**7)).scaleb(-4), None, Decimal("-1.0000"), Decimal("9999.9950"),
            Decimal("9999.9949")),
        "Name": odd(chance.choice(["a", "é😀", "abcd"]), None, "", "abcde", "abc  "),
        "ts": odd(chance.randrange(10**15), None, -1),
        "doubled": odd(doubled, 1, None),
        "part": odd(chance.choice(["x", "a/b"]), None, "", "forbidden", often=0.1),
        "tags": odd([chance.choice(["a", "éé", None]) for _ in range(chance.randrange(3))], None, ["a", "abc"]),
        "ST": odd({"A": chance.randrange(100), "B": odd({"c": chance.choice([0.1, 1e300, -0.0, None])}, None)}, None,
            {"A": None, "B": None}, {"A": 2**31, "B": None}),
        "m": odd([(key, chance.randrange(100)) for key in "ab"[: chance.randrange(3)]], None, [("a", 128)]),
    }  # fmt: skip


def table_of(rows: list[dict[str, Any]], schema: pa.Schema = INCOMING) -> pa.Table:
    """The rows as Arrow data."""
    return pa.table([pa.array([row[f.name] for row in rows], f.type) for f in schema], schema=schema)


def nested_array(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """An array of values of this package's representation, at any depth."""
    if pa.types.is_nested(kind):
        return pa.array(values, _numbers(kind)).cast(kind)
    return typed_array(values, kind)


def _numbers(kind: pa.DataType) -> pa.DataType:
    """The type with numbers in place of dates and timestamps."""
    if pa.types.is_timestamp(kind):
        return pa.int64()
    if pa.types.is_date(kind):
        return pa.int32()
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(f.name, _numbers(f.type)) for f in kind])
    if pa.types.is_map(kind):
        return pa.map_(_numbers(kind.key_type), _numbers(kind.item_type))
    return pa.list_(_numbers(kind.value_type)) if pa.types.is_list(kind) else kind
