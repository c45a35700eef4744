"""The key index through the life of a table: a twin without one has the same rows, and no file is lost to it."""

import os
import random
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import deltalake
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from deltaskip import DeltaTable, SetProperty, col
from deltaskip.errors import MaintenanceWarning
from deltaskip.maintenance import key_index
from deltaskip.skipping.key_index.folder import KEY_FOLDER
from tests.extent import extent, seed
from tests.faults import ERRORS, PLACES, Below
from tests.killed_steps import killed_at_each_step
from tests.log.builder import CountingStorage

DAY = 86_400
PROPERTIES = {"deltaskip.keyIndexColumns": "id, k", "delta.enableDeletionVectors": "true"}
DDL = "id STRING, k BIGINT, v BIGINT"


def rows(numbers: range, v: int = 0) -> pa.Table:
    """Rows whose keys are in no order."""
    mixed = [(number * 2654435761) % (1 << 32) for number in numbers]
    return pa.table({"id": [f"{each:x}" for each in mixed], "k": mixed, "v": [v] * len(mixed)})


def made(folder: Path, files: int = 6) -> DeltaTable:
    table = DeltaTable.create(folder, DDL, properties=PROPERTIES)
    for number in range(files):
        table.append(rows(range(number * 20, number * 20 + 20), number))
    table.recompute_stats(columns=[], index=True)
    return table


def key_parts(folder: Path) -> list[str]:
    return sorted(os.listdir(folder / KEY_FOLDER)) if (folder / KEY_FOLDER).exists() else []


def assert_like_twin(folder: Path, look_ups: int = 12, version: int | None = None, most: int = 400) -> None:
    """Look-ups of present and absent keys have the rows of the same table without the index."""
    table = DeltaTable(folder, version)
    everything = table.scan().to_arrow().to_pylist()
    random_ = random.Random(seed())
    by_key: dict[int, list[Any]] = {}
    for row in everything:
        by_key.setdefault(row["k"], []).append(row)
    keys = [random_.choice(sorted(by_key)) if by_key and n % 2 else random_.randrange(most) for n in range(look_ups)]
    for key in keys:
        for where, name, value in ((f"k = {key}", "k", key), (f"id = '{key:x}'", "id", f"{key:x}")):
            found = table.scan(where).to_arrow().to_pylist()
            assert sorted(found, key=str) == sorted([row for row in everything if row[name] == value], key=str), where
    some = table.scan().semi_join(pa.table({"k": keys}), "k").to_arrow()
    assert sorted(some["k"].to_pylist()) == sorted(k for k in by_key for _ in by_key[k] if k in keys)


def assert_no_file_is_lost(folder: Path, look_ups: int, known: bool = True) -> None:
    """Look-ups of many keys at once, one of each file and as many absent ones, keep every file.

    So each key is compared: another one keeps its file in one of 256 look-ups. Rows that are deleted have keys, too.

    Args:
        folder: The table.
        look_ups: How many keys are looked up, at least.
        known: Whether the index knows most of the files.
    """
    table, random_, number = DeltaTable(folder), random.Random(seed()), 0
    uris = table.scan().files(columns=["uri"])["uri"].to_pylist()
    of_files = [pq.read_table(unquote(uri.removeprefix("file://")), columns=["id", "k"]) for uri in uris]
    everything = table.scan().to_arrow()
    while look_ups > 0:
        column = ("id", "k")[number % 2]
        present = [each[column][random_.randrange(len(each))].as_py() for each in of_files]
        numbers = [random_.randrange(1 << 32, 1 << 40) for _ in uris]
        absent = [f"{each:x}" for each in numbers] if column == "id" else numbers
        keys = pa.table({column: present + absent})
        scan = table.scan().semi_join(keys, column) if number % 3 else table.scan(col(column).isin(present + absent))
        lost = {*uris} - {*scan.files(columns=["uri"])["uri"].to_pylist()}
        assert not lost, (column, [present[uris.index(each)] for each in lost])
        if number % 40 == 0:
            wanted = everything.filter(pc.is_in(everything[column], keys[column].combine_chunks()))
            assert sorted(scan.to_arrow().to_pylist(), key=str) == sorted(wanted.to_pylist(), key=str)
            kept = len(table.scan(col(column).isin(absent[:3])).files(columns=["uri"]))
            assert not known or kept < len(uris) / 2
        look_ups, number = look_ups - len(present) - len(absent), number + 1


