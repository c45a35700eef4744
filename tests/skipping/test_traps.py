"""The traps of skipping: each test fails without the rule that it is named for."""

import json
from collections.abc import Mapping
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
from tests.builder import DELTA_RS, SPARK, TableBuilder, add, bounds
from tests.looped import looped
from tests.skipping.kept_files import kept

STRUCT = t.StructType((t.StructField("a", t.INTEGER), t.StructField("b", t.STRING)))


def one_file(
    tmp_path: Path, column: t.DataType, stats: Mapping[str, Any] | str | None, engine: str | None = SPARK
) -> Path:
    """A table with a column `c` and one file `f`."""
    TableBuilder(tmp_path / "t", {"c": column}).commit(add("f", stats), engine=engine)
    return tmp_path / "t"


@looped("where", ["c > 100", "c >= 100", "c = double('NaN')", "c IN (7.5, double('NaN'))", "NOT c < 100"])
@looped("engine", [DELTA_RS, None, "someone"])
def test_a_nan_that_the_writer_left_out_keeps_the_file(tmp_path: Path, where: str, engine: str | None) -> None:
    assert kept(one_file(tmp_path, t.DOUBLE, bounds(c=(1.0, 3.0)), engine), where) == ["f"]


def test_not_equal_keeps_a_constant_file_that_may_hold_nan(tmp_path: Path) -> None:
    assert kept(one_file(tmp_path, t.DOUBLE, bounds(c=(3.0, 3.0)), DELTA_RS), "c != 3.0") == ["f"]


def test_spark_records_nan_so_its_maximum_is_believed(tmp_path: Path) -> None:
    table = one_file(tmp_path, t.DOUBLE, bounds(c=(1.0, 3.0)), SPARK)
    assert kept(table, "c > 100") == []
    assert kept(table, "c = double('NaN')") == []


def test_a_recorded_nan_is_the_greatest_value(tmp_path: Path) -> None:
    table = one_file(tmp_path, t.DOUBLE, bounds(c=(1.0, "NaN")), SPARK)
    assert kept(table, "c > 100") == ["f"]
    assert kept(table, "c < 0.5") == []


def test_statistics_that_spark_copied_from_another_writer_are_not_believed(tmp_path: Path) -> None:
    builder = TableBuilder(tmp_path / "t", {"c": t.DOUBLE})
    builder.commit(add("f", bounds(c=(1.0, 3.0))), engine=DELTA_RS)
    builder.commit(add("f", bounds(c=(1.0, 3.0)), dataChange=False), operation="COMPUTE STATS")
    assert kept(tmp_path / "t", "c > 100") == ["f"]


def test_a_clone_says_nothing_of_who_computed_the_statistics(tmp_path: Path) -> None:
    TableBuilder(tmp_path / "t", {"c": t.DOUBLE}).commit(add("f", bounds(c=(1.0, 3.0))), operation="CLONE")
    assert kept(tmp_path / "t", "c > 100") == ["f"]


@looped("low, high", [(0.0, 0.0), (-0.0, -0.0), (-0.0, 0.0)])
@looped("where", ["c = 0.0D", "c = -0.0D", "c <= -0.0D", "c >= 0.0D", "c IN (0.0D, 9.0D)"])
def test_zeros_are_equal_whatever_their_sign(tmp_path: Path, low: float, high: float, where: str) -> None:
    assert kept(one_file(tmp_path, t.DOUBLE, bounds(c=(low, high))), where) == ["f"]


def test_a_decimal_written_as_a_double_is_widened(tmp_path: Path) -> None:
    text = "1.234567890123457e+19"
    stats = f'{{"numRecords":1,"minValues":{{"c":{text}}},"maxValues":{{"c":{text}}},"nullCount":{{"c":0}}}}'
    table = one_file(tmp_path, t.DecimalType(38, 8), stats, DELTA_RS)
    assert kept(table, "c = 12345678901234567899.00000001") == ["f"]
    assert kept(table, "c = 12345678901235000000.00000001") == []


def test_a_short_decimal_text_may_be_a_rounded_long_decimal(tmp_path: Path) -> None:
    stats = '{"numRecords":1,"minValues":{"c":0.1},"maxValues":{"c":0.1},"nullCount":{"c":0}}'
    assert kept(one_file(tmp_path, t.DecimalType(38, 20), stats, DELTA_RS), "c = 0.10000000000000000555BD") == ["f"]


