"""Paths of the log that a VACUUM must not follow: out of the table, into its log, to live files under other names."""

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest

import deltaskip as ds
from deltaskip import DeltaTable
from deltaskip.data_files.written_rows import WrittenRows, delete_data_files
from deltaskip.errors import CorruptLog, StorageError
from deltaskip.kernels.z85 import z85_encode
from deltaskip.log.cleanup import clean_up_log
from deltaskip.storage import Storage
from deltaskip.storage.remote import ObjectStorage
from tests.dml.tables import rows_of
from tests.each import refuses
from tests.maintenance.test_vacuum import age
from tests.storage.s3 import endpoint, s3_options, store

__all__ = ["endpoint", "s3_options", "store"]

FIRST = "_delta_log/00000000000000000000.json"
VECTOR = UUID(int=5)
VECTOR_FILE = f"deletion_vector_{VECTOR}.bin"
# Relative to the table `t`; beside it are `home` and the table `other`, and in it the table `inner`.
OUT = [
    "../home/notes.txt", "%2e%2e/home/notes.txt", "%2E./home/notes.txt", "%2e%2e%2fhome%2fnotes.txt",
    "a/../../home/notes.txt", "./../home/notes.txt", ".//..//home//notes.txt", "a/%2e%2e/%2e%2e/home/notes.txt",
    "../../../../../../../../../../{top}/home/notes.txt", "../other/data.parquet", "%252e%252e/home/notes.txt",
]  # fmt: skip
LOCAL_OUT = [
    "/{top}/home/notes.txt", "file:/{top}/home/notes.txt", "file:///{top}/home/notes.txt",
    "file://localhost/{top}/home/notes.txt", "FILE:///{top}/home/notes.txt", "file:///{top}/t/../home/notes.txt",
    "folder_link/notes.txt", "file_link", "a/../folder_link/notes.txt", "folder_link/../notes.txt", "t_link/data",
]  # fmt: skip
WITHIN = [
    FIRST, "%5Fdelta_log/00000000000000000000.json", "a/../" + FIRST, "./" + FIRST, "a/%2e%2e/" + FIRST,
    "_delta_log/_last_checkpoint", "_hidden/x", "%5Fhidden/x", ".hidden", "a/.hidden", "_delta_log", "_hidden",
    "inner/data.parquet", "inner/" + FIRST, "inner", "a", ".", "..", "", "/", "a/", "%00", "a%00b", "\0", "a\0b", "%2f",
    "_change_data/../_hidden/x", "_change_data/_hidden/x",
]  # fmt: skip
KINDS = ["remove", "cdc", "p", "u"]


def action(kind: str, path: str) -> dict[str, Any]:
    """An action that names a path, and was committed long ago."""
    if kind == "cdc":
        return {"cdc": {"path": path, "partitionValues": {}, "size": 1, "dataChange": False}}
    removed = {"path": path, "dataChange": True, "deletionTimestamp": 1, "partitionValues": {}, "size": 1}
    if kind in ("p", "u"):
        text = path if kind == "p" else f"{path.rpartition('/')[0]}{z85_encode(VECTOR.bytes)}"
        vector = {"storageType": kind, "pathOrInlineDv": text, "offset": 1, "sizeInBytes": 40, "cardinality": 1}
        removed |= {"path": "gone.parquet", "deletionVector": vector}
    return {"remove": removed}


def put(path: Path, text: str = "sentinel") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def tree(top: Path) -> dict[str, bytes]:
    """Every file below a folder, links as they are; without the commits of vacuums."""
    found = {}
    for folder, _, names in os.walk(top):
        for name in names:
            path = os.path.join(folder, name)
            found[path] = os.readlink(path).encode() if os.path.islink(path) else Path(path).read_bytes()
    return found


