"""What clean-up deletes of a log, and what it must never delete."""

import os
from collections.abc import Callable
from pathlib import Path
from time import time as now
from typing import Any

import pyarrow.parquet as pq
import pytest

from deltaskip import DeltaTable
from deltaskip.errors import SchemaError, UnsupportedFeature
from deltaskip.log import load_snapshot
from deltaskip.log.checkpoint.write import write_checkpoint
from deltaskip.log.cleanup import clean_up_log
from deltaskip.storage import LocalStorage, open_storage
from tests.each import refuses
from tests.log.builder import PROTOCOL, V2, TableBuilder, add, metadata
from tests.noted import noted

DAY = 86_400_000
NOW = 1_800_000_000_000 // DAY * DAY + DAY // 2


def days_ago(path: Path, days: float) -> None:
    moment = (NOW - days * DAY) / 1000
    os.utime(path, (moment, moment))


def build(table: TableBuilder, ages: list[float], checkpoints: list[int], protocol=PROTOCOL, **properties: str) -> None:
    """A commit for each age in days, and checkpoints with checksums."""
    for version, _ in enumerate(ages):
        head = [protocol, metadata(configuration=properties)] if version == 0 else []
        table.commit(*head, add(f"f{version}"))
    storage, root = open_storage(table.path)
    for version in checkpoints:
        write_checkpoint(load_snapshot(storage, root, version))
    for version, age in enumerate(ages):
        for file in table.log.glob(f"{version:020d}*"):
            days_ago(file, age)


def clean(table: TableBuilder) -> list[str]:
    return clean_up_log(table.load(), NOW)


def versions(table: TableBuilder, suffix: str = "json") -> list[int]:
    return sorted(int(file.name[:20]) for file in table.log.glob(f"{'[0-9]' * 20}.{suffix}"))


def test_what_lies_before_the_last_old_checkpoint_goes(table: TableBuilder) -> None:
    build(table, [50, 45, 40, 35, 33, 20, 1], [1, 3, 5])
    deleted = clean(table)
    assert versions(table) == [3, 4, 5, 6]
    assert versions(table, "checkpoint.parquet") == [3, 5]
    assert versions(table, "crc") == [3, 5]
    assert len(deleted) == 5
    for version in (3, 4, 5, 6):
        assert table.paths(version) == [f"f{i}" for i in range(version + 1)]


@pytest.mark.parametrize(
    ("ages", "checkpoints", "properties", "left"),
    [
        # Midnight of the day thirty days ago is 30.5 days before noon.
        ([60, 59, 30.6, 30.5, 30.4], [1, 3, 4], {}, [3, 4]),
        # Commits after the kept checkpoint stay, however old.
        ([60, 59, 58, 57, 56], [1], {}, [1, 2, 3, 4]),
        # Without an old checkpoint nothing goes.
        ([60, 59, 58], [], {}, [0, 1, 2]),
        ([60, 20, 10], [1], {}, [0, 1, 2]),
        ([3, 2, 1], [1], {}, [0, 1, 2]),
        ([60, 9, 8, 5], [1, 2], {"delta.logRetentionDuration": "interval 1 week"}, [2, 3]),
    ],
)
def test_versions_that_are_kept_can_be_opened(
    table: TableBuilder, ages: list[float], checkpoints: list[int], properties: dict[str, str], left: list[int]
) -> None:
    build(table, ages, checkpoints, **properties)
    deleted = clean(table)
    assert versions(table) == left and (left[0] == 0) == (deleted == [])
    for version in left:
        assert table.paths(version) == [f"f{i}" for i in range(version + 1)]


def test_the_log_is_listed_once_and_no_version_is_loaded(table: TableBuilder, monkeypatch: pytest.MonkeyPatch) -> None:
    build(table, [50, 45, 40, 35, 33, 20, 1], [1, 3, 5])
    snapshot = table.load()
    listed = noted(monkeypatch, LocalStorage, "list_from", lambda _, directory, start: directory)
    monkeypatch.setattr(LocalStorage, "read_joined", lambda *_: pytest.fail("commits are read"))
    assert len(clean_up_log(snapshot, NOW)) == 5
    assert [each for each in listed if not each.endswith("_sidecars")] == [str(table.log)]


