"""A table on an object store: the log is read as it is on disk."""

from pathlib import Path
from typing import Any

import pytest

import deltaskip as ds
from deltaskip.errors import TableNotFound, VersionNotFound
from deltaskip.log import load_snapshot
from deltaskip.log.checkpoint.write import write_checkpoint
from deltaskip.sparkexpr.types import LONG, StructField, StructType
from deltaskip.storage import LocalStorage
from deltaskip.storage.location import address_of, parse_location
from deltaskip.storage.remote import ObjectStorage
from tests import corpus
from tests.builder import TableBuilder, add
from tests.looped import looped


def stored(table: corpus.CorpusTable) -> ObjectStorage:
    obstore = pytest.importorskip("obstore")
    from obstore.store import MemoryStore

    store = MemoryStore()
    for file in sorted(table.path.rglob("*")):
        if file.is_file():
            obstore.put(store, f"tables/my t/{file.relative_to(table.path)}", file.read_bytes())
    return ObjectStorage(store, "memory://host")


@looped("name", [t.name for t in corpus.tables() if t.entry["checkpoint_versions"] and t.versions][:12] or ["absent"])
def test_a_table_in_an_object_store_is_the_table(name: str) -> None:
    table = corpus.table(name)
    if not table.versions:
        pytest.skip("the reference loads no version of this table")
    storage = stored(table)
    for expected in table.versions:
        snapshot = load_snapshot(storage, "memory://host/tables/my t", expected["version"])
        assert sorted(snapshot.adds(["path"])["path"].to_pylist()) == [file["path"] for file in expected["files"]]
        assert snapshot.table_root == "memory://host/tables/my%20t"


@pytest.mark.parametrize("root", ["memory://host/nothing", "memory://host", "memory://host/tables/my t/_delta_log"])
def test_a_root_without_a_table_is_not_found(root: str) -> None:
    with pytest.raises(TableNotFound, match=root):
        load_snapshot(stored(corpus.table("craft__blank_lines")), root)


@pytest.mark.parametrize("name", ["plain", "a b", "é", "c%20d", "a+b", "q%", "p=x", "#?"])
@pytest.mark.parametrize("root", ["s3://lake/x", "hdfs://h:1/x", "memory://host/x", "/data/x"])
def test_the_uri_of_a_table_names_the_table(root: str, name: str) -> None:
    """Object stores do not decode keys: what is percent-encoded is another table."""
    location = f"{root}/{name}"
    assert parse_location(address_of(location)) == location


def test_a_table_is_opened_by_its_uri(monkeypatch: pytest.MonkeyPatch) -> None:
    storage = stored(corpus.table("craft__blank_lines"))
    monkeypatch.setattr("deltaskip.table.table.open_storage", lambda path, _: (storage, parse_location(path)))
    table = ds.DeltaTable("memory://host/tables/my t")
    assert ds.DeltaTable(table.uri).version == table.version


def test_an_earlier_version_of_a_long_log_is_read_from_a_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store lists a thousand names at a time: the page around the version has its checkpoint, or all are listed."""
    obstore = pytest.importorskip("obstore")
    from obstore.store import MemoryStore

    builder, store = TableBuilder(tmp_path, StructType((StructField("id", LONG),))), MemoryStore()
    for version in range(1, 1_100):
        builder.commit(add(f"{version}.parquet"))
        if version in (699, 1_090):
            write_checkpoint(load_snapshot(LocalStorage(), str(tmp_path)))
    for file in tmp_path.glob("_delta_log/*"):
        obstore.put(store, f"t/_delta_log/{file.name}", file.read_bytes())
    asked: list[int | None] = []
    below = ObjectStorage._below

    def counted(storage: ObjectStorage, directory: str, start: str | None, most: int | None = None) -> Any:
        asked.append(most)
        return below(storage, directory, start, most)

    monkeypatch.setattr(ObjectStorage, "_below", counted)
    for version, whole in ((1, False), (120, False), (400, True), (699, False), (820, False), (1_080, True)):
        asked.clear()
        found = load_snapshot(ObjectStorage(store, "memory://host"), "memory://host/t", version)
        assert (found.version, found.num_files) == (version, version + 1)
        assert (None in asked) == whole, version
    with pytest.raises(VersionNotFound):
        load_snapshot(ObjectStorage(store, "memory://host"), "memory://host/t", 1_100)
