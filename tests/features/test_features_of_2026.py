"""What the protocol of 2026 adds: features by their names, properties of files, usage tracking, unpublished commits."""

import json
import warnings
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaskip as ds
from deltaskip.errors import InvalidArgument, ReadWarning, UnsupportedFeature
from deltaskip.features import FEATURES
from tests.builder import logged
from tests.each import refuses

USAGE = "delta.columnMapping.hasDroppedOrRenamed"
ROWS = pa.table({"id": [1, 2, 3], "p": ["a", "a", "b"]})


def committed(root: Path, version: int, *actions: dict[str, Any]) -> str:
    folder = root / "_delta_log"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{version:020}.json").write_text("\n".join(json.dumps(each) for each in actions))
    return str(root)


def table_with(root: Path, reader: list[str], writer: list[str], type_: str = "long", **properties: str) -> str:
    field = {"name": "c", "type": type_, "nullable": True, "metadata": {}}
    protocol: dict[str, Any] = {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": writer}
    if reader:
        protocol |= {"minReaderVersion": 3, "readerFeatures": reader, "writerFeatures": [*reader, *writer]}
    metadata = {
        "id": "0f1e", "format": {"provider": "parquet", "options": {}}, "partitionColumns": [],
        "schemaString": json.dumps({"type": "struct", "fields": [field]}), "configuration": properties,
    }  # fmt: skip
    return committed(root, 0, {"protocol": protocol}, {"metaData": metadata})


@pytest.mark.parametrize("name", sorted(name for name, row in FEATURES.items() if row.kind == "writer"))
def test_a_table_with_any_feature_of_writers_is_read(tmp_path: Path, name: str) -> None:
    assert ds.DeltaTable(table_with(tmp_path, [], [name])).scan().to_arrow().num_rows == 0


@pytest.mark.parametrize("name", sorted(name for name, row in FEATURES.items() if row.reads == "no"))
def test_an_unsupported_feature_of_readers_is_refused_with_what_it_does(tmp_path: Path, name: str) -> None:
    said = "managed by a catalog" if name.startswith("catalog") else FEATURES[name].note
    with pytest.raises(UnsupportedFeature) as refused:
        ds.DeltaTable(table_with(tmp_path, [name], []))
    assert name in str(refused.value)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("name", "used", "writable"),
    [
        ("icebergWriterCompatV1", {}, True),
        ("icebergWriterCompatV1", {"delta.enableIcebergWriterCompatV1": "true"}, False),
        ("icebergWriterCompatV3", {"delta.enableIcebergWriterCompatV3": "true"}, False),
        ("coordinatedCommits-preview", {}, True),
        ("coordinatedCommits-preview", {"delta.coordinatedCommits.commitCoordinator-preview": "dynamodb"}, False),
        ("redirectWriterOnly-preview", {}, True),
        ("redirectWriterOnly-preview", {"delta.redirectWriterOnly-preview": "{}"}, False),
        ("recordLevelIndex", {}, False),
        ("clusteringExpressions", {}, False),
    ],
)
def test_writes_are_refused_by_name_where_the_table_uses_the_feature(
    tmp_path: Path, name: str, used: dict[str, str], writable: bool
) -> None:
    table = ds.DeltaTable(table_with(tmp_path, [], [name], **used))
    if writable:
        assert table.append(pa.table({"c": [1]})).version == 1
    else:
        refuses(UnsupportedFeature, name, table.append, pa.table({"c": [1]}))


def test_the_early_name_of_local_times_is_read_and_replaced(tmp_path: Path) -> None:
    root = table_with(tmp_path, ["timestampWithoutTimezone"], [], "timestampWithoutTimezone")
    table = ds.DeltaTable(root)
    assert table.schema.to_arrow().field("c").type == pa.timestamp("us")
    table.append(pa.table({"c": pa.array([7], pa.timestamp("us"))}))
    table.alter(ds.AddColumn("d", "INT"))
    [metadata] = logged(tmp_path, 2, kind="metaData")
    assert [each["type"] for each in json.loads(metadata["schemaString"])["fields"]] == ["timestamp_ntz", "integer"]


def test_usage_of_mapping_is_tracked(tmp_path: Path) -> None:
    feature = {"delta.feature.columnMappingUsageTracking": "supported", "delta.columnMapping.mode": "name"}
    table = ds.DeltaTable.create(str(tmp_path / "new"), "id BIGINT, s STRUCT<x: INT, y: INT>", properties=feature)
    flags = [table.detail().properties[USAGE]]
    for change in (ds.AddColumn("z", "INT"), ds.RenameColumn("s.x", "w"), ds.AddColumn("v", "INT")):
        table.alter(change)
        flags.append(table.detail().properties[USAGE])
    assert flags == ["false", "false", "true", "true"]
    refuses(InvalidArgument, USAGE, lambda: table.alter(ds.SetProperty(USAGE, "false")))


