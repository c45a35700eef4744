"""Checkpoints and clean-up that follow a commit."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pyarrow as pa
import pytest

import deltaskip as ds
from deltaskip.actions import Metadata
from deltaskip.errors import CommitConflict, StorageError
from deltaskip.txn import after_commit as module
from deltaskip.txn.after_commit import MaintenanceWarning
from tests.txn.tables import append, file, make_table, paths


def checkpoints(folder: Path) -> list[int]:
    return sorted(int(name[:20]) for name in os.listdir(folder / "_delta_log") if name.endswith("checkpoint.parquet"))


def test_a_checkpoint_follows_at_the_interval(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    table = make_table(folder, {"delta.checkpointInterval": "3"})
    for number in range(7):
        append(table, file(f"f{number}"))
    assert checkpoints(folder) == [3, 6]
    assert json.loads((folder / "_delta_log" / "_last_checkpoint").read_text())["version"] == 6
    assert (folder / "_delta_log" / f"{6:020d}.crc").exists()
    latest = ds.DeltaTable(folder)
    assert latest.snapshot.checkpoint is not None
    assert latest.snapshot.checkpoint.version == 6
    latest.snapshot.verify()
    assert paths(folder) == [f"f{number}" for number in range(7)]


def test_the_default_interval_is_ten(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t")
    for number in range(11):
        append(table, file(f"f{number}"))
    assert checkpoints(tmp_path / "t") == [10]


@pytest.mark.parametrize(("enabled", "left"), [("true", [2, 3]), ("false", [0, 1, 2, 3])])
def test_the_log_is_cleaned_up_with_it(tmp_path: Path, enabled: str, left: list[int]) -> None:
    folder = tmp_path / "t"
    table = make_table(folder, {"delta.checkpointInterval": "2", "delta.enableExpiredLogCleanup": enabled})
    append(table, file("a"))
    append(table, file("b"))
    append(table, file("c"))
    for log_file in (folder / "_delta_log").iterdir():
        os.utime(log_file, (1_000_000_000, 1_000_000_000))
    append(table, file("d"))
    assert checkpoints(folder) == [2, 4]
    commits = sorted(int(name[:20]) for name in os.listdir(folder / "_delta_log") if name.endswith(".json"))
    assert commits == [*left, 4]
    assert paths(folder) == ["a", "b", "c", "d"]


@pytest.mark.parametrize("error", [StorageError("the disk is full"), pa.ArrowInvalid("the disk is full")])
def test_a_checkpoint_that_fails_leaves_the_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    table = make_table(tmp_path / "t", {"delta.checkpointInterval": "1"})

    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(module, "write_checkpoint", fail)
    with pytest.warns(MaintenanceWarning, match="is committed, but its checkpoint failed: the disk is full"):
        assert append(table, file("a")) == 1
    assert paths(tmp_path / "t") == ["a"]


def test_a_version_that_others_have_passed_is_still_checkpointed(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    table = make_table(folder, {"delta.checkpointInterval": "100"})
    for number in range(3):
        append(table, file(f"f{number}"))
    interval = Metadata(
        **{
            **{name: getattr(table.metadata, name) for name in Metadata.__dataclass_fields__},
            "configuration": {"delta.checkpointInterval": "2"},
        }
    )
    txn = table.refresh().transaction()
    txn.set_metadata(interval)
    txn.commit()
    module.after_commit(ds.DeltaTable(folder).snapshot, 2)
    assert checkpoints(folder) == [2]


def test_a_transaction_older_than_the_log_is_a_conflict(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    table = make_table(folder, {"delta.checkpointInterval": "2"})
    old = table.transaction(read="id = 5")
    old.add(file("mine"))
    for number in range(5):
        append(table, file(f"f{number}", 10, 19))
    for version in range(4):
        (folder / "_delta_log" / f"{version:020d}.json").unlink()
    with pytest.raises(CommitConflict, match=r"The commit of version 1 of .* is gone") as raised:
        old.commit()
    assert raised.value.kind == "cleaned up"
    assert ds.DeltaTable(folder).version == 5