def test_times_of_commits_after_the_snapshot_do_not_count(table: TableBuilder) -> None:
    # The later commits have times of another kind, which the snapshot does not know.
    build(table, [50, 45, 40, 35], [1])
    before = table.load()
    since = {"delta.enableInCommitTimestamps": "true", "delta.inCommitTimestampEnablementVersion": "4"}
    info = {"commitInfo": {"inCommitTimestamp": NOW, "timestamp": NOW, "operation": "SET TBLPROPERTIES"}}
    table.commit(info, metadata(configuration=since))
    write_checkpoint(table.load())
    for file in table.log.glob(f"{4:020d}*"):
        days_ago(file, 34)
    assert clean_up_log(before, NOW) == [f"{0:020d}.json"]
    assert versions(table) == [1, 2, 3, 4]


def test_in_commit_timestamps_count_where_the_table_keeps_them(table: TableBuilder) -> None:
    timestamps = [NOW - days * DAY for days in (60, 50, 10, 5)]
    for version, time in enumerate(timestamps):
        info = {"commitInfo": {"inCommitTimestamp": time, "timestamp": time, "operation": "WRITE"}}
        head = [PROTOCOL, metadata(configuration={"delta.enableInCommitTimestamps": "true"})] if version == 0 else []
        table.commit(info, *head, add(f"f{version}"))
    for version in (1, 2):
        write_checkpoint(table.load(version))
    clean(table)
    assert versions(table) == [1, 2, 3]


def test_a_checkpoint_that_cannot_be_read_is_not_relied_on(table: TableBuilder) -> None:
    build(table, [60, 59, 58, 57], [1, 2])
    (table.log / f"{2:020d}.checkpoint.parquet").write_bytes(b"damaged")
    days_ago(table.log / f"{2:020d}.checkpoint.parquet", 58)
    clean(table)
    assert versions(table) == [1, 2, 3]
    assert table.paths() == ["f0", "f1", "f2", "f3"]


def test_protected_history_is_not_cut_off_piece_by_piece(table: TableBuilder) -> None:
    protected = {"delta.requireCheckpointProtectionBeforeVersion": "3"}
    build(table, [60, 59, 58, 57, 20], [2], protocol=V2, **protected)
    assert clean(table) == []
    write_checkpoint(table.load(3))
    days_ago(table.log / f"{3:020d}.checkpoint.parquet", 57)
    clean(table)
    assert versions(table) == [3, 4]


def test_a_protected_version_that_is_none_stops_the_clean_up(table: TableBuilder) -> None:
    build(table, [60, 59, 20], [1], **{"delta.requireCheckpointProtectionBeforeVersion": "soon"})
    refuses(SchemaError, r"requireCheckpointProtectionBeforeVersion of .* is 'soon'", clean, table)
    assert versions(table) == [0, 1, 2]


@pytest.mark.parametrize(
    ("protocol", "named"),
    [
        ({"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": ["keepsMore"]}, "keepsMore"),
        ({"minReaderVersion": 1, "minWriterVersion": 8}, "writer version 8"),
    ],
)
def test_a_log_not_understood_is_left_alone(table: TableBuilder, protocol: dict[str, object], named: str) -> None:
    build(table, [60, 59, 58], [1])
    table.commit({"protocol": protocol})
    refuses(UnsupportedFeature, f"needs {named}, which deltaskip does not support", clean, table)
    refuses(UnsupportedFeature, f"Version 3 of .* needs {named}", lambda: write_checkpoint(table.load()))
    assert (versions(table), versions(table, "checkpoint.parquet")) == ([0, 1, 2, 3], [1])


def test_sidecars_are_kept_however_their_checkpoint_spells_their_place(table: TableBuilder) -> None:
    build(table, [60, 59, 58, 57], [1, 3], protocol=V2, **{"delta.checkpointPolicy": "v2"})
    checkpoint = table.load(3).checkpoint
    assert checkpoint is not None
    [sidecar] = checkpoint.sidecars
    [main] = table.log.glob(f"{3:020d}.checkpoint.*")
    elsewhere = table.path.parent / "same"
    elsewhere.symlink_to(table.path)
    rows = pq.read_table(main).to_pylist()
    actions = [{name: value for name, value in row.items() if value is not None} for row in rows]
    for action in actions:
        if "sidecar" in action:
            action["sidecar"]["path"] = f"file://{elsewhere}/_delta_log/_sidecars/{Path(sidecar).name}"
    table.parquet(main.name, actions)
    for file in table.log.rglob("*.parquet"):
        days_ago(file, 57)
    clean(table)
    assert [file.name for file in (table.log / "_sidecars").iterdir()] == [Path(sidecar).name]
    assert table.paths() == ["f0", "f1", "f2", "f3"]