def made(top: Path) -> DeltaTable:
    """A table with a live file, and things beside and in it that are not its own."""
    for path in ("home/notes.txt", f"home/{VECTOR_FILE}", f"{VECTOR_FILE}", "notes.txt"):
        put(top / path)
    for name in ("t", "other", "t/inner"):
        table = DeltaTable.create(top / name, "id BIGINT")
        put(top / name / "data.parquet") if name != "t" else None
    for path in ("_hidden/x", ".hidden", "a/.hidden", "_delta_log/_last_checkpoint.old", f"_hidden/{VECTOR_FILE}",
                 "_change_data/_hidden/x", f"_delta_log/{VECTOR_FILE}"):  # fmt: skip
        put(top / "t" / path)
    put(top / "t" / "a" / "gone", "x")
    os.symlink(top / "home", top / "t" / "folder_link")
    os.symlink(top / "home" / "notes.txt", top / "t" / "file_link")
    os.symlink(top / "t", top / "t" / "t_link")
    table = DeltaTable(top / "t")
    table.append(pa.table({"id": [1, 2, 3]}))
    return table


def commit(table: Path, version: int, *actions: dict[str, Any]) -> None:
    (table / "_delta_log" / f"{version:020}.json").write_text("".join(f"{json.dumps(each)}\n" for each in actions))


def named(top: Path) -> Iterator[tuple[str, str]]:
    shown = str(top).strip("/")
    for kind in KINDS:
        for path in (*OUT, *LOCAL_OUT, *WITHIN):
            yield kind, path.replace("{top}", shown)


def test_no_path_of_a_log_leads_a_vacuum_to_a_file_that_is_not_the_table_s(tmp_path: Path) -> None:
    made(tmp_path)
    commit(tmp_path / "t", 2, *(action(kind, path) for kind, path in named(tmp_path)), action("remove", "a/gone"))
    age(tmp_path, 30)
    before = tree(tmp_path)
    for lite in (True, False):
        # A link to a file outside is a file of the folder; only the link goes.
        links = {"file_link"} if (tmp_path / "t" / "file_link").is_symlink() else set()
        expected = links | {"a/gone"} if lite else set()
        table = DeltaTable(tmp_path / "t")
        dry = table.vacuum(0, True, lite=lite, enforce_retention=False)
        done = table.vacuum(0, lite=lite, enforce_retention=False)
        assert set(dry.files) == set(done.files) == expected and dry.directories == done.directories
        after = tree(tmp_path)
        assert set(before) - set(after) == {f"{tmp_path}/t/{name}" for name in ("file_link", "a/gone")}
        assert all(after[path] == before[path] for path in set(before) & set(after))
    assert len(rows_of(DeltaTable(tmp_path / "t"))) == 3
    assert (tmp_path / "home" / "notes.txt").read_text() == "sentinel"


@pytest.mark.long(gate=1)
@pytest.mark.parametrize("kind", KINDS)
def test_each_path_alone_deletes_nothing(tmp_path: Path, kind: str) -> None:
    """None of them hides behind an error that another one raises."""
    made(tmp_path)
    age(tmp_path, 30)
    paths = [path for each, path in named(tmp_path) if each == kind and path != "file_link"]
    for path in paths:
        commit(tmp_path / "t", 2, action(kind, path))
        os.utime(tmp_path / "t" / "_delta_log" / f"{2:020}.json", (1, 1))
        assert DeltaTable(tmp_path / "t").vacuum(0, True, lite=True, enforce_retention=False).files == [], path
    assert len(paths) > 40


def test_a_path_that_cannot_be_decoded_stops_a_vacuum(tmp_path: Path) -> None:
    table = made(tmp_path)
    commit(tmp_path / "t", 2, action("remove", "%ff"))
    age(tmp_path, 30)
    before = tree(tmp_path)
    for lite in (True, False):
        refuses(CorruptLog, None, table.vacuum, 0, lite=lite, enforce_retention=False)
    assert tree(tmp_path) == before