def test_a_decimal_with_all_its_digits_is_exact(tmp_path: Path) -> None:
    text = "12345678901234567899.00000001"
    stats = f'{{"numRecords":1,"minValues":{{"c":{text}}},"maxValues":{{"c":{text}}},"nullCount":{{"c":0}}}}'
    table = one_file(tmp_path, t.DecimalType(38, 8), stats)
    assert kept(table, f"c = {text}") == ["f"]
    assert kept(table, "c > 12345678901234567899.00000001") == []
    assert kept(table, "c < 12345678901234567899.00000001") == []


@pytest.mark.parametrize("type_", [t.TIMESTAMP, t.TIMESTAMP_NTZ])
def test_a_maximum_cut_to_milliseconds_covers_the_microseconds_after_it(tmp_path: Path, type_: t.DataType) -> None:
    zone = "Z" if type_ == t.TIMESTAMP else ""
    table = one_file(tmp_path, type_, bounds(c=("2022-01-01T00:00:00.001" + zone, "2022-01-01T00:00:00.001" + zone)))
    literal = "TIMESTAMP" if type_ == t.TIMESTAMP else "TIMESTAMP_NTZ"
    suffix = " UTC" if type_ == t.TIMESTAMP else ""
    assert kept(table, f"c = {literal}'2022-01-01 00:00:00.001999{suffix}'") == ["f"]
    assert kept(table, f"c != {literal}'2022-01-01 00:00:00.001{suffix}'") == ["f"]
    assert kept(table, f"c > {literal}'2022-01-01 00:00:00.001998{suffix}'") == ["f"]
    assert kept(table, f"c > {literal}'2022-01-01 00:00:00.001999{suffix}'") == []


def test_an_offset_before_1900_may_lack_its_seconds(tmp_path: Path) -> None:
    table = one_file(
        tmp_path, t.TIMESTAMP, bounds(c=("1800-01-01T00:00:00.000-07:52", "1800-01-01T00:00:00.000-07:52"))
    )
    assert kept(table, "c = TIMESTAMP'1800-01-01 07:52:58 UTC'") == ["f"]
    assert kept(table, "c = TIMESTAMP'1800-01-01 07:51:02 UTC'") == ["f"]
    assert kept(table, "c = TIMESTAMP'1800-01-01 07:54:00 UTC'") == []


@pytest.mark.parametrize("length", [32, 33, 50, 64])
def test_a_long_maximum_without_tie_breaker_is_a_prefix(tmp_path: Path, length: int) -> None:
    table = one_file(tmp_path, t.STRING, bounds(c=("a", "x" * length)), DELTA_RS)
    assert kept(table, f"c = '{'x' * length}zz'") == ["f"]
    assert kept(table, f"c > '{'x' * length}'") == ["f"]
    assert kept(table, f"c > '{'x' * (length - 1)}y'") == []


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


def test_the_old_tie_breaker_sorts_below_supplementary_characters(tmp_path: Path) -> None:
    table = one_file(tmp_path, t.STRING, bounds(c=("a", "x" * 32 + "\ufffd")))
    assert kept(table, f"c = '{'x' * 32}😀'") == ["f"]


def test_a_short_maximum_is_no_prefix(tmp_path: Path) -> None:
    assert kept(one_file(tmp_path, t.STRING, bounds(c=("a", "x" * 31))), f"c = '{'x' * 31}z'") == []


def test_strings_compare_as_utf8_not_as_utf16(tmp_path: Path) -> None:
    table = one_file(tmp_path, t.STRING, bounds(c=("\uffff", "😀")))
    assert kept(table, "c = '\uffff'") == ["f"]
    assert kept(table, "c = '😀'") == ["f"]
    assert kept(table, "c < '\uff00'") == []


def test_not_equal_prunes_a_string_only_where_it_cannot_be_cut(tmp_path: Path) -> None:
    short, long = "abc", "x" * 32
    assert kept(one_file(tmp_path / "1", t.STRING, bounds(c=(short, short))), f"c != '{short}'") == []
    assert kept(one_file(tmp_path / "2", t.STRING, bounds(c=(long, long)), DELTA_RS), f"c != '{long}'") == ["f"]


