"""A table on an object store: the log is read as it is on disk."""

import pytest

import deltaskip as ds
from deltaskip.errors import TableNotFound
from deltaskip.log import load_snapshot
from deltaskip.storage.location import address_of, parse_location
from deltaskip.storage.remote import ObjectStorage
from tests import corpus
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
