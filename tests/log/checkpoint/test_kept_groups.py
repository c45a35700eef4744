"""Checkpoints that copy row groups of the one before: their state is that of the log, and of one written whole."""

import json
import os
import random
import shutil
import time
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaskip as ds
from deltaskip.errors import CorruptLog
from deltaskip.log import refresh
from deltaskip.log.checkpoint import kept_groups, write
from deltaskip.log.checkpoint.kept_groups import ENCODING
from deltaskip.log.checkpoint.tombstones import tombstones
from deltaskip.log.checkpoint.write import write_checkpoint
from deltaskip.log.cleanup import clean_up_log
from deltaskip.log.snapshot import Snapshot
from deltaskip.stats import row_group_copy
from deltaskip.stats.row_group_copy import RowGroupCopy
from deltaskip.storage import LocalStorage
from tests.each import refuses
from tests.extent import extent, seed
from tests.log.builder import V2, TableBuilder, add, load, metadata, remove
from tests.noted import noted, raising

NOW = time.time_ns() // 1_000_000
MONTH = 30 * 86_400_000
SCHEMA = '{"type":"struct","fields":[{"name":"x","type":"%s","nullable":true,"metadata":{}}]}'
Key = tuple[str, str | None]


class History:
    """Random commits of a table, and what a plain model of the log says after them."""

    def __init__(self, table: TableBuilder, policy: str, seed_: int) -> None:
        self.table, self.policy = table, policy
        self.random = random.Random(seed_)
        self.files: dict[str, dict[str, Any]] = {}
        self.tombstones: dict[Key, int] = {}
        self.count = 0
        table.commit(V2, self.metadata())

    def metadata(self, type_: str = "long", **properties: str) -> Any:
        configuration = {"delta.checkpointPolicy": self.policy, "delta.checkpoint.writeStatsAsStruct": "true"}
        return metadata(schemaString=SCHEMA % type_, configuration={**configuration, **properties})

    def added(self, path: str, dv: str | None) -> Any:
        self.count += 1
        bounds = {"minValues": {"x": self.count}, "maxValues": {"x": self.count + 5}}
        stats = json.dumps({"numRecords": 9, **bounds})
        action = add(path, dv, stats=stats, size=self.count)
        self.files[path] = {"dv": dv, "stats": stats, "size": self.count}
        self.tombstones.pop((path, dv), None)
        return action

    def removed(self, path: str, ms: int) -> Any:
        dv = self.files.pop(path)["dv"]
        self.tombstones[path, dv] = ms
        return remove(path, dv, deletionTimestamp=ms)

    def commit(self) -> None:
        actions: list[Any] = []
        touched = self.random.sample(sorted(self.files), min(len(self.files), self.random.choice([0, 0, 0, 1, 3])))
        for path in touched:
            ms = NOW - self.random.choice([0, 0, MONTH])
            match self.random.randrange(4):
                case 0 | 1:
                    actions.append(self.removed(path, ms))
                case 2:
                    actions.append(self.added(path, self.files[path]["dv"]))
                case _:
                    actions.append(self.removed(path, ms))
                    actions.append(self.added(path, f"vector{self.count}"))
        gone = [path for path, dv in self.tombstones if dv is None and path not in self.files and path not in touched]
        if gone and self.random.random() < 0.3:
            actions.append(self.added(self.random.choice(gone), None))
        for _ in range(self.random.choice([1, 1, 1, 2, 12])):
            actions.append(self.added(f"f{self.count:04d}", None))
        if self.random.random() < 0.1:
            actions.append(self.metadata(**{"user.note": str(self.count)}))
        self.table.commit(*actions)


def alone(folder: Path, version: int, target: Path) -> Snapshot:
    """The snapshot of a version as its checkpoint alone says it."""
    shutil.rmtree(target, ignore_errors=True)
    (target / "_delta_log").mkdir(parents=True)
    for file in (folder / "_delta_log").glob(f"{version:020d}.checkpoint*"):
        shutil.copy(file, target / "_delta_log")
    if (folder / "_delta_log" / "_sidecars").exists():
        shutil.copytree(folder / "_delta_log" / "_sidecars", target / "_delta_log" / "_sidecars")
    return load(target, version)