@pytest.mark.parametrize(("mode", "flag"), [("name", "true"), ("none", "false")])
def test_usage_before_tracking_is_not_known(tmp_path: Path, mode: str, flag: str) -> None:
    table = ds.DeltaTable.create(str(tmp_path / "t"), "id BIGINT, x INT", properties={"delta.columnMapping.mode": mode})
    table.add_feature("columnMappingUsageTracking")
    assert table.detail().properties[USAGE] == flag


def test_an_overwrite_that_drops_columns_is_usage(tmp_path: Path) -> None:
    feature = {"delta.feature.columnMappingUsageTracking": "supported", "delta.columnMapping.mode": "name"}
    table = ds.DeltaTable.create(str(tmp_path / "t"), "id BIGINT, x INT", properties=feature)
    table.overwrite(pa.table({"id": [1]}), schema_mode="replace")
    assert table.detail().properties[USAGE] == "true"


@pytest.mark.parametrize(
    ("properties", "codec", "names"),
    [
        ({}, "ZSTD", ["id"]),
        ({"delta.parquet.compression.codec": "LZ4_RAW"}, "LZ4", ["id"]),
        ({"delta.parquet.compression.codec": "lz4"}, "LZ4", ["id"]),
        ({"delta.parquet.compression.codec": "Uncompressed"}, "UNCOMPRESSED", ["id"]),
        ({"delta.parquet.compression.codec": "GZIP", "delta.parquet.format.version": "2.12.0"}, "GZIP", ["id"]),
        ({"delta.writePartitionColumnsToParquet": "true"}, "ZSTD", ["id", "p"]),
    ],
)
def test_files_are_as_properties_ask(tmp_path: Path, properties: dict[str, str], codec: str, names: list[str]) -> None:
    root = str(tmp_path / "t")
    table = ds.DeltaTable.create(root, "id BIGINT, p STRING", partition_by=["p"], properties=properties)
    table.append(ROWS)
    table.checkpoint()
    data, checkpoint = (sorted((tmp_path / "t").glob(pattern)) for pattern in ("p=*/*.parquet", "_delta_log/*.parquet"))
    assert [pq.ParquetFile(each).schema_arrow.names for each in data] == [names, names]
    # pyarrow writes LZ4_RAW, and names it LZ4.
    for each in (*data, *checkpoint):
        assert pq.ParquetFile(each).metadata.row_group(0).column(0).compression == codec
    found = ds.DeltaTable(root).scan(where="id >= 2").to_arrow().sort_by("id")
    assert found.to_pydict() == {"id": [2, 3], "p": ["a", "b"]}
    stats = [json.loads(add["stats"]) for add in logged(tmp_path / "t", 1, kind="add")]
    assert [each["minValues"] for each in stats] == [{"id": 1}, {"id": 3}]


@pytest.mark.parametrize("version", ["2.0", "3.0.0", "2.0.0.0", "1.0.1", "2.x.0", ""])
def test_versions_of_pages_that_the_protocol_lacks_are_refused(tmp_path: Path, version: str) -> None:
    with pytest.raises(InvalidArgument, match=r"delta\.parquet\.format\.version"):
        ds.DeltaTable.create(str(tmp_path / "t"), "id INT", properties={"delta.parquet.format.version": version})


def test_files_without_partition_columns_may_be_added_if_only_the_property_asks_for_them(tmp_path: Path) -> None:
    root = tmp_path / "t"
    asks = {"delta.writePartitionColumnsToParquet": "true"}
    table = ds.DeltaTable.create(str(root), "id BIGINT, p STRING", partition_by=["p"], properties=asks)
    (root / "p=c").mkdir()
    pq.write_table(pa.table({"id": [4]}), root / "p=c" / "f.parquet")
    table.add_files(["p=c/f.parquet"])
    assert table.scan().to_arrow().to_pydict() == {"id": [4], "p": ["c"]}


def test_commits_that_a_coordinator_has_not_published_are_warned_of(tmp_path: Path) -> None:
    root = table_with(tmp_path, [], ["coordinatedCommits-preview"])
    folder = tmp_path / "_delta_log" / "_commits"
    folder.mkdir()
    (folder / f"{0:020}.3a.json").touch()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ds.DeltaTable(root)
    (folder / f"{2:020}.3b.json").touch()
    with pytest.warns(ReadWarning, match="version 0.*up to version 2"):
        assert ds.DeltaTable(root).version == 0
