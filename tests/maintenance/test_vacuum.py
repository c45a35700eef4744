"""VACUUM: which files go, which stay, and that nothing goes when something is wrong."""

import json
import os
import random
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from deltaskip import DeltaTable
from deltaskip.actions import add_actions, hadoop_path, remove_of
from deltaskip.errors import CorruptLog, InvalidArgument, InvalidArgumentType, StorageError, UnsupportedFeature
from deltaskip.log.deletion_vectors import vector_keys
from deltaskip.maintenance import unneeded_files
from deltaskip.storage import LocalStorage
from tests.builder import relog
from tests.dml.tables import DDL, actions_of, files_below, info_of, rows, rows_of
from tests.each import refuses
from tests.log.builder import CountingStorage
from tests.looped import looped

DAY = 86_400
VECTORS = {"delta.enableDeletionVectors": "true"}
ODD = ["a b", "x/y", "50%", "%2F", "é+#", "a:b", "_p", "", "ü%20{}[]", "\x7f", "日本"]


def vacuumed(table: DeltaTable, **chosen: Any) -> set[str]:
    """The files that went; the retention is 0."""
    return set(table.vacuum(0, enforce_retention=False, **chosen).files)


def age(folder: Path, days: float) -> None:
    """Make every file and folder older."""
    then = time.time() - days * DAY
    for top, folders, names in os.walk(folder, topdown=False):
        for name in (*names, *folders, "."):
            os.utime(os.path.join(top, name), (then, then), follow_symlinks=False)


def put(path: Path, text: str = "x", days: float = 30) -> Path:
    """A file that is some days old, and so are the folders above it if they are new."""
    new = [folder for folder in path.parents if not folder.exists()]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    for one in (path, *new):
        os.utime(one, (time.time() - days * DAY,) * 2)
    return path


def table_of(folder: Path, partition_by: tuple[str, ...] = (), properties: dict[str, str] | None = None) -> DeltaTable:
    return DeltaTable.create(folder, DDL, partition_by, properties=properties)


def needed(table: DeltaTable) -> set[str]:
    """Data files of the version, by their paths below the table."""
    root, paths = table.snapshot.table_root, table.snapshot.adds(["path"])["path"].to_pylist()
    return {hadoop_path(root, path).removeprefix(f"{table.snapshot.root}/") for path in paths}


def vectors_of(table: DeltaTable) -> set[str]:
    """Files with the deletion vectors of the version."""
    vectors = table.snapshot.adds(["deletion_vector"])["deletion_vector"].combine_chunks()
    return set(vector_keys(table.snapshot.table_root, vectors).to_pylist())


