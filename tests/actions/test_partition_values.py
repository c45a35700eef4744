import json
import math
from decimal import Decimal, localcontext

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaskip.actions import (
    PartitionValueError,
    Protocol,
    TimestampRange,
    parse_partition_value,
    partition_column,
    serialize_partition_value,
)
from deltaskip.errors import ReadWarning
from deltaskip.schema import mapping_mode
from deltaskip.schema.properties import TableProperties
from deltaskip.sparkexpr.types import (
    BINARY,
    BOOLEAN,
    BYTE,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    SHORT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VARIANT,
    ArrayType,
    DecimalType,
    UnknownType,
    arrow_type,
    parse_schema,
    resolve,
)
from deltaskip.sparkexpr.values.calendar import format_date, format_timestamp
from tests import corpus
from tests.each import refuses
from tests.looped import looped

PLAIN = [BYTE, SHORT, INTEGER, LONG, FLOAT, DOUBLE, BOOLEAN, BINARY, DATE, TIMESTAMP, TIMESTAMP_NTZ, DecimalType(9, 2)]
HOUR = 3_600_000_000
NEW_YEAR = 1_577_836_800_000_000  # 2020-01-01T00:00:00Z

# What Spark 4.1.4 makes of the text with cast and without ANSI (UTC).
READ = [
    (INTEGER, " 7 ", 7),
    (INTEGER, "+8", 8),
    (INTEGER, "\t7\n", 7),
    (INTEGER, "007", 7),
    (INTEGER, "-7.9", -7),
    (INTEGER, ".5", 0),
    (INTEGER, "5.", 5),
    (BYTE, "-128", -128),
    (LONG, "9223372036854775807", 2**63 - 1),
    (DOUBLE, " 1.0E300 ", 1e300),
    (DOUBLE, "-5.0E-300", -5e-300),
    (DOUBLE, "+inf", math.inf),
    (DOUBLE, "-INFINITY", -math.inf),
    (DOUBLE, "1d", 1.0),
    (DOUBLE, "0x1p3", 8.0),
    (DOUBLE, "1e400", math.inf),
    (DOUBLE, "5.", 5.0),
    (FLOAT, "1.1", 1.100000023841858),
    (FLOAT, "16777217", 16777216.0),
    (FLOAT, "1e40", math.inf),
    (DecimalType(10, 2), " +1.5 ", Decimal("1.50")),
    (DecimalType(10, 2), "1.235", Decimal("1.24")),
    (DecimalType(10, 2), "-1.245", Decimal("-1.25")),
    (DecimalType(10, 2), "1e3", Decimal("1000.00")),
    (DecimalType(10, 2), "-0.001", Decimal("0.00")),
    (DecimalType(38, 0), "9" * 38, Decimal("9" * 38)),
    (BOOLEAN, " T ", True),
    (BOOLEAN, "yes", True),
    (BOOLEAN, "0", False),
    (DATE, "1970-01-01", 0),
    (DATE, "2020-1-2", 18263),
    (DATE, "2020", 18262),
    (DATE, "2020-01-01 10:00:00", 18262),
    (DATE, "1582-10-10", -141432),
    (DATE, "0000-01-01", -719528),
    (DATE, "-0001-01-01", -719893),
    (DATE, "+10000-01-01", 2932897),
    (DATE, "5881580-07-11", 2**31 - 1),
    (DATE, "-5877641-06-23", -(2**31)),
    (TIMESTAMP, "2020-01-01T00:00:00.123456Z", NEW_YEAR + 123456),
    (TIMESTAMP, "2020-01-01 00:00:00.1234567", NEW_YEAR + 123456),
    (TIMESTAMP, "2020-01-01 00:00:00.5", NEW_YEAR + 500_000),
    (TIMESTAMP, "2020-01-01", NEW_YEAR),
    (TIMESTAMP, "2020-01-01 10", NEW_YEAR + 10 * HOUR),
    (TIMESTAMP, "2020-01-01 1:2", NEW_YEAR + HOUR + 120_000_000),
    (TIMESTAMP, "2020-01-01 00:00:00+01:00", NEW_YEAR - HOUR),
    (TIMESTAMP, "2020-01-01 00:00:00 +1:00", NEW_YEAR - HOUR),
    (TIMESTAMP, "2020-01-01 00:00:00+0130", NEW_YEAR - HOUR * 3 // 2),
    (TIMESTAMP, "2020-01-01 00:00:00+01:00:30", NEW_YEAR - HOUR - 30_000_000),
    (TIMESTAMP, "2020-01-01 00:00:00UTC+2", NEW_YEAR - 2 * HOUR),
    (TIMESTAMP, "2020-01-01 00:00:00 GMT-3", NEW_YEAR + 3 * HOUR),
    (TIMESTAMP, "2020-01-01 00:00:00 Europe/Berlin", NEW_YEAR - HOUR),
    (TIMESTAMP, "2020-01-01 00:00:00+18:00", NEW_YEAR - 18 * HOUR),
    (TIMESTAMP, "2020-01-01 00:00:00 PST", NEW_YEAR + 8 * HOUR),
    (TIMESTAMP, "2020-01-01 00:00:00  Z", NEW_YEAR),
    (TIMESTAMP, "2020-01-01 00:00:00\t+1:2", NEW_YEAR - HOUR * 31 // 30),
    (TIMESTAMP, "294247-01-10T04:00:54.775807Z", 2**63 - 1),
    (TIMESTAMP, "-290308-12-21T19:59:05.224192Z", -(2**63)),
    (TIMESTAMP_NTZ, "9999-12-31 23:59:59.999999", 253_402_300_799_999_999),
    (TIMESTAMP_NTZ, "1582-10-15 00:00:00", -12_219_292_800_000_000),
    (TIMESTAMP_NTZ, "2020-01-01 00:00:00+01:00", NEW_YEAR),
    (BINARY, "\x01é", b"\x01\xc3\xa9"),
    (STRING, " a/b%20 ", " a/b%20 "),
]

# Where Spark's cast without ANSI gives NULL, or reads a time of day as one of today.
MALFORMED = [
    (INTEGER, ["abc", "1e3", "2147483648", "0x1", "\u00a07", "--1", "+", ".", "1_0", "٣", "7 8"]),
    (BYTE, ["128", "-129"]),
    (DOUBLE, ["1_0", "abc", "1.5.", "0x", "d"]),
    (DecimalType(10, 2), ["123456789.99", "99999999.995", "NaN", "1_0", " ", "1e999999999"]),
    (BOOLEAN, ["on", "2", "tru"]),
    (DATE, ["2020-02-30", "2021-02-29", "20200101", "2020/01/01", "2020-", "2020-01-01abc", "9999999-12-31", "12"]),
    (TIMESTAMP, ["2020-01-01 24:00:00", "2020-01-01 23:59:60", "12:30:00", "T12:30", "2020-01-01 10:", "1577836800"]),
    (TIMESTAMP, ["2020-01-01 00:00:00+19:00", "2020-01-01 00:00:00 Mars/Base", "2020-01-01 00:00:00z"]),
    (TIMESTAMP, ["294247-01-10T04:00:54.775808Z", "2020-01-01t00:00:00", "2020-01-01 10:11:", "0002020-01-01"]),
    (TIMESTAMP, ["2020-01-01 00:00:00+100", "2020-01-01 00:00:00+010:00", "2020-01-01 00:00:00 ROC"]),
    (TIMESTAMP_NTZ, ["294247-01-10 04:00:54.775808", "x", "2020-01-01 00:00:00 PM", "2020-01-01 00:00:00+19"]),
]


@looped("data_type, text, value", READ)
def test_text_reads_as_spark_casts_it(data_type, text, value):
    parsed = parse_partition_value(text, data_type)
    assert parsed == value
    assert type(parsed) is type(value)


def test_nan_reads_as_nan_in_any_letter_case():
    assert math.isnan(parse_partition_value("NaN", DOUBLE))
    assert math.isnan(parse_partition_value("nan", FLOAT))


@looped("data_type, text", [(t, text) for t, texts in MALFORMED for text in texts])
def test_text_that_spark_cannot_read_raises_instead_of_becoming_null(data_type, text):
    refuses(PartitionValueError, None, parse_partition_value, text, data_type)


@looped("data_type", PLAIN)
def test_the_empty_string_is_null_for_every_type_but_string(data_type):
    assert parse_partition_value("", data_type) is None
    assert parse_partition_value(None, data_type) is None


def test_the_empty_string_is_itself_in_a_string_column():
    assert parse_partition_value("", STRING) == ""
    assert parse_partition_value(None, STRING) is None


@pytest.mark.parametrize("data_type", [VARIANT, ArrayType(LONG), UnknownType('"geometry"')])
def test_types_that_cannot_partition_a_table_are_refused(data_type):
    refuses(PartitionValueError, "not a valid type of a partition column", parse_partition_value, "1", data_type)


# Spark 4.1.4 under these session time zones: in a gap, in an overlap, in local mean time, beyond datetime's years.
@pytest.mark.parametrize(
    ("zone", "micros"),
    [
        ("America/New_York", [1710055800, 1730611800, -5364644638, 316531944000, -65307236638]),
        ("Europe/Berlin", [1710034200, 1730593800, -5364665608, 316531922400, -65307257608]),
        ("Asia/Manila", [1710009000, 1730568600, -5364605032, 316531900800, -65307197032]),
    ],
)
def test_zone_less_timestamps_are_local_time_of_the_given_zone(zone, micros):
    texts = ["2024-03-10 02:30:00", "2024-11-03 01:30:00", "1800-01-01 00:00:00", "12000-07-01 00:00:00"]
    texts.append("-0100-07-01 00:00:00")
    assert [parse_partition_value(text, TIMESTAMP, zone) for text in texts] == [s * 1_000_000 for s in micros]


def test_without_a_zone_a_zone_less_timestamp_is_a_range_and_others_are_instants():
    spread = 18 * HOUR
    assert parse_partition_value("2020-01-01 00:00:00", TIMESTAMP, None) == TimestampRange(
        NEW_YEAR - spread, NEW_YEAR + spread
    )
    assert parse_partition_value("2020-01-01T00:00:00Z", TIMESTAMP, None) == NEW_YEAR


@looped("zone", ["Asia/Manila", "America/Juneau", "Pacific/Kiritimati", "+18:00", "-18:00"])
@looped("text", ["1700-01-01 00:00:00", "2024-07-01 12:00:00"])
def test_the_range_holds_the_instant_of_every_zone(zone, text):
    possible = parse_partition_value(text, TIMESTAMP, None)
    assert possible.low <= parse_partition_value(text, TIMESTAMP, zone) <= possible.high


def test_the_range_ends_at_the_type_s_limits():
    latest = parse_partition_value("294247-01-10 04:00:54.775807", TIMESTAMP, None)
    assert latest.high == 2**63 - 1
    assert parse_partition_value("-290308-12-21 19:59:05.224192", TIMESTAMP, None).low == -(2**63)


def test_a_zone_without_rules_here_is_refused_although_java_may_have_them():
    for data_type in (TIMESTAMP, TIMESTAMP_NTZ):
        with pytest.raises(PartitionValueError, match="SystemV/PST8"):
            parse_partition_value("2020-01-01 00:00:00 SystemV/PST8", data_type)


def test_an_unknown_session_zone_is_refused():
    refuses(PartitionValueError, "Mars/Base", parse_partition_value, "2020-01-01 00:00:00", TIMESTAMP, "Mars/Base")


@looped("time_zone", ["UTC", "Europe/Berlin"])
@looped("data_type", [*PLAIN, STRING])
def test_a_column_is_its_values_parsed_one_by_one(data_type, time_zone):
    texts = [text for t, text, _ in READ if t == data_type] * 2 + [None, ""]
    column = partition_column(pa.array(texts, pa.string()), data_type, time_zone)
    assert column.type == arrow_type(data_type)
    expected = [parse_partition_value(text, data_type, time_zone) for text in texts]
    stored = {DATE: pa.int32(), TIMESTAMP: pa.int64(), TIMESTAMP_NTZ: pa.int64()}.get(data_type)
    assert (column if stored is None else column.cast(stored)).to_pylist() == expected


def test_a_column_of_ranges_has_both_ends():
    texts = pa.chunked_array([["2020-01-01 00:00:00", None], ["2020-01-01T00:00:00Z", ""]])
    column = partition_column(texts, TIMESTAMP, None)
    low, high = (column.field(i).cast(pa.int64()).to_pylist() for i in (0, 1))
    assert column.is_null().to_pylist() == [False, True, False, True]
    assert (low[0], high[0]) == (NEW_YEAR - 18 * HOUR, NEW_YEAR + 18 * HOUR)
    assert (low[2], high[2]) == (NEW_YEAR, NEW_YEAR)


def test_a_column_without_rows_keeps_its_type():
    assert partition_column(pa.array([], pa.string()), DATE).type == pa.date32()
    assert partition_column(pa.array([None], pa.string()), DATE).to_pylist() == [None]


def test_a_malformed_value_stops_the_column():
    refuses(PartitionValueError, "'x' is not a value of type int", partition_column, pa.array(["1", "x"]), INTEGER)


def has_partitioned_rows(version):
    return bool(version["partition_columns"]) and "file" in version["rows"] and not version["rows"].get("error")


# Rows of partition columns as the reference read them, compared as the set of values a version has.
@corpus.each_version("read", where=has_partitioned_rows)
def test_partition_values_of_the_corpus_are_those_that_the_reference_read(table, version, shared):
    rows = version["rows"]
    schema = parse_schema(json.dumps(version["schema"]))
    mode = mapping_mode(Protocol.from_json(version["protocol"]), TableProperties(version["properties"]))
    columns = [resolve(schema, [name], mode) for name in version["partition_columns"]]
    lines = (shared / "tables" / rows["file"]).read_text(encoding="utf-8").splitlines()
    seen = {tuple(json.dumps(json.loads(line)[c.logical[0]]) for c in columns) for line in lines}
    logged = {
        tuple(
            json.dumps(rendered(parse_partition_value(file["partition_values"].get(c.physical[0]), c.type), c.type))
            for c in columns
        )
        for file in version["files"]
    }
    assert seen <= logged
    if not any(file.get("dv") or file["num_records"] in (0, None) for file in version["files"]):
        assert logged == seen


def rendered(value, data_type):
    """A value as the corpus's digest writes it."""
    if value is None or data_type in (STRING, BOOLEAN, BYTE, SHORT, INTEGER, LONG):
        return value
    if data_type in (FLOAT, DOUBLE):
        return repr(value)
    if data_type == DATE:
        return format_date(value)
    if data_type in (TIMESTAMP, TIMESTAMP_NTZ):
        return format_timestamp(value, "T", 6) + ("Z" if data_type == TIMESTAMP else "")
    if data_type == BINARY:
        return "0x" + value.hex()
    return format(value, "f")


WRITTEN = [
    (None, LONG, None),
    ("", STRING, None),
    ("a/b ", STRING, "a/b "),
    (True, BOOLEAN, "true"),
    (-7, BYTE, "-7"),
    (1e300, DOUBLE, "1.0E300"),
    (-5e-300, DOUBLE, "-5.0E-300"),
    (7.0, DOUBLE, "7.0"),
    (1.25, DOUBLE, "1.25"),
    (1e7, DOUBLE, "1.0E7"),
    (9999999.0, DOUBLE, "9999999.0"),
    (0.001, DOUBLE, "0.001"),
    (-0.0, DOUBLE, "-0.0"),
    (math.nan, DOUBLE, "NaN"),
    (-math.inf, FLOAT, "-Infinity"),
    (1.100000023841858, FLOAT, "1.1"),
    (Decimal("1.5"), DecimalType(10, 3), "1.500"),
    (Decimal("1E+3"), DecimalType(10, 0), "1000"),
    (b"\x01\xc3\xa9", BINARY, "\x01é"),
    (2932897, DATE, "+10000-01-01"),
    (-719893, DATE, "-0001-01-01"),
    (-141432, DATE, "1582-10-10"),
    (NEW_YEAR + 500_000, TIMESTAMP, "2020-01-01T00:00:00.500000Z"),
    (NEW_YEAR, TIMESTAMP_NTZ, "2020-01-01 00:00:00"),
    (-1, TIMESTAMP_NTZ, "1969-12-31 23:59:59.999999"),
]


@looped("value, data_type, text", WRITTEN)
def test_values_are_written_as_the_protocol_asks(value, data_type, text):
    assert serialize_partition_value(value, data_type) == text


@pytest.mark.parametrize(
    ("value", "data_type"),
    [
        (128, BYTE),
        (True, LONG),
        (1, BOOLEAN),
        ("1", LONG),
        (1.1, FLOAT),
        (b"\xff", BINARY),
        (Decimal("123.45"), DecimalType(4, 2)),
        ("a", VARIANT),
        (TimestampRange(0, 1), TIMESTAMP),
    ],
)
def test_values_that_do_not_fit_their_type_are_not_written(value, data_type):
    refuses(PartitionValueError, None, serialize_partition_value, value, data_type)


DECIMALS = st.integers(1, 38).flatmap(
    lambda p: st.tuples(
        st.integers(0, p).flatmap(lambda s: st.just(DecimalType(p, s))), st.integers(-(10**p) + 1, 10**p - 1)
    )
)
TYPED_VALUES = st.one_of(
    st.tuples(st.just(BOOLEAN), st.booleans()),
    *(st.tuples(st.just(t), st.integers(-(2 ** (w - 1)), 2 ** (w - 1) - 1)) for t, w in ((BYTE, 8), (LONG, 64))),
    st.tuples(st.just(DOUBLE), st.floats(allow_nan=False)),
    st.tuples(st.just(FLOAT), st.floats(allow_nan=False, width=32)),
    DECIMALS.map(lambda pair: (pair[0], Decimal(f"{pair[1]}e-{pair[0].scale}"))),
    st.tuples(st.just(DATE), st.integers(-(2**31), 2**31 - 1)),
    st.tuples(st.sampled_from([TIMESTAMP, TIMESTAMP_NTZ]), st.integers(-(2**63), 2**63 - 1)),
    st.tuples(st.just(STRING), st.text(st.characters(exclude_categories=("Cs",)), min_size=1)),
    st.tuples(st.just(BINARY), st.text(st.characters(exclude_categories=("Cs",)), min_size=1).map(str.encode)),
)


@given(TYPED_VALUES)
def test_what_is_written_reads_back(pair):
    data_type, value = pair
    text = serialize_partition_value(value, data_type)
    assert parse_partition_value(text, data_type) == value


@given(st.floats(-(2.0**100), 2.0**100, width=32).filter(lambda v: abs(v) > 2.0**-100), st.integers(-3, 3))
def test_float_text_is_rounded_once(value, steps):
    # The text is so near the middle between two floats that rounding through the double would tie.
    low = np.float32(value)
    high = np.nextafter(low, np.float32(np.inf))
    with localcontext() as context:
        context.prec = 400
        exact = (Decimal(float(low)) + Decimal(float(high))) / 2 * (1 + steps * Decimal("1e-40"))
        best = min((low, high), key=lambda c: (abs(exact - Decimal(float(c))), int(c.view("u4")) & 1))
    assert parse_partition_value(format(exact, "f"), FLOAT) == float(best)


# As deltalake 1.6 writes them.
TWO_SIGNS = {
    (10, 2): {"0.-50": "-0.50", "-1.-5": "-1.05", "0.-1": "-0.01", "-1.-50": "-1.50", "-100.-9": "-100.09"},
    (10, 4): {"-1.-5000": "-1.5000", "-3.-120": "-3.0120", "0.00-1": "-0.0001"},
    (38, 10): {"-1.00000000-5": "-1.0000000005"},
}


@looped("sizes, text", [(sizes, text) for sizes, texts in TWO_SIGNS.items() for text in texts])
def test_a_decimal_with_two_signs_has_one_meaning(sizes: tuple[int, int], text: str) -> None:
    with pytest.warns(ReadWarning, match="delta-rs writes negative decimals"):
        assert parse_partition_value(text, DecimalType(*sizes)) == Decimal(TWO_SIGNS[sizes][text])


@looped("text", ["1.-50", "-1.-500", "-1.0-5", "-1.-05", "-0.-1", "-1.--5", "-1.-0", "-01.-5", "0.-", "-1.-5e1"])
def test_other_decimals_with_two_signs_are_malformed(text: str) -> None:
    with pytest.raises(PartitionValueError, match="is not a value of type decimal"):
        parse_partition_value(text, DecimalType(10, 2))