@pytest.mark.parametrize("where", ["c = 'ABC'", "c > 'z'", "c IN ('q')", "c LIKE 'z%'", "c != 'abc'"])
def test_binary_statistics_never_serve_a_collated_comparison(tmp_path: Path, where: str) -> None:
    field = t.StructField("c", t.STRING, True, {"__COLLATIONS": {"c": "icu.UNICODE_CI"}})
    TableBuilder(tmp_path / "t", t.StructType((field,))).commit(add("f", bounds(c=("abc", "abc"))))
    assert kept(tmp_path / "t", where) == ["f"]


def test_null_counts_serve_collated_columns(tmp_path: Path) -> None:
    field = t.StructField("c", t.STRING, True, {"__COLLATIONS": {"c": "icu.UNICODE_CI"}})
    TableBuilder(tmp_path / "t", t.StructType((field,))).commit(
        add("none", bounds(2, c=("abc", "abc", 0))), add("all", bounds(2, c=(None, None, 2)))
    )
    assert kept(tmp_path / "t", "c IS NULL") == ["all"]
    assert kept(tmp_path / "t", "c = 'x'") == ["none"]


def test_null_counts_of_wide_statistics_are_exact_only_at_the_ends(tmp_path: Path) -> None:
    builder = TableBuilder(tmp_path / "t", {"c": t.INTEGER})
    vector = {"storageType": "u", "pathOrInlineDv": "0" * 20, "sizeInBytes": 40, "cardinality": 1}
    wide = {**bounds(3, c=(1, 9, 1)), "tightBounds": False}
    builder.commit(add("some", wide, deletionVector=vector))
    builder.commit(add("none", {**wide, "nullCount": {"c": 0}}, deletionVector=vector))
    builder.commit(add("all", {**wide, "nullCount": {"c": 3}}, deletionVector=vector))
    assert kept(tmp_path / "t", "c IS NULL") == ["some", "all"]
    assert kept(tmp_path / "t", "c IS NOT NULL") == ["some", "none"]


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


def test_an_all_null_column_without_bounds_is_pruned_by_its_null_count(tmp_path: Path) -> None:
    table = one_file(tmp_path, t.INTEGER, {"numRecords": 3, "minValues": {}, "maxValues": {}, "nullCount": {"c": 3}})
    assert kept(table, "c = 5") == []
    assert kept(table, "c IS NOT NULL") == []
    assert kept(table, "c IS NULL") == ["f"]
    assert kept(table, "c <=> NULL") == ["f"]


def test_bounds_prune_where_the_null_count_is_missing_and_the_reverse(tmp_path: Path) -> None:
    only_bounds = {"numRecords": 3, "minValues": {"c": 1}, "maxValues": {"c": 5}}
    assert kept(one_file(tmp_path / "1", t.INTEGER, only_bounds), "c = 9") == []
    only_counts = {"numRecords": 3, "nullCount": {"c": 0}}
    assert kept(one_file(tmp_path / "2", t.INTEGER, only_counts), "c IS NULL") == []


def test_one_leg_without_statistics_leaves_the_others_to_prune(tmp_path: Path) -> None:
    builder = TableBuilder(tmp_path / "t", {"c": t.INTEGER, "d": t.INTEGER})
    builder.commit(add("f", bounds(c=(1, 5))))
    assert kept(tmp_path / "t", "c = 9 AND d = 1") == []
    assert kept(tmp_path / "t", "c = 9 OR d = 1") == ["f"]
    assert kept(tmp_path / "t", "c = 9 AND length(cast(d AS string)) > 3") == []


def test_a_struct_is_null_only_where_all_its_leaves_are(tmp_path: Path) -> None:
    builder = TableBuilder(tmp_path / "t", {"s": STRUCT})
    builder.commit(
        add("full", {"numRecords": 2, "nullCount": {"s": {"a": 0, "b": 2}}}),
        add("some", {"numRecords": 2, "nullCount": {"s": {"a": 1, "b": 1}}}),
        add("unknown", {"numRecords": 2}),
    )
    assert kept(tmp_path / "t", "s IS NULL") == ["some", "unknown"]
    assert kept(tmp_path / "t", "s.a IS NULL") == ["some", "unknown"]
    assert kept(tmp_path / "t", "s IS NOT NULL") == ["full", "some", "unknown"]


