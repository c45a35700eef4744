"""Snapshots made of some adds."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pytest

import deltaskip as ds
from deltaskip.actions import ADD_FIELDS
from deltaskip.errors import CorruptLog, VersionNotFound
from deltaskip.log import Snapshot, load_snapshot
from deltaskip.log.commit import read_commits
from deltaskip.log.segment import list_commits
from deltaskip.storage import LocalStorage, open_storage
from tests.each import refuses
from tests.log.builder import PROTOCOL, TableBuilder, add, metadata


def test_a_snapshot_of_adds_contains_only_them(table: TableBuilder) -> None:
    head = metadata(configuration={"delta.appendOnly": "true"})
    table.commit(PROTOCOL, head, add("a"))
    table.commit(add("b"))
    table.commit(add("c"), add("d", dataChange=False))
    storage, root = open_storage(table.path)
    commits = read_commits(storage, root, list_commits(storage, root, 1))
    base = table.load(0)
    made = Snapshot.of_adds(base, commits.actions.filter(pc.field("data_change")), commits.files)
    assert sorted(made.adds(["path"])["path"].to_pylist()) == ["b", "c"]
    assert (made.version, made.num_files, made.root) == (2, 2, base.root)
    assert (made.protocol, made.metadata) == (base.protocol, base.metadata)
    assert made.table_properties.append_only


def test_an_add_or_cdc_without_a_required_field_is_named(table: TableBuilder) -> None:
    table.commit(metadata(configuration={"delta.enableChangeDataFeed": "true"}), {"protocol": PROTOCOL["protocol"]})
    opened = ds.DeltaTable(table.path)
    for name in ("path", "partition_values", "size", "modification_time"):
        key = ADD_FIELDS.logged[name]
        missing = add("x")
        del missing["add"][key]
        for action in ({"add": {**add("x")["add"], key: None}}, missing):
            table.commit(add("good"), action, version=1)
            for door in (table.load, opened.refresh, lambda: ds.DeltaTable(table.path).delete("id = 1")):
                refuses(CorruptLog, rf"0+1\.json \(version 1\).*{key}.*; restore that file, or open", door)
            if name != "modification_time":
                table.commit({"cdc": action["add"]}, version=1)
                with pytest.raises(CorruptLog, match=rf"0+1\.json \(version 1\).*{key}"):
                    ds.DeltaTable(table.path).changes(1).files()


@pytest.mark.parametrize("damage", ["", "no checkpoint", "torn checkpoint", "torn hint", "a stray"])
def test_an_earlier_version_needs_no_later_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str) -> None:
    """Of a long log, the files from the newest checkpoint before the version on; the whole log if that is damaged."""
    table = ds.DeltaTable.create(tmp_path, "id BIGINT", properties={"delta.checkpointInterval": "4"})
    for i in range(14):
        table.append({"id": [i]})
    log = tmp_path / "_delta_log"
    for file in log.glob("*.checkpoint.parquet"):
        if damage == "no checkpoint":
            file.unlink()
        elif damage == "torn checkpoint" and file.name.startswith(f"{8:020d}"):
            file.write_bytes(file.read_bytes()[:100])
    if damage == "torn hint":
        (log / "_last_checkpoint").write_text("{")
    elif damage == "a stray":
        (log / f"{9:020d}.checkpoint.tmp").write_text("")
    asked: list[str] = []
    info = LocalStorage.entries

    def entries(storage: LocalStorage, directory: str, names: Sequence[bytes], start: str) -> Any:
        found = info(storage, directory, names, start)
        asked.extend(each.name for each in found)
        return found

    monkeypatch.setattr(LocalStorage, "entries", entries)
    for version in range(15):
        asked.clear()
        found = load_snapshot(LocalStorage(), str(tmp_path), version)
        assert (found.version, found.num_files) == (version, version)
        if damage == "" and version < 12:
            assert {int(name[:20]) for name in asked} == set(range(version // 4 * 4, version + 1))
    refuses(VersionNotFound, "15", lambda: load_snapshot(LocalStorage(), str(tmp_path), 15))
