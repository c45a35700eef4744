"""Table features as tests combine them: columns, properties, values of rows, and which features exclude each other."""

import itertools
import json
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from typing import Any

import pyarrow as pa

from deltaskip.rows.arrow_layout import stored_type
from deltaskip.sparkexpr.types import StructType
from deltaskip.sparkexpr.types.data_types import INVARIANTS_KEY, VARIANT, StructField
from deltaskip.sparkexpr.types.ddl import parse_columns
from deltaskip.sparkexpr.values.arrow_values import arrow_array
from tests.rows.tables import nested_array

DAY = 86_400_000_000
Values = Callable[[int], Any]


@dataclass(frozen=True)
class Feature:
    """One way to use the protocol.

    Attributes:
        columns: DDL of the feature's columns.
        given: By column, the value of the row with an id, in this package's representation of values.
        computed: By column that the rows lack, its value from the row.
        numbered: Identity columns, whose values only must differ.
        apart: Features that a table of this one cannot have.
        needs: Features that it must have.
        unread: Readers that refuse such a table.
        written_by_others: Whether delta-spark writes to such a table.
    """

    columns: str = ""
    given: Mapping[str, Values] = field(default_factory=dict)
    computed: Mapping[str, Callable[[Mapping[str, Any]], Any]] = field(default_factory=dict)
    numbered: tuple[str, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    partition_by: tuple[str, ...] = ()
    cluster_by: tuple[str, ...] = ()
    metadata: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    apart: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    written_by_others: bool = True


def _cycle(*values: Any) -> Values:
    return lambda i: values[i % len(values)]


def _partition(name: str, kind: str, *values: Any) -> Feature:
    return Feature(f"{name} {kind}", {name: _cycle(*values)}, partition_by=(name,), apart=("clustering",))


def _property(name: str, value: str = "true", **options: Any) -> Feature:
    return Feature(properties={f"delta.{name}": value}, **options)


_INSTANTS = (
    *(None, -1, -DAY * 365 * 200 + 123_456, 1_710_050_400_000_000, 1_710_054_000_000_001, 253_402_300_799_999_999),
)
_TEXTS = ("x", None, "", "a b/%:é+#", "a=b", "ä\n\t\"'\\", "日本", " ", "A", "a")
_DAYS = (None, -1, 0, -719_162, 19_000, 2_932_896)
_INVARIANT = json.dumps({"expression": {"expression": "inv > -100"}})

BASE = """id BIGINT, name STRING, v DOUBLE, f FLOAT, dec DECIMAL(10,2), ts TIMESTAMP, day DATE, flag BOOLEAN,
    bin BINARY, st STRUCT<a: INT, tags: ARRAY<STRING>, deep: STRUCT<x: BIGINT, at: TIMESTAMP>>, m MAP<STRING, INT>,
    arr ARRAY<STRUCT<k: STRING, n: DECIMAL(38,10)>>"""
BASE_VALUES: Mapping[str, Values] = {
    "id": lambda i: i,
    "name": lambda i: None if i % 11 == 3 else f"n{i}" + "é😀" * (i % 4 * 9),
    "v": lambda i: (None, i / 2, -0.0, float("nan"), -float(i), 1e300)[i % 6],
    "f": lambda i: (None, 0.5, -0.0, float("inf"), 1.0)[i % 5],
    "dec": lambda i: None if i % 5 == 0 else Decimal(i * 101 - 999).scaleb(-2),
    "ts": lambda i: _INSTANTS[i % len(_INSTANTS)],
    "day": lambda i: _DAYS[i % len(_DAYS)],
    "flag": _cycle(True, False, None),
    "bin": _cycle(b"", None, b"\x00\xff", b"ab"),
    "st": lambda i: (None if i % 6 == 5 else {"a": None if i % 6 == 4 else i,
        "tags": (None, [], ["x", None], ["é"])[i % 4],
        "deep": None if i % 3 == 0 else {"x": -i, "at": _INSTANTS[i % len(_INSTANTS)]}}),
    "m": lambda i: (None, [], [("k", i), ("l", None)])[i % 3],
    "arr": lambda i: (None, [], [None, {"k": f"k{i}", "n": Decimal(i).scaleb(-10)}])[i % 3],
}  # fmt: skip

FEATURES: Mapping[str, Feature] = {
    "plain": Feature(),
    "mapping by name": _property("columnMapping.mode", "name", apart=("mapping by id",)),
    "mapping by id": _property("columnMapping.mode", "id"),
    "odd names": Feature("`a b,;{}()=` INT, `x.y` STRUCT<`p q`: STRING>, `é-q` STRING",
        {"a b,;{}()=": lambda i: i, "x.y": lambda i: {"p q": str(i)}, "é-q": _cycle("a", None)},
        needs=("mapping by name",)),
    "deletion vectors": _property("enableDeletionVectors"),
    "row tracking": _property("enableRowTracking"),
    "in-commit timestamps": _property("enableInCommitTimestamps"),
    "change data feed": _property("enableChangeDataFeed"),
    "clustering": Feature(cluster_by=("name", "st.a", "ts")),
    "domain metadata": Feature(properties={"delta.feature.domainMetadata": "supported"}),
    "check": Feature(properties={"delta.constraints.c": "id >= 0 AND coalesce(name, 'n') LIKE 'n%' -- why"}),
    "not null": Feature("nn STRING NOT NULL, snn STRUCT<x: INT NOT NULL, y: STRING> NOT NULL",
        {"nn": lambda i: f"v{i}", "snn": lambda i: {"x": i, "y": None}}),
    "invariant": Feature("inv INT", {"inv": lambda i: i}, metadata={"inv": {INVARIANTS_KEY: _INVARIANT}}),
    "generated": Feature("g BIGINT GENERATED ALWAYS AS (id * 2), gs STRING GENERATED ALWAYS AS (upper(name))",
        computed={"g": lambda row: row["id"] * 2, "gs": lambda row: row["name"] and row["name"].upper()}),
    "partitioned by generated": Feature("gp DATE GENERATED ALWAYS AS (CAST(at AS DATE)), at TIMESTAMP_NTZ",
        {"at": _cycle(None, -1, DAY * 20_000 + 5)}, {"gp": lambda row: None if row["at"] is None else row["at"] // DAY},
        partition_by=("gp",), apart=("clustering",)),
    "identity by default": Feature("auto BIGINT GENERATED BY DEFAULT AS IDENTITY (START WITH 100 INCREMENT BY -3)",
        numbered=("auto",)),
    "identity always": Feature("seq BIGINT GENERATED ALWAYS AS IDENTITY", numbered=("seq",)),
    "defaults": Feature("d INT DEFAULT 7, ds STRING DEFAULT 'it''s', dd DATE DEFAULT DATE'1969-12-31'",
        computed={"d": lambda _: 7, "ds": lambda _: "it's", "dd": lambda _: -1}),
    "append only": _property("appendOnly"),
    "v2 checkpoints": _property("checkpointPolicy", "v2"),
    "struct statistics": Feature(properties={"delta.checkpoint.writeStatsAsJson": "false",
        "delta.checkpoint.writeStatsAsStruct": "true", "delta.checkpointInterval": "2"}),
    "variant": Feature("var VARIANT", {"var": lambda i: None if i % 4 == 0 else json.dumps({"a": i % 50})}),
    "type widening": Feature("w INT, wf FLOAT", {"w": lambda i: i, "wf": lambda i: i / 2},
        properties={"delta.enableTypeWidening": "true"}),
    "timestampNtz": Feature("ntz TIMESTAMP_NTZ", {"ntz": _cycle(*_INSTANTS)}),
    "varchar": Feature("vc VARCHAR(5), vs ARRAY<VARCHAR(2)>", {"vc": _cycle(None, "", "é😀abc"),
        "vs": _cycle(["ab", None], None)}),
    # delta-spark cannot update a table with row tracking whose columns Spark pads on read.
    "char": Feature("ch CHAR(3)", {"ch": _cycle("abc", None)}, apart=("row tracking",)),
    "collations": Feature("cs STRING COLLATE UTF8_LCASE, cst STRUCT<x: STRING COLLATE UNICODE_CI>",
        {"cs": _cycle("a", "B", None, "ß"), "cst": lambda i: {"x": "xX"[i % 2]}}, written_by_others=False),
    "icebergCompatV2": _property("enableIcebergCompatV2", needs=("mapping by name",),
        apart=("deletion vectors", "variant", "icebergCompatV3", "materialized partition columns")),
    # delta-spark finds no field ids for the members of a variant, and allows no DECIMAL partitions.
    "icebergCompatV3": _property("enableIcebergCompatV3", needs=("mapping by name", "row tracking"),
        apart=("variant", "partitioned by DECIMAL")),
    "few statistics": _property("dataSkippingNumIndexedCols", "3", apart=("statistics columns", "clustering")),
    "statistics columns": _property("dataSkippingStatsColumns", "st.a,name,day,ts"),
    "random prefixes": _property("randomizeFilePrefixes"),
    "zstd": _property("parquet.compression.codec", "zstd"),
    "materialized partition columns": _property("enableMaterializePartitionColumnsFeature",
        needs=("partitioned by STRING",), unread=("deltalake", "duckdb")),
    "partitioned by STRING": _partition("ps", "STRING", *_TEXTS),
    "partitioned by DATE": _partition("pd", "DATE", *_DAYS),
    "partitioned by TIMESTAMP": _partition("pt", "TIMESTAMP", *_INSTANTS),
    "partitioned by TIMESTAMP_NTZ": _partition("pn", "TIMESTAMP_NTZ", *_INSTANTS),
    "partitioned by DECIMAL": _partition("pdec", "DECIMAL(20,4)", *map(Decimal, ("0.0000", "-1.5000",
        "1234567890123456.7891")), None),
    "partitioned by BINARY": _partition("pb", "BINARY", b"ab", None, b"\x00\x01", b"%/"),
    "partitioned by BOOLEAN": _partition("pf", "BOOLEAN", True, None, False),
    "partitioned by INT": _partition("pi", "INT", 0, -(2**31), None, 2**31 - 1),
    "partitioned by DOUBLE": _partition("pv", "DOUBLE", 0.5, -0.0, 0.0, float("nan"), None, float("-inf"), 1e300),
}  # fmt: skip


_LIMITING = {"append only", *(name for name, each in FEATURES.items() if not each.written_by_others)}


@dataclass(frozen=True)
class Case:
    """A table with some features."""

    features: tuple[str, ...]

    @property
    def parts(self) -> list[Feature]:
        """The features."""
        return [FEATURES[name] for name in self.features]

    @property
    def schema(self) -> StructType:
        """The columns of the table."""
        found = parse_columns(", ".join([BASE, *(each.columns for each in self.parts if each.columns)]))
        extra = {name: keys for each in self.parts for name, keys in each.metadata.items()}
        fields = (
            StructField(f.name, f.type, f.nullable, {**f.metadata, **extra.get(f.name, {})}) for f in found.fields
        )
        return StructType(tuple(fields))

    @property
    def given(self) -> dict[str, Values]:
        """Values of the columns that rows have."""
        return {**BASE_VALUES, **{name: value for each in self.parts for name, value in each.given.items()}}

    @property
    def numbered(self) -> list[str]:
        """The identity columns."""
        return [name for each in self.parts for name in each.numbered]

    @property
    def properties(self) -> dict[str, str]:
        """The table properties."""
        return {name: value for each in self.parts for name, value in each.properties.items()}

    def rows(self, ids: Iterable[int]) -> list[dict[str, Any]]:
        """The rows that are given."""
        return [{name: value(i) for name, value in self.given.items()} for i in ids]

    def stored(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """The row as readers find it, without identity values."""
        found = dict(row)
        for each in self.parts:
            found.update({name: compute(row) for name, compute in each.computed.items()})
        partitions = {name for each in self.parts for name in each.partition_by}
        return {name: None if name in partitions and value == "" else value for name, value in found.items()}

    def arrow(self, rows: Sequence[Mapping[str, Any]]) -> pa.Table:
        """The rows as Arrow data."""
        fields = {f.name: f for f in self.schema.fields}
        columns = {}
        for name in self.given:
            values = [row[name] for row in rows]
            if fields[name].type == VARIANT:
                columns[name] = variants(values)
            else:
                columns[name] = nested_array(values, stored_type(fields[name].type))
        return pa.table(columns)


def variants(texts: Sequence[str | None]) -> pa.Array:
    """Variants of objects {"a": n} with n below 128, in the encoding of the Parquet specification."""
    metadata = [b"\x01\x01\x00\x01a" for _ in texts]
    numbers = [0 if text is None else json.loads(text)["a"] for text in texts]
    values = [b"\x02\x01\x00\x00\x02\x0c" + bytes([number]) for number in numbers]
    mask = arrow_array([text is None for text in texts], pa.bool_())
    members = [arrow_array(values, pa.binary()), arrow_array(metadata, pa.binary())]
    return pa.StructArray.from_arrays(members, names=["value", "metadata"], mask=mask)


def may_be_together(names: Iterable[str]) -> bool:
    """Whether a table can have these features, apart from those that they need."""
    chosen = set(names)
    return not any(other in FEATURES[name].apart for name in chosen for other in chosen if other != name)


def with_needed(names: Iterable[str]) -> tuple[str, ...]:
    """The features with those that they need, in the order of FEATURES."""
    chosen = set(names)
    chosen |= {other for name in chosen for other in FEATURES[name].needs}
    return tuple(name for name in FEATURES if name in chosen)


def pairs() -> list[Case]:
    """A table for each pair of features."""
    found = dict.fromkeys(with_needed(pair) for pair in itertools.combinations_with_replacement(FEATURES, 2))
    return [Case(names) for names in found if may_be_together(names)]


@cache
def combinations(size: int = 12, seed: int = 0) -> tuple[Case, ...]:
    """Tables of many features, which together have each pair."""
    chance = random.Random(seed)
    # Sets of features as numbers with a bit for each.
    bits = {name: 1 << place for place, name in enumerate(FEATURES)}
    needed = {name: _bits(with_needed([name]), bits) for name in FEATURES}
    apart = {name: _bits(FEATURES[name].apart, bits) for name in FEATURES}
    limiting = _bits(_LIMITING, bits)
    left = [_bits(case.features, bits) for case in pairs()]

    def together(chosen: int) -> bool:
        return not any(chosen & bits[name] and chosen & apart[name] & ~bits[name] for name in FEATURES)

    found = []
    while left:
        chosen = left[0]
        order = [*FEATURES]
        chance.shuffle(order)
        while True:
            # delta-spark changes no row of tables that have one of these.
            names = order if chosen & limiting else [n for n in order if not bits[n] & limiting]
            allowed = [n for n in names if chosen.bit_count() < size and together(chosen | needed[n])]
            gain = {n: sum(not pair & ~(chosen | needed[n]) for pair in left) for n in allowed}
            best = max(gain, key=gain.__getitem__, default=None)
            if best is None or gain[best] <= sum(not pair & ~chosen for pair in left):
                break
            chosen |= needed[best]
        left = [pair for pair in left if pair & ~chosen]
        found.append(Case(with_needed(name for name in FEATURES if chosen & bits[name])))
    return tuple(found)


def _bits(names: Iterable[str], bits: Mapping[str, int]) -> int:
    return sum(bits[name] for name in set(names))
