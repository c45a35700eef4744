"""Verification and repair of a table in an object store."""

import pyarrow as pa

import deltaskip as ds
from deltaskip.storage import open_storage
from tests.storage.s3 import endpoint, s3_options

__all__ = ["endpoint", "s3_options"]


def test_a_table_in_a_store(s3_options: dict[str, str]) -> None:
    uri = "s3://bucket/verified"
    table = ds.DeltaTable.create(uri, "id BIGINT", storage_options=s3_options)
    for number in range(3):
        table.append(pa.table({"id": [number, number + 10]}))
    table.checkpoint()
    assert ds.verify(uri, data=True, storage_options=s3_options).findings == ()
    storage, root = open_storage(uri, s3_options)
    gone = table.snapshot.adds(["path"])["path"][0].as_py()
    storage.delete(f"{root}/{gone}")
    storage.put(f"{root}/_delta_log/{3:020d}.checkpoint.parquet", b"torn")
    storage.put(f"{root}/_delta_log/{2:020d}.crc", b"{")
    found = ds.verify(uri, data=True, repair=True, storage_options=s3_options)
    assert found.rules == {"data.missing", "checkpoint.readable", "checksum.readable"}
    assert all(step.done for step in found.repairs)
    assert ds.verify(uri, data=True, storage_options=s3_options).findings == ()
    left = ds.DeltaTable(uri, storage_options=s3_options)
    assert left.version == found.repaired == 4
    assert left.scan().count() == 4
    names = {each.name for each in storage.list_from(f"{root}/_delta_log", "")}
    assert {f"{3:020d}.checkpoint.parquet.damaged", f"{2:020d}.crc.damaged"} <= names