def saved(table: DeltaTable, where: str) -> int:
    said = table.scan(where).explain()
    return said.total_files - said.kept_files if said.index else 0


def delete(table: DeltaTable) -> None:
    table.delete("v = 2 AND k % 3 = 0")


def update(table: DeltaTable) -> None:
    table.update({"v": "v + 100", "k": "k + 1"}, "v = 3")


def merge(table: DeltaTable) -> None:
    source = rows(range(0, 200, 7), 77)
    table.merge(source, "id").when_matched_update_all().when_not_matched_insert_all().execute()


def optimize(table: DeltaTable) -> None:
    table.optimize()


def restore(table: DeltaTable) -> None:
    table.delete("v < 4")
    table.restore(table.version - 1)


def foreign(table: DeltaTable) -> None:
    """deltalake appends, and then compacts."""
    folder = table.uri.removeprefix("file://")
    deltalake.write_deltalake(folder, rows(range(300, 320), 9), mode="append")
    table.refresh()


def overwrite(table: DeltaTable) -> None:
    table.overwrite(rows(range(50, 60), 2), where="v = 2")


def checkpoint(table: DeltaTable) -> None:
    table.append(rows(range(400, 420), 11))
    table.checkpoint()


def vacuum(table: DeltaTable) -> None:
    table.vacuum(0, enforce_retention=False)


def rebuild(table: DeltaTable) -> None:
    table.recompute_stats(columns=[], index=True)


ACTS = [delete, update, merge, optimize, restore, overwrite, checkpoint, vacuum, rebuild]


@pytest.mark.parametrize("vectors", [True, False])
def test_no_row_is_lost_after_any_change_of_the_table(tmp_path: Path, vectors: bool) -> None:
    folder = tmp_path / "t"
    table = made(folder)
    if not vectors:
        table.alter(SetProperty("delta.enableDeletionVectors", "false"))
    random_ = random.Random(seed())
    acts = [*ACTS, *random_.choices(ACTS, k=extent(4, 40))]
    for act in acts:
        act(table)
        assert_like_twin(folder)
    table.clone(tmp_path / "shallow")
    assert_like_twin(tmp_path / "shallow")
    shutil.copytree(folder, tmp_path / "copy")
    assert_like_twin(tmp_path / "copy")
    assert_like_twin(folder, version=table.version - 2)
    assert key_parts(folder)


def test_no_key_is_lost_in_any_look_up_after_any_change(tmp_path: Path) -> None:
    folder, files, size = tmp_path / "t", extent(20, 400), extent(20, 60)
    table, look_ups = DeltaTable.create(folder, DDL, properties=PROPERTIES), extent(200, 72_000)
    for number in range(files):
        table.append(rows(range(number * size, number * size + size), number))
    table.checkpoint()

    def small_files(table: DeltaTable) -> None:
        table.optimize(target_file_bytes=3_000)

    def rows_of_deltalake(table: DeltaTable) -> None:
        for number in range(extent(2, 40)):
            start = (files + number) * size
            deltalake.write_deltalake(str(folder), rows(range(start, start + size), 9), mode="append")

    acts = [rebuild, delete, update, merge, small_files, restore, overwrite, vacuum, rows_of_deltalake, checkpoint]
    for act in acts:
        act(table.refresh())
        assert_no_file_is_lost(folder, look_ups)
    table.refresh().clone(tmp_path / "shallow")
    assert_no_file_is_lost(tmp_path / "shallow", look_ups, known=False)
    shutil.copytree(folder, tmp_path / "copy")
    assert_no_file_is_lost(tmp_path / "copy", look_ups)
    other = deltalake.DeltaTable(str(tmp_path / "copy"))
    other.optimize.compact(target_size=6_000)
    other.vacuum(0, dry_run=False, enforce_retention_duration=False)
    assert_no_file_is_lost(tmp_path / "copy", look_ups, known=False)
    rebuild(DeltaTable(tmp_path / "copy"))
    assert_no_file_is_lost(tmp_path / "copy", look_ups)


