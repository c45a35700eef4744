"""Rows of tables with Iceberg compatibility: what files contain, and what is refused."""

import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaskip as ds
from deltaskip.actions import decode_path

NESTED = "id BIGINT, p STRING, tags ARRAY<ARRAY<INT>>, m MAP<INT, ARRAY<INT>>, s MAP<INT, STRUCT<x: ARRAY<INT>>>"


def iceberg(version: int, **more: str) -> dict[str, str]:
    """Properties of a table with a version of the feature."""
    return {f"delta.enableIcebergCompatV{version}": "true", **{f"delta.{name}": text for name, text in more.items()}}


def field_ids(path: str) -> dict[str, int]:
    """The field id of each element of a Parquet schema, by its path."""
    found: dict[str, int] = {}

    def walk(field: pa.Field, above: str) -> None:
        name = f"{above}.{field.name}" if above else field.name
        found[name] = int((field.metadata or {}).get(b"PARQUET:field_id", b"-1"))
        kind = field.type
        if pa.types.is_map(kind):
            walk(kind.key_field.with_name("key"), name)
            walk(kind.item_field.with_name("value"), name)
        elif pa.types.is_list(kind):
            walk(kind.value_field.with_name("element"), name)
        elif pa.types.is_struct(kind):
            for each in kind:
                walk(each, name)

    for each in pq.ParquetFile(path).schema_arrow:
        walk(each, "")
    return found


def files_of(table: ds.DeltaTable) -> list[str]:
    paths = table.snapshot.adds(["path"])["path"].to_pylist()
    return [os.path.join(table.snapshot.root, decode_path(path)) for path in paths]


@pytest.mark.parametrize("version", [2, 3])
def test_rule_67_elements_keys_and_values_have_ids_in_the_schema_and_in_files(tmp_path: Path, version: int) -> None:
    table = ds.DeltaTable.create(tmp_path / "t", NESTED, partition_by=["p"], properties=iceberg(version))
    assert "icebergCompatV%d" % version in (table.protocol.writer_features or ())  # noqa: UP031
    assert "columnMapping" in (table.protocol.reader_features or table.protocol.writer_features or ())
    assert ("rowTracking" in (table.protocol.writer_features or ())) is (version == 3)
    ids: list[int] = []
    expected: dict[str, int] = {}

    def collect(struct: dict[str, Any], above: str) -> None:
        for field in struct["fields"]:
            metadata = field["metadata"]
            name = metadata["delta.columnMapping.physicalName"]
            path = f"{above}.{name}" if above else name
            expected[path] = metadata["delta.columnMapping.id"]
            ids.append(expected[path])
            for nested, number in metadata.get("delta.columnMapping.nested.ids", {}).items():
                ids.append(number)
                expected[above + "." + nested if above else nested] = number
            if field["name"] == "s":
                collect(field["type"]["valueType"], f"{path}.value")

    collect(json.loads(table.metadata.schema_string), "")
    assert len(ids) == len(set(ids)) == 5 + 1 + 2 + 3 + 2 + 1
    assert table.properties["delta.columnMapping.maxColumnId"] == str(max(ids))
    rows = [{"id": 1, "p": "a", "tags": [[1]], "m": [(1, [2])], "s": [(1, {"x": [3]})]}]
    kind = pa.schema(
        [
            ("id", pa.int64()), ("p", pa.string()), ("tags", pa.list_(pa.list_(pa.int32()))),
            ("m", pa.map_(pa.int32(), pa.list_(pa.int32()))),
            ("s", pa.map_(pa.int32(), pa.struct([("x", pa.list_(pa.int32()))]))),
        ]
    )  # fmt: skip
    table.append(pa.Table.from_pylist(rows, kind))
    [file] = files_of(table)
    assert field_ids(file) == expected
    table.append(pa.Table.from_pylist([{"id": 2, "more": [1]}]), schema_mode="merge")
    added = table.schema.fields[-1].metadata
    assert list(added["delta.columnMapping.nested.ids"].values()) == [int(max(ids)) + 2]


@pytest.mark.parametrize("version", [1, 2, 3])
def test_partition_columns_are_in_the_files_after_the_data_columns(tmp_path: Path, version: int) -> None:
    table = ds.DeltaTable.create(tmp_path / "t", "p STRING, id BIGINT", partition_by=["p"], properties=iceberg(version))
    table.append(pa.table({"id": [1], "p": ["x"]}))
    [file] = files_of(table)
    found = pq.ParquetFile(file).read()
    assert [each.to_pylist() for each in found.columns] == [[1], ["x"]]
    assert json.loads(table.snapshot.adds(["stats"])["stats"][0].as_py())["numRecords"] == 1


def test_rule_11_clustering_columns_beyond_the_indexed_ones_have_statistics(tmp_path: Path) -> None:
    columns = ", ".join(f"c{i} INT" for i in range(40))
    table = ds.DeltaTable.create(tmp_path / "t", f"{columns}, st STRUCT<x: INT>", cluster_by=["c39", "st.x"])
    table.append(pa.Table.from_pylist([{"c0": 1, "c35": 2, "c39": 3, "st": {"x": 4}}]))
    stats = json.loads(table.snapshot.adds(["stats"])["stats"][0].as_py())
    assert stats["minValues"]["c39"] == 3
    assert stats["maxValues"]["st"] == {"x": 4}
    assert "c35" not in stats["minValues"]


@pytest.mark.parametrize(
    "properties", [iceberg(3), {"delta.enableRowTracking": "true", "delta.columnMapping.mode": "id"}]
)
def test_rule_67_rewritten_rows_have_the_ids_of_iceberg(tmp_path: Path, properties: dict[str, str]) -> None:
    table = ds.DeltaTable.create(tmp_path / "t", "id BIGINT, s STRING", properties=properties)
    table.append(pa.table({"id": [1, 2, 3], "s": ["a", "b", "c"]}))
    table.delete("id = 2")
    [path] = files_of(table)
    configuration = table.metadata.configuration
    found = {
        kind: field_ids(path)[configuration[f"delta.rowTracking.materialized{kind}ColumnName"]]
        for kind in ("RowId", "RowCommitVersion")
    }
    v3 = {"RowId": 2_147_483_540, "RowCommitVersion": 2_147_483_539}
    assert found == (v3 if "delta.enableIcebergCompatV3" in properties else dict.fromkeys(v3, -1))
    assert pq.read_table(path)[configuration["delta.rowTracking.materializedRowIdColumnName"]].to_pylist() == [0, 2]