def test_what_a_file_has_decides_not_the_tables_configuration(tmp_path: Path) -> None:
    properties = {"delta.dataSkippingNumIndexedCols": "0", "delta.dataSkippingStatsColumns": "other"}
    TableBuilder(tmp_path / "t", {"c": t.INTEGER}, properties=properties).commit(add("f", bounds(c=(1, 5))))
    assert kept(tmp_path / "t", "c = 9") == []


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


def test_a_float_text_bounds_a_column_that_was_widened_to_double(tmp_path: Path) -> None:
    changes = {"delta.typeChanges": [{"fromType": "float", "toType": "double"}]}
    TableBuilder(tmp_path / "t", t.StructType((t.StructField("c", t.DOUBLE, True, changes),))).commit(
        add("f", bounds(c=(1.1, 1.1)))
    )
    assert kept(tmp_path / "t", "c = 1.10000002384185791015625D") == ["f"]


def test_a_floats_text_names_the_float(tmp_path: Path) -> None:
    table = one_file(tmp_path, t.FLOAT, bounds(c=(1.1, 1.1)))
    assert kept(table, "c = 1.10000002384185791015625D") == ["f"]
    assert kept(table, "c = cast(1.1 AS float)") == ["f"]
    assert kept(table, "c = 1.1D") == []


def test_date_statistics_serve_a_column_widened_to_timestamp_ntz(tmp_path: Path) -> None:
    changes = {"delta.typeChanges": [{"fromType": "date", "toType": "timestamp_ntz"}]}
    schema = t.StructType((t.StructField("c", t.TIMESTAMP_NTZ, True, changes),))
    TableBuilder(tmp_path / "t", schema).commit(add("f", bounds(c=("2020-02-28", "2020-02-29"))))
    assert kept(tmp_path / "t", "c = TIMESTAMP_NTZ'2020-02-29 00:00:00'") == ["f"]
    assert kept(tmp_path / "t", "c > TIMESTAMP_NTZ'2020-03-01 00:00:00'") == []


def test_names_resolve_in_any_case_and_statistics_by_exact_name(tmp_path: Path) -> None:
    schema = t.StructType((t.StructField("Alpha", STRUCT), t.StructField("we.ird", t.INTEGER)))
    stats = {
        "numRecords": 1,
        "minValues": {"Alpha": {"a": 1}, "alpha": {"a": 7}, "we.ird": 3},
        "maxValues": {"Alpha": {"a": 2}, "alpha": {"a": 9}, "we.ird": 4},
        "nullCount": {},
    }
    TableBuilder(tmp_path / "t", schema).commit(add("f", stats))
    assert kept(tmp_path / "t", "aLPHA.A = 8") == []
    assert kept(tmp_path / "t", "alpha.a = 2") == ["f"]
    assert kept(tmp_path / "t", "`WE.ird` = 9") == []
    assert kept(tmp_path / "t", "`we.ird` = 4") == ["f"]


def test_columns_whose_physical_names_differ_only_in_case_keep_their_own_statistics(tmp_path: Path) -> None:
    def field(name: str, physical: str, identity: int) -> t.StructField:
        return t.StructField(
            name, t.INTEGER, True, {"delta.columnMapping.id": identity, "delta.columnMapping.physicalName": physical}
        )

    schema = t.StructType((field("x", "COL", 1), field("y", "col", 2)))
    builder = TableBuilder(tmp_path / "t", schema, properties={"delta.columnMapping.mode": "name"})
    builder.commit(add("f", bounds(COL=(1, 2), col=(8, 9))))
    assert kept(tmp_path / "t", "x = 8") == []
    assert kept(tmp_path / "t", "y = 8") == ["f"]


@pytest.mark.parametrize(
    "where", ["rand() > 2", "uuid() = 'x'", "my_udf(c) = 1", "c IN (SELECT 1)", "c = 99 OR current_timezone() = 'UTC'"]
)
@pytest.mark.filterwarnings("ignore:my_udf")
def test_what_is_not_deterministic_or_not_known_never_prunes(tmp_path: Path, where: str) -> None:
    assert kept(one_file(tmp_path, t.INTEGER, bounds(c=(1, 5))), where) == ["f"]


@pytest.mark.parametrize("value", [-(1 << 63), (1 << 63) - 1])
def test_bounds_at_the_ends_of_64_bits_are_inclusive(tmp_path: Path, value: int) -> None:
    table = one_file(tmp_path, t.LONG, bounds(c=(value, value)))
    assert kept(table, ds.col("c") == value) == ["f"]
    assert kept(table, ds.col("c") >= value) == ["f"]
    assert kept(table, ds.col("c") <= value) == ["f"]
    assert kept(table, ds.col("c") != value) == []


