"""Small tables in object stores, opened from their version checksums."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import deltaskip as ds
from deltaskip.errors import DeltaSkipError
from deltaskip.log import Snapshot, load_snapshot
from deltaskip.log.checkpoint.tombstones import tombstones
from deltaskip.log.checkpoint.write import write_checkpoint
from deltaskip.storage.remote import ObjectStorage
from tests import corpus
from tests.looped import looped
from tests.storage.counted import server, stored_at
from tests.storage.slow_s3 import SlowS3

__all__ = ["server"]

obstore = pytest.importorskip("obstore")
ROOT = "memory://host/t"
KINDS = {
    "plain": {},
    "vectors": {"delta.enableDeletionVectors": "true", "delta.enableRowTracking": "true"},
    "mapped": {"delta.columnMapping.mode": "name", "delta.enableInCommitTimestamps": "true"},
    "v2": {"delta.checkpointPolicy": "v2", "delta.feature.v2Checkpoint": "supported"},
}


class Store:
    """An object store in memory with the log of a local table."""

    def __init__(self, root: str | Path, until: str = "~") -> None:
        """until: later names of the log are left out, but for that of the hint."""
        from obstore.store import MemoryStore

        self.log, self.store = Path(root, "_delta_log"), MemoryStore()
        for file in self.log.rglob("*"):
            if file.is_file() and (file.name <= until or file.name[0] == "_"):
                self.put(str(file.relative_to(self.log)), file.read_bytes())

    def put(self, name: str, text: bytes) -> None:
        obstore.put(self.store, f"t/_delta_log/{name}", text)

    def opened(self) -> Snapshot:
        return load_snapshot(ObjectStorage(self.store, "memory://host"), ROOT)

    def change(self, version: int, change: Callable[[dict[str, Any]], Any]) -> None:
        """Store another version checksum."""
        name = f"{version:020}.crc"
        fields = json.loads((self.log / name).read_bytes())
        change(fields)
        self.put(name, json.dumps(fields).encode())


def history(folder: Path, properties: dict[str, str]) -> ds.DeltaTable:
    """A table with every kind of change, transaction identifiers and a checkpoint at version 10."""
    table = ds.DeltaTable.create(folder, "id BIGINT, v STRING, p INT", partition_by=["p"], properties=properties)
    for number in range(1, 12):
        ids, parts = [2 * number, 2 * number + 1], pa.array([number % 3, None], pa.int32())
        rows = pa.table({"id": ids, "v": ["x", None], "p": parts})
        match number % 5:
            case 0:
                table.delete(f"id = {2 * number - 2}")
            case 1:
                table.update({"v": "'é \"y'"}, f"id = {2 * number - 6}")
                table.append(rows, txn=("job", number))
            case 4:
                table.optimize()
            case _:
                table.append(rows)
    return table


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> ds.DeltaTable:
    table = history(tmp_path_factory.mktemp("plain"), {})
    # The row is in a file that was written after the checkpoint.
    table.update({"v": "'changed'"}, "id = 22", txn=("job", 98))
    return table


def contents(snapshot: Snapshot) -> tuple[object, ...]:
    files = snapshot.adds()
    files = files.drop_columns(["data_change"]) if "data_change" in files.column_names else files
    found = (snapshot.protocol, snapshot.metadata, dict(snapshot.domains), dict(snapshot.txns))
    return snapshot.version, *found, snapshot.in_commit_timestamp, files.sort_by("path").to_pylist()


def test_checksums_of_delta_spark_list_the_files_of_the_log() -> None:
    """Texts differ (statistics of checkpoints, tags that are empty), so files are compared by what identifies them."""
    listed = 0
    for table in corpus.tables():
        for checksum in sorted((table.path / "_delta_log").glob("*.crc"))[-6:]:
            store = Store(table.path, f"{checksum.name[:20]}~")
            try:
                found = store.opened()
            except DeltaSkipError:
                continue
            names = ["path", "partition_values", "size", "deletion_vector", "base_row_id"]
            files = [each.adds(names).sort_by("path").to_pylist() for each in (found, found.whole)]
            assert files[0] == files[1], checksum
            assert contents(found)[:-1] == contents(found.whole)[:-1], checksum
            listed += found.read_log is not None
    assert listed > 20 or not corpus.present()


def removed(snapshot: Snapshot) -> list[str]:
    return sorted(str(each) for batch in tombstones(snapshot, 0) for each in batch)


@looped("kind", KINDS)
def test_a_table_that_its_checksum_lists_is_the_table_of_the_log(kind: str, tmp_path: Path) -> None:
    table = history(tmp_path, KINDS[kind])
    found = Store(table.snapshot.root).opened()
    assert found.read_log is not None
    assert contents(found) == contents(table.snapshot) == contents(found.whole)
    assert removed(found) == removed(table.snapshot) != []
    changed = replace(found.metadata, description="another")
    assert found.with_state(found.protocol, changed).whole.metadata == changed


def test_opening_takes_three_requests_beside_the_listing(plain: ds.DeltaTable, monkeypatch: pytest.MonkeyPatch) -> None:
    store, read = Store(plain.snapshot.root), list[str]()
    joined, one = ObjectStorage.read_joined, ObjectStorage.open_input

    def counted(storage: ObjectStorage, files: Any) -> Any:
        read.extend(each.name for each in files)
        return joined(storage, files)

    def opened(storage: ObjectStorage, path: str, size: int | None = None) -> Any:
        read.append(path)
        return one(storage, path, size)

    monkeypatch.setattr(ObjectStorage, "read_joined", counted)
    monkeypatch.setattr(ObjectStorage, "open_input", opened)
    found = store.opened()
    assert found.num_files and found.schema
    version = f"{found.version:020}"
    assert read == [f"{found.version - 1:020}.json", f"{version}.json", f"{version}.crc"]


def _other_file(fields: dict[str, Any]) -> None:
    fields["allFiles"][0]["path"] = "another.parquet"


def _other_size(fields: dict[str, Any]) -> None:
    fields["allFiles"][0]["size"] += 1


LIES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "no list": lambda fields: fields.pop("allFiles"),
    "one file less": lambda fields: fields["allFiles"].pop(),
    "one file more": lambda fields: fields["allFiles"].append({**fields["allFiles"][0], "path": "more.parquet"}),
    "a file twice": lambda fields: fields["allFiles"].append(fields["allFiles"][0]),
    "another size": _other_size,
    "another count": lambda fields: fields.update(numFiles=fields["numFiles"] + 1),
    "another total": lambda fields: fields.update(tableSizeBytes=fields["tableSizeBytes"] + 1),
    "no domains": lambda fields: fields.pop("domainMetadata"),
    "no transactions": lambda fields: fields.pop("setTransactions"),
    "another transaction": lambda fields: fields["setTransactions"][0].update(version=99),
    "no protocol": lambda fields: fields.pop("protocol"),
    "no metadata": lambda fields: fields.pop("metadata"),
    "another commit": lambda fields: fields.update(txnId="another"),
    "no commit": lambda fields: fields.pop("txnId"),
    "a list of texts": lambda fields: fields.update(allFiles=["a"] * len(fields["allFiles"])),
    "no object": lambda fields: fields.update(allFiles=1),
    "a file without path": lambda fields: fields["allFiles"][0].pop("path"),
    "a damaged protocol": lambda fields: fields.update(protocol={"minReaderVersion": "x"}),
}


@pytest.mark.filterwarnings("ignore::deltaskip.errors.ChecksumWarning")
@looped("lie", LIES)
def test_a_checksum_that_contradicts_itself_or_the_commit_is_not_believed(lie: str, plain: ds.DeltaTable) -> None:
    store = Store(plain.snapshot.root)
    store.change(plain.version, LIES[lie])
    found = store.opened()
    assert found.read_log is None
    assert contents(found) == contents(plain.snapshot)


@pytest.mark.filterwarnings("ignore::deltaskip.errors.ChecksumWarning")
@looped("lie", ["another path", "the removed file", "other statistics"])
def test_a_list_of_other_files_than_those_of_the_commit_is_not_believed(lie: str, plain: ds.DeltaTable) -> None:
    earlier, files = (
        set(snapshot.adds(["path"])["path"].to_pylist())
        for snapshot in (ds.DeltaTable(plain.snapshot.root, plain.version - 1).snapshot, plain.snapshot)
    )
    [path], [removed_path] = files - earlier, earlier - files
    changes = {
        "another path": {"path": "another.parquet"},
        "the removed file": {"path": removed_path},
        "other statistics": {"stats": '{"numRecords":0}'},
    }
    store = Store(plain.snapshot.root)

    def change(fields: dict[str, Any]) -> None:
        next(each for each in fields["allFiles"] if each["path"] == path).update(changes[lie])

    store.change(plain.version, change)
    found = store.opened()
    assert found.read_log is None
    assert contents(found) == contents(plain.snapshot)


def test_the_checksum_of_another_table_that_was_at_the_path_is_not_believed(tmp_path: Path) -> None:
    """A writer that had opened the dropped table has put its commit into the log of the new one, with its checksum."""
    tables = []
    for name, commits in (("new", 4), ("dropped", 5)):
        table = ds.DeltaTable.create(tmp_path / name, "id BIGINT")
        for number in range(commits):
            table.append(pa.table({"id": [number]}))
        tables.append(table)
    new, dropped = tables
    store, late = Store(new.snapshot.root), f"{dropped.version:020}"
    for suffix in ("json", "crc"):
        store.put(f"{late}.{suffix}", Path(dropped.snapshot.root, "_delta_log", f"{late}.{suffix}").read_bytes())
    found = store.opened()
    assert (found.version, found.metadata.id) == (5, new.snapshot.metadata.id)
    assert found.read_log is None


def test_a_checkpoint_of_a_listed_snapshot_has_what_only_the_log_has(plain: ds.DeltaTable) -> None:
    found = Store(plain.snapshot.root).opened()
    assert found.read_log is not None
    assert write_checkpoint(found).written
    again = load_snapshot(found.storage, ROOT, found.version)
    assert again.segment.commits == ()
    assert contents(again) == contents(plain.snapshot)
    assert removed(again) == removed(plain.snapshot) != []


def test_a_table_is_changed_through_handles_that_read_its_checksum(server: SlowS3) -> None:
    """The log of each version, and what `verify` finds, are those of handles that read the log."""
    folder = server.folder / "bucket" / "changed"
    ds.DeltaTable.create(folder, "id BIGINT, n BIGINT", properties={"delta.enableDeletionVectors": "true"})
    rng, model, listed = np.random.default_rng(11), dict[int, int](), 0
    for number in range(36):
        handle = stored_at(server, "changed")
        listed += handle.snapshot.read_log is not None
        chosen = int(rng.integers(0, 40))
        match int(rng.integers(0, 6)):
            case 0 | 1:
                new = [key for key in range(chosen, chosen + 3) if key not in model]
                rows = pa.table({"id": pa.array(new, pa.int64()), "n": pa.array([number] * len(new), pa.int64())})
                handle.append(rows, txn=("job", number))
                model.update(dict.fromkeys(new, number))
            case 2:
                handle.delete(f"id = {chosen}")
                model.pop(chosen, None)
            case 3:
                handle.update({"n": f"{number}"}, f"id >= {chosen}")
                model.update({key: number for key in model if key >= chosen})
            case 4:
                rows = pa.table({"id": pa.array([chosen], pa.int64()), "n": pa.array([number], pa.int64())})
                merge = handle.merge(rows, "t.id = s.id", "s", "t")
                merge.when_matched_update_all().when_not_matched_insert_all().execute()
                model[chosen] = number
            case _:
                handle.optimize() if number % 2 else handle.checkpoint()
        local = ds.DeltaTable(folder)
        for read in (handle, stored_at(server, "changed"), local):
            assert dict(zip(*read.scan().to_arrow().to_pydict().values(), strict=True)) == model
            assert read.app_versions == local.app_versions
    assert listed > 12
    assert not [each for each in local.verify(data=True) if each.severity != "info"]
