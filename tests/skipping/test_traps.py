"""The traps of skipping: each test fails without the rule that it is named for."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaskip as ds
from deltaskip.sparkexpr import types as t
from deltaskip.stats.decode import from_struct
from deltaskip.stats.layout import StatField
from tests.builder import DELTA_RS, SPARK, Action, TableBuilder, add, bounds
from tests.looped import looped
from tests.skipping.kept_files import kept

STRUCT = t.StructType((t.StructField("a", t.INTEGER), t.StructField("b", t.STRING)))


def one_file(
    tmp_path: Path, column: t.DataType, stats: Mapping[str, Any] | str | None, engine: str | None = SPARK
) -> Path:
    """A table with a column `c` and one file `f`."""
    TableBuilder(tmp_path / "t", {"c": column}).commit(add("f", stats), engine=engine)
    return tmp_path / "t"


@dataclass(frozen=True)
class Trap:
    """A table and the files that each predicate keeps of it."""

    columns: Mapping[str, t.DataType] | t.StructType
    files: Sequence[Action]
    kept: Mapping[str, str]
    options: Mapping[str, Any] = field(default_factory=dict)
    engine: str | None = SPARK
    operation: str = "WRITE"


def of(
    type_: t.DataType, stats: Mapping[str, Any] | str | None, engine: str | None = SPARK, **kept: Sequence[str]
) -> Trap:
    """A table with a column `c` and one file `f`, which some predicates keep, and the others do not."""
    found = {
        where: name for name, wheres in (("f", kept.get("keeps", ())), ("", kept.get("prunes", ()))) for where in wheres
    }
    return Trap({"c": type_}, [add("f", stats)], found, engine=engine)


def typed(type_: t.DataType, **metadata: Any) -> t.StructType:
    """A schema with a column `c` that has metadata."""
    return t.StructType((t.StructField("c", type_, True, metadata),))


def mapped(name: str, physical: str, number: int) -> t.StructField:
    metadata = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": physical}
    return t.StructField(name, t.INTEGER, True, metadata)


def exactly(text: str) -> str:
    """Statistics of one value, as the text has it."""
    return f'{{"numRecords":1,"minValues":{{"c":{text}}},"maxValues":{{"c":{text}}},"nullCount":{{"c":0}}}}'


def at_millisecond(type_: t.DataType, literal: str, zone: str, suffix: str) -> Trap:
    def time(fraction: str) -> str:
        return f"{literal}'2022-01-01 00:00:00.001{fraction}{suffix}'"

    return of(type_, bounds(c=(f"2022-01-01T00:00:00.001{zone}",) * 2),
        keeps=[f"c = {time('999')}", f"c != {time('')}", f"c > {time('998')}"],
        prunes=[f"c > {time('999')}"])  # fmt: skip


def prefix(length: int) -> Trap:
    most = "x" * length
    return of(t.STRING, bounds(c=("a", most)), DELTA_RS,
        keeps=[f"c = '{most}zz'", f"c > '{most}'"], prunes=[f"c > '{most[1:]}y'"])  # fmt: skip


def cast_to(type_: t.DataType, target: str) -> Trap:
    return of(type_, {"numRecords": 1, "nullCount": {"c": 0}},
        keeps=[f"cast(c AS {target}) IS NULL", f"try_cast(c AS {target}) IS NULL"])  # fmt: skip


COLLATED = typed(t.STRING, __COLLATIONS={"c": "icu.UNICODE_CI"})
CHAR = {"__CHAR_VARCHAR_TYPE_STRING": "char(5)"}
VECTOR = {"storageType": "u", "pathOrInlineDv": "0" * 20, "sizeInBytes": 40, "cardinality": 1}
WIDE = {**bounds(3, c=(1, 9, 1)), "tightBounds": False}
DIGITS = "12345678901234567899.00000001"
OLD = "1800-01-01T00:00:00.000-07:52"
X = "x" * 32
FIVE = [add(f"f{n}", bounds(i=(n * 10, n * 10 + 9), s=(f"k{n}0", f"k{n}9"))) for n in range(5)]
OF_FIVE = {"i": t.INTEGER, "s": t.STRING}
ALL_FIVE = "f0 f1 f2 f3 f4"
TRAPS = {
    "not equal keeps a constant file that may hold NaN": of(
        t.DOUBLE, bounds(c=(3.0, 3.0)), DELTA_RS, keeps=["c != 3.0"]),
    "Spark records NaN, so that its maximum is believed": of(
        t.DOUBLE, bounds(c=(1.0, 3.0)), prunes=["c > 100", "c = double('NaN')"]),
    "a recorded NaN is the greatest value": of(
        t.DOUBLE, bounds(c=(1.0, "NaN")), keeps=["c > 100"], prunes=["c < 0.5"]),
    "a clone says nothing of who computed the statistics": Trap(
        {"c": t.DOUBLE}, [add("f", bounds(c=(1.0, 3.0)))], {"c > 100": "f"}, operation="CLONE"),
    "a decimal written as a double is widened": of(
        t.DecimalType(38, 8), exactly("1.234567890123457e+19"), DELTA_RS,
        keeps=[f"c = {DIGITS}"], prunes=["c = 12345678901235000000.00000001"]),
    "a short decimal text may be a rounded long decimal": of(
        t.DecimalType(38, 20), exactly("0.1"), DELTA_RS, keeps=["c = 0.10000000000000000555BD"]),
    "a decimal with all its digits is exact": of(
        t.DecimalType(38, 8), exactly(DIGITS), keeps=[f"c = {DIGITS}"], prunes=[f"c > {DIGITS}", f"c < {DIGITS}"]),
    "a maximum cut to milliseconds covers the microseconds after it": at_millisecond(
        t.TIMESTAMP, "TIMESTAMP", "Z", " UTC"),
    "the same of a local time": at_millisecond(t.TIMESTAMP_NTZ, "TIMESTAMP_NTZ", "", ""),
    "an offset before 1900 may lack its seconds": of(
        t.TIMESTAMP, bounds(c=(OLD, OLD)), prunes=["c = TIMESTAMP'1800-01-01 07:54:00 UTC'"],
        keeps=["c = TIMESTAMP'1800-01-01 07:52:58 UTC'", "c = TIMESTAMP'1800-01-01 07:51:02 UTC'"]),
    "a long maximum without tie-breaker is a prefix": prefix(32),
    **{f"a maximum of {length} characters": prefix(length) for length in (33, 50, 64)},
    "the old tie-breaker sorts below supplementary characters": of(
        t.STRING, bounds(c=("a", X + "\ufffd")), keeps=[f"c = '{X}😀'"]),
    "a short maximum is no prefix": of(t.STRING, bounds(c=("a", X[1:])), prunes=[f"c = '{X[1:]}z'"]),
    "strings compare as UTF-8, not as UTF-16": of(
        t.STRING, bounds(c=("\uffff", "😀")), keeps=["c = '\uffff'", "c = '😀'"], prunes=["c < '\uff00'"]),
    "not equal prunes a string that cannot be cut": of(t.STRING, bounds(c=("abc", "abc")), prunes=["c != 'abc'"]),
    "not equal keeps a string that may be cut": of(t.STRING, bounds(c=(X, X)), DELTA_RS, keeps=[f"c != '{X}'"]),
    "binary statistics never serve a collated comparison": Trap(
        COLLATED, [add("f", bounds(c=("abc", "abc")))],
        dict.fromkeys(("c = 'ABC'", "c > 'z'", "c IN ('q')", "c LIKE 'z%'", "c != 'abc'"), "f")),
    "null counts serve collated columns": Trap(
        COLLATED, [add("none", bounds(2, c=("abc", "abc", 0))), add("all", bounds(2, c=(None, None, 2)))],
        {"c IS NULL": "all", "c = 'x'": "none"}),
    "null counts of wide statistics are exact only at the ends": Trap(
        {"c": t.INTEGER},
        [add(name, {**WIDE, "nullCount": {"c": nulls}}, deletionVector=VECTOR)
         for name, nulls in (("some", 1), ("none", 0), ("all", 3))],
        {"c IS NULL": "some all", "c IS NOT NULL": "some none"}),
    "a column of nulls without bounds is pruned by its null count": of(
        t.INTEGER, {"numRecords": 3, "minValues": {}, "maxValues": {}, "nullCount": {"c": 3}},
        keeps=["c IS NULL", "c <=> NULL"], prunes=["c = 5", "c IS NOT NULL"]),
    "bounds prune where the null count is missing": of(
        t.INTEGER, {"numRecords": 3, "minValues": {"c": 1}, "maxValues": {"c": 5}}, prunes=["c = 9"]),
    "a null count prunes where the bounds are missing": of(
        t.INTEGER, {"numRecords": 3, "nullCount": {"c": 0}}, prunes=["c IS NULL"]),
    "one leg without statistics leaves the others to prune": Trap(
        {"c": t.INTEGER, "d": t.INTEGER}, [add("f", bounds(c=(1, 5)))],
        {"c = 9 AND d = 1": "", "c = 9 OR d = 1": "f", "c = 9 AND length(cast(d AS string)) > 3": ""}),
    "a struct is null only where all its leaves are": Trap(
        {"s": STRUCT},
        [add("full", {"numRecords": 2, "nullCount": {"s": {"a": 0, "b": 2}}}),
         add("some", {"numRecords": 2, "nullCount": {"s": {"a": 1, "b": 1}}}), add("unknown", {"numRecords": 2})],
        {"s IS NULL": "some unknown", "s.a IS NULL": "some unknown", "s IS NOT NULL": "full some unknown"}),
    "what a file has decides, not the table's configuration": Trap(
        {"c": t.INTEGER}, [add("f", bounds(c=(1, 5)))], {"c = 9": ""},
        {"properties": {"delta.dataSkippingNumIndexedCols": "0", "delta.dataSkippingStatsColumns": "other"}}),
    "a float's text bounds a column that was widened to double": Trap(
        typed(t.DOUBLE, **{"delta.typeChanges": [{"fromType": "float", "toType": "double"}]}),
        [add("f", bounds(c=(1.1, 1.1)))], {"c = 1.10000002384185791015625D": "f"}),
    "a float's text names the float": of(
        t.FLOAT, bounds(c=(1.1, 1.1)), keeps=["c = 1.10000002384185791015625D", "c = cast(1.1 AS float)"],
        prunes=["c = 1.1D"]),
    "statistics of dates serve a column widened to timestamp_ntz": Trap(
        typed(t.TIMESTAMP_NTZ, **{"delta.typeChanges": [{"fromType": "date", "toType": "timestamp_ntz"}]}),
        [add("f", bounds(c=("2020-02-28", "2020-02-29")))],
        {"c = TIMESTAMP_NTZ'2020-02-29 00:00:00'": "f", "c > TIMESTAMP_NTZ'2020-03-01 00:00:00'": ""}),
    "names resolve in any case, and statistics by exact name": Trap(
        {"Alpha": STRUCT, "we.ird": t.INTEGER},
        [add("f", {"numRecords": 1, "minValues": {"Alpha": {"a": 1}, "alpha": {"a": 7}, "we.ird": 3},
                   "maxValues": {"Alpha": {"a": 2}, "alpha": {"a": 9}, "we.ird": 4}, "nullCount": {}})],
        {"aLPHA.A = 8": "", "alpha.a = 2": "f", "`WE.ird` = 9": "", "`we.ird` = 4": "f"}),
    "columns whose physical names differ only in case keep their own statistics": Trap(
        t.StructType((mapped("x", "COL", 1), mapped("y", "col", 2))), [add("f", bounds(COL=(1, 2), col=(8, 9)))],
        {"x = 8": "", "y = 8": "f"}, {"properties": {"delta.columnMapping.mode": "name"}}),
    "what is not deterministic or not known never prunes": of(
        t.INTEGER, bounds(c=(1, 5)), keeps=["rand() > 2", "uuid() = 'x'", "my_udf(c) = 1", "c IN (SELECT 1)",
        "c = 99 OR current_timezone() = 'UTC'"]),
    "a comparison beyond the column's range is never true": of(
        t.INTEGER, None, keeps=["c < 5000000000"], prunes=["c = 5000000000"]),
    "a long beside a double is compared as Spark rounds it": of(
        t.LONG, bounds(c=(9007199254740993,) * 2), keeps=["c = 9007199254740992D"], prunes=["c > 9007199254740992D"]),
    "booleans and arrays have null counts only": Trap(
        {"flag": t.BOOLEAN, "list": t.ArrayType(t.INTEGER, True)},
        [add("f", {"numRecords": 2, "nullCount": {"flag": 2, "list": 0}})],
        {"flag": "", "NOT flag": "", "list IS NULL": "", "list[0] = 5": "f"}),
    "lists probe each value": Trap(OF_FIVE, FIVE, {
        "i IN (5, 45)": "f0 f4", "i IN (5, NULL)": "f0", "i IN (NULL)": "", "i NOT IN (5, NULL)": "",
        f"i IN ({', '.join(map(str, [*range(15, 18), *range(1000, 1020)]))})": "f1", "s IN ('k25', 'zz')": "f2"}),
    "NOT IN prunes constant files only": Trap(
        {"i": t.INTEGER}, [add("constant", bounds(i=(5, 5))), add("range", bounds(i=(5, 6)))],
        {"i NOT IN (5, 7)": "range", f"i NOT IN ({', '.join(map(str, range(5, 65, 2)))})": "range",
         f"i NOT IN ({', '.join(map(str, range(30)))})": ""}),
    "LIKE prunes by its prefix": Trap(OF_FIVE, FIVE, {
        "s LIKE 'k3%'": "f3", "s LIKE 'k3%x'": "f3", "s LIKE 'k35'": "f3", "startswith(s, 'k3')": "f3",
        "s NOT LIKE 'k3%'": "f0 f1 f2 f4", "s LIKE '%3%'": ALL_FIVE, "s NOT LIKE 'k3%9'": ALL_FIVE}),
    "a regular expression prunes by what follows its anchor": Trap(OF_FIVE, FIVE, {
        **{f"s RLIKE '{each}'": "f3" for each in (
            "^k3", r"\\Ak3.*x", "^(k)(3[0-9])$", "(?s)^k3+", r"^\\Qk3\\E", r"^k\\x33")},
        **{f"s RLIKE '{each}'": ALL_FIVE for each in (
            "k3", "^k3|x", "(?m)^k3", "(?i)^k3", "^k?3", "^k3?", "(?=k)k3", "^[k]?3", "(^k3)?", "^k*3", "^k3|^k3",
            "(")}}),
    "a char column is compared padded, so that its bounds prove nothing": Trap(
        t.StructType(tuple(t.StructField(name, t.STRING, True, CHAR) for name in "cp")),
        [add("f", bounds(c=("ab   ", "ab   ")), partitionValues={"p": "x    "})],
        {"c = 'ab'": "f", "p = 'x'": "f", "c IS NULL": ""}, {"partition_by": ["p"]}),
    "a cast of a double can be null where its column is not": cast_to(t.DOUBLE, "decimal(10,2)"),
    "a cast of a text can be null where its column is not": cast_to(t.STRING, "int"),
    "long lists that begin alike are not taken for each other": Trap(
        {"c": t.INTEGER}, [add(name, bounds(c=(n, n + more))) for name, n, more in (
            ("low", 0, 20), ("mid", 500, 1), ("high", 900, 1))],
        {" OR ".join(f"c IN ({', '.join(map(str, [*range(12), last]))})" for last in (500, 900)): "low mid high"}),
    "an explicit collation of the literal is no binary comparison": of(
        t.STRING, bounds(c=("abc", "abc")), keeps=["c = 'ABC' COLLATE UNICODE_CI", "c > 'b' COLLATE UNICODE_CI"]),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:my_udf")
@looped("trap", TRAPS)
def test_the_files_that_are_kept(tmp_path: Path, trap: str) -> None:
    case = TRAPS[trap]
    builder = TableBuilder(tmp_path / "t", case.columns, **case.options)
    builder.commit(*case.files, engine=case.engine, operation=case.operation)
    table = ds.DeltaTable(tmp_path / "t")
    found = {where: " ".join(kept(table, where)) for where in case.kept}
    assert found == case.kept


@pytest.mark.parametrize("value", [-(1 << 63), (1 << 63) - 1])
def test_bounds_at_the_ends_of_64_bits_are_inclusive(tmp_path: Path, value: int) -> None:
    table = one_file(tmp_path, t.LONG, bounds(c=(value, value)))
    assert kept(table, ds.col("c") == value) == ["f"]
    assert kept(table, ds.col("c") >= value) == ["f"]
    assert kept(table, ds.col("c") <= value) == ["f"]
    assert kept(table, ds.col("c") != value) == []


@looped("where", ["c > 100", "c >= 100", "c = double('NaN')", "c IN (7.5, double('NaN'))", "NOT c < 100"])
@looped("engine", [DELTA_RS, None, "someone"])
def test_a_nan_that_the_writer_left_out_keeps_the_file(tmp_path: Path, where: str, engine: str | None) -> None:
    assert kept(one_file(tmp_path, t.DOUBLE, bounds(c=(1.0, 3.0)), engine), where) == ["f"]


def test_statistics_that_spark_copied_from_another_writer_are_not_believed(tmp_path: Path) -> None:
    builder = TableBuilder(tmp_path / "t", {"c": t.DOUBLE})
    builder.commit(add("f", bounds(c=(1.0, 3.0))), engine=DELTA_RS)
    builder.commit(add("f", bounds(c=(1.0, 3.0)), dataChange=False), operation="COMPUTE STATS")
    assert kept(tmp_path / "t", "c > 100") == ["f"]


@looped("low, high", [(0.0, 0.0), (-0.0, -0.0), (-0.0, 0.0)])
@looped("where", ["c = 0.0D", "c = -0.0D", "c <= -0.0D", "c >= 0.0D", "c IN (0.0D, 9.0D)"])
def test_zeros_are_equal_whatever_their_sign(tmp_path: Path, low: float, high: float, where: str) -> None:
    assert kept(one_file(tmp_path, t.DOUBLE, bounds(c=(low, high))), where) == ["f"]


@pytest.mark.parametrize("struct", [False, True])
@pytest.mark.parametrize("beginning", ["x" * 31, "x" * 29 + "\U0001f600", "\U0001f600" * 15 + "x"])
def test_half_a_character_before_the_old_tie_breaker_stands_for_any_supplementary_one(
    tmp_path: Path, beginning: str, struct: bool
) -> None:
    maximum = beginning + "?\ufffd"
    value = beginning + "\U0001f600 and more"
    if struct:
        [bound] = from_struct(pa.array([maximum]), StatField(("c",), t.STRING, "c"), "max").to_pylist()
        assert bound > value and len(bound.encode()) >= 32
        return
    table = one_file(tmp_path, t.STRING, bounds(c=("a", maximum)), None)
    assert kept(table, f"c = '{value}'") == ["f"]
    assert kept(table, f"c > '{beginning}\U0001f5ff'") == ["f"]
    assert kept(table, f"startswith(c, '{beginning}\U0010ffff')") == ["f"]
    assert kept(table, "c > '\U0001f601'") == []


@looped(
    "type_, value, where",
    [
        (t.DATE, "2024-01-01", "date_add(c, 2147483647) < DATE'1970-01-01'"),
        (t.DATE, "1850-01-01", "date_sub(c, -2147483648) > DATE'1970-01-01'"),
        (t.DATE, "2024-01-01", "c + 2147483647 < DATE'1970-01-01'"),
        (t.DATE, "1970-01-02", "datediff(c, CAST('-5877641-06-23' AS DATE)) < 0"),
        (t.INTEGER, -1, "pmod(c, -2147483648) = 2147483647"),
        (t.LONG, 9007199254740993, "CAST(CAST(c AS FLOAT) AS DOUBLE) = CAST(c AS DOUBLE)"),
        (t.LONG, 16777217, "CAST(CAST(c AS FLOAT) AS DOUBLE) = 16777217D"),
        (t.DecimalType(38, 0), 10**30, "c div 0.3BD < 0"),
        (t.DecimalType(20, 20), 0.5, "CAST(c AS INT) = 0"),
        (t.DecimalType(21, 20), "0.99999999999999999999", "CAST(c AS INT) = 1"),
        (t.TIMESTAMP, "1969-12-31T23:59:59.500Z", "unix_timestamp(c) = 0"),
        (t.DOUBLE, 2e-3, "CAST(c AS DECIMAL(38,38)) != 0"),
    ],
)
@looped("around", [False, True])
def test_what_spark_wraps_or_rounds_keeps_its_file(
    tmp_path: Path, type_: t.DataType, value: Any, where: str, around: bool
) -> None:
    low, high = (value, value)
    if around and isinstance(value, int):
        low, high = value - 1, value + 1
    text = json.dumps(bounds(c=(low, high)))
    if isinstance(type_, t.DecimalType):
        text = text.replace('"', "\0").replace(f"\0{value}\0", str(value)).replace("\0", '"')
    assert kept(one_file(tmp_path, type_, text), where) == ["f"]


ODD_STATISTICS: list[Any] = [
    None, "null", "{}", "[]", "7", "not json", '{"numRecords":1,"minValues":{"c":1},"maxVal',
    '{"minValues":null,"maxValues":null,"nullCount":null}',
    '{"numRecords":1,"minValues":{},"maxValues":{},"nullCount":{}}',
    '{"numRecords":1,"minValues":{"c":null},"maxValues":{"c":null},"nullCount":{"c":null}}',
    '{"numRecords":"1","minValues":{"c":"1"},"maxValues":{"c":"2"},"nullCount":{"c":"1"}}',
    '{"numRecords":1,"minValues":{"c":[1]},"maxValues":{"c":{"x":2}},"nullCount":{"c":true}}',
    '{"numRecords":1,"minValues":{"c":1.5},"maxValues":{"c":1e400},"nullCount":{"c":-1}}',
    '{"numRecords":1,"minValues":{"c":1,"c":9},"maxValues":{"c":2,"c":0}}',
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::deltaskip.StatisticsWarning")
@looped("stats", ODD_STATISTICS)
@looped("where", ["c = 50", "c IS NULL", "c IS NOT NULL", "c > 50", "c < -50", "c IN (50, 60)"])
def test_a_statistic_that_is_missing_or_of_the_wrong_type_keeps(tmp_path: Path, stats: Any, where: str) -> None:
    assert kept(one_file(tmp_path, t.INTEGER, stats), where) == ["f"]


def test_a_statistic_of_the_wrong_type_warns_once_a_scan(tmp_path: Path) -> None:
    table = one_file(
        tmp_path, t.INTEGER, '{"numRecords":1,"minValues":{"c":"x"},"maxValues":{"c":2},"nullCount":{"c":0}}'
    )
    with pytest.warns(ds.StatisticsWarning, match="minValues.c") as caught:
        assert kept(table, "c < 0") == ["f"]
    assert len(caught) == 1


def checkpoint_with_statistics(path: Path, rows: list[dict[str, Any]], bound: pa.DataType, group: int) -> ds.DeltaTable:
    """Turns version 0 into a checkpoint whose adds are `rows`: path, and min, max, nulls or no statistics at all."""
    builder = TableBuilder(path, {"c": t.LONG})
    builder.commit(*[add(row["path"]) for row in rows])
    counts = pa.struct([("c", pa.int64())])
    values = pa.struct([("c", bound)])
    parsed = pa.struct(
        [("numRecords", pa.int64()), ("minValues", values), ("maxValues", values), ("nullCount", counts)]
    )
    text_map = pa.map_(pa.string(), pa.string())
    features = pa.list_(pa.string())
    protocol = [("minReaderVersion", pa.int32()), ("minWriterVersion", pa.int32())]
    protocol += [("readerFeatures", features), ("writerFeatures", features)]
    metadata = [("id", pa.string()), ("format", pa.struct([("provider", pa.string()), ("options", text_map)]))]
    metadata += [("schemaString", pa.string()), ("partitionColumns", features), ("configuration", text_map)]
    members = [("path", pa.string()), ("partitionValues", text_map), ("size", pa.int64())]
    members += [("modificationTime", pa.int64()), ("dataChange", pa.bool_()), ("stats_parsed", parsed)]
    schema = pa.schema(
        [("protocol", pa.struct(protocol)), ("metaData", pa.struct(metadata)), ("add", pa.struct(members))]
    )
    head = [dict(action) for action in builder._head]
    head[1]["metaData"] = {**head[1]["metaData"], "configuration": [], "format": {"provider": "parquet", "options": []}}
    lines: list[dict[str, Any]] = []
    for row in rows:
        action = add(row["path"])["add"] | {"partitionValues": []}
        if "min" in row:
            action["stats_parsed"] = {
                "numRecords": 2,
                "minValues": {"c": row["min"]},
                "maxValues": {"c": row["max"]},
                "nullCount": {"c": 0},
            }
        lines.append({"add": action})
    file = path / "_delta_log" / f"{0:020d}.checkpoint.parquet"
    pq.write_table(pa.Table.from_pylist([*head, *lines], schema), file, row_group_size=group)
    return ds.DeltaTable(path)


def test_a_file_without_statistics_survives_in_a_row_group_that_its_footer_rules_out(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"path": "low", "min": 1, "max": 2},
        {"path": "bare"},
        {"path": "also", "min": 3, "max": 4},
    ]
    table = checkpoint_with_statistics(tmp_path / "t", rows, pa.int64(), 5)
    assert kept(table, "c > 100") == ["bare"]


def test_row_groups_are_skipped_by_the_checkpoints_footer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"path": f"f{i}", "min": i * 10, "max": i * 10 + 9} for i in range(20)]
    table = checkpoint_with_statistics(tmp_path / "t", rows, pa.int64(), 4)
    read: list[int] = []
    part = table.snapshot.checkpoint_parts[0]
    original = type(part).read

    def counting(self: Any, columns: Any, row_groups: Any = None) -> pa.Table:
        read.extend(row_groups or [])
        return original(self, columns, row_groups)

    monkeypatch.setattr(type(part), "read", counting)
    assert kept(table, "c BETWEEN 41 AND 42") == ["f4"]
    assert set(read) == {1}


def test_statistics_of_a_narrower_type_serve_a_widened_column(tmp_path: Path) -> None:
    rows = [{"path": "a", "min": 1, "max": 2}, {"path": "b", "min": 5, "max": 6}]
    assert kept(checkpoint_with_statistics(tmp_path / "t", rows, pa.int32(), 10), "c = 5000000000 OR c = 1") == ["a"]


def test_paths_escape_what_spark_takes_for_a_pattern(tmp_path: Path) -> None:
    TableBuilder(tmp_path / "t", {"c": t.INTEGER}).commit(add("p=%5Ba%5D%7Bb%7D*/x%20y.parquet"), add("z.parquet"))
    first, second = ds.DeltaTable(tmp_path / "t").scan().paths()
    assert first == f"{tmp_path}/t/p=\\[a\\]\\{{b\\}}\\*/x y.parquet"
    assert second == f"{tmp_path}/t/z.parquet"


def test_a_struct_decimal_that_a_double_may_have_rounded_is_widened(tmp_path: Path) -> None:
    field = StatField(("c",), t.DecimalType(20, 0), "c")
    values = pa.array([Decimal("12345678901234570000"), Decimal("12345678901234567899"), Decimal(123), None])
    low = from_struct(values.cast(pa.decimal128(20, 0)), field, "min").to_pylist()
    high = from_struct(values.cast(pa.decimal128(20, 0)), field, "max").to_pylist()
    assert low[0] <= Decimal("12345678901234567899") <= high[0]
    assert low[1:] == high[1:] == [Decimal("12345678901234567899"), Decimal(123), None]