SPELLINGS = [
    "file://{link}/{file}", "file:{link}/{file}", "{link}/{file}", "file://localhost{link}/{file}",
    "file://myhost{link}/{file}", "file://{real}/{file}", "{real}/{file}", "file://{real}/../{name}/{file}",
    "../{name}/{file}", "%2e%2e/{name}/{file}", "../../../{link_below}/{file}", "{other}/{file}", "{other}/linked",
    "file_in_link/{file}", "hop",
    "/not/mounted/here/{name}/{file}", "s3://bucket/some/{name}/{file}", "{link}/%68ard/../{file}",
]  # fmt: skip


@pytest.mark.long(gate=1)
@pytest.mark.parametrize("lite", [False, True], ids=["full", "lite"])
def test_a_live_file_stays_under_each_of_its_names(tmp_path: Path, lite: bool) -> None:
    for number, spelling in enumerate(SPELLINGS):
        top = tmp_path / str(number)
        real, link, other = top / "real" / "t", top / "links" / "l", top / "other"
        DeltaTable.create(real, "id BIGINT").append(pa.table({"id": [1, 2]}))
        (top / "links").mkdir()
        other.mkdir()
        link.symlink_to(real)
        [file] = [path.name for path in real.glob("*.parquet")]
        (other / file).symlink_to(real / file)
        (other / "linked").symlink_to(real / "hop")
        (real / "hop").symlink_to(file)
        (real / "file_in_link").symlink_to(".")
        below = str(link).strip("/")
        up = "../" * str(real).count("/")
        path = spelling.replace("../../../{link_below}", f"{up}{below}").format(
            link=link, real=real, file=file, name="t", other=other
        )
        log = real / "_delta_log" / f"{1:020}.json"
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        for line in lines:
            if "add" in line:
                line["add"]["path"] = path
        commit(real, 1, *lines)
        # The same file is removed under its plain name, and so is the link unless it is the name.
        commit(real, 2, action("remove", file), *([action("remove", "hop")] if spelling != "hop" else []))
        (real / "_delta_log" / f"{1:020}.crc").unlink(missing_ok=True)
        age(top, 30)
        before = tree(top)
        for root in (real, f"{link}/../../links/l"):
            table = DeltaTable(root)
            gone = table.vacuum(0, True, lite=lite, enforce_retention=False).files
            assert file not in gone and not {"hop", *gone} - {"hop"}, (path, root)
        assert table.vacuum(0, lite=lite, enforce_retention=False).files == gone
        assert before[f"{real}/{file}"] == (real / file).read_bytes()
        # A live name may be a link to a link.
        assert (real / "hop").is_symlink() is (spelling in ("hop", "{other}/linked"))


def test_a_shallow_clone_s_vacuum_leaves_the_source_alone(tmp_path: Path) -> None:
    source = DeltaTable.create(tmp_path / "src", "id BIGINT", properties={"delta.enableDeletionVectors": "true"})
    source.append(pa.table({"id": range(10)}))
    source.delete("id = 3")
    source.clone(tmp_path / "clone")
    clone = DeltaTable(tmp_path / "clone")
    clone.append(pa.table({"id": [100]}))
    clone.delete("id < 100")
    clone.delete()
    age(tmp_path, 30)
    before = tree(tmp_path / "src")
    for lite in (True, False):
        assert all("/" not in path for path in clone.vacuum(0, lite=lite, enforce_retention=False).files)
    assert tree(tmp_path / "src") == before and len(rows_of(source)) == 9


def test_a_hard_link_of_a_live_file_may_go_but_not_its_rows(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "id BIGINT")
    table.append(pa.table({"id": [1]}))
    [file] = (tmp_path / "t").glob("*.parquet")
    os.link(file, tmp_path / "t" / "second.parquet")
    age(tmp_path, 30)
    table.vacuum(0, enforce_retention=False)
    assert len(rows_of(DeltaTable(tmp_path / "t"))) == 1