def test_rule_59_current_files_and_their_vectors_stay_and_removed_ones_go(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t", ("p",), VECTORS)
    table.append(rows(range(30)))
    table.delete("id = 4")
    before, first = files_below(tmp_path / "t"), needed(table)
    table.delete("id = 6")
    table.delete("p = 'b'")
    gone = files_below(tmp_path / "t") - needed(table) - vectors_of(table)
    assert gone & first and gone & (before - first)
    assert vacuumed(table, dry_run=True) == gone
    assert vacuumed(table) == gone
    assert files_below(tmp_path / "t") == needed(table) | vectors_of(table)
    assert len(rows_of(DeltaTable(tmp_path / "t"))) == 19


def test_rule_59_files_removed_within_the_retention_stay_with_the_vectors_that_they_had(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t", (), VECTORS)
    table.append(rows(range(10)))
    table.delete("id = 1")
    table.delete("id = 2")
    table.delete()
    age(tmp_path / "t", 30)
    before = files_below(tmp_path / "t")
    assert table.vacuum().files == []
    assert files_below(tmp_path / "t") == before
    for version, count in ((1, 10), (2, 9), (3, 8), (4, 0)):
        assert len(rows_of(DeltaTable(tmp_path / "t", version))) == count


def test_rule_59_tombstones_of_a_checkpoint_count_too(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t", (), {**VECTORS, "delta.checkpointPolicy": "v2"})
    table.append(rows(range(10)))
    table.delete("id = 1")
    table.delete()
    table.checkpoint()
    age(tmp_path / "t", 30)
    table = DeltaTable(tmp_path / "t")
    assert table.vacuum().files == []
    gone = vacuumed(table)
    assert len(gone) == 2 and files_below(tmp_path / "t") == set()


def test_rule_59_young_files_stay_whatever_the_log_says(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t")
    young, old = put(tmp_path / "t" / "young.parquet", days=6.9), put(tmp_path / "t" / "old.parquet", days=7.1)
    assert table.vacuum().files == ["old.parquet"]
    assert young.exists() and not old.exists()


def test_rule_59_hidden_names_stay_but_for_those_of_the_table(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    table = DeltaTable.create(folder, "id INT, _p INT, p INT", ["_p", "p"])
    kept = [".hidden", "_started_1", "_SUCCESS", "_x/f", ".d/f", "_p/f", "a/_x/f", "a/.f", "_p1=1/f", "_x=1/f"]
    gone = ["f", "a/f", "_p=1/f", "_change_data/cdc-1", "_change_data/_p=1/cdc", "_delta_index/f", "metadata/f"]
    gone.append("a/_p=1/f")
    for value in ("_u", ".h", "__HIVE_DEFAULT_PARTITION__"):
        gone += [f"_p={value}/f", f"_change_data/_p={value}/cdc"]
        kept += [f"_p={value}/_x/f", f"_change_data/_p={value}/.f"]
    for path in (*kept, *gone):
        put(folder / path)
    assert table.vacuum().files == sorted(gone)
    assert all((folder / path).exists() for path in kept)


def test_rule_59_metadata_of_iceberg_stays_where_it_is_kept(tmp_path: Path) -> None:
    formats = {"delta.universalFormat.enabledFormats": "hudi, iceberg"}
    table = DeltaTable.create(tmp_path / "t", "id INT", properties=formats)
    put(tmp_path / "t" / "metadata" / "v1.metadata.json")
    put(tmp_path / "t" / "x" / "f")
    assert table.vacuum().files == ["x/f"]


def test_rule_59_files_outside_of_the_table_are_not_touched_and_absolute_ones_in_it_are_known(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t ü%20")
    table.append(rows(range(4)))
    [name] = needed(table)
    inside, outside = tmp_path / "t ü%20" / "moved" / name, tmp_path / "other" / name
    for place in (inside, outside):
        place.parent.mkdir(exist_ok=True)
        place.write_bytes((tmp_path / "t ü%20" / name).read_bytes())
    table.add_files([inside.as_uri(), str(outside)])
    age(tmp_path, 30)
    assert table.vacuum().files == []
    table.delete()
    assert vacuumed(table) == {name, f"moved/{name}"}
    assert outside.exists()


@looped("value", ODD)
def test_rule_17_odd_characters_neither_hide_nor_expose_a_file(tmp_path: Path, value: str) -> None:
    folder = tmp_path / "odd %20 {a} é+"
    table = DeltaTable.create(folder, "id INT, p STRING", ["p"])
    data = pa.table({"id": pa.array([1], pa.int32()), "p": [value]})
    table.append(data)
    table.append(data)
    first, second = sorted(table.snapshot.adds(["path"])["path"].to_pylist())
    with table.transaction(operation="DELETE") as txn:
        [add] = [each for each in add_actions(table.snapshot.adds()) if each.path == first]
        txn.remove(remove_of(add, 1))
    age(folder, 30)
    table = table.refresh()
    [gone] = table.vacuum().files
    assert not (folder / gone).exists()
    left = files_below(folder)
    assert left == needed(table) and len(left) == 1 and second in table.snapshot.adds(["path"])["path"].to_pylist()


def test_rule_17_a_path_that_a_writer_did_not_encode_keeps_its_file(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t")
    put(tmp_path / "t" / "p=a%20b" / "f.parquet")
    log = tmp_path / "t" / "_delta_log" / f"{1:020}.json"
    add = {"path": "p=a%20b/f.parquet", "partitionValues": {}, "size": 1, "modificationTime": 1, "dataChange": True}
    log.write_text(json.dumps({"add": add}))
    assert table.vacuum().files == []


def test_links_are_not_followed_and_what_they_point_to_stays(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    table = table_of(folder)
    outside = put(tmp_path / "outside" / "f")
    put(folder / "real" / "f")
    put(folder / "single")
    (folder / "to_outside").symlink_to(tmp_path / "outside")
    (folder / "to_real").symlink_to(folder / "real")
    (folder / "file_link").symlink_to(outside)
    (folder / "inner_link").symlink_to(folder / "single")
    (folder / "broken").symlink_to(folder / "nothing")
    age(tmp_path, 30)
    assert table.vacuum().files == ["file_link", "inner_link"]
    assert outside.exists() and (folder / "real" / "f").exists() and (folder / "single").exists()


def test_another_table_below_the_folder_stays(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t")
    inner = table_of(tmp_path / "t" / "a" / "inner")
    inner.append(rows(range(3)))
    put(tmp_path / "t" / "a" / "f")
    age(tmp_path, 30)
    assert table.vacuum().files == ["a/f"]
    assert len(rows_of(inner)) == 3


def test_names_that_are_no_text_stay(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t")
    odd = os.fsencode(tmp_path / "t") + b"/\xff.parquet"
    with open(odd, "wb"):
        pass
    os.utime(odd, (1, 1))
    assert table.vacuum().files == []
    assert os.path.exists(odd)


def test_empty_directories_go_and_those_that_become_empty(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t")
    put(tmp_path / "t" / "a" / "b" / "f")
    put(tmp_path / "t" / "a" / "c" / "_hidden")
    (tmp_path / "t" / "d" / "e").mkdir(parents=True)
    (tmp_path / "t" / "young").mkdir()
    for path in ("a/b", "a/c", "a", "d/e", "d"):
        os.utime(tmp_path / "t" / path, (1, 1))
    planned = table.vacuum(dry_run=True)
    done = table.vacuum()
    assert set(done.directories) == set(planned.directories) == {"a/b", "d/e", "d"}
    assert (tmp_path / "t" / "young").exists() and (tmp_path / "t" / "a" / "c" / "_hidden").exists()
    assert done.metrics["numDeletedFiles"] == 4


def test_rule_60_a_retention_below_the_tables_is_refused_unless_said_so(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t", (), {"delta.deletedFileRetentionDuration": "interval 3 days"})
    put(tmp_path / "t" / "f", days=2)
    for retention in (0, 71.9, timedelta(days=2), "2 days", "interval 71 hours"):
        with pytest.raises(InvalidArgument, match=r"too short .* at least 72 hours \(delta\.deleted.*enforce_ret"):
            table.vacuum(retention)
    assert table.vacuum(72).files == table.vacuum("10 days").files == []
    assert table.vacuum(timedelta(hours=47), enforce_retention=False).files == ["f"]


def test_a_retention_that_is_none_is_refused(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t")
    for wrong in (-1, timedelta(days=-1), "a week", "", float("nan"), float("inf"), "1 month"):
        refuses(InvalidArgument, "retention", table.vacuum, wrong, enforce_retention=False)
    for wrong in (True, [], {}):
        refuses(InvalidArgumentType, "retention", table.vacuum, wrong)
    assert table.version == 0


def test_rule_60_a_longer_retention_also_keeps_what_checkpoints_have_forgotten(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t", (), {"delta.deletedFileRetentionDuration": "interval 0 hours"})
    table.append(rows(range(3)))
    table.delete()
    table.checkpoint()
    age(tmp_path / "t", 0.5)
    table = DeltaTable(tmp_path / "t")
    log = (tmp_path / "t" / "_delta_log").glob("*.json")
    for commit in log:
        os.utime(commit)
    assert table.vacuum("1 day").files == []
    assert len(table.vacuum().files) == 1


def test_vacuum_protocol_check_unknown_features_are_refused_first(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t")
    log = tmp_path / "t" / "_delta_log" / f"{1:020}.json"
    put(tmp_path / "t" / "f")
    for feature, lists in (
        ("vacuumNewFiles", {"writerFeatures": ["vacuumNewFiles"], "minReaderVersion": 1}),
        ("liquid", {"writerFeatures": ["liquid"], "minReaderVersion": 1}),
    ):
        log.write_text(json.dumps({"protocol": {"minWriterVersion": 7, **lists}}))
        for lite in (False, True):
            refuses(UnsupportedFeature, feature, table.vacuum, dry_run=True, lite=lite)
    assert (tmp_path / "t" / "f").exists()


def test_rule_68_tables_of_a_catalog_are_refused(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t")
    put(tmp_path / "t" / "f")
    lists = {"readerFeatures": ["catalogManaged"], "writerFeatures": ["catalogManaged"]}
    log = tmp_path / "t" / "_delta_log" / f"{1:020}.json"
    log.write_text(json.dumps({"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, **lists}}))
    refuses(UnsupportedFeature, "managed by a catalog", table.vacuum)
    assert (tmp_path / "t" / "f").exists()


def test_the_feature_of_the_check_is_supported(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t", (), {"delta.feature.vacuumProtocolCheck": "supported"})
    put(tmp_path / "t" / "f")
    assert table.vacuum().files == ["f"]


def test_start_and_end_are_logged_as_delta_spark_logs_them(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t")
    put(tmp_path / "t" / "f", "abc")
    result = table.vacuum(200)
    assert result.version == table.version == 2 and result.operation == "VACUUM END"
    start, end = info_of(table, 1), info_of(table, 2)
    assert (start["operation"], end["operation"]) == ("VACUUM START", "VACUUM END")
    assert start["operationParameters"] == {
        "retentionCheckEnabled": "true",
        "defaultRetentionMillis": "604800000",
        "specifiedRetentionMillis": "720000000",
    }
    assert start["operationMetrics"] == {"numFilesToDelete": "1", "sizeOfDataToDelete": "3"}
    assert end["operationParameters"] == {"status": "COMPLETED"}
    assert end["operationMetrics"] == {"numDeletedFiles": "1", "numVacuumedDirectories": "1"}
    assert start["isolationLevel"] == end["isolationLevel"] == "SnapshotIsolation" and start["isBlindAppend"]
    assert set(actions_of(table, 1)) == set(actions_of(table, 2)) == {"commitInfo"}
    assert "specifiedRetentionMillis" not in info_of(DeltaTable(tmp_path / "t"), 2)["operationParameters"]


def test_a_dry_run_names_the_files_and_changes_nothing(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t")
    put(tmp_path / "t" / "a" / "f", "abc")
    result = table.vacuum(dry_run=True)
    assert (result.files, result.num_files, result.size_in_bytes, result.directories) == (["a/f"], 1, 3, ("a",))
    assert result.dry_run and result.version is None and table.version == 0
    assert (tmp_path / "t" / "a" / "f").exists()


class Failing(LocalStorage):
    """Storage whose nth call of a method fails."""

    def __init__(self, method: str, at: int) -> None:
        super().__init__()
        self.method, self.at, self.calls = method, at, 0

    def delete(self, path: str) -> None:
        self._count("delete")
        super().delete(path)

    def list_from(self, directory: str, start_name: str) -> Any:
        self._count("list")
        return super().list_from(directory, start_name)

    def put_if_absent(self, path: str, data: bytes, *after: Any) -> None:
        self._count("put")
        super().put_if_absent(path, data, *after)

    def _count(self, method: str) -> None:
        if method == self.method:
            self.calls += 1
            if self.calls == self.at:
                raise StorageError("The disk is gone.")


def test_a_vacuum_that_fails_says_so_in_the_history_and_the_next_one_finishes_it(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t")
    for i in range(5):
        put(tmp_path / "t" / f"f{i}")
    table.snapshot.storage = Failing("delete", 3)
    refuses(StorageError, "The disk is gone", table.vacuum)
    again = DeltaTable(tmp_path / "t")
    assert info_of(again)["operationParameters"] == {"status": "FAILED"}
    assert 0 < len(again.vacuum().files) < 5
    assert files_below(tmp_path / "t") == set()


@pytest.mark.parametrize("method", ["list", "put"])
def test_nothing_is_deleted_if_the_log_cannot_be_read_or_written(tmp_path: Path, method: str) -> None:
    table = table_of(tmp_path / "t")
    put(tmp_path / "t" / "f")
    table.snapshot.storage = Failing(method, 1)
    refuses(StorageError, "The disk is gone", table.vacuum)
    assert (tmp_path / "t" / "f").exists()


@pytest.mark.parametrize("damage", ["commit", "checkpoint"])
def test_nothing_is_deleted_if_the_log_is_damaged(tmp_path: Path, damage: str) -> None:
    table = table_of(tmp_path / "t")
    table.append(rows(range(3)))
    put(tmp_path / "t" / "f")
    log = tmp_path / "t" / "_delta_log"
    if damage == "commit":
        (log / f"{2:020}.json").write_text('{"add": ')
    else:
        path = Path(table.checkpoint().path)
        for commit in log.glob("*.json"):
            commit.unlink()
        content = path.read_bytes()
        path.write_bytes(content[:200] + bytes(len(content) - 400) + content[-200:])
    refuses(CorruptLog, None, table.vacuum)
    assert (tmp_path / "t" / "f").exists() and len(files_below(tmp_path / "t")) == 2


def test_a_folder_that_cannot_be_read_stops_it(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root reads every folder")
    table = table_of(tmp_path / "t")
    put(tmp_path / "t" / "f")
    (tmp_path / "t" / "closed").mkdir(mode=0)
    refuses(StorageError, "closed", table.vacuum)
    assert (tmp_path / "t" / "f").exists()


def test_files_of_a_version_restored_meanwhile_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = table_of(tmp_path / "t")
    table.append(rows(range(3)))
    table.delete()
    found = unneeded_files.unneeded_by_listing

    def and_then(*arguments: Any) -> Any:
        result = found(*arguments)
        DeltaTable(tmp_path / "t").restore(1)
        return result

    monkeypatch.setattr("deltaskip.maintenance.vacuum.unneeded_by_listing", and_then)
    put(tmp_path / "t" / "f")
    assert vacuumed(table) == {"f"}
    assert len(rows_of(DeltaTable(tmp_path / "t"))) == 3


def test_lite_deletes_what_commits_removed_and_no_orphans(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t", ("p",), {**VECTORS, "delta.enableChangeDataFeed": "true"})
    table.append(rows(range(12)))
    table.delete("id = 3")
    table.delete("p = 'a'")
    table.delete("id = 1")
    put(tmp_path / "t" / "orphan")
    age(tmp_path / "t", 30)
    table = DeltaTable(tmp_path / "t")
    stay = needed(table) | vectors_of(table) | {"orphan"}
    gone = files_below(tmp_path / "t") - stay
    assert gone and vacuumed(table, lite=True, dry_run=True) == gone
    assert vacuumed(table, lite=True) == gone
    assert files_below(tmp_path / "t") == stay
    note = json.loads((tmp_path / "t" / "_delta_log" / "_last_vacuum_info").read_text())
    assert note == {"latestCommitVersionOutsideOfRetentionWindow": 4}
    assert vacuumed(table, lite=True) == set()


def test_lite_needs_every_commit_since_the_last_one(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t")
    table.append(rows(range(3)))
    table.delete()
    table.checkpoint()
    for version in (0, 1):
        (tmp_path / "t" / "_delta_log" / f"{version:020}.json").unlink()
    age(tmp_path / "t", 30)
    with pytest.raises(UnsupportedFeature, match=r"commits before version 2 were deleted.*without lite"):
        table.vacuum(0, lite=True, enforce_retention=False)
    assert len(vacuumed(table)) == 1


def test_sidecars_that_no_checkpoint_needs_go(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t", (), {"delta.checkpointPolicy": "v2"})
    table.append(rows(range(3)))
    table.checkpoint()
    sidecars = tmp_path / "t" / "_delta_log" / "_sidecars"
    used = {path.name for path in sidecars.iterdir()}
    assert used
    left, young = put(sidecars / "left.parquet"), put(sidecars / "young.parquet", days=0.5)
    age_of = {path: os.utime(path, (1, 1)) for path in sidecars.iterdir() if path != young}
    assert age_of and table.vacuum(dry_run=True).sidecars == (str(left),)
    assert table.vacuum(0, enforce_retention=False).sidecars == (str(left),)
    assert {path.name for path in sidecars.iterdir()} == used | {"young.parquet"}
    assert len(rows_of(DeltaTable(tmp_path / "t"))) == 3


def test_files_are_compared_in_arrow_and_candidates_looked_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = table_of(tmp_path / "t")
    log = tmp_path / "t" / "_delta_log" / f"{1:020}.json"
    names = [f"f{i}.parquet" for i in range(500)]
    add = {"partitionValues": {}, "size": 1, "modificationTime": 1, "dataChange": True}
    log.write_text("\n".join(json.dumps({"add": {"path": name, **add}}) for name in names))
    for name in (*names, "g1", "g2"):
        put(tmp_path / "t" / name)
    looked_up: list[object] = []
    plain = os.lstat
    monkeypatch.setattr(os, "lstat", lambda path, **more: looked_up.append(path) or plain(path, **more))
    monkeypatch.setattr(unneeded_files, "_COMPARED", 100)
    table.snapshot.storage = CountingStorage()
    assert table.vacuum(dry_run=True).files == ["g1", "g2"]
    assert len(looked_up) == 2


@pytest.mark.long(gate=1)
@pytest.mark.parametrize("seed", range(6))
def test_every_retained_version_reads_the_same_after_a_vacuum(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    properties: list[dict[str, str]] = [
        {}, VECTORS, {**VECTORS, "delta.enableRowTracking": "true"}, {"delta.columnMapping.mode": "name", **VECTORS},
        {"delta.enableChangeDataFeed": "true"}, {**VECTORS, "delta.checkpointInterval": "2"},
    ]  # fmt: skip
    table = table_of(tmp_path / "t", ((), ("p",))[seed % 2], properties[seed])
    # Versions before this one are not retained: their files were removed long ago.
    for step in range(10):
        change(chance, table)
        if step == 4:
            long_ago(tmp_path / "t")
            table, horizon = DeltaTable(tmp_path / "t"), table.version
    expected = {version: rows_of(DeltaTable(tmp_path / "t", version)) for version in range(horizon, table.version + 1)}
    age(tmp_path / "t", 30)
    table = DeltaTable(tmp_path / "t")
    table.vacuum(lite=bool(seed % 2))
    for version, found in expected.items():
        assert rows_of(DeltaTable(tmp_path / "t", version)) == found, version
    table.vacuum(0, enforce_retention=False)
    table = DeltaTable(tmp_path / "t")
    assert rows_of(table) == expected[max(expected)]
    assert files_below(tmp_path / "t") == needed(table) | vectors_of(table)


def change(chance: random.Random, table: DeltaTable) -> None:
    """One random commit."""
    acts: list[Callable[[], object]] = [
        lambda: table.append(rows([chance.randrange(60) for _ in range(20)])),
        lambda: table.delete(f"id % 7 = {chance.randrange(7)}"),
        lambda: table.delete("p = 'a'"),
        lambda: table.overwrite(rows(range(10)), where="id < 10"),
    ]
    chance.choice(acts)()


def long_ago(folder: Path) -> None:
    """Let everything in the log have been removed 20 days ago."""
    then = {"deletionTimestamp": int((time.time() - 20 * DAY) * 1000)}
    relog(folder, lambda action: action.get("remove", {}).update(then))
    for other in (folder / "_delta_log").glob("*checkpoint*"):
        other.unlink()