def test_deltalake_reads_and_writes_a_table_with_an_index(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    plain = DeltaTable.create(folder, DDL, properties={"deltaskip.keyIndexColumns": "id, k"})
    for number in range(3):
        plain.append(rows(range(number * 20, number * 20 + 20), number))
    plain.recompute_stats(columns=[], index=True)
    before = key_parts(folder)
    assert before and (plain.detail().min_reader_version, plain.detail().min_writer_version) == (1, 2)
    other = deltalake.DeltaTable(str(folder))
    assert other.to_pyarrow_table().num_rows == 60
    deltalake.write_deltalake(str(folder), rows(range(300, 340), 9), mode="append")
    assert_like_twin(folder)
    other = deltalake.DeltaTable(str(folder))
    other.delete("v = 1")
    other.merge(
        rows(range(10), 5), "t.id = s.id", source_alias="s", target_alias="t"
    ).when_matched_update_all().execute()
    assert_like_twin(folder)
    other.optimize.compact()
    other.vacuum(0, dry_run=False, enforce_retention_duration=False)
    assert_like_twin(folder)
    assert key_parts(folder) == before
    table = DeltaTable(folder)
    table.optimize(), table.checkpoint()
    assert_like_twin(folder)


def test_deleted_rows_leave_the_index_of_their_file_as_it_is(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    key = rows(range(3, 4))["k"][0].as_py()
    table.delete("v = 4 AND k % 2 = 0")
    assert table.scan().files()["deletion_vector"].null_count == 5
    assert saved(table, f"k = {key}") == 5


def test_merge_update_and_delete_read_only_the_files_with_their_keys(tmp_path: Path) -> None:
    table = made(tmp_path / "t", files=8)
    key = rows(range(25, 26))
    done = table.merge(key, "id").when_matched_update({"v": "500"}).execute()
    assert (done.metrics["numTargetRowsUpdated"], done.metrics["numTargetFilesRemoved"]) in ((1, 0), (1, 1))
    twin = DeltaTable.create(tmp_path / "twin", DDL)
    assert twin.scan(f"id = '{key['id'][0]}'").count() == 0
    assert table.delete(f"k = {rows(range(66, 67))['k'][0]}").metrics["numDeletedRows"] == 1
    assert table.update({"v": "1"}, f"id = '{rows(range(99, 100))['id'][0]}'").metrics["numUpdatedRows"] == 1
    assert table.scan("v = 500").count() == 1


def test_what_holds_for_every_row_is_not_proved_by_the_index(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    key = rows(range(3, 4))["k"][0].as_py()
    assert saved(table, f"k = {key}") == 5 and saved(table, f"k <> {key}") == 0
    unlike = table.scan(f"k <> {key}")
    assert unlike.negated().explain().index == "" and unlike.count() == 119


def test_a_merge_opens_only_the_files_with_its_keys(tmp_path: Path) -> None:
    made(tmp_path / "t")
    storage = CountingStorage()
    table = DeltaTable(tmp_path / "t")
    table.snapshot.storage = storage
    table.merge(rows(range(25, 26)), "id").when_matched_update({"v": "500"}).execute()
    assert len({name for name in storage.opened if name.endswith(".parquet")}) == 1
    assert table.scan("v = 500").count() == 1


def test_vacuum_works_with_a_property_that_names_no_column(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    table.alter(SetProperty("deltaskip.keyIndexColumns", "id, gone"))
    for name in os.listdir(tmp_path / "t" / KEY_FOLDER):
        os.utime(tmp_path / "t" / KEY_FOLDER / name, (time.time() - 30 * DAY,) * 2)
    assert len(table.vacuum().key_parts) == 1 and saved(table, f"id = '{rows(range(3, 4))['id'][0]}'") == 5


def test_optimize_and_checkpoint_add_what_the_index_does_not_know(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    first = key_parts(tmp_path / "t")
    key = rows(range(3, 4))["k"][0].as_py()
    table.append(rows(range(500, 520), 1))
    assert saved(table, f"k = {key}") == 5 and key_parts(tmp_path / "t") == first
    table.checkpoint()
    assert saved(table, f"k = {key}") == 6 and len(key_parts(tmp_path / "t")) == 4
    table.optimize()
    assert len(table.scan().files()) == 1 and len(key_parts(tmp_path / "t")) == 6
    table.recompute_stats(columns=[], index=True)
    assert len(key_parts(tmp_path / "t")) == 2


def test_many_small_parts_are_joined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_index, "_MOST_PARTS", 3)
    table = made(tmp_path / "t", files=20)
    for number in range(7):
        table.append(rows(range(1000 + number * 20, 1020 + number * 20)))
        table.checkpoint()
        assert len(key_parts(tmp_path / "t")) <= 10
    assert saved(table, f"k = {rows(range(1040, 1041))['k'][0]}") == 26
    assert_like_twin(tmp_path / "t", most=1200)


def test_runs_on_disk_make_the_same_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = made(tmp_path / "t")
    [whole, _] = [(tmp_path / "t" / KEY_FOLDER / name).read_bytes() for name in key_parts(tmp_path / "t")]
    monkeypatch.setattr(key_index, "_RUN_KEYS", 13)
    monkeypatch.setattr(key_index, "_CHUNK_KEYS", 3)
    monkeypatch.setattr(key_index, "_MERGED_BLOCKS", 1)
    monkeypatch.setattr(key_index, "_ROWS_AT_ONCE", 5)
    table.recompute_stats(columns=[], index=True)
    again = [(tmp_path / "t" / KEY_FOLDER / name).read_bytes() for name in key_parts(tmp_path / "t")]
    assert whole in again


def test_vacuum_deletes_the_parts_that_no_query_needs(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    table = made(folder)
    old = set(key_parts(folder))
    table.optimize()
    (folder / KEY_FOLDER / ".x.0123abcd-0123-0123-0123-0123456789ab.tmp").write_bytes(b"x")
    (folder / KEY_FOLDER / "mine.txt").write_bytes(b"x")
    assert not table.vacuum().key_parts
    for name in os.listdir(folder / KEY_FOLDER):
        os.utime(folder / KEY_FOLDER / name, (time.time() - 30 * DAY,) * 2)
    found = table.vacuum(dry_run=True).key_parts
    assert len(found) == 3 and table.vacuum().key_parts == found
    assert not old & set(key_parts(folder)) and "mine.txt" in key_parts(folder) and len(key_parts(folder)) == 3
    table.alter_sql("UNSET TBLPROPERTIES ('deltaskip.keyIndexColumns')")
    table.vacuum()
    assert key_parts(folder) == ["mine.txt"]
    assert_like_twin(folder)


def test_a_writer_that_is_killed_at_any_step_leaves_an_index_that_is_true(tmp_path: Path) -> None:
    made(tmp_path / "source", files=3)
    points = set()

    def begin(at: int) -> Callable[[], object]:
        shutil.copytree(tmp_path / "source", tmp_path / str(at))
        table = DeltaTable(tmp_path / str(at))
        table.append(rows(range(200, 220), 8))
        return lambda: table.recompute_stats(columns=[], index=True)

    for at, steps in killed_at_each_step(begin):
        points.update(steps)
        folder = tmp_path / str(at)
        assert_like_twin(folder, look_ups=4)
        DeltaTable(folder).recompute_stats(columns=[], index=True)
        assert len([name for name in key_parts(folder) if name.endswith(".keys")]) == 2
    assert at > 5 and {"key part begun", "key part written", "key part published"} <= points


@pytest.mark.filterwarnings("ignore:The key index:deltaskip.errors.MaintenanceWarning")
def test_faults_while_the_index_is_written_are_warnings_of_optimize(tmp_path: Path) -> None:
    made(tmp_path / "source", files=2)
    for place in ("writes", "deletes"):
        for at in range(2):
            folder = tmp_path / f"{place}{at}"
            shutil.copytree(tmp_path / "source", folder)
            table = DeltaTable(folder)
            table.append(rows(range(200, 220), 8))
            below = Below(
                [each for each in PLACES[place] if each[1] in ("publish", "delete_files")], at, ERRORS["ENOSPC"]
            )
            with below.running():
                try:
                    table.checkpoint()
                except OSError:
                    assert below.raised
            assert_like_twin(folder, look_ups=4)


def test_files_that_cannot_be_read_are_left_out(tmp_path: Path) -> None:
    table = made(tmp_path / "t", files=3)
    uri = table.scan("v = 1").files()["uri"][0].as_py()
    path = Path(uri.removeprefix("file://"))
    content = path.read_bytes()
    path.write_bytes(content[:10] + bytes(len(content) - 10))
    done = table.recompute_stats(columns=[], index=True)
    assert done.index is not None and done.index.left_out == (uri,) and done.index.files == 4
    path.write_bytes(content)
    assert_like_twin(tmp_path / "t")
    key = rows(range(25, 26))["k"][0].as_py()
    assert table.scan(f"k = {key}").count() == 1 and saved(table, f"k = {key}") == 2


def test_a_column_that_cannot_have_an_index_is_a_warning_of_optimize(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "v DOUBLE", properties={"deltaskip.keyIndexColumns": "v"})
    table.append([{"v": 1.0}])
    with pytest.warns(MaintenanceWarning, match="cannot have a key index"):
        table.optimize()
    assert table.scan("v = 1").count() == 1
