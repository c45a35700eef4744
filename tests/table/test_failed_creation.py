"""A table that could not be created leaves no folder behind, and takes none away that was there before."""

import os
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaskip as ds
from deltaskip import DeltaTable
from deltaskip.errors import DeltaSkipError, RowViolation, StorageError
from deltaskip.storage import LocalStorage, local, local_writing
from tests.looped import looped
from tests.noted import raising

ROWS = pa.table({"id": [1, 2], "p": ["a", "b"]})
DDL = "id BIGINT, p STRING"


def folders(top: Path) -> set[str]:
    return {os.path.relpath(os.path.join(folder, name), top) for folder, some, files in os.walk(top)
            for name in (*some, *files)}  # fmt: skip


def create(top: Path, place: Path) -> None:
    DeltaTable.create(place, DDL, ["p"])


def clone(top: Path, place: Path) -> None:
    DeltaTable(top / "source").clone(place)


def convert(top: Path, place: Path) -> None:
    if not place.exists():
        raise StorageError("There is nothing to convert.")
    pq.write_table(ROWS, place / "own.parquet")
    try:
        ds.convert_to_delta(place)
    finally:
        (place / "own.parquet").unlink()


def staged(top: Path, place: Path) -> None:
    catalog = ds.catalog(f"warehouse:{top / 'wh'}")
    with catalog.stage_create("db.t", DDL, ["p"], properties={"location": str(place)}) as table:  # type: ignore[attr-defined]
        table.append(ROWS)


def managed(top: Path, place: Path) -> None:
    catalog = ds.catalog(f"warehouse:{top / 'wh'}")
    with catalog.stage_create("db.t", DDL, ["p"]) as table:  # type: ignore[attr-defined]
        table.append(ROWS)


def catalog_create(top: Path, place: Path) -> None:
    ds.catalog(f"warehouse:{top / 'wh'}").create_table("db.t", DDL, ["p"], {"location": str(place)})


DOORS: list[Callable[[Path, Path], None]] = [create, clone, convert, staged, managed, catalog_create]


def prepared(top: Path) -> None:
    DeltaTable.create(top / "source", DDL).append(ROWS)
    ds.catalog(f"warehouse:{top / 'wh'}").create_namespace("db")


@looped("door, there", product(DOORS, [False, True]))
def test_a_creation_that_fails_leaves_no_folder(
    tmp_path: Path, door: Callable[[Path, Path], None], there: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared(tmp_path)
    place = tmp_path / "a" / "b" / "t"
    if there:
        (place / "p=a").mkdir(parents=True)
        (place / "empty" / "inner").mkdir(parents=True)
        (place / "_notes.txt").write_text("mine")
        if door is convert:
            for name in ("p=a", "empty/inner", "empty"):
                (place / name).rmdir()
    before = folders(tmp_path)
    plain = local_writing.os.fsync  # type: ignore[attr-defined]

    def full(handle: int) -> None:
        if os.readlink(f"/proc/self/fd/{handle}").endswith(".tmp") and "_delta_log" in os.readlink(
            f"/proc/self/fd/{handle}"
        ):
            raise OSError(28, "No space left on device")
        plain(handle)

    with monkeypatch.context() as patched:
        patched.setattr(local_writing.os, "fsync", full)  # type: ignore[attr-defined]
        with pytest.raises(DeltaSkipError):
            door(tmp_path, place)
    assert folders(tmp_path) == before
    if door is convert and not there:
        return
    door(tmp_path, place)
    assert folders(tmp_path) > before


def test_rows_that_violate_a_rule_leave_no_folder_of_a_new_table(tmp_path: Path) -> None:
    prepared(tmp_path)
    before = folders(tmp_path)
    catalog = ds.catalog(f"warehouse:{tmp_path / 'wh'}")
    place = str(tmp_path / "deep" / "er" / "t")
    for properties in ({}, {"location": place}):
        with pytest.raises(RowViolation), catalog.stage_create("db.t", "id BIGINT NOT NULL, p STRING", ["p"],  # type: ignore[attr-defined]
                                                                properties=properties) as table:  # fmt: skip
            table.append(ROWS)
            table.append(pa.table({"id": pa.array([None], pa.int64()), "p": ["c"]}))
        assert folders(tmp_path) == before


def test_a_creation_without_a_name_is_withdrawn_with_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prepared(tmp_path)
    catalog: Any = ds.catalog(f"warehouse:{tmp_path / 'wh'}")
    place = tmp_path / "a" / "t"
    (place / "empty").mkdir(parents=True)
    (place / "_delta_log").mkdir()
    (place / "_delta_log" / "notes.txt").write_text("mine")
    before = folders(tmp_path)

    monkeypatch.setattr(catalog, "add_entry", raising(StorageError("The catalog is gone.")))
    for location in (place, tmp_path / "b" / "t"):
        with (
            pytest.raises(StorageError),
            catalog.stage_create("db.t", DDL, ["p"], properties={"location": str(location)}) as table,
        ):
            table.append(ROWS)
        assert folders(tmp_path) == before


def test_a_writer_makes_its_folder_again_if_it_is_taken_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[str] = []
    plain = local_writing._make_folders

    def interrupted(folder: str, made: list[str], makes_log: bool) -> None:
        plain(folder, made, makes_log)
        if not taken:
            taken.append(folder)
            os.rmdir(folder)

    monkeypatch.setattr(local_writing, "_make_folders", interrupted)
    LocalStorage().put_if_absent(str(tmp_path / "t" / "_delta_log" / f"{0:020}.json"), b"{}")
    assert taken and local.LocalStorage().exists(str(tmp_path / "t" / "_delta_log" / f"{0:020}.json"))
