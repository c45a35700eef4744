"""Rules that writers of rows get wrong, on tables that were created and filled through Arrow; one test for each rule.

The numbers are those of the project's list of rules. Partition values and paths are read back by delta-rs and DuckDB.
"""

import json
import os
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deltaskip import DeltaTable
from deltaskip.actions import decode_path
from deltaskip.errors import DeltaSkipError, RowViolation, SchemaError
from tests.builder import logged
from tests.each import refuses
from tests.rows.tables import nested_array

DAY, HOUR = 86_400_000_000, 3_600_000_000
TEXTS = [
    *("x", None, "", "a b/%:é+#", "a=b", "\t\n\"'\\", "日本 😀", " ", "A", "a", "%2F", "[a]{b}?*", "x" * 300),
    "__HIVE_DEFAULT_PARTITION__",
]


def adds(table: DeltaTable, version: int = 1) -> list[dict[str, Any]]:
    return logged(table.snapshot.root, version, kind="add")


def stats(table: DeltaTable, version: int = 1) -> list[dict[str, Any]]:
    return [json.loads(add["stats"]) for add in adds(table, version)]


def read_by_others(folder: Path, columns: str = "id, p") -> list[list[tuple[Any, ...]]]:
    """The rows as delta-rs and as DuckDB read them, by their ids."""
    deltalake, duckdb = pytest.importorskip("deltalake"), pytest.importorskip("duckdb")
    found = deltalake.QueryBuilder().register("t", deltalake.DeltaTable(str(folder)))
    by_rust = pa.table(found.execute(f"SELECT {columns} FROM t").read_all()).to_pylist()
    rows = [sorted((tuple(row.values()) for row in by_rust), key=lambda row: row[0])]
    extension = pytest.importorskip("duckdb_extension_delta", reason="duckdb-extension-delta is not installed (bench)")
    connection = duckdb.connect(config={"autoinstall_known_extensions": "false"})
    connection.execute(f"LOAD '{next(Path(extension.__file__).parent.rglob('delta.duckdb_extension'))}'")
    by_duckdb = connection.execute(f"SELECT {columns} FROM delta_scan('{folder}') ORDER BY 1").to_arrow_table()
    return [*rows, [tuple(row.values()) for row in by_duckdb.to_pylist()]]


def test_rule_3_commit_info_comes_first(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "id BIGINT", properties={"delta.enableInCommitTimestamps": "true"})
    table.append(pa.table({"id": [1]}))
    assert [next(iter(logged(table.snapshot.root, version)[0])) for version in (0, 1)] == ["commitInfo", "commitInfo"]


def test_rule_4_timestamps_in_commits_grow(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "id BIGINT", properties={"delta.enableInCommitTimestamps": "true"})
    for number in range(4):
        table.append(pa.table({"id": [number]}))
    times = [logged(table.snapshot.root, version)[0]["commitInfo"]["inCommitTimestamp"] for version in range(5)]
    assert times == sorted(set(times))
    assert not any("EnablementVersion" in name or "EnablementTimestamp" in name for name in table.properties)


def test_rule_7_reader_features_are_in_both_lists(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "id BIGINT, n TIMESTAMP_NTZ, d INT DEFAULT 1")
    assert table.protocol.reader_features == ("timestampNtz",)
    assert set(table.protocol.writer_features or ()) == {
        "timestampNtz", "allowColumnDefaults", "appendOnly", "invariants",
    }  # fmt: skip


def test_rule_12_texts_are_cut_at_code_points_and_timestamps_at_milliseconds(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "s STRING, m STRING, ts TIMESTAMP, p STRING", ["p"])
    instants = nested_array([-1, DAY + 1_999], pa.timestamp("us", "UTC"))
    top = "\U0010ffff" * 40
    table.append(pa.table({"s": ["😀" * 40, "a" * 40], "m": [top, "a"], "ts": instants, "p": ["x", "x"]}))
    [found] = stats(table)
    assert found["minValues"]["s"] == "a" * 32
    assert found["maxValues"]["s"] > "😀" * 40
    assert found["maxValues"]["s"].rstrip("\U0010ffff") == "😀" * 16
    # No text of 32 characters and a tie-breaker is greater.
    assert "m" not in found["maxValues"]
    assert found["minValues"]["ts"] == "1969-12-31T23:59:59.999Z"
    assert found["maxValues"]["ts"] == "1970-01-02T00:00:00.001Z"
    assert all("p" not in found[kind] for kind in ("minValues", "maxValues", "nullCount"))


