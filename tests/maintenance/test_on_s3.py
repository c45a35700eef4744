"""VACUUM, RESTORE, CLONE and manifests on an object store, and clones between stores."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import deltaskip as ds
from deltaskip.errors import DataFileMissing, StorageError
from deltaskip.storage import Storage
from deltaskip.storage.remote import ObjectStorage
from tests.dml.tables import rows_of
from tests.each import refuses
from tests.noted import raising
from tests.storage.s3 import endpoint, s3_options, store

__all__ = ["endpoint", "s3_options", "store"]

PROPERTIES = {"delta.enableDeletionVectors": "true", "delta.enableChangeDataFeed": "true"}
ODD = ["a b", "x/y", "50%", "é+#"]


def made(root: str, options: dict[str, str]) -> ds.DeltaTable:
    """A table of odd partitions that has lost some rows."""
    table = ds.DeltaTable.create(
        root, "id BIGINT, p STRING", ["p"], properties=PROPERTIES, storage_options=options or None
    )
    table.append(pa.table({"id": range(40), "p": [ODD[i % 4] for i in range(40)]}))
    table.delete("id = 5")
    table.delete("p = '50%'")
    return table


def keys(storage: Storage, root: str) -> set[str]:
    """The objects of a table but for its log."""
    assert isinstance(storage, ObjectStorage)
    found = [path for batch in storage.list_below(root) for path in batch["path"].to_pylist()]
    return {path for path in found if not path.startswith("_delta_log/")}


def test_a_vacuum_deletes_objects_in_bulk(
    store: tuple[Storage, str], s3_options: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    storage, base = store
    table = made(f"{base}/t ü%20", s3_options)
    root = table.snapshot.root
    for name in ("orphan.parquet", "a/b %41", "_hidden/x", "p=a b/.x"):
        storage.put(f"{root}/{name}", b"abc")
    inner = made(f"{root}/inner", s3_options)
    before = keys(storage, root)
    gone = {name for name in before if name.startswith("p=50%25")} | {"orphan.parquet", "a/b %41"}
    dry = table.vacuum(0, True, enforce_retention=False)
    assert set(dry.files) == gone and dry.size_in_bytes > 0 and keys(storage, root) == before
    single: list[str] = []
    monkeypatch.setattr(ObjectStorage, "delete", lambda _self, path: single.append(path))
    done = table.vacuum(0, enforce_retention=False)
    assert set(done.files) == gone and done.directories == () and not single
    assert keys(storage, root) == before - gone
    assert len(rows_of(table)) == 29 and len(rows_of(inner)) == 29


def test_a_table_in_the_root_of_a_bucket_is_listed_without_a_prefix(tmp_path: Path) -> None:
    obstore = pytest.importorskip("obstore")
    storage = ObjectStorage(obstore.store.MemoryStore(), "memory://")
    storage.put("memory:///a/b", b"1")
    [batch] = storage.list_below("memory://")
    assert batch["path"].to_pylist() == ["a/b"] and batch["size"].to_pylist() == [1]


def test_missing_objects_are_no_error(store: tuple[Storage, str]) -> None:
    storage, base = store
    storage.put(f"{base}/a", b"1")
    storage.delete_files([f"{base}/{name}" for name in ("none", "a", "neither")])
    assert not storage.exists(f"{base}/a")
    storage.delete_files([])
    assert storage.delete_empty_directory(base) is False


def test_a_request_that_fails_is_recorded(
    store: tuple[Storage, str], s3_options: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    storage, base = store
    table = made(f"{base}/t", s3_options)

    before = keys(storage, table.snapshot.root)
    with monkeypatch.context() as patch:
        patch.setattr(ObjectStorage, "delete_files", raising(StorageError("The store is gone.")))
        refuses(StorageError, "The store is gone", table.vacuum, 0, enforce_retention=False)
    table.refresh()
    assert table.history(1)[0].operation_parameters == {"status": "FAILED"}
    assert keys(storage, table.snapshot.root) == before
    assert table.vacuum(0, enforce_retention=False).num_files > 0


def test_a_version_is_restored_if_its_objects_are_there(store: tuple[Storage, str], s3_options: dict[str, str]) -> None:
    storage, base = store
    table = made(f"{base}/t", s3_options)
    table.restore(1)
    assert len(rows_of(table)) == 40
    table.restore(3)
    [gone] = [path for path in keys(storage, table.snapshot.root) if path.startswith("p=50%25")]
    storage.delete(f"{table.snapshot.root}/{gone}")
    refuses(DataFileMissing, "1 of its files no longer exist: p=50%25/", table.restore, 1)


def test_clones_in_and_between_stores(store: tuple[Storage, str], s3_options: dict[str, str], tmp_path: Path) -> None:
    storage, base = store
    table = made(f"{base}/t ü%20", s3_options)
    copy = table.clone(f"{base}/copy", storage_options=s3_options)
    assert rows_of(copy) == rows_of(table) and keys(storage, copy.snapshot.root) == set()
    copy.delete("id = 8")
    copy.vacuum(0, enforce_retention=False)
    assert len(rows_of(copy)) == 28 and len(rows_of(table)) == 29
    local = made(str(tmp_path / "local é%20"), {})
    remote = local.clone(f"{base}/of local", storage_options=s3_options)
    assert rows_of(remote) == rows_of(local)
    again: Any = local.clone(f"{base}/of local", 1, replace=True, storage_options=s3_options)
    assert len(rows_of(again)) == 40


def test_manifests_are_objects(store: tuple[Storage, str], s3_options: dict[str, str]) -> None:
    storage, base = store
    table = ds.DeltaTable.create(f"{base}/t", "id BIGINT, p STRING", ["p"], storage_options=s3_options)
    table.append(pa.table({"id": [1, 2], "p": ["a b", "50%"]}))
    table.generate()
    text = storage.read(f"{base}/t/_symlink_format_manifest/p=a b/manifest").decode()
    assert text.startswith(f"{base}/t/p=a b/part-") and text.count("\n") == 1
    table.delete("p = 'a b'")
    assert table.generate().deleted == ("_symlink_format_manifest/p=a b/manifest",)
