"""Tables with Iceberg compatibility that no commit may make."""

import json
from pathlib import Path

import pyarrow as pa
import pytest

import deltaskip as ds
from deltaskip.actions import AddFile
from deltaskip.errors import InvalidCommit, UnsupportedFeature
from tests.rows.test_iceberg import iceberg

REFUSED = {
    "two versions": (iceberg(1) | iceberg(2), "id BIGINT", "iceberg.features", "a table can have one"),
    "no mapping": (iceberg(2, **{"columnMapping.mode": "none"}), "id BIGINT", "iceberg.features", "column mapping"),
    "vectors in V1": (iceberg(1) | {"delta.feature.deletionVectors": "supported"}, "id BIGINT", "iceberg.features",
        "deletionVectors"),
    "vectors in V2": (iceberg(2, enableDeletionVectors="true"), "id BIGINT", "iceberg.features", "disable one"),
    "no row tracking": (iceberg(3, enableRowTracking="false"), "id BIGINT", "iceberg.features", "row tracking"),
    "arrays in V1": (iceberg(1), "id BIGINT, a ARRAY<INT>", "iceberg.types", "array"),
    "maps in V1": (iceberg(1), "id BIGINT, a MAP<INT, INT>", "iceberg.types", "map"),
    "void": (iceberg(2), "id BIGINT, a VOID", "iceberg.types", "void"),
    "variant": (iceberg(2), "id BIGINT, a VARIANT", "iceberg.types", "variant"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_tables_that_iceberg_cannot_be(tmp_path: Path, name: str) -> None:
    properties, schema, rule, says = REFUSED[name]
    with pytest.raises(InvalidCommit, match=says) as raised:
        ds.DeltaTable.create(tmp_path / "t", schema, properties=properties)
    assert raised.value.rule == rule


def test_ids_of_elements_are_not_left_out(tmp_path: Path) -> None:
    table = ds.DeltaTable.create(tmp_path / "t", "id BIGINT, a ARRAY<INT>", properties=iceberg(2))
    text = table.metadata.schema_string
    for changed in (text.replace("nested.ids", "nested.others"), text.replace('.element":3', '.element":99')):
        assert changed != text
        with pytest.raises(InvalidCommit) as raised, table.transaction() as txn:
            txn.set_metadata(type(table.metadata).from_json({**table.metadata.to_json(), "schemaString": changed}))
        assert raised.value.rule == "iceberg.types"


def test_partition_columns_stay(tmp_path: Path) -> None:
    def create(by: str) -> None:
        ds.DeltaTable.create(
            tmp_path / "t", "a INT, b INT, c INT", partition_by=[by], properties=iceberg(2), mode="replace"
        )

    create("a")
    create("a")
    with pytest.raises(InvalidCommit, match="from a to b") as raised:
        create("b")
    assert raised.value.rule == "iceberg.partitioning"


def test_files_of_other_programs_are_refused(tmp_path: Path) -> None:
    table = ds.DeltaTable.create(tmp_path / "t", "id BIGINT", properties=iceberg(2))
    name = table.schema.fields[0].metadata["delta.columnMapping.physicalName"]
    (tmp_path / "t/a.parquet").write_bytes(b"x")
    with (
        pytest.raises(UnsupportedFeature, match=r"icebergCompatV2.*append\(\) or overwrite\(\)"),
        table.transaction() as txn,
    ):
        txn.add(AddFile("a.parquet", {}, 1, 1, True, stats=json.dumps({"numRecords": 1, "nullCount": {name: 0}})))
    with pytest.raises(InvalidCommit, match="no row count") as raised, table.transaction() as txn:
        txn.add_written(AddFile("a.parquet", {}, 1, 1, True))
    assert raised.value.rule == "iceberg.count"


def test_enabling_it_is_for_tables_without_files(tmp_path: Path) -> None:
    table = ds.DeltaTable.create(
        tmp_path / "t",
        "id BIGINT",
        properties={"delta.columnMapping.mode": "name", "delta.feature.icebergCompatV2": "supported"},
    )
    table.append(pa.table({"id": [1]}))
    old = table.metadata.to_json()
    new = {**old, "configuration": {**old["configuration"], **iceberg(2)}}
    with pytest.raises(InvalidCommit, match="enables Iceberg compatibility") as raised, table.transaction() as txn:
        txn.set_metadata(type(table.metadata).from_json(new))
    assert raised.value.rule == "schema.existing-files"