def test_a_comparison_beyond_the_columns_range_is_never_true(tmp_path: Path) -> None:
    table = one_file(tmp_path, t.INTEGER, None)
    assert kept(table, "c = 5000000000") == []
    assert kept(table, "c < 5000000000") == ["f"]


def test_a_long_beside_a_double_is_compared_as_spark_rounds_it(tmp_path: Path) -> None:
    table = one_file(tmp_path, t.LONG, bounds(c=(9007199254740993, 9007199254740993)))
    assert kept(table, "c = 9007199254740992D") == ["f"]
    assert kept(table, "c > 9007199254740992D") == []


def test_booleans_and_arrays_have_null_counts_only(tmp_path: Path) -> None:
    builder = TableBuilder(tmp_path / "t", {"flag": t.BOOLEAN, "list": t.ArrayType(t.INTEGER, True)})
    builder.commit(add("f", {"numRecords": 2, "nullCount": {"flag": 2, "list": 0}}))
    assert kept(tmp_path / "t", "flag") == []
    assert kept(tmp_path / "t", "NOT flag") == []
    assert kept(tmp_path / "t", "list IS NULL") == []
    assert kept(tmp_path / "t", "list[0] = 5") == ["f"]


def test_in_lists_probe_each_value(tmp_path: Path) -> None:
    builder = TableBuilder(tmp_path / "t", {"i": t.INTEGER, "s": t.STRING})
    builder.commit(*[add(f"f{n}", bounds(i=(n * 10, n * 10 + 9), s=(f"k{n}0", f"k{n}9"))) for n in range(5)])
    assert kept(tmp_path / "t", "i IN (5, 45)") == ["f0", "f4"]
    assert kept(tmp_path / "t", "i IN (5, NULL)") == ["f0"]
    assert kept(tmp_path / "t", "i IN (NULL)") == []
    assert kept(tmp_path / "t", "i NOT IN (5, NULL)") == []
    many = ", ".join(str(v) for v in range(15, 18)) + ", " + ", ".join(str(v) for v in range(1000, 1020))
    assert kept(tmp_path / "t", f"i IN ({many})") == ["f1"]
    assert kept(tmp_path / "t", "s IN ('k25', 'zz')") == ["f2"]


def test_not_in_prunes_constant_files_only(tmp_path: Path) -> None:
    builder = TableBuilder(tmp_path / "t", {"i": t.INTEGER})
    builder.commit(add("constant", bounds(i=(5, 5))), add("range", bounds(i=(5, 6))))
    assert kept(tmp_path / "t", "i NOT IN (5, 7)") == ["range"]
    assert kept(tmp_path / "t", f"i NOT IN ({', '.join(map(str, range(5, 65, 2)))})") == ["range"]
    assert kept(tmp_path / "t", f"i NOT IN ({', '.join(map(str, range(30)))})") == []


def test_like_prunes_by_its_prefix(tmp_path: Path) -> None:
    builder = TableBuilder(tmp_path / "t", {"s": t.STRING})
    builder.commit(*[add(f"f{n}", bounds(s=(f"k{n}0", f"k{n}9"))) for n in range(5)])
    assert kept(tmp_path / "t", "s LIKE 'k3%'") == ["f3"]
    assert kept(tmp_path / "t", "s LIKE 'k3%x'") == ["f3"]
    assert kept(tmp_path / "t", "s LIKE 'k35'") == ["f3"]
    assert kept(tmp_path / "t", "startswith(s, 'k3')") == ["f3"]
    assert kept(tmp_path / "t", "s NOT LIKE 'k3%'") == ["f0", "f1", "f2", "f4"]
    assert kept(tmp_path / "t", "s LIKE '%3%'") == ["f0", "f1", "f2", "f3", "f4"]
    assert kept(tmp_path / "t", "s NOT LIKE 'k3%9'") == ["f0", "f1", "f2", "f3", "f4"]