def check(history: History, snapshot: Snapshot, found: Snapshot) -> None:
    """The state of a checkpoint is that of the model."""
    rows = {row["path"]: row for row in found.adds().to_pylist()}
    assert rows.keys() == history.files.keys()
    for path, known in history.files.items():
        vector = rows[path]["deletion_vector"]
        assert (vector and vector["path_or_inline_dv"]) == known["dv"]
        assert (rows[path]["stats"], rows[path]["size"]) == (known["stats"], known["size"])
    listed = [
        ((row["path"], row["deletionVector"] and row["deletionVector"]["pathOrInlineDv"]), row["deletionTimestamp"])
        for batch in tombstones(found, 0)
        for row in batch.to_pylist()
    ]
    gone = dict(listed)
    assert len(gone) == len(listed)
    assert gone.items() <= history.tombstones.items()
    assert {key for key, ms in history.tombstones.items() if ms > NOW - MONTH} <= gone.keys()
    assert (found.metadata, found.protocol) == (snapshot.metadata, snapshot.protocol)
    assert found.num_files == len(history.files)


def parsed(snapshot: Snapshot) -> list[Any]:
    """Every add of a checkpoint as it is stored, by path."""
    pieces = [part.read(["add"])["add"].drop_null() for part in snapshot.checkpoint_parts]
    return sorted((row for piece in pieces for row in piece.to_pylist()), key=lambda row: str(row["path"]))


