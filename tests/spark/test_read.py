"""Reading made tables through Spark: shapes, deleted rows, names, odd paths, predicates, errors."""

from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from deltaskip import errors
from deltaskip.spark.session.session_settings import session_settings
from deltaskip.sparkexpr import col
from deltaskip.sparkexpr import types as t
from tests.each import refuses
from tests.extent import some
from tests.spark.made import MadeTable
from tests.spark.session_zone import session_zone

pytestmark = pytest.mark.spark


def struct(**types: t.DataType) -> t.StructType:
    return t.StructType(tuple(t.StructField(name, kind) for name, kind in types.items()))


def mapped(name: str, kind: t.DataType, physical: str, identifier: int) -> t.StructField:
    metadata = {"delta.columnMapping.physicalName": physical, "delta.columnMapping.id": identifier}
    return t.StructField(name, kind, True, metadata)


def ids(*values: int) -> pa.Table:
    return pa.table({"id": pa.array(values, pa.int64())})


def values_of(frame: Any) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in frame.collect()), key=repr)


def plan_of(frame: Any, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    frame.explain()
    return capsys.readouterr().out


def partitioned(root: Path, kind: t.DataType = t.STRING) -> MadeTable:
    return MadeTable(root, struct(id=t.LONG, p=kind), ("p",))


def test_directories_of_the_log_are_one_scan(spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = partitioned(tmp_path)
    for i in range(100):
        table.add(f"p=v{i}/a.parquet", ids(i), {"p": f"v{i}"})
    frame = table.frame(spark)
    assert values_of(frame) == values_of(spark.createDataFrame([(i, f"v{i}") for i in range(100)], "id long, p string"))
    plan = plan_of(frame.where("p = 'v7'"), capsys)
    assert "Union" not in plan and "Join" not in plan
    assert "PartitionFilters: [isnotnull(p" in plan


def test_directories_that_lie_are_not_believed(spark: Any, tmp_path: Path) -> None:
    table = partitioned(tmp_path).add("p=a/1.parquet", ids(1), {"p": "b"}).add("p=b/2.parquet", ids(2), {"p": "a"})
    assert values_of(table.frame(spark)) == [(1, "b"), (2, "a")]


def test_a_column_of_the_file_never_stands_for_a_partition_value(spark: Any, tmp_path: Path) -> None:
    rows = pa.table({"id": [1], "p": ["from the file"]})
    hive = partitioned(tmp_path / "hive").add("p=a/1.parquet", rows, {"p": "a"}).add("p=b/2.parquet", rows, {"p": "b"})
    flat = partitioned(tmp_path / "flat").add("1.parquet", rows, {"p": "a"}).add("2.parquet", rows, {"p": None})
    assert values_of(hive.frame(spark)) == [(1, "a"), (1, "b")]
    assert values_of(flat.frame(spark)) == [(1, "a"), (1, None)]


INSTANT = datetime.datetime(2024, 3, 10, 2, 30, 0, 123456, tzinfo=datetime.UTC)

TYPED = [
    (t.STRING, ["", " ", "__HIVE_DEFAULT_PARTITION__", "a/b=%41", "é中😀", None]),
    (t.INTEGER, [-(2**31), 0, 7, None]),
    (t.SHORT, [-5, 5, None]),
    (t.LONG, [-(2**63), 2**63 - 1, None]),
    (t.BOOLEAN, [True, False, None]),
    (t.FLOAT, [1.5, float("-inf"), None]),
    (t.DOUBLE, [0.1, 1e300, None]),
    (t.DecimalType(38, 10), [Decimal("1234567890123456789012345678.0000000001"), Decimal("-0.5000000000"), None]),
    (t.DATE, [datetime.date(1, 1, 1), datetime.date(2024, 2, 29), None]),
    (t.TIMESTAMP, [INSTANT, datetime.datetime(1800, 1, 1, tzinfo=datetime.UTC), None]),
    (t.TIMESTAMP_NTZ, [INSTANT.replace(tzinfo=None), datetime.datetime(1500, 1, 1), None]),
    (t.BINARY, [b"\x00\xff", b"", None]),
]


LISTED_BY_SPARK = "deltaskip.reading.read_plan._listed_here", lambda paths: None

OF_TYPES = pytest.mark.parametrize(
    ("kind", "values"), TYPED, ids=[str(getattr(kind, "name", "decimal")) for kind, _ in TYPED]
)


@pytest.mark.long(gate=1)
@pytest.mark.parametrize("scans", ["literals", "one scan", "join"])
@OF_TYPES
def test_partition_values_of_every_type_come_from_the_log_exactly(
    spark: Any, tmp_path: Path, kind: t.DataType, values: list[Any], scans: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if scans != "literals":
        monkeypatch.setattr("deltaskip.settings.options.partition_scans", 1)
    if scans == "join":
        monkeypatch.setattr(*LISTED_BY_SPARK)
    table = partitioned(tmp_path, kind)
    for i, value in enumerate(values):
        table.add(f"{i}.parquet", ids(i), {"p": value})
    # In another zone nothing may shift.
    with session_zone(spark, "America/St_Johns"):
        found = table.frame(spark).orderBy("id").toArrow()
    expected = table.files()["partition_values"].combine_chunks().field("p")
    if kind == t.TIMESTAMP:
        assert found["p"].cast(pa.int64()).to_pylist() == expected.cast(pa.int64()).to_pylist()
    else:
        assert found["p"].to_pylist() == expected.to_pylist()


@pytest.mark.long
@pytest.mark.parametrize(("kind", "values"), some(TYPED, 3))
def test_filters_of_partition_values_choose_files_of_one_scan_by_the_rules_of_spark(
    spark: Any, tmp_path: Path, kind: t.DataType, values: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark does not apply a filter again that the list of files has been asked to apply."""
    monkeypatch.setattr("deltaskip.settings.options.partition_scans", 1)
    table = partitioned(tmp_path, kind)
    for i, value in enumerate([*values, *([float("nan"), -0.0] if kind == t.DOUBLE else [])]):
        table.add(f"{i}.parquet", ids(i, i + 100), {"p": value})
    listed = table.frame(spark)
    monkeypatch.setattr(*LISTED_BY_SPARK)
    joined = table.frame(spark)
    first, text = joined.where("id = 0").select("p"), "CAST(p AS STRING)"
    predicates = [
        *(f"p <=> (SELECT p FROM of_file_{i})" for i in range(2)), "p IS NULL", "p IS NOT NULL AND id < 100",
        f"{text} IN ('7', '-5', 'true', '1.5', '2024-02-29', '')", f"NOT {text} = '0'", "p IS NULL OR id = 1", "false",
        f"length({text}) > 4 AND hash(p) % 2 = 0", f"coalesce({text}, 'x') = 'x'", "rand(7) < 2 AND p IS NOT NULL",
    ]  # fmt: skip
    if kind == t.DOUBLE:
        predicates += ["p = 0", "p = double('nan')", "p > 0.1", "p <= 0.1"]
    for i in range(2):
        joined.where(f"id = {i}").select("p").createOrReplaceTempView(f"of_file_{i}")
    for predicate in predicates:
        assert ids_of(listed.where(predicate)) == ids_of(joined.where(predicate)), predicate
    # Spark prunes by the values of the other side while the query runs.
    assert ids_of(listed.join(first, "p")) == ids_of(joined.join(first, "p"))
    assert listed.where("p IS NULL").count() == joined.where("p IS NULL").count() > 0


def ids_of(frame: Any) -> list[int]:
    return sorted(row["id"] for row in frame.select("id").collect())


@pytest.mark.long(gate=1)
@pytest.mark.parametrize("scan", ["one scan", "join"])
def test_more_tuples_than_scans_are_one_scan_or_joined_by_path(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, scan: str
) -> None:
    if scan == "join":
        monkeypatch.setattr(*LISTED_BY_SPARK)
    table = partitioned(tmp_path, t.DOUBLE)
    for i in range(70):
        table.add(f"x {i}%/[{i}] é\u2003.parquet", ids(i), {"p": i / 2})
    frame = table.frame(spark)
    assert values_of(frame) == values_of(spark.createDataFrame([(i, i / 2) for i in range(70)], "id long, p double"))
    assert ("BroadcastHashJoin" in plan_of(frame, capsys)) == (scan == "join")
    assert values_of(table.frame(spark, where="p = 3.5")) == [(7, 3.5)]


def test_a_path_spelled_otherwise_loses_no_row(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deltaskip.spark.read.parquet_scans.metadata_path", lambda path: path + "x")
    monkeypatch.setattr("deltaskip.settings.options.partition_scans", 1)
    monkeypatch.setattr(*LISTED_BY_SPARK)
    table = partitioned(tmp_path).add("1.parquet", ids(1), {"p": "a"}).add("2.parquet", ids(2), {"p": "b"})
    for frame in (table.frame(spark), table.frame(spark, where="p = 'a'"), table.frame(spark, where="p <=> 'a'")):
        refuses(Exception, "has no log entry for", frame.collect)
    assert table.frame(spark, columns=["id"]).count() == 2
    cut = MadeTable(tmp_path / "cut", struct(id=t.LONG)).add("1.parquet", ids(1, 2), deleted=[0])
    for form in ("bits", "positions"):
        monkeypatch.setattr("deltaskip.settings.options.deleted_rows", form)
        with pytest.raises(Exception, match="has no log entry for"):
            cut.frame(spark).collect()


@pytest.mark.long(gate=1)
@pytest.mark.parametrize("form", ["bits", "positions"])
def test_deleted_rows_never_come_back(
    spark: Any, tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("deltaskip.settings.options.deleted_rows", form)
    table = partitioned(tmp_path, t.DATE)
    day = datetime.date(2024, 1, 1)
    gone = [0, 1, 63, 64, 65, 127, 128, 998]
    table.add("a b.parquet", ids(*range(1000)), {"p": day}, gone)
    table.add("c.parquet", ids(*range(1000, 1010)), {"p": None}, [])
    table.add("d.parquet", ids(2000, 2001), {"p": day})
    live = [i for i in range(1000) if i not in gone] + [*range(1000, 1010), 2000, 2001]
    frame = table.frame(spark)
    assert [row[0] for row in frame.orderBy("id").collect()] == live
    plan = plan_of(frame, capsys)
    assert "LeftAnti" in plan and ("getbit" in plan) == (form == "bits")
    assert table.frame(spark, columns=["p"]).count() == len(live)
    assert values_of(table.frame(spark, where="id in (63, 64, 66, 1001)")) == [(1001, None), (66, day)]


def test_row_numbers_are_those_of_the_file_whatever_is_filtered_or_split(spark: Any, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    table = MadeTable(tmp_path, struct(id=t.LONG)).add("a.parquet", ids(0), deleted=[*range(0, 50_000, 3)])
    pq.write_table(ids(*range(50_000)), tmp_path / "a.parquet", row_group_size=1000)
    with session_settings(spark, {"spark.sql.files.maxPartitionBytes": "20000"}):
        found = [row[0] for row in table.frame(spark, where="id between 40000 and 40010").orderBy("id").collect()]
        count = table.frame(spark).count()
    assert found == [i for i in range(40000, 40011) if i % 3]
    assert count == 50_000 - len(range(0, 50_000, 3))


NAMES = [
    "plain.parquet", "x y%20z.parquet", "p=[a]{b}*/?.parquet", "a#b+c&d;e,f.parquet", "%41.parquet", "q\\r.parquet",
    "{a,b}.parquet", "t=1:2/x.parquet", "t=1:2/[x].parquet", "t=1:2/{x}.parquet", "[!a]/^.parquet",
    "é中😀\u2003\u00a0.parquet",
]  # fmt: skip


@pytest.mark.long(gate=1)
@pytest.mark.parametrize("folder", ["plain", "[a-b]{c,d}?*", "x:y [z]"])
@pytest.mark.parametrize("shape", ["one scan", "directories", "join", "deletion vectors"])
def test_paths_are_names_not_patterns_and_every_row_comes_once(
    spark: Any, tmp_path: Path, folder: str, shape: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deltaskip.settings.options.partition_scans", 1)
    table = MadeTable(tmp_path / folder, struct(id=t.LONG, p=t.INTEGER), () if shape == "one scan" else ("p",))
    for i, name in enumerate(NAMES):
        # Hadoop's local file system refuses a colon in the last part of a path.
        path = f"p={i}/{name.replace('/', '').replace(':', '')}" if shape == "directories" else name
        table.add(path, ids(i, i + 100), {"p": i}, [1] if shape == "deletion vectors" else None)
    rows = [row[0] for row in table.frame(spark).orderBy("id").collect()]
    again = [] if shape == "deletion vectors" else [i + 100 for i in range(len(NAMES))]
    assert rows == [*range(len(NAMES)), *again]
    if shape != "one scan":
        assert [row[1] for row in table.frame(spark).orderBy("id").collect()][: len(NAMES)] == [*range(len(NAMES))]


NESTED_LOGICAL = t.StructType(
    (
        mapped("id", t.LONG, "c-1", 1),
        mapped("s", t.StructType((mapped("a.b", t.INTEGER, "c-3", 3),
            mapped("list", t.ArrayType(t.StructType((mapped("x", t.LONG, "c-5", 5),))), "c-4", 4))), "c-2", 2),
        mapped("m", t.MapType(t.STRING, t.StructType((mapped("y", t.STRING, "c-7", 7),))), "c-6", 6),
        mapped("new", t.StructType((mapped("z", t.STRING, "c-9", 9),)), "c-8", 8),
    )
)  # fmt: skip


def nested_rows(name: Any) -> pa.Table:
    def of(field: str, kind: pa.DataType) -> pa.Field:
        shown, identifier = name(field)
        return pa.field(shown, kind, metadata={"PARQUET:field_id": str(identifier)})

    inner = pa.list_(pa.struct([of("c-5", pa.int64())]))
    fields = [
        of("c-1", pa.int64()),
        of("c-2", pa.struct([of("c-3", pa.int32()), of("c-4", inner)])),
        of("c-6", pa.map_(pa.string(), pa.struct([of("c-7", pa.string())]))),
    ]
    rows = [
        (1, {name("c-3")[0]: 5, name("c-4")[0]: [{name("c-5")[0]: 6}, None]}, [("k", {name("c-7")[0]: "v"})]),
        (2, None, None),
    ]
    columns = [pa.array([row[i] for row in rows], f.type) for i, f in enumerate(fields)]
    return pa.Table.from_arrays(columns, schema=pa.schema(fields))


@pytest.mark.parametrize("mode", ["name", "id"])
def test_mapped_columns_are_found_and_renamed_at_every_depth(spark: Any, tmp_path: Path, mode: Any) -> None:
    # In mode "id" the names in the file mean nothing.
    def name(physical: str) -> tuple[str, str]:
        return (physical if mode == "name" else f"other-{physical}", physical.removeprefix("c-"))

    table = MadeTable(tmp_path, NESTED_LOGICAL, mode=mode).add("1.parquet", nested_rows(name))
    frame = table.frame(spark)
    assert frame.schema.simpleString() == (
        "struct<id:bigint,s:struct<a.b:int,list:array<struct<x:bigint>>>,m:map<string,struct<y:string>>,new:struct<z:string>>"
    )
    assert "parquet.field.id" not in frame.schema.json()
    first, second = frame.orderBy("id").collect()
    assert first.asDict(True) == {
        "id": 1,
        "s": {"a.b": 5, "list": [{"x": 6}, None]},
        "m": {"k": {"y": "v"}},
        "new": None,
    }
    assert second.asDict(True) == {"id": 2, "s": None, "m": None, "new": None}
    assert table.frame(spark, where="s.`a.b` = 5", columns=["ID"]).collect() == [(1,)]


def test_files_without_ids_raise_in_id_mode(spark: Any, tmp_path: Path) -> None:
    table = MadeTable(tmp_path, t.StructType((mapped("id", t.LONG, "id", 1),)), mode="id").add("1.parquet", ids(1))
    refuses(Exception, "field Ids", lambda: table.frame(spark).collect())


def test_columns_that_a_file_lacks_are_null_and_extra_ones_are_not_seen(spark: Any, tmp_path: Path) -> None:
    table = MadeTable(tmp_path, struct(id=t.LONG, new=t.STRING))
    table.add("1.parquet", ids(1)).add("2.parquet", pa.table({"id": [2], "new": ["x"], "_change_type": ["insert"]}))
    assert values_of(table.frame(spark)) == [(1, None), (2, "x")]


def test_void_columns_and_fields_are_null(spark: Any, tmp_path: Path) -> None:
    inner = t.StructType((t.StructField("a", t.LONG), t.StructField("v", t.VOID)))
    table = MadeTable(
        tmp_path, struct(id=t.LONG, v=t.VOID, s=inner, many=t.ArrayType(inner), named=t.MapType(t.STRING, inner))
    )
    rows = pa.table(
        {
            "id": [1, 2],
            "s": [{"a": 3}, None],
            "many": [[{"a": 4}, None], None],
            "named": pa.array([[("k", {"a": 5})], None], pa.map_(pa.string(), pa.struct({"a": pa.int64()}))),
        }
    )
    first, second = table.add("1.parquet", rows).frame(spark).orderBy("id").collect()
    assert first.asDict(True) == {
        "id": 1,
        "v": None,
        "s": {"a": 3, "v": None},
        "many": [{"a": 4, "v": None}, None],
        "named": {"k": {"a": 5, "v": None}},
    }
    assert tuple(second) == (2, None, None, None, None)


def test_a_table_of_partition_columns_only_still_has_its_rows(spark: Any, tmp_path: Path) -> None:
    table = MadeTable(tmp_path, struct(p=t.STRING), ("p",))
    rows = pa.table({"other": [1, 2]})
    table.add("p=a/1.parquet", rows, {"p": "a"}).add("p=b/2.parquet", rows, {"p": "b"}, [0])
    assert values_of(table.frame(spark)) == [("a",), ("a",), ("b",)]


def test_char_columns_are_padded_and_compared_as_spark_does(spark: Any, tmp_path: Path) -> None:
    declared = t.StructField("c", t.STRING, True, {"__CHAR_VARCHAR_TYPE_STRING": "char(5)"})
    table = MadeTable(tmp_path, t.StructType((t.StructField("id", t.LONG), declared)))
    table.add("1.parquet", pa.table({"id": [1, 2, 3], "c": ["ab", "ab   ", None]}))
    assert values_of(table.frame(spark)) == [(1, "ab   "), (2, "ab   "), (3, None)]
    assert values_of(table.frame(spark, where="c = 'ab'", columns=["id"])) == [(1,), (2,)]


def test_collated_strings_compare_by_their_collation(spark: Any, tmp_path: Path) -> None:
    schema = t.StructType((t.StructField("c", t.STRING, True, {"__COLLATIONS": {"c": "icu.UNICODE_CI"}}),))
    table = MadeTable(tmp_path, schema).add("1.parquet", pa.table({"c": ["Müller", "x"]}))
    frame = table.frame(spark, where="c = 'MÜLLER'")
    assert frame.dtypes == [("c", "string collate UNICODE_CI")]
    assert values_of(frame) == [("Müller",)]


WIDER = [
    (pa.int8(), t.LONG, 1),
    (pa.int16(), t.INTEGER, 1),
    (pa.int32(), t.LONG, 1),
    (pa.int32(), t.DOUBLE, 1.0),
    (pa.float32(), t.DOUBLE, 1.0),
    (pa.int16(), t.DecimalType(12, 2), Decimal("1.00")),
    (pa.int64(), t.DecimalType(22, 2), Decimal("1.00")),
    (pa.decimal128(5, 2), t.DecimalType(20, 5), Decimal("1.00000")),
    (pa.date32(), t.TIMESTAMP_NTZ, datetime.datetime(1970, 1, 2)),
]


@pytest.mark.parametrize(("stored", "kind", "value"), WIDER, ids=[f"{s}-{k}" for s, k, _ in WIDER])
@pytest.mark.parametrize("vectorized", ["true", "false"])
def test_values_of_narrower_files_are_widened(
    spark: Any, tmp_path: Path, stored: pa.DataType, kind: t.DataType, value: Any, vectorized: str
) -> None:
    table = MadeTable(tmp_path, struct(x=kind))
    values = [Decimal(1), None] if pa.types.is_decimal(stored) else [1, None]
    narrow = pa.array(values, stored if pa.types.is_decimal(stored) else pa.int32()).cast(stored)
    table.add("1.parquet", pa.table({"x": narrow}))
    with session_settings(spark, {"spark.sql.parquet.enableVectorizedReader": vectorized}):
        rows = values_of(table.frame(spark))
    assert rows == sorted([(value,), (None,)], key=repr)


def test_no_files_are_no_rows_of_the_same_schema(spark: Any, tmp_path: Path) -> None:
    schema = struct(id=t.LONG, s=t.StructType((t.StructField("a", t.STRING),)), p=t.DATE)
    empty = MadeTable(tmp_path, schema, ("p",))
    full = MadeTable(tmp_path, schema, ("p",)).add("1.parquet", ids(1), {"p": datetime.date(2024, 1, 1)})
    frame = empty.frame(spark, where="id > 5")
    assert frame.collect() == []
    assert frame.schema == full.frame(spark).schema


def test_predicates_may_be_text_columns_or_expressions(spark: Any, tmp_path: Path) -> None:
    from pyspark.sql import functions as F

    table = MadeTable(tmp_path, struct(id=t.LONG, s=t.STRING)).add(
        "1.parquet", pa.table({"id": [1, 2], "s": ["a", "b"]})
    )
    column = (F.col("id") > 1) & F.col("s").like("b%")
    expression = (col("id") > 1) & col("s").like("b%")
    for where in ("ID > 1 and s like 'b%'", column, expression):
        assert values_of(table.frame(spark, where=where)) == [(2, "b")]
    with pytest.raises(errors.InvalidArgumentType, match="where must be SQL text, an expression or a Column, not int"):
        table.frame(spark, where=5)


def test_wanted_columns_come_in_the_order_asked_for(spark: Any, tmp_path: Path) -> None:
    table = MadeTable(tmp_path, struct(id=t.LONG, s=t.STRING)).add("1.parquet", pa.table({"id": [1], "s": ["a"]}))
    assert table.frame(spark, columns=["S", "id"], where="id = 1").columns == ["s", "id"]
    refuses(errors.PredicateError, "no column", table.frame, spark, columns=["nope"])


def test_a_missing_file_is_named_with_its_table(spark: Any, tmp_path: Path) -> None:
    table = MadeTable(tmp_path, struct(id=t.LONG)).add("a.parquet", ids(1)).add("b c.parquet", ids(2))
    (tmp_path / "b c.parquet").unlink()
    ignored = {"spark.sql.files.ignoreMissingFiles": "true"}
    with session_settings(spark, ignored), pytest.raises(errors.DataFileMissing, match=r"b c\.parquet"):
        table.frame(spark)


def test_a_file_that_is_lost_or_damaged_later_raises_whatever_the_session_ignores(spark: Any, tmp_path: Path) -> None:
    with session_settings(spark, {f"spark.sql.files.ignore{what}Files": "true" for what in ("Missing", "Corrupt")}):
        table = MadeTable(tmp_path, struct(id=t.LONG)).add("a.parquet", ids(1)).add("b.parquet", ids(2))
        frame = table.frame(spark)
        (tmp_path / "b.parquet").write_bytes(b"PAR1 this is no parquet file PAR1")
        refuses(Exception, r"FAILED_READ_FILE|CANNOT_READ", frame.collect)
        (tmp_path / "b.parquet").unlink()
        with pytest.raises(Exception, match="FAILED_READ_FILE"):
            table.add("c.parquet", ids(3))
            frame.collect()


def test_what_cannot_be_read_is_refused_in_a_sentence(spark: Any, tmp_path: Path) -> None:
    refuses(errors.SchemaError, "no columns", lambda: MadeTable(tmp_path, t.StructType(())).frame(spark))
    with pytest.raises(errors.UnsupportedFeature, match="hidden"):
        MadeTable(tmp_path, struct(id=t.LONG)).add("_a.parquet", ids(1)).frame(spark)
    with pytest.raises(errors.CorruptLog, match="twice"):
        MadeTable(tmp_path, struct(id=t.LONG)).add("a.parquet", ids(1)).add("a.parquet", ids(1)).frame(spark)


def test_many_files_are_listed_without_a_task_each_and_the_settings_are_put_back(spark: Any, tmp_path: Path) -> None:
    table = MadeTable(tmp_path, struct(id=t.LONG))
    for i in range(40):
        table.add(f"{i}.parquet", ids(i))
    key = "spark.sql.sources.parallelPartitionDiscovery.threshold"
    spark.conf.set(key, "5")
    try:
        jobs = spark.sparkContext.statusTracker()
        spark.sparkContext.setJobGroup("listing", "listing")
        frame = table.frame(spark)
        spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
        assert len(jobs.getJobIdsForGroup("listing")) == 0
        assert spark.conf.get(key) == "5"
        assert frame.count() == 40
    finally:
        spark.conf.unset(key)
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)
