"""The table of stats.believed_bounds, cell by cell: what a bound in each form is believed to say about the rows."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from decimal import Context, Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from deltaskip.sparkexpr import types as t
from deltaskip.stats.believed_bounds import BEFORE_1900, BoundForm, hybrid_calendar, in_our_calendar
from deltaskip.stats.decode import from_struct
from deltaskip.stats.layout import Side, StatField
from deltaskip.stats.logged_stats import LoggedStats
from deltaskip.stats.parsed_stats import StatsStruct, stats_texts
from deltaskip.stats.stats_columns import StatColumn

LOW, HIGH = float(np.float32(0.1)), 0.1
MINUTE_BEFORE = BEFORE_1900 - 60_000_000


def field(type_: t.DataType, *before: str) -> StatField:
    return StatField(("c",), type_, "c", frozenset(before))


class Texts:
    """Adds with statistics as text only (stats.logged_stats.StatisticsSource)."""

    def __init__(self, texts: pa.Array) -> None:
        self._texts = texts

    def struct_leaves(self, paths: Sequence[tuple[str, ...]]) -> list[pa.Array | None]:
        return [None] * len(paths)

    def struct_valid(self) -> pa.BooleanArray | None:
        return None

    def json(self) -> Iterator[pa.Array]:
        yield self._texts

    def nan_recorded(self) -> pa.BooleanArray:
        return pa.array([False] * len(self._texts))

    def nan_absent(self, path: tuple[str, ...]) -> pa.BooleanArray:
        return self.nan_recorded()

    def computed(self) -> pa.BooleanArray:
        return self.nan_recorded()


def of_text(value: str, column: StatField) -> tuple[Any, Any]:
    """The bounds of a file whose minimum and maximum are both spelled so."""
    text = f'{{"numRecords":1,"minValues":{{"c":{value}}},"maxValues":{{"c":{value}}},"nullCount":{{"c":0}}}}'
    stats = LoggedStats(1, Texts(pa.array([text])))
    return stats.bound(column, "min")[0].as_py(), stats.bound(column, "max")[0].as_py()


def of_struct(
    value: Any, stored: pa.DataType, column: StatField, form: BoundForm = BoundForm.STRUCT
) -> tuple[Any, Any]:
    sides: tuple[Side, Side] = ("min", "max")
    array = pa.array([value], stored)
    low, high = (from_struct(array, column, side, form)[0].as_py() for side in sides)
    return low, high


TEXTS: list[tuple[str, StatField, tuple[Any, Any]]] = [
    # Integers: any notation that lost no digit, in the range of the type.
    ("7", field(t.LONG), (7, 7)),
    ("7.0", field(t.LONG), (7, 7)),
    ("1e3", field(t.INTEGER), (1000, 1000)),
    ("9007199254740993", field(t.LONG), (9007199254740993, 9007199254740993)),
    ("9007199254740992.0", field(t.LONG), (None, None)),
    ("9.007199254740992E15", field(t.LONG), (None, None)),
    ("1e18", field(t.LONG), (None, None)),
    ("-9007199254740992.0", field(t.LONG), (None, None)),
    ("999999999999999.0", field(t.LONG), (999999999999999, 999999999999999)),
    ("9223372036854775808", field(t.LONG), (None, None)),
    ("300", field(t.BYTE), (None, None)),
    ("-32769", field(t.SHORT), (None, None)),
    ("2147483648", field(t.INTEGER, "short"), (None, None)),
    ("true", field(t.LONG), (None, None)),
    ('"7"', field(t.LONG), (None, None)),
    ("1.5", field(t.INTEGER), (None, None)),
    # Floats, and doubles that were floats.
    ("0.1", field(t.FLOAT), (LOW, LOW)),
    ("0.1", field(t.DOUBLE), (0.1, 0.1)),
    ("0.1", field(t.DOUBLE, "float"), (0.1, LOW)),
    ("0.10000000149011612", field(t.DOUBLE, "float"), (LOW, LOW)),
    ("0.5", field(t.DOUBLE, "float"), (0.5, 0.5)),
    ("1e39", field(t.FLOAT), (None, None)),
    ("1e400", field(t.DOUBLE), (None, None)),
    ('"Infinity"', field(t.DOUBLE), (float("inf"), float("inf"))),
    ("16777217", field(t.DOUBLE, "integer"), (16777217.0, 16777217.0)),
    ('"0.1"', field(t.DOUBLE), (None, None)),
    # Decimals.
    ("1.5", field(t.DecimalType(10, 2)), (Decimal("1.50"), Decimal("1.50"))),
    ("7", field(t.DecimalType(12, 2), "integer"), (Decimal("7.00"), Decimal("7.00"))),
    ("true", field(t.DecimalType(10, 2)), (None, None)),
    # Dates and timestamps.
    ('"2020-01-02"', field(t.DATE), (18263, 18263)),
    ('"2020-01-02T00:00:00Z"', field(t.DATE), (None, None)),
    ('"2020-01-02"', field(t.TIMESTAMP), (None, None)),
    ('"2020-01-02"', field(t.TIMESTAMP_NTZ), (None, None)),
    ('"2020-01-02"', field(t.TIMESTAMP_NTZ, "date"), (18263 * 86_400_000_000, 18263 * 86_400_000_000 + 999)),
    # Cut before the seconds: Arrow would read them as 0.
    ('"2020-01-02T10:11Z"', field(t.TIMESTAMP), (None, None)),
    ('"2020-01-02T10:11"', field(t.TIMESTAMP_NTZ), (None, None)),
    ('"999999-01-01"', field(t.TIMESTAMP_NTZ, "date"), (None, None)),
    ('"1970-01-01T00:00:00.001Z"', field(t.TIMESTAMP), (1000, 1999)),
    ('"1970-01-01T00:00:00.001001Z"', field(t.TIMESTAMP), (1001, 1001)),
    ('"1899-12-31T23:59:00Z"', field(t.TIMESTAMP), (MINUTE_BEFORE, MINUTE_BEFORE + 999)),
    ('"1899-12-31T23:59:00+00:00"', field(t.TIMESTAMP), (MINUTE_BEFORE - 59_000_000, MINUTE_BEFORE + 59_000_999)),
    ("18263", field(t.DATE), (None, None)),
    ("true", field(t.STRING), (None, None)),
    ('"é"', field(t.STRING), ("é", "é")),
]


def test_texts() -> None:
    with pytest.warns():
        found = [of_text(text, column) for text, column, _ in TEXTS]
    assert list(zip(TEXTS, found, strict=True)) == [(case, case[2]) for case in TEXTS]


MICROS, NANOS = pa.timestamp("us", "UTC"), pa.timestamp("ns", "UTC")
STRUCTS: list[tuple[Any, pa.DataType, StatField, tuple[Any, Any]]] = [
    (7, pa.int8(), field(t.LONG, "byte"), (7, 7)),
    (300, pa.int64(), field(t.BYTE), (None, None)),
    (1 << 63, pa.uint64(), field(t.LONG), (None, None)),
    (7.0, pa.float64(), field(t.LONG), (None, None)),
    (True, pa.bool_(), field(t.LONG), (None, None)),
    ("7", pa.string(), field(t.LONG), (None, None)),
    # Spark parses the text of a float as a double once the column is one.
    (0.1, pa.float64(), field(t.DOUBLE, "float"), (0.1, LOW)),
    (0.1, pa.float32(), field(t.DOUBLE, "float"), (LOW, LOW)),
    (0.1, pa.float64(), field(t.FLOAT), (LOW, LOW)),
    (1e39, pa.float64(), field(t.FLOAT), (None, None)),
    (16777217, pa.int32(), field(t.DOUBLE, "integer"), (16777217.0, 16777217.0)),
    (Decimal("1.5"), pa.decimal128(5, 1), field(t.DecimalType(10, 2)), (Decimal("1.50"), Decimal("1.50"))),
    (7, pa.int32(), field(t.DecimalType(12, 2), "integer"), (Decimal("7.00"), Decimal("7.00"))),
    (1.5, pa.float64(), field(t.DecimalType(10, 2)), (None, None)),
    (18263, pa.date32(), field(t.DATE), (18263, 18263)),
    (18263, pa.date32(), field(t.TIMESTAMP), (None, None)),
    (18263, pa.date32(), field(t.TIMESTAMP_NTZ, "date"), (18263 * 86_400_000_000, 18263 * 86_400_000_000 + 999)),
    (2**31 - 1, pa.date32(), field(t.TIMESTAMP_NTZ, "date"), (None, None)),
    (1000, MICROS, field(t.TIMESTAMP), (1000, 1999)),
    (1001, MICROS, field(t.TIMESTAMP), (1001, 1001)),
    (1_001_001, NANOS, field(t.TIMESTAMP), (1001, 1002)),
    (1 << 62, pa.timestamp("ms"), field(t.TIMESTAMP), (None, None)),
    (MINUTE_BEFORE, MICROS, field(t.TIMESTAMP), (MINUTE_BEFORE - 59_000_000, MINUTE_BEFORE + 59_000_999)),
    (MINUTE_BEFORE, pa.timestamp("us"), field(t.TIMESTAMP_NTZ), (MINUTE_BEFORE, MINUTE_BEFORE + 999)),
]


def test_structs() -> None:
    found = [of_struct(value, stored, column) for value, stored, column, _ in STRUCTS]
    assert list(zip(STRUCTS, found, strict=True)) == [(case, case[3]) for case in STRUCTS]


def test_a_decimal_is_as_doubtful_in_a_struct_as_in_its_text() -> None:
    type_ = t.DecimalType(38, 8)
    for text in ("12345678901234570000", "1.234567890123457e19", "1e29", "99999999.5"):
        value = Decimal(text).quantize(Decimal("1e-8"), context=Context(prec=60))
        assert of_struct(value, pa.decimal128(38, 8), field(type_)) == of_text(text, field(type_)), text
    exact = Decimal("12345678901234567899.00000001")
    assert of_struct(exact, pa.decimal128(38, 8), field(type_)) == (exact, exact)


@pytest.mark.parametrize(
    ("type_", "stored", "values"),
    [
        (t.TIMESTAMP, MICROS, [0, 1, 999, 1000, 1001, 1999, 2000]),
        (t.TIMESTAMP, MICROS, [BEFORE_1900 + n for n in (-60_000_000, -1000, -1, 0, 1, 998, 58_000_000, 59_000_999)]),
        (t.TIMESTAMP_NTZ, pa.timestamp("us"), [BEFORE_1900 - 1000, BEFORE_1900 - 999, BEFORE_1900]),
        (t.LONG, pa.int64(), [-(2**63), 0, 2**63 - 1]),
        (t.DATE, pa.date32(), [-800_000, -141_428, -141_427, 0]),
        (t.DecimalType(38, 2), pa.decimal128(38, 2), [Decimal(text) for text in ("-10000000000000.01",
            "-10000000000000.00", "-9999999999999.99", "-999999999999.99", "0.00", "999999999999.99",
            "12345678901234570000.00", "12345678901234570000.01", "9223372036854775807.00")]),
        (t.DecimalType(20, 0), pa.decimal128(20, 0), [Decimal(n) for n in (5, 2**63 - 1, 2**63, 10**19)]),
    ],
)  # fmt: skip
def test_row_groups_are_never_narrower_than_files(type_: t.DataType, stored: pa.DataType, values: list[Any]) -> None:
    """Every pair of files, whose footer has the outermost of the two bounds."""
    column = field(type_)
    for one in values:
        for other in values:
            files = [of_struct(value, stored, column) for value in (one, other)]
            low = of_struct(min(one, other), stored, column, BoundForm.GROUP)[0]
            high = of_struct(max(one, other), stored, column, BoundForm.GROUP)[1]
            for file in files:
                assert low is None or (file[0] is not None and low <= file[0]), (one, other)
                assert high is None or (file[1] is not None and high >= file[1]), (one, other)


def test_partition_values_are_not_widened() -> None:
    value = Decimal("12345678901234570000.00")
    assert of_struct(value, pa.decimal128(38, 2), field(t.DecimalType(38, 2)), BoundForm.EXACT) == (value, value)


def test_dates_of_another_calendar_are_unknown() -> None:
    legacy = {b"org.apache.spark.version": b"3.5.0", b"org.apache.spark.legacyDateTime": b""}
    assert hybrid_calendar(b"parquet-mr version 1.13.1", legacy) == (True, False)
    assert hybrid_calendar(b"parquet-mr version 1.13.1", {b"org.apache.spark.version": b"3.5.0"}) == (False, False)
    assert hybrid_calendar(b"parquet-cpp-arrow version 26.0.0", {}) == (False, False)
    assert hybrid_calendar(b"parquet-mr version 1.10.1", {}) == (True, True)
    dates = pa.array([-141_428, -141_427, None], pa.date32())
    assert in_our_calendar(dates).is_valid().to_pylist() == [False, True, False]
    for unit in ("s", "ms", "us"):
        times = pa.array([datetime(1899, 12, 31, 23, 59, 59, tzinfo=UTC), datetime(1900, 1, 1, tzinfo=UTC)])
        assert in_our_calendar(times.cast(pa.timestamp(unit, "UTC"))).is_valid().to_pylist() == [False, True]


HOPS = [
    *((text, column) for text, column, _ in TEXTS),
    *(
        (text, field(t.DecimalType(38, 8)))
        for text in ("1.234567890123457e19", "12345678901234567899.00000001", "1e29")
    ),
    ('"1800-01-01T00:00:00-04:56"', field(t.TIMESTAMP)),
    ('"0001-01-01"', field(t.DATE)),
    ('"' + "a" * 31 + '\ufffd"', field(t.STRING)),
    ('"' + "a" * 31 + '?\ufffd"', field(t.STRING)),
]
# What a struct cannot hold, so that it becomes unknown there.
LOST = {'"1800-01-01T00:00:00-04:56"', '"2020-01-02"'}


@pytest.mark.filterwarnings("ignore::deltaskip.errors.StatisticsWarning")
def test_a_checkpoint_does_not_turn_a_doubtful_bound_into_an_exact_one() -> None:
    """From JSON to the struct of a checkpoint without JSON, and back to the JSON of the next commit."""
    lost = set()
    for text, column in HOPS:
        instants = frozenset([(side, "c") for side in ("minValues", "maxValues")] if column.type == t.TIMESTAMP else [])
        stat = StatColumn(("c",), ("c",), (None,), column.type)
        struct = StatsStruct([stat], widened=[("c",)] if column.widened_from == {"float"} else [], alone=True)
        bound = f'{{"numRecords":1,"minValues":{{"c":{text}}},"maxValues":{{"c":{text}}}}}'
        parsed = struct.parse(pa.array([bound]))
        of_json = of_text(text, column)
        leaves = [pc.struct_field(parsed, [side, "c"]) for side in ("minValues", "maxValues")]
        of_leaf = from_struct(leaves[0], column, "min")[0].as_py(), from_struct(leaves[1], column, "max")[0].as_py()
        [again] = stats_texts(parsed, instants).to_pylist()
        stats = LoggedStats(1, Texts(pa.array([again])))
        of_copy = stats.bound(column, "min")[0].as_py(), stats.bound(column, "max")[0].as_py()
        for found in (of_leaf, of_copy):
            assert found[0] is None or (of_json[0] is not None and found[0] <= of_json[0]), (text, column, again)
            assert found[1] is None or (of_json[1] is not None and found[1] >= of_json[1]), (text, column, again)
            if found[0] is None and of_json[0] is not None:
                lost.add(text)
    assert lost - {"0.1"} == LOST


def test_what_an_old_instant_of_a_struct_may_have_lost_is_lost_in_its_text_too() -> None:
    """delta-spark parses the text -04:56 of local mean time, whose offset is -04:56:02."""
    micros = BEFORE_1900 - 10**12
    for stored, value in ((MICROS, micros), (pa.decimal128(38, 8), Decimal("12345678901234570000.00000000"))):
        column = field(t.TIMESTAMP if stored == MICROS else t.DecimalType(38, 8))
        leaf = pa.array([value], stored)
        struct = pa.StructArray.from_arrays(
            [pa.StructArray.from_arrays([leaf], ["c"]), pa.StructArray.from_arrays([leaf], ["c"])],
            ["minValues", "maxValues"],
        )
        stats = LoggedStats(1, Texts(stats_texts(struct)))
        found = stats.bound(column, "min")[0].as_py(), stats.bound(column, "max")[0].as_py()
        assert found == of_struct(value, stored, column)
        assert found[0] < value < found[1]
