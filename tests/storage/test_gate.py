"""The gate before every delete: which targets it refuses, whoever asks."""

import os
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from deltaskip.errors import StorageError
from deltaskip.storage import LocalStorage, Storage, gate, open_storage
from tests.each import refuses
from tests.storage.s3 import endpoint, s3_options, store

__all__ = ["endpoint", "s3_options", "store"]

NEVER = ["", "/", "/nowhere/x", "..", "../x", "a/../x", "./x", ".", "a/.", "a/..", "a\0", "\0", "../../x",
         "a/b/../../../x"]  # fmt: skip
# Of names that a catalog encodes, not of a log.
ESCAPED = ["%2e%2e/x", "a/%2E./x", "%252e%252E/x", "a/%25252e", "%2E%2E"]
LOG = ["_delta_log/00000000000000000000.json", "_delta_log/_sidecars/x.parquet", "_delta_log/_last_checkpoint",
       "_delta_log/_staged_commits/00000000000000000001.x.json",
       "_delta_log/00000000000000000001.checkpoint.parquet"]  # fmt: skip
DATA = ["x", "a/x", "p=1/x", "p=a b/x", "a/%41", "_change_data/x", "...", "a/..x", "x..", "p=%2e%2e1/x", "x:/y", "ü/é"]
NOT_LOG = ["_delta_log", "_delta_log/notes.txt", "_delta_log/x/00000000000000000000.json", "_delta_log/_sidecars"]


def test_what_a_caller_may_delete_follows_from_resolved_path_and_name(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "t" / "a").mkdir(parents=True)
    (tmp_path / "t" / "link").symlink_to(tmp_path / "home")
    (tmp_path / "t" / "a" / "up").symlink_to("..")
    (tmp_path / "l").symlink_to("t")
    linked = ["link/x", "link/b/x", "a/up/x", "a/up/_delta_log/00000000000000000000.json"]
    for root in (tmp_path / "t", tmp_path / "l", tmp_path / "home" / ".." / "l"):

        def allowed(paths: list[str], names: Callable[[pa.Array], pa.BooleanArray]) -> list[str]:
            given = pa.array(paths, pa.string())
            return given.filter(gate.deletable(LocalStorage(), str(root), given, names)).to_pylist()  # noqa: B023

        everything = [*NEVER, *ESCAPED, *LOG, *DATA, *NOT_LOG, *linked]
        assert allowed(everything, gate.any_name) == [*ESCAPED, *LOG, *DATA, *NOT_LOG]
        assert allowed(everything, gate.written_names) == DATA
        assert allowed(everything, gate.log_names) == LOG


@pytest.mark.long(gate=1)
@pytest.mark.parametrize("where", ["local", "s3"])
def test_a_refused_target_is_named_and_kept(tmp_path: Path, where: str, request: pytest.FixtureRequest) -> None:
    storage: Storage
    storage, base = (LocalStorage(), str(tmp_path)) if where == "local" else request.getfixturevalue("store")
    for name in ("x", "t/x", "t/a/x", "t/_delta_log/00000000000000000000.json"):
        storage.put(f"{base}/{name}", b"abc")
    for path in (*NEVER, *ESCAPED, *LOG, *NOT_LOG):
        for act in (gate.delete_file, gate.delete_folder, gate.delete_empty_folder):
            refuses(StorageError, "Refused to delete", act, storage, f"{base}/t", path)
        refuses(StorageError, "Refused to delete", gate.delete_files, storage, f"{base}/t", ["x", path])
    for path in (*DATA, *NEVER, *ESCAPED):
        refuses(StorageError, "Refused to delete", gate.delete_file, storage, f"{base}/t", path, gate.log_names)
    assert storage.read(f"{base}/x") == storage.read(f"{base}/t/x") == storage.read(f"{base}/t/a/x") == b"abc"
    gate.delete_files(storage, f"{base}/t", ["x", "none"])
    gate.delete_file(storage, f"{base}/t", LOG[0], gate.log_names)
    gate.delete_folder(storage, f"{base}/t", "a")
    assert storage.read(f"{base}/x") == b"abc" and not storage.exists(f"{base}/t/x")


def test_a_name_that_is_no_text_is_refused(tmp_path: Path) -> None:
    refuses(StorageError, "not valid Unicode", lambda: gate.delete_files(LocalStorage(), str(tmp_path), ["\udcff"]))


def test_a_folder_with_more_than_a_table_in_it_is_not_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, work, warehouse = tmp_path / "users" / "me", tmp_path / "work", tmp_path / "data" / "wh"
    for path in (home, work, warehouse / "ns", tmp_path / "t" / "_delta_log", tmp_path / "outer" / "in" / "_delta_log"):
        path.mkdir(parents=True)
    (tmp_path / "namespace" / "ns").mkdir(parents=True)
    (tmp_path / "namespace" / "ns" / "_namespace.json").write_text("{}")
    (tmp_path / "pointers").mkdir()
    (tmp_path / "pointers" / "x.table.json").write_text("{}")
    (tmp_path / "link").symlink_to(tmp_path / "users")
    (tmp_path / "documents" / "photos").mkdir(parents=True)
    (tmp_path / "documents" / "file").write_text("abc")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(work)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    kept = str(warehouse)
    # Only asked about: a delete of these must not be one mistake away.
    for root in ("/", "//", "/etc", "/top"):
        with pytest.raises(StorageError, match=r"Refused to delete .* because"):
            gate.check_deletable_folder(LocalStorage(), root, kept)
    refused = [str(home), f"{home}/", str(home.parent), str(work), str(tmp_path), kept,
               str(warehouse.parent), f"{tmp_path}/outer", f"{tmp_path}/namespace", f"{tmp_path}/pointers",
               f"{tmp_path}/link", f"{home}/../me", f"{tmp_path}/temporary", f"{tmp_path}/documents",
               f"{tmp_path}/documents/file", f"{tmp_path}/documents/photos"]  # fmt: skip
    before = sorted(os.walk(tmp_path))
    for root in refused:
        with pytest.raises(StorageError, match=r"Refused to delete .* because"):
            gate.delete_whole_folder(LocalStorage(), root, kept)
    assert sorted(os.walk(tmp_path)) == before
    for root in (f"{tmp_path}/t", f"{home}/none"):
        gate.delete_whole_folder(LocalStorage(), root, kept)
        assert not os.path.exists(root)


