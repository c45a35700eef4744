"""Columns of the tables of histories, with values at the edges of their types."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import Any

from deltaskip.sparkexpr.types.data_types import DataType
from deltaskip.sparkexpr.types.ddl import parse_columns, type_text
from tests.rows.random_values import nullable

DAY = 86_400_000_000
Row = Mapping[str, Any]

TEXTS = (
    None, "", "é", "e\u0301", "😀", "\uffff", "a b/%:é+#", "100%25", "%2F", "it's", 'q"\\', "\n\t", "NULL", " ", "A",
    "a", "ß", "z" * 33, "z" * 32 + "😀", "é" * 31 + "\uffff\U0010ffff" * 3, "__HIVE_DEFAULT_PARTITION__x", "a=b",
)  # fmt: skip
DOUBLES = (None, 0.0, -0.0, float("nan"), float("inf"), -float("inf"), 1e300, 5e-324, -1.5, 2.5)
FLOATS = (None, 0.0, -0.0, float("nan"), 0.5, 16777216.0, -2.25)
WIDE = Context(prec=40)
DECIMALS = tuple(
    None if text is None else Decimal(text).quantize(Decimal("1E-18"), context=WIDE)
    for text in (None, "0", "1E-18", "-99999999999999999999.999999999999999999", "12345678901234567890.5", "-1.5")
)
DAYS = (None, -719_162, -141_428, -141_427, -1, 0, 19_000, 2_932_896)
INSTANTS = (
    None, -1, 0, -14_831_769_600_000_000 + 123_456, 1_710_050_400_000_000, 1_710_054_000_000_001,
    1_667_000_000_123_999, 253_402_300_799_999_999, -62_135_596_800_000_000,
)  # fmt: skip
BYTES = (None, b"", b"\x00\xff", b"ab", b"%/")
INTEGERS = (None, 0, 1, 2, 3, 4, 5, -7, 900)
EDGE_INTEGERS = (None, 0, -(2**31), 2**31 - 1, 7)


@dataclass(frozen=True)
class Column:
    """A column of a table, which keeps its key when it is renamed.

    Attributes:
        key: The name that rows of the model have.
        name: The name in the table.
        draw: A random value.
        declared: What DDL has after the type.
        compute: The value of a generated column from its row.
        uses: Keys of columns that a generation expression, a constraint or a layout uses; they stay as they are.
        identity: Start and step.
        always: Whether the identity column takes no values from rows.
    """

    key: str
    name: str
    type: DataType
    draw: Callable[[random.Random], Any]
    declared: str = ""
    compute: Callable[[Row], Any] | None = None
    uses: tuple[str, ...] = ()
    identity: tuple[int, int] | None = None
    always: bool = False
    partition: bool = False
    required: bool = False
    default: Any = None

    @property
    def given(self) -> bool:
        """Whether rows that are written have the column."""
        return self.compute is None and self.identity is None

    @property
    def ddl(self) -> str:
        """The column in DDL."""
        return f"{self.name} {type_text(self.type)} {self.declared}".strip()


def _pool(values: Sequence[Any]) -> Callable[[random.Random], Any]:
    return lambda chance: chance.choice(values)


def column(key: str, ddl: str, draw: Callable[[random.Random], Any] | Sequence[Any], **options: Any) -> Column:
    """A column of a type in DDL."""
    [field] = parse_columns(f"{key} {ddl}").fields
    return Column(key, key, field.type, draw if callable(draw) else _pool(draw), **options)


def random_column(chance: random.Random, name: str, kind: DataType) -> Column:
    """A column of any type."""
    return Column(name, name, kind, lambda chance: nullable(chance, kind))


def _struct(chance: random.Random) -> Any:
    if chance.random() < 0.2:
        return None
    deep = None if chance.random() < 0.3 else {"x": chance.choice((None, 2**53 + 1, -1))}
    return {"a": chance.choice(INTEGERS), "b": chance.choice(TEXTS), "deep": deep}


def _array(chance: random.Random) -> Any:
    member = {"k": chance.choice(TEXTS), "n": chance.choice(DECIMALS)}
    return chance.choice((None, [], [None], [member], [None, member, {"k": None, "n": None}]))


def _map(chance: random.Random) -> Any:
    return chance.choice((None, [], [("", None)], [("é/%", chance.choice(INTEGERS)), ("k", 1)]))


BASE = (
    column("id", "BIGINT", lambda _: None),
    column("k", "INT", INTEGERS),
    column("name", "STRING", TEXTS),
    column("v", "DOUBLE", DOUBLES),
    column("dec", "DECIMAL(38,18)", DECIMALS),
    column("ts", "TIMESTAMP", INSTANTS),
    column("day", "DATE", DAYS),
    column("bin", "BINARY", BYTES),
    column("st", "STRUCT<a: INT, b: STRING, deep: STRUCT<x: BIGINT>>", _struct),
    column("arr", "ARRAY<STRUCT<k: STRING, n: DECIMAL(38,18)>>", _array),
    column("m", "MAP<STRING, INT>", _map),
)


def _partition(kind: str, values: Sequence[Any], key: str = "p") -> Column:
    return column(key, kind, values, partition=True)


LAYOUTS: Mapping[str, tuple[Column, ...]] = {
    "unpartitioned": (),
    "partitioned by STRING": (_partition("STRING", (*TEXTS[:12], "x", "y")),),
    "clustered": (),
    "partitioned by DATE": (_partition("DATE", DAYS),),
    "partitioned by INT and STRING": (_partition("INT", EDGE_INTEGERS), _partition("STRING", ("x", None), "q")),
    "partitioned by a generated column": (
        column("at", "TIMESTAMP_NTZ", (None, -1, DAY * 19_000 + 5, DAY * 19_001, -14_831_769_600_000_000)),
        column(
            "gp", "DATE", lambda _: None, declared="GENERATED ALWAYS AS (CAST(at AS DATE))", partition=True,
            compute=lambda row: None if row.get("at") is None else row["at"] // DAY, uses=("at",),
        ),
    ),
    "partitioned by TIMESTAMP": (_partition("TIMESTAMP", INSTANTS),),
}  # fmt: skip

EXTRA: Mapping[str, tuple[Column, ...]] = {
    "generated": (
        column(
            "g", "BIGINT", lambda _: None, declared="GENERATED ALWAYS AS (CAST(k AS BIGINT) * 2)", uses=("k",),
            compute=lambda row: None if row.get("k") is None else row["k"] * 2,
        ),
        column(
            "gs", "STRING", lambda _: None, declared="GENERATED ALWAYS AS (concat(name, '!'))", uses=("name",),
            compute=lambda row: None if row.get("name") is None else row["name"] + "!",
        ),
    ),
    "identity by default": (column("auto", "BIGINT", lambda _: None, identity=(100, -3),
        declared="GENERATED BY DEFAULT AS IDENTITY (START WITH 100 INCREMENT BY -3)"),),
    "identity always": (column("seq", "BIGINT", lambda _: None, declared="GENERATED ALWAYS AS IDENTITY",
        identity=(1, 1), always=True),),
    "not null": (column("nn", "STRING", TEXTS[1:], declared="NOT NULL", required=True),),
    "default": (column("d", "INT", INTEGERS, declared="DEFAULT 7", default=7),),
    "type widening": (column("w", "INT", EDGE_INTEGERS), column("wf", "FLOAT", FLOATS),
        column("wd", "DECIMAL(10,2)", tuple(None if n is None else Decimal(n).scaleb(-2) for n in (None, 0, -150, 99))),
        column("wt", "DATE", DAYS)),
}  # fmt: skip