def test_rule_13_leaves_are_counted_without_partition_columns_and_absent_ones_are_nulls(tmp_path: Path) -> None:
    table = DeltaTable.create(
        tmp_path / "t", "p STRING, st STRUCT<a: INT, b: STRUCT<c: INT>>, x INT, y INT", ["p"],
        properties={"delta.dataSkippingNumIndexedCols": "3"},
    )  # fmt: skip
    table.append(pa.table({"p": ["x", "x"], "y": pa.array([1, 2], pa.int32())}))
    assert stats(table)[0]["nullCount"] == {"st": {"a": 2, "b": {"c": 2}}, "x": 2}
    assert stats(table)[0]["numRecords"] == 2


def test_rule_15_empty_texts_become_null_before_constraints_are_checked(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "id BIGINT, p STRING", ["p"],
                              properties={"delta.constraints.c": "p <> ''"})  # fmt: skip
    refuses(RowViolation, r"constraint c \(p <> ''\)", table.append, pa.table({"id": [1], "p": [""]}))
    strict = DeltaTable.create(tmp_path / "strict", "id BIGINT, p STRING NOT NULL", ["p"])
    refuses(RowViolation, r"column p .*NOT NULL", strict.append, pa.table({"id": [1], "p": [""]}))
    plain = DeltaTable.create(tmp_path / "plain", "id BIGINT, p STRING", ["p"])
    plain.append(pa.table({"id": [1, 2, 3], "p": ["", None, "x"]}))
    assert sorted(str(add["partitionValues"]["p"]) for add in adds(plain)) == ["None", "x"]
    for rows in read_by_others(tmp_path / "plain"):
        assert rows == [(1, None), (2, None), (3, "x")]


def test_rule_16_instants_are_written_in_utc_and_local_times_without_a_zone(tmp_path: Path) -> None:
    winter = 1_710_050_400_000_000
    values = [winter, winter + 1, -1, -62_135_596_800_000_000, None]
    table = DeltaTable.create(tmp_path / "t", "id BIGINT, p TIMESTAMP", ["p"])
    rows = pa.table({"id": range(5), "p": nested_array(values, pa.timestamp("us", "America/New_York"))})
    table.append(rows, time_zone="America/New_York")
    assert [add["partitionValues"]["p"] for add in sorted(adds(table), key=lambda add: add["stats"])] == [
        "2024-03-10T06:00:00.000000Z", "2024-03-10T06:00:00.000001Z", "1969-12-31T23:59:59.999999Z",
        "0001-01-01T00:00:00.000000Z", None,
    ]  # fmt: skip
    # Readers that take values from folders, as Polars does, take them for UTC.
    assert any(add["path"].startswith("p=2024-03-10%2006%253A00%253A00/part-") for add in adds(table))
    for found in read_by_others(tmp_path / "t"):
        assert [row[0] for row in found] == list(range(5))
        assert found[4][1] is None and found[2][1].microsecond == 999_999
    local = DeltaTable.create(tmp_path / "local", "id BIGINT, p TIMESTAMP_NTZ", ["p"])
    local.append(pa.table({"id": [1, 2], "p": nested_array([winter + 7, -1], pa.timestamp("us"))}))
    assert {add["partitionValues"]["p"] for add in adds(local)} == {
        "2024-03-10 06:00:00.000007", "1969-12-31 23:59:59.999999",
    }  # fmt: skip


def test_rule_16_equal_instants_are_one_partition(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "id BIGINT, p TIMESTAMP", ["p"])
    batches = [
        pa.record_batch({"id": [1], "p": nested_array([HOUR], pa.timestamp("us", "UTC"))}),
        pa.record_batch({"id": [2], "p": nested_array([HOUR], pa.timestamp("us", "UTC"))}),
    ]
    table.append(pa.Table.from_batches(batches))
    assert len(adds(table)) == 1


@pytest.mark.long(gate=1)
@pytest.mark.parametrize(
    ("kind", "arrow", "values", "texts"),
    [
        ("DATE", pa.date32(), [-719_162, -1, 0, 2_932_896], ["0001-01-01", "1969-12-31", "1970-01-01", "9999-12-31"]),
        ("DECIMAL(20,4)", pa.decimal128(20, 4), [Decimal("-1.5000"), Decimal("0.0000")], ["-1.5000", "0.0000"]),
        ("BOOLEAN", pa.bool_(), [True, False], ["true", "false"]),
        ("TINYINT", pa.int8(), [-128, 127], ["-128", "127"]),
        ("BIGINT", pa.int64(), [-(2**63), 2**63 - 1], [str(-(2**63)), str(2**63 - 1)]),
    ],
)
def test_rule_16_values_of_every_type_are_written_as_the_protocol_has_them(
    tmp_path: Path, kind: str, arrow: pa.DataType, values: list[Any], texts: list[str]
) -> None:
    table = DeltaTable.create(tmp_path / "t", f"id BIGINT, p {kind}", ["p"])
    rows = pa.table({"id": range(len(values) + 1), "p": nested_array([*values, None], arrow)})
    table.append(rows)
    assert {add["partitionValues"]["p"] for add in adds(table)} == {*texts, None}
    expected = list(enumerate(rows["p"].to_pylist()))
    for found in read_by_others(tmp_path / "t"):
        assert found == expected