def test_compactions_that_reach_before_the_checkpoint_go(table: TableBuilder) -> None:
    build(table, [60, 59, 58, 57], [2])
    for first, last in ((0, 1), (2, 3), (3, 3)):
        table.json_lines(f"{first:020d}.{last:020d}.compacted.json", [add(f"f{last}")])
    clean(table)
    assert [file.name[:41] for file in table.log.glob("*.compacted.json")] == [f"{3:020d}.{3:020d}"]


def test_sidecars_go_when_nothing_names_them(table: TableBuilder) -> None:
    build(table, [60, 59, 58, 57], [1, 2, 3], protocol=V2, **{"delta.checkpointPolicy": "v2"})
    sidecars = {}
    for version in (1, 2, 3):
        checkpoint = table.load(version).checkpoint
        assert checkpoint is not None
        sidecars[version] = [Path(path).name for path in checkpoint.sidecars]
    folder = table.log / "_sidecars"
    (folder / "young.parquet").write_bytes(b"")
    (folder / "orphan.parquet").write_bytes(b"")
    for file in folder.iterdir():
        days_ago(file, 0.1 if file.name == "young.parquet" else 57)
    deleted = clean(table)
    assert sorted(file.name for file in folder.iterdir()) == sorted([*sidecars[3], "young.parquet"])
    assert {name for name in deleted if "/" in name} == {
        f"_sidecars/{name}" for name in [*sidecars[1], *sidecars[2], "orphan.parquet"]
    }
    assert table.paths() == ["f0", "f1", "f2", "f3"]


def test_sidecars_stay_while_a_checkpoint_cannot_be_read(table: TableBuilder) -> None:
    build(table, [60, 59, 58, 57], [1, 3], protocol=V2, **{"delta.checkpointPolicy": "v2"})
    odd = table.log / f"{3:020d}.checkpoint.odd.parquet"
    odd.write_bytes(b"damaged")
    folder = table.log / "_sidecars"
    for file in folder.iterdir():
        days_ago(file, 57)
    clean(table)
    assert versions(table) == [3]
    assert len(list(folder.iterdir())) == 2


def test_what_a_killed_writer_left_goes_after_a_day(table: TableBuilder) -> None:
    build(table, [60, 59, 58], [1])
    for name, age in ((f".{3:020d}.json.x.tmp", 2), (f".{4:020d}.json.y.tmp", 0.2), ("mine.tmp", 60)):
        (table.log / name).write_bytes(b"")
        days_ago(table.log / name, age)
    clean(table)
    left = sorted(file.name for file in table.log.iterdir() if file.name.endswith("tmp"))
    assert left == [f".{4:020d}.json.y.tmp", "mine.tmp"]


@pytest.mark.parametrize("policy", ["classic", "v2"])
@pytest.mark.parametrize("clean_up", [lambda t: t.clean_up_log(), lambda t: t.append({"id": [9], "p": [9]})])
def test_a_table_is_read_after_its_own_clean_up(tmp_path: Path, policy: str, clean_up: Callable[[Any], Any]) -> None:
    """Columns of the checkpoint that no scan has needed yet are read from the one that is left."""
    path = tmp_path / "t"
    properties = {"delta.checkpointPolicy": policy, "delta.checkpointInterval": "5"}
    table = DeltaTable.create(path, "id BIGINT, p BIGINT", properties=properties)
    for i in range(3):
        table.append({"id": [i], "p": [i]})
    table.checkpoint()
    table.append({"id": [3], "p": [3]})
    old = now() - 40 * 86_400
    for file in path.rglob("*"):
        os.utime(file, (old, old))
    table = DeltaTable(path)
    table.checkpoint()
    clean_up(table)
    assert not any((path / "_delta_log").glob(f"{3:020d}.*"))
    for where in ("id IS NULL", "id > 0", "p < 3", None):
        assert table.scan(where).to_arrow().equals(DeltaTable(path).scan(where).to_arrow())