def test_a_bucket_and_prefixes_with_other_tables_are_not_deleted(store: tuple[Storage, str]) -> None:
    storage, base = store
    for name in ("t/_delta_log/0", "t/x", "outer/_delta_log/0", "outer/in/_delta_log/0", "wh/ns/_namespace.json",
                 "documents/photos/x"):  # fmt: skip
        storage.put(f"{base}/{name}", b"abc")
    bucket, _ = open_storage("s3://bucket", getattr(storage, "options", None))
    for root in ("s3://bucket", "s3://bucket/", base, f"{base}/outer", f"{base}/wh", f"{base}/documents"):
        with pytest.raises(StorageError, match=r"Refused to delete .* because"):
            gate.check_deletable_folder(bucket, root, f"{base}/elsewhere/wh")
    refuses(StorageError, "is in it", gate.check_deletable_folder, storage, f"{base}/elsewhere", f"{base}/elsewhere/wh")
    gate.delete_whole_folder(storage, f"{base}/t")
    assert not storage.exists(f"{base}/t") and storage.exists(f"{base}/outer/in/_delta_log/0")


@pytest.mark.parametrize("has_directories", [True, False])
def test_a_late_link_leads_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_directories: bool) -> None:
    """A folder on the way, or the root or one above it, becomes a link to another folder with a file of the name."""
    if not has_directories:
        # Where the system lacks them, deletion works as far as the check reaches.
        monkeypatch.setattr("deltaskip.storage.local_writing._HAS_DIRECTORIES", False)
    storage = LocalStorage()
    swapped: list[Path] = []

    def swapping(name: str) -> None:
        original = getattr(LocalStorage, name)

        def swap(self: LocalStorage, given: object) -> object:
            while swapped:
                folder = swapped.pop()
                folder.rename(f"{folder}.away")
                folder.symlink_to(f"{tmp_path}/home/{folder.name}")
            return original(self, given)

        monkeypatch.setattr(LocalStorage, name, swap)

    for name in ("delete", "delete_files", "delete_directory", "delete_empty_directory"):
        swapping(name)
    acts: list[tuple[Callable[[str], object], str]] = [
        (lambda root: gate.delete_file(storage, root, "a/b/x"), "t/a/b/x"),
        (lambda root: gate.delete_files(storage, root, ["a/b/x", "a/b/y"]), "t/a/b/x"),
        (lambda root: gate.delete_folder(storage, root, "a/b"), "t/a/b/x"),
        (lambda root: gate.delete_empty_folder(storage, root, "a/b/e"), "t/a/b/e"),
        (lambda root: gate.delete_whole_folder(storage, root), "t/_delta_log"),
    ]
    number = 0
    for act, target in acts:
        for folder in ("", "up", "up/t", "up/t/a") if has_directories else ("",):
            number += 1
            base = tmp_path / str(number)
            homes = [tmp_path / "home" / tail for tail in ("up/t/a/b/e", "t/a/b/e", "a/b/e")]
            for top in (base / "up" / "t" / "a" / "b" / "e", *homes):
                top.mkdir(parents=True, exist_ok=True)
                for name in ("x", "y"):
                    (top.parent / name).write_bytes(b"abc")
            for table in (base / "up" / "t", tmp_path / "home" / "up" / "t", tmp_path / "home" / "t"):
                (table / "_delta_log").mkdir(exist_ok=True)
            before = sorted(map(str, (tmp_path / "home").rglob("*")))
            swapped[:] = [base / folder] if folder else []
            root = str(base / "up" / "t")
            whole = target == "t/_delta_log"
            if not folder:
                act(root)
                assert not (base / "up" / target).exists()
            elif whole and folder in ("up/t", "up/t/a"):
                # Of a link only the link goes.
                act(root)
                assert folder == "up/t/a" or (base / "up" / "t.away" / "a" / "b" / "x").exists()
            else:
                refuses(StorageError, f"Refused to delete .*: {Path(folder).name} is a symbolic link", act, root)
            swapped.clear()
            assert sorted(map(str, (tmp_path / "home").rglob("*"))) == before, (target, folder)


def test_a_folder_that_cannot_be_listed_loses_files_that_are_named(tmp_path: Path) -> None:
    (tmp_path / "t" / "a").mkdir(parents=True)
    (tmp_path / "t" / "a" / "x").write_bytes(b"abc")
    (tmp_path / "t").chmod(0o311)
    try:
        gate.delete_file(LocalStorage(), str(tmp_path / "t"), "a/x")
        gate.delete_files(LocalStorage(), str(tmp_path / "t"), ["a/x", "none/x", "a/none"])
    finally:
        (tmp_path / "t").chmod(0o755)
    assert not (tmp_path / "t" / "a" / "x").exists()