def test_rule_17_paths_are_encoded_once_after_the_escapes_of_hive(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "id BIGINT, p STRING", ["p"])
    table.append(pa.table({"id": range(len(TEXTS)), "p": TEXTS}))
    expected = [(i, text or None) for i, text in enumerate(TEXTS)]
    found = {add["partitionValues"]["p"] for add in adds(table)}
    assert found == {text for _, text in expected}
    for add in adds(table):
        assert os.path.isfile(tmp_path / "t" / decode_path(add["path"])), add["path"]
        assert add["path"].isprintable() and " " not in add["path"]
    paths = [add["path"] for add in adds(table)]
    assert any(path.startswith("p=a%20b%252F%2525%253A\u00e9+%2523/part-") for path in paths)
    for rows in read_by_others(tmp_path / "t"):
        assert rows == expected


@pytest.mark.parametrize("properties", [{"delta.columnMapping.mode": "name"}, {"delta.randomizeFilePrefixes": "true"}])
def test_rule_18_folders_are_free_and_mapped_keys_physical(tmp_path: Path, properties: dict[str, str]) -> None:
    table = DeltaTable.create(tmp_path / "t", "id BIGINT, p STRING", ["p"], properties=properties)
    table.append(pa.table({"id": [1, 2], "p": ["a", None]}))
    key = table.schema.fields[1].metadata.get("delta.columnMapping.physicalName", "p")
    assert {add["partitionValues"][key] for add in adds(table)} == {"a", None}
    assert not any("=" in add["path"] for add in adds(table))
    by_rust, by_duckdb = read_by_others(tmp_path / "t")
    assert by_rust == [(1, "a"), (2, None)]
    # DuckDB's extension finds no values of mapped partition columns, whoever wrote them.
    assert by_duckdb == by_rust or key != "p"


def test_rule_19_files_need_a_column_and_partition_columns_are_found_in_any_letter_case(tmp_path: Path) -> None:
    with pytest.raises(DeltaSkipError, match="partition"):
        DeltaTable.create(tmp_path / "all", "p STRING, q INT", ["p", "q"]).append(pa.table({"p": ["x"]}))
    table = DeltaTable.create(tmp_path / "t", "id BIGINT, Part STRING", ["pART"])
    assert table.partition_columns == ("Part",)
    table.append(pa.table({"id": [1], "PART": ["x"]}))
    assert adds(table)[0]["partitionValues"] == {"Part": "x"}
    with pytest.raises(SchemaError, match="partitioned by P twice"):
        DeltaTable.create(tmp_path / "twice", "id BIGINT, p STRING", ["p", "P"])
    refuses(DeltaSkipError, "l", DeltaTable.create, tmp_path / "list", "id BIGINT, l ARRAY<INT>", ["l"])


def test_rule_24_the_text_of_an_expression_is_stored_as_typed(tmp_path: Path) -> None:
    text = "cast( ts   as  date )"
    table = DeltaTable.create(tmp_path / "t", f"ts TIMESTAMP, d DATE GENERATED ALWAYS AS ({text})")
    assert table.schema.fields[1].metadata["delta.generationExpression"].strip() == text.strip()
    table.append(pa.table({"ts": nested_array([1], pa.timestamp("us", "UTC")), "n": [1]}), "merge")
    assert table.schema.fields[1].metadata["delta.generationExpression"].strip() == text.strip()


def test_rule_31_void_columns_are_not_in_files_and_nothing_but_void_is_refused(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "id BIGINT, v VOID, st STRUCT<a: INT, v: VOID>")
    rows = pa.table({"id": [1], "v": pa.nulls(1), "st": [{"a": 1, "v": None}]})
    table.append(rows)
    [add] = adds(table)
    assert pq.read_schema(tmp_path / "t" / add["path"]).names == ["id", "st"]
    assert pq.read_table(tmp_path / "t" / add["path"])["st"].to_pylist() == [{"a": 1}]
    for ddl in ("v VOID", "id BIGINT, st STRUCT<v: VOID>", "id BIGINT, l ARRAY<VOID>"):
        with pytest.raises(DeltaSkipError, match=r"(?i)void"):
            DeltaTable.create(tmp_path / f"v{len(ddl)}", ddl).append(pa.table({"id": [1]}) if "id" in ddl else rows)