def test_a_regular_expression_prunes_by_what_follows_its_anchor(tmp_path: Path) -> None:
    builder = TableBuilder(tmp_path / "t", {"s": t.STRING})
    builder.commit(*[add(f"f{n}", bounds(s=(f"k{n}0", f"k{n}9"))) for n in range(5)])
    everywhere = ["f0", "f1", "f2", "f3", "f4"]
    for pattern in ("^k3", r"\\Ak3.*x", "^(k)(3[0-9])$", "(?s)^k3+", r"^\\Qk3\\E", r"^k\\x33"):
        assert kept(tmp_path / "t", f"s RLIKE '{pattern}'") == ["f3"], pattern
    for pattern in (
        "k3", "^k3|x", "(?m)^k3", "(?i)^k3", "^k?3", "^k3?", "(?=k)k3", "^[k]?3", "(^k3)?", "^k*3", "^k3|^k3", "(",
    ):  # fmt: skip
        assert kept(tmp_path / "t", f"s RLIKE '{pattern}'") == everywhere, pattern


def test_a_char_column_is_compared_padded_so_its_bounds_prove_nothing(tmp_path: Path) -> None:
    padded = {"__CHAR_VARCHAR_TYPE_STRING": "char(5)"}
    schema = t.StructType((t.StructField("c", t.STRING, True, padded), t.StructField("p", t.STRING, True, padded)))
    builder = TableBuilder(tmp_path / "t", schema, ["p"])
    builder.commit(add("f", bounds(c=("ab   ", "ab   ")), partitionValues={"p": "x    "}))
    assert kept(tmp_path / "t", "c = 'ab'") == ["f"]
    assert kept(tmp_path / "t", "p = 'x'") == ["f"]
    assert kept(tmp_path / "t", "c IS NULL") == []


def test_paths_escape_what_spark_takes_for_a_pattern(tmp_path: Path) -> None:
    TableBuilder(tmp_path / "t", {"c": t.INTEGER}).commit(add("p=%5Ba%5D%7Bb%7D*/x%20y.parquet"), add("z.parquet"))
    first, second = ds.DeltaTable(tmp_path / "t").scan().paths()
    assert first == f"{tmp_path}/t/p=\\[a\\]\\{{b\\}}\\*/x y.parquet"
    assert second == f"{tmp_path}/t/z.parquet"


@pytest.mark.parametrize(("type_", "target"), [(t.DOUBLE, "decimal(10,2)"), (t.STRING, "int")])
def test_a_cast_can_be_null_where_its_column_is_not(tmp_path: Path, type_: t.DataType, target: str) -> None:
    table = one_file(tmp_path, type_, {"numRecords": 1, "nullCount": {"c": 0}})
    assert kept(table, f"cast(c AS {target}) IS NULL") == ["f"]
    assert kept(table, f"try_cast(c AS {target}) IS NULL") == ["f"]


def test_long_lists_that_begin_alike_are_not_taken_for_each_other(tmp_path: Path) -> None:
    builder = TableBuilder(tmp_path / "t", {"c": t.INTEGER})
    builder.commit(add("low", bounds(c=(0, 20))), add("mid", bounds(c=(500, 501))), add("high", bounds(c=(900, 901))))
    first = [*range(12), 500]
    second = [*range(12), 900]
    where = f"c IN ({', '.join(map(str, first))}) OR c IN ({', '.join(map(str, second))})"
    assert kept(tmp_path / "t", where) == ["low", "mid", "high"]


def test_an_explicit_collation_of_the_literal_is_no_binary_comparison(tmp_path: Path) -> None:
    table = one_file(tmp_path, t.STRING, bounds(c=("abc", "abc")))
    assert kept(table, "c = 'ABC' COLLATE UNICODE_CI") == ["f"]
    assert kept(table, "c > 'b' COLLATE UNICODE_CI") == ["f"]


def test_a_struct_decimal_that_a_double_may_have_rounded_is_widened(tmp_path: Path) -> None:
    field = StatField(("c",), t.DecimalType(20, 0), "c")
    values = pa.array([Decimal("12345678901234570000"), Decimal("12345678901234567899"), Decimal(123), None])
    low = from_struct(values.cast(pa.decimal128(20, 0)), field, "min").to_pylist()
    high = from_struct(values.cast(pa.decimal128(20, 0)), field, "max").to_pylist()
    assert low[0] <= Decimal("12345678901234567899") <= high[0]
    assert low[1:] == high[1:] == [Decimal("12345678901234567899"), Decimal(123), None]