def test_a_log_s_sidecars_elsewhere_are_left_alone(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "id BIGINT", properties={"delta.checkpointPolicy": "v2"})
    table.append(pa.table({"id": [1]}))
    table.checkpoint()
    sidecars = tmp_path / "t" / "_delta_log" / "_sidecars"
    os.rename(sidecars, tmp_path / "elsewhere")
    sidecars.symlink_to(tmp_path / "elsewhere")
    put(tmp_path / "elsewhere" / "notes.parquet")
    put(tmp_path / "elsewhere" / f".x.{VECTOR}.tmp")
    age(tmp_path, 30)
    assert table.vacuum(dry_run=True).sidecars == table.vacuum().sidecars == ()
    assert (tmp_path / "elsewhere" / "notes.parquet").exists()


def test_other_deletes_of_a_table_follow_no_link_either(tmp_path: Path) -> None:
    """Manifests, the clean-up of the log, and what a failed write leaves."""
    home = tmp_path / "home"
    table = DeltaTable.create(tmp_path / "t", "id BIGINT, p STRING", ["p"], properties={"delta.logRetentionDuration":
                                                                                        "interval 0 days"})  # fmt: skip
    table.append(pa.table({"id": [1], "p": ["a"]}))
    table.generate()
    put(home / "manifest")
    (tmp_path / "t" / "_symlink_format_manifest" / "p=b").symlink_to(home)
    refuses(StorageError, "Refused to delete", table.generate)
    put(home / "part-0.parquet")
    (tmp_path / "t" / "p=c").symlink_to(home)
    delete_data_files(table.snapshot.storage, table.snapshot.root, ["p=c/part-0.parquet", "../home/part-0.parquet"])
    WrittenRows((), 0, {}, "../home").delete(table.snapshot.storage, table.snapshot.root)
    WrittenRows((), 0, {}, "_delta_log").delete(table.snapshot.storage, table.snapshot.root)
    table.checkpoint()
    os.rename(tmp_path / "t" / "_delta_log", tmp_path / "log")
    (tmp_path / "t" / "_delta_log").symlink_to(tmp_path / "log")
    put(tmp_path / "log" / f".{1:020}.json.{VECTOR}.tmp")
    age(tmp_path, 30)
    before = tree(tmp_path)
    refuses(StorageError, "Refused to delete", lambda: clean_up_log(DeltaTable(tmp_path / "t").snapshot))
    assert DeltaTable(tmp_path / "t").vacuum(dry_run=True).left_over == ()
    assert tree(tmp_path) == before and (home / "manifest").exists() and (home / "part-0.parquet").exists()


def test_objects_outside_of_a_table_stay(store: tuple[Storage, str], s3_options: dict[str, str]) -> None:
    storage, base = store
    assert isinstance(storage, ObjectStorage)
    key = base.removeprefix("s3://bucket/")
    sentinels = ["home/notes.txt", f"home/{VECTOR_FILE}", VECTOR_FILE, "t/_hidden/x", "t/.hidden", "t/a/.hidden",
                 "t/_delta_log/_last_checkpoint.old", "t/inner/data.parquet", "other/data.parquet",
                 f"t/_delta_log/{VECTOR_FILE}", "t/_change_data/_hidden/x", f"t/_hidden/{VECTOR_FILE}"]  # fmt: skip
    for path in sentinels:
        storage.put(f"{base}/{path}", b"sentinel")
    for name in ("t", "t/inner"):
        DeltaTable.create(f"{base}/{name}", "id BIGINT", storage_options=s3_options)
    table = ds.DeltaTable(f"{base}/t", storage_options=s3_options)
    table.append(pa.table({"id": [1, 2]}))
    [live] = [path for path in keys(storage, f"{base}/t") if path.startswith("part-")]
    named_ones = [*OUT, *WITHIN, f"s3://bucket/{key}/home/notes.txt", f"s3a://bucket/{key}/home/notes.txt",
                  f"/{key}/home/notes.txt", "s3://bucket/home/notes.txt", f"s3://other/{key}/t/{live}"]  # fmt: skip
    lines = [action(kind, path.replace("{top}", key)) for kind in KINDS for path in named_ones]
    lines.append(action("remove", "a/gone"))
    lines.append(action("remove", live))
    storage.put(f"{base}/t/a/gone", b"x")
    storage.put(f"{base}/t/_delta_log/{2:020}.json", "\n".join(map(json.dumps, lines)).encode())
    spelled = {"path": f"https://bucket.s3.amazonaws.com/{key}/t/{live}", "partitionValues": {}, "size": 1}
    add = {"add": {**spelled, "modificationTime": 1, "dataChange": True}}
    storage.put(f"{base}/t/_delta_log/{3:020}.json", json.dumps(add).encode())
    time.sleep(1.1)
    everything = keys(storage, base)
    for lite in (True, False):
        opened = ds.DeltaTable(f"{base}/t", storage_options=s3_options)
        dry = opened.vacuum(0, True, lite=lite, enforce_retention=False)
        done = opened.vacuum(0, lite=lite, enforce_retention=False)
        assert dry.files == done.files
        # Objects that a log names need not exist.
        assert {path for path in done.files if f"t/{path}" in everything} == ({"a/gone"} if lite else set())
        left = keys(storage, base)
        assert everything - left == {"t/a/gone"}
    assert all(storage.read(f"{base}/{path}") == b"sentinel" for path in sentinels)