def test_rule_32_a_merge_adds_at_the_end_and_never_reorders_or_drops(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "id BIGINT, St STRUCT<a: INT, B: INT>, last STRING NOT NULL")
    rows = pa.table({
        "new": [1.5], "LAST": ["x"],
        "st": pa.array([{"z": 1, "b": 2}], pa.struct([("z", pa.int32()), ("b", pa.int32())])), "other": ["y"],
    })  # fmt: skip
    table.append(rows, "merge")
    assert [field.name for field in table.schema.fields] == ["id", "St", "last", "new", "other"]
    assert [field.name for field in table.schema.fields[1].type.fields] == ["a", "B", "z"]  # type: ignore[attr-defined]
    assert [field.nullable for field in table.schema.fields] == [True, True, False, True, True]
    [add] = adds(table)
    assert pq.read_table(tmp_path / "t" / add["path"]).to_pylist() == [
        {"id": None, "St": {"a": None, "B": 2, "z": 1}, "last": "x", "new": 1.5, "other": "y"}
    ]


def test_rule_39_no_file_is_without_rows(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "id BIGINT, p STRING", ["p"])
    empty = pa.record_batch({"id": pa.array([], pa.int64()), "p": pa.array([], pa.string())})
    full = pa.record_batch({"id": [1], "p": ["x"]})
    table.append(pa.RecordBatchReader.from_batches(full.schema, [empty, full, empty]))
    assert [each["numRecords"] for each in stats(table)] == [1]


def test_rule_48_the_names_of_the_change_data_feed_are_reserved(tmp_path: Path) -> None:
    with pytest.raises(DeltaSkipError, match="_change_type"):
        DeltaTable.create(tmp_path / "t", "id BIGINT, _change_type STRING",
                          properties={"delta.enableChangeDataFeed": "true"})  # fmt: skip


def test_rule_49_columns_of_row_ids_are_named_in_the_properties_and_not_in_the_schema(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "id BIGINT", properties={"delta.enableRowTracking": "true"})
    names = [name for name in table.properties if name.startswith("delta.rowTracking.materialized")]
    assert len(names) == 2
    assert [field.name for field in table.schema.fields] == ["id"]
    for expected in (0, 3):
        table.append(pa.table({"id": [1, 2, 3]}))
        [add] = adds(table, table.version)
        assert (add["baseRowId"], add["defaultRowCommitVersion"]) == (expected, table.version)
    [domain] = logged(table.snapshot.root, 2, kind="domainMetadata")
    assert json.loads(domain["configuration"])["rowIdHighWaterMark"] == 5


def test_rule_69_files_are_compressed_with_zstd_unless_the_table_says_otherwise(tmp_path: Path) -> None:
    for codec, properties in (("ZSTD", {}), ("SNAPPY", {"delta.parquet.compression.codec": "snappy"})):
        table = DeltaTable.create(tmp_path / codec, "id BIGINT", properties=properties)
        table.append(pa.table({"id": [1]}))
        metadata = pq.ParquetFile(tmp_path / codec / adds(table)[0]["path"]).metadata
        assert metadata.row_group(0).column(0).compression == codec


def test_the_commit_of_an_append_has_what_delta_spark_writes(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "id BIGINT, p STRING", ["p"], comment="c",
                              properties={"delta.appendOnly": "true"})  # fmt: skip
    table.append(pa.table({"id": [1, 2, 3], "p": ["x", "y", "y"]}))
    created, wrote = (logged(table.snapshot.root, version)[0]["commitInfo"] for version in (0, 1))
    assert created["operation"] == "CREATE TABLE"
    assert created["operationParameters"] == {
        "partitionBy": '["p"]', "clusterBy": "[]", "description": "c", "isManaged": "false",
        "properties": '{"delta.appendOnly":"true"}',
    }  # fmt: skip
    assert wrote["operation"] == "WRITE"
    assert wrote["operationParameters"] == {"mode": "Append", "partitionBy": '["p"]'}
    metrics = wrote["operationMetrics"]
    size = sum(add["size"] for add in adds(table))
    assert metrics == {"numFiles": "2", "numOutputRows": "3", "numOutputBytes": str(size)}
    for info in (created, wrote):
        assert info["isBlindAppend"] is True
        assert info["isolationLevel"] == "Serializable"
        assert info["engineInfo"].startswith("deltaskip/")
        assert len(info["txnId"]) == 36
    assert wrote["readVersion"] == 0
    assert "readVersion" not in created