@pytest.fixture
def copies(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Small row groups are copied, too; the value lists how many each copy had."""
    monkeypatch.setattr(kept_groups, "FEW_ROWS", 3)
    monkeypatch.setattr(kept_groups, "_TIMES", 2)
    return noted(monkeypatch, RowGroupCopy, "append", lambda _, groups: len(groups))


@pytest.mark.parametrize("policy", ["classic", "v2"])
@pytest.mark.parametrize("number", range(extent(3, 40)))
def test_random_commits_leave_the_state_of_the_log(tmp_path: Path, policy: str, number: int, copies: list[int]) -> None:
    (tmp_path / "t").mkdir()
    history = History(TableBuilder(tmp_path / "t"), policy, seed() + number)
    kept = load(tmp_path / "t")
    sizes = {"group_rows": history.random.choice([8, 20, 1000]), "sidecar_rows": history.random.choice([10, 60])}
    named: set[str] = set()
    stored: list[Any] = []
    for step in range(20):
        for _ in range(history.random.randrange(1, 4)):
            history.commit()
        # A handle that stays open knows older checkpoints than a new one.
        kept = refresh(kept) if step % 7 else load(tmp_path / "t")
        snapshot = load(tmp_path / "t") if history.random.random() < 0.7 else kept
        made = write_checkpoint(snapshot, **sizes)
        found = alone(tmp_path / "t", made.version, tmp_path / "alone")
        check(history, snapshot, found)
        assert (made.num_adds, made.table_bytes) == found.totals()
        named |= {sidecar.path for sidecar in made.sidecars}
        stored = parsed(found)
    whole = tmp_path / "whole"
    shutil.copytree(tmp_path / "t", whole)
    for file in (whole / "_delta_log").glob("*checkpoint*"):
        file.unlink()
    assert write_checkpoint(load(whole), **sizes).num_adds == len(history.files)
    assert parsed(alone(whole, made.version, tmp_path / "alone")) == stored
    if policy == "classic":
        assert len(copies) > 10
    else:
        assert copies and len(list((tmp_path / "t" / "_delta_log" / "_sidecars").iterdir())) == len(named)


@pytest.mark.parametrize("policy", ["classic", "v2"])
def test_a_checkpoint_of_one_commit_more_writes_few_rows(
    tmp_path: Path, policy: str, copies: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    properties = {"delta.checkpointPolicy": policy, "delta.checkpointInterval": "1"}
    ds.DeltaTable.create(tmp_path / "t", "id BIGINT", properties=properties)

    def of_files(_: object, *rows: tuple[str, pa.StructArray]) -> int:
        return sum(len(values) for action, values in rows if action in ("add", "remove"))

    written = noted(monkeypatch, write.CheckpointFile, "write", of_files)
    for number in range(60):
        # A handle that stays open reads a newer checkpoint after a hundred commits.
        ds.DeltaTable(tmp_path / "t").append(pa.table({"id": [number]}))
    # Written whole, the checkpoints of 1 to 60 files would have 1,830 rows.
    assert sum(written) < 60 * 10
    snapshot = load(tmp_path / "t")
    groups = [part.add_rows(g) for part in snapshot.checkpoint_parts for g in part.row_groups_with("add")]
    assert sum(groups) == 60 and len(groups) <= 6
    assert sorted(ds.DeltaTable(tmp_path / "t").scan().to_arrow()["id"].to_pylist()) == list(range(60))


def test_other_readers_read_copied_row_groups(tmp_path: Path, copies: list[int]) -> None:
    properties = {"delta.checkpointInterval": "1", "delta.checkpoint.writeStatsAsStruct": "true"}
    ds.DeltaTable.create(tmp_path / "t", "id BIGINT, p STRING", ["p"], properties=properties)
    for number in range(60):
        table = ds.DeltaTable(tmp_path / "t")
        table.append(pa.table({"id": [number], "p": [f"p{number % 3}"]}))
        if number % 7 == 6:
            table.delete(f"id = {number - 3}")
    assert len(copies) > 20
    deltalake = pytest.importorskip("deltalake")
    expected = sorted(set(range(60)) - set(range(3, 57, 7)))
    file = tmp_path / "t" / "_delta_log" / f"{table.version:020d}.checkpoint.parquet"
    for commit in (tmp_path / "t" / "_delta_log").glob("*.json"):
        if int(commit.stem) < table.version:
            commit.unlink()
    other = deltalake.DeltaTable(str(tmp_path / "t"))
    assert sorted(other.to_pyarrow_table()["id"].to_pylist()) == expected
    paths = sorted(row["path"] for row in load(tmp_path / "t").adds(["path"]).to_pylist())
    metadata_ = pq.read_metadata(file)
    assert metadata_.num_row_groups > 3 and [metadata_.row_group(i).num_rows for i in range(3)]
    assert sorted(pq.read_table(file)["add"].combine_chunks().drop_null().field("path").to_pylist()) == paths
    assert sorted(pl.read_parquet(file)["add"].struct.field("path").drop_nulls().to_list()) == paths
    query = f"SELECT add.path FROM read_parquet('{file}') WHERE add.path IS NOT NULL ORDER BY 1"
    assert [row[0] for row in duckdb.sql(query).fetchall()] == paths
    # Footer and row groups follow each other without gaps other than Parquet's magic number.
    with pq.ParquetFile(file) as opened:
        assert sum(opened.read_row_group(i).num_rows for i in range(metadata_.num_row_groups)) == metadata_.num_rows


def grown(tmp_path: Path, policy: str = "classic", **properties: str) -> TableBuilder:
    """A table of 40 files in a checkpoint of which all row groups could be copied, and a commit after it."""
    table = TableBuilder(tmp_path / "t")
    configuration = {"delta.checkpointPolicy": policy, **properties}
    table.commit(V2, metadata(configuration=configuration), *(add(f"f{n:03d}", stats="{}") for n in range(40)))
    write_checkpoint(table.load())
    table.commit(add("new"))
    return table


@pytest.mark.parametrize("fault", ["footer", "moved", "encoding", "short", "index", "other columns"])
def test_a_checkpoint_whose_copy_meets_anything_odd_is_written_whole(
    tmp_path: Path, fault: str, copies: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    table = grown(tmp_path)
    snapshot = table.load()
    if fault == "footer":
        monkeypatch.setattr(kept_groups, "read_footer_fields", lambda _: 1 / 0)
    elif fault == "moved":
        monkeypatch.setattr(kept_groups, "row_groups", lambda fields: [b"\0"] * 3)
    elif fault == "encoding":
        monkeypatch.setattr(write, "engine_info", lambda: "deltaskip/later")
    elif fault == "short":
        monkeypatch.setattr("deltaskip.stats.row_group_copy.read_ranges", lambda _, r: [memoryview(b"")] * len(r))
    elif fault == "index":
        group = row_group_copy.row_group

        def indexed(data: bytes, to_copy: bool) -> Any:
            found = group(data, to_copy)
            found[1][1][1][0][4] = 6, 9
            return found

        monkeypatch.setattr(kept_groups, "row_group", indexed)
    else:
        monkeypatch.setattr(row_group_copy, "is_alike", lambda *_: False)
    made = write_checkpoint(snapshot)
    assert made.num_adds == 41
    found = alone(table.path, made.version, tmp_path / "alone")
    assert len(found.checkpoint_parts[0].row_groups_with("add")) == 1
    assert sorted(found.adds(["path"])["path"].to_pylist()) == [*(f"f{n:03d}" for n in range(40)), "new"]
    assert not [file for file in table.log.iterdir() if file.name.startswith(".")]


def test_a_damaged_checkpoint_is_named_not_copied(tmp_path: Path, copies: list[int]) -> None:
    table = grown(tmp_path)
    snapshot = table.load()
    file = table.log / f"{0:020d}.checkpoint.parquet"
    data = bytearray(file.read_bytes())
    at = pq.read_metadata(file).row_group(1).column(3).data_page_offset
    assert pq.read_metadata(file).row_group(1).column(3).path_in_schema == "add.path"
    data[at : at + 60] = bytes(60)
    file.unlink()
    file.write_bytes(data)
    refuses(CorruptLog, r"checkpoint\.parquet", write_checkpoint, snapshot)
    assert not (table.log / f"{1:020d}.checkpoint.parquet").exists()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({}, {"delta.checkpoint.writeStatsAsStruct": "false"}),
        ({"delta.checkpoint.writeStatsAsJson": "true"}, {"delta.checkpoint.writeStatsAsJson": "false"}),
        ({}, {"delta.checkpointPolicy": "v2"}),
        ({"delta.checkpointPolicy": "v2"}, {"delta.checkpointPolicy": "classic"}),
        ({}, {"delta.dataSkippingNumIndexedCols": "0"}),
    ],
)
def test_after_a_property_of_checkpoints_changes_nothing_is_copied(
    tmp_path: Path, before: dict[str, str], after: dict[str, str], copies: list[int]
) -> None:
    table = grown(tmp_path, **before)
    table.commit(metadata(configuration={**before, **after}))
    made = write_checkpoint(table.load())
    assert (copies, made.num_adds) == ([], 41)
    found = alone(table.path, made.version, tmp_path / "alone")
    assert len(found.adds(["path"])) == 41
    table.commit(add("newer"))
    made = write_checkpoint(table.load())
    assert made.num_adds == 42 and (copies == [1] or len(made.sidecars) == 2)


def test_row_groups_of_other_writers_are_not_copied(tmp_path: Path, copies: list[int]) -> None:
    table = TableBuilder(tmp_path / "t")
    table.commit(*(add(f"f{n}") for n in range(40)))
    table.checkpoint(0, *(add(f"f{n}") for n in range(40)), row_group_size=10)
    table.commit(add("new"))
    assert write_checkpoint(table.load()).num_adds == 41
    assert copies == []
    [file] = table.log.glob(f"{1:020d}.checkpoint.parquet")
    assert ENCODING in pq.read_metadata(file).metadata


def test_expired_tombstones_leave_with_most_of_their_row_group(
    tmp_path: Path, copies: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    table = TableBuilder(tmp_path / "t")
    table.commit(*(add(f"f{n:02d}") for n in range(40)))
    soon = NOW - 6 * 86_400_000
    table.commit(*(remove(f"f{n:02d}", deletionTimestamp=soon if n < 10 else NOW) for n in range(30)))
    write_checkpoint(table.load())
    monkeypatch.setattr(write, "current_ms", lambda: NOW + 2 * 86_400_000)

    def left(version: int) -> list[str]:
        found = alone(table.path, version, tmp_path / "alone")
        return [row["path"] for batch in tombstones(found, 0) for row in batch.to_pylist()]

    table.commit(add("a"))
    assert len(left(write_checkpoint(table.load()).version)) == 30 and copies == [1, 1]
    # A file that is added again has no tombstone, and its row group is written again without the expired ones.
    table.commit(add("f20"))
    assert sorted(left(write_checkpoint(table.load()).version)) == [f"f{n:02d}" for n in range(10, 30) if n != 20]


def test_sidecars_that_did_not_change_are_named_again(tmp_path: Path, copies: list[int]) -> None:
    table = grown(tmp_path, "v2")
    [first] = load(table.path, 0).checkpoint.sidecars.values()
    stat = (table.log / "_sidecars" / first.path).stat()
    made = write_checkpoint(table.load())
    assert copies == [] and made.sidecars[0] == first and len(made.sidecars) == 2
    assert (table.log / "_sidecars" / first.path).stat() == stat
    assert (made.num_adds, made.num_actions) == (41, 41 + 2 + 1 + 2)
    # A file is removed, so that the sidecar is written again.
    table.commit(remove("f003", deletionTimestamp=NOW))
    made = write_checkpoint(table.load())
    assert first not in made.sidecars and made.num_adds == 40
    assert first.path in {file.name for file in (table.log / "_sidecars").iterdir()}


def test_clean_up_keeps_a_sidecar_that_a_checkpoint_names_again(tmp_path: Path, copies: list[int]) -> None:
    table = grown(tmp_path, "v2")
    old = [*table.log.iterdir(), *(table.log / "_sidecars").iterdir()]
    made = write_checkpoint(table.load())
    for file in [*old, *table.log.glob("*.json"), *table.log.glob("*1.checkpoint*")]:
        os.utime(file, (NOW / 1000 - 40 * 86_400,) * 2)
    table.commit(add("last"))
    deleted = clean_up_log(table.load())
    assert any("00.checkpoint" in name for name in deleted)
    there = {file.name for file in (table.log / "_sidecars").iterdir()}
    assert {sidecar.path for sidecar in made.sidecars} <= there
    assert len(table.paths()) == 42


def test_a_deleted_sidecar_is_not_named(tmp_path: Path, copies: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    table = grown(tmp_path, "v2")
    snapshot = table.load()
    assert snapshot.checkpoint is not None
    [first] = snapshot.checkpoint.sidecars
    listed = LocalStorage.list_from

    def without(self: LocalStorage, directory: str, start: str) -> Any:
        return [info for info in listed(self, directory, start) if info.path != first]

    monkeypatch.setattr(LocalStorage, "list_from", without)
    made = write_checkpoint(snapshot)
    monkeypatch.setattr(LocalStorage, "list_from", listed)
    assert made.num_adds == 41
    assert first.rpartition("/")[2] not in {sidecar.path for sidecar in made.sidecars}
    # Only the new checkpoint and its sidecars were added.
    assert len([*table.log.glob("*.checkpoint.*.parquet")]) == 2
    assert len([*(table.log / "_sidecars").iterdir()]) == 1 + len(made.sidecars)


def test_a_table_that_keeps_a_short_log_names_no_sidecar_again(tmp_path: Path, copies: list[int]) -> None:
    table = grown(tmp_path, "v2", **{"delta.logRetentionDuration": "interval 1 hour"})
    [first] = load(table.path, 0).checkpoint.sidecars.values()
    made = write_checkpoint(table.load())
    assert copies == [1] and first not in made.sidecars and made.num_adds == 41


def test_a_failed_checkpoint_keeps_sidecars(tmp_path: Path, copies: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    table = grown(tmp_path, "v2")
    before = {file.name for file in (table.log / "_sidecars").iterdir()}

    monkeypatch.setattr(write, "state_rows", raising(OSError(28, "No space left on device")))
    refuses(OSError, None, lambda: write_checkpoint(table.load()))
    assert {file.name for file in (table.log / "_sidecars").iterdir()} == before


def test_a_sidecar_with_a_small_last_row_group_is_copied_once_and_then_named(tmp_path: Path, copies: list[int]) -> None:
    table = TableBuilder(tmp_path / "t")
    sizes = {"group_rows": 16, "sidecar_rows": 100}
    table.commit(V2, metadata(configuration={"delta.checkpointPolicy": "v2"}), *(add(f"f{n:03d}") for n in range(34)))
    assert len(write_checkpoint(table.load(), **sizes).sidecars) == 1
    table.commit(add("a"))
    second = write_checkpoint(table.load(), **sizes)
    assert copies == [2] and len(second.sidecars) == 2
    table.commit(add("b"))
    third = write_checkpoint(table.load(), **sizes)
    assert copies == [2] and third.sidecars[0] == second.sidecars[0] and third.num_adds == 36