def keys(storage: ObjectStorage, root: str) -> set[str]:
    """The objects below a root."""
    return {path for batch in storage.list_below(root) for path in batch["path"].to_pylist()}


def test_temporary_files_of_killed_writers_go_when_they_are_old(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "id BIGINT", properties={"delta.checkpointPolicy": "v2"})
    table.append(pa.table({"id": [1]}))
    table.checkpoint()
    old = [
        f"_delta_log/.{1:020}.checkpoint.parquet.{VECTOR}.tmp", f"_delta_log/.{2:020}.json.{VECTOR}.tmp",
        f"_delta_log/.{2:020}.json.{VECTOR}.tmp.crc", f"_delta_log/._last_checkpoint.{VECTOR}.tmp",
        f"_delta_log/_sidecars/.{VECTOR}.parquet.{VECTOR}.tmp", f"_delta_log/_staged_commits/.x.json.{VECTOR}.tmp",
        f"_delta_log/_commit_{VECTOR}.json.tmp",
    ]  # fmt: skip
    data = [f".part-0.parquet.{VECTOR}.tmp", f"part-{VECTOR}/_temporary/0/_temporary/attempt_0/part-0.parquet",
            f"part-{VECTOR}/_temporary/0/_temporary/attempt_0/.part-0.parquet.crc", f"part-0.parquet.{VECTOR}.tmp",
            "part-0.parquet._COPYING_"]  # fmt: skip
    kept = ["_delta_log/.other.tmp", "_delta_log/notes.txt", f"_hidden/.x.{VECTOR}.tmp", "_temporary/0/part-0.parquet",
            f"_hidden/part-{VECTOR}/_temporary/0", "x/_temporary/0"]  # fmt: skip
    for path in (*old, *data, *kept):
        put(tmp_path / "t" / path)
    before = table.vacuum(dry_run=True)
    assert before.files == [] and before.left_over == ()
    # However short the retention is, a writer of today may be at work on a temporary file.
    young = {path for path in table.vacuum(0, True, enforce_retention=False).files if "_temporary" in path}
    assert not young
    age(tmp_path / "t", 30)
    dry, done = table.vacuum(dry_run=True), table.vacuum()
    assert set(dry.left_over) == set(done.left_over) == set(old)
    assert dry.files == done.files == sorted(data)
    assert f"part-{VECTOR}/_temporary" in done.directories
    assert not [path for path in (*old, *data) if (tmp_path / "t" / path).exists()]
    assert all((tmp_path / "t" / path).exists() for path in kept)
    assert len(rows_of(DeltaTable(tmp_path / "t"))) == 1
