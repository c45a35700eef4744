"""Where a table can be created: not in a table's own folders, and not on top of a table or of what is left of one."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaskip as ds
from deltaskip import CorruptLog, DeltaSkipError, DeltaTable, InvalidArgument, TableAlreadyExists, TableNotFound
from tests.each import refuses
from tests.looped import looped

ONE = pa.table({"id": pa.array([1], pa.int32())})
Door = Callable[[Path, Path], object]


def catalog_of(top: Path) -> ds.TableCatalog:
    catalog = ds.catalog(f"warehouse:{top / 'wh'}")
    if not catalog.namespace_exists("db"):
        catalog.create_namespace("db")
    return catalog


def staged(top: Path, place: Path) -> None:
    with catalog_of(top).stage_create("db.s", "id INT", properties={"location": str(place)}) as table:  # type: ignore[attr-defined]
        table.append(ONE)


def converted(top: Path, place: Path) -> None:
    place.mkdir(parents=True, exist_ok=True)
    pq.write_table(ONE, place / "converted.parquet")
    ds.convert_to_delta(place)


PLAIN: dict[str, Door] = {
    "create": lambda top, place: DeltaTable.create(place, "id INT"),
    "ignore": lambda top, place: DeltaTable.create(place, "id INT", mode="ignore"),
    "replace": lambda top, place: DeltaTable.create(place, "id INT", mode="replace"),
    "clone": lambda top, place: DeltaTable(top / "source").clone(place),
    "catalog": lambda top, place: catalog_of(top).create_table("db.t", "id INT", (), {"location": str(place)}),
}
DOORS: dict[str, Door] = {**PLAIN, "staged": staged, "convert": converted}


def made(place: Path) -> Path:
    """A table with six versions and a checkpoint of the fourth."""
    DeltaTable.create(place, "id INT")
    for number in range(5):
        DeltaTable(place).append(ONE)
        if number == 2:
            DeltaTable(place).checkpoint()
    return place


def content(place: Path) -> dict[str, bytes]:
    return {str(path.relative_to(place)): path.read_bytes() for path in sorted(place.rglob("*")) if path.is_file()}


def without(place: Path, *patterns: str) -> Path:
    for pattern in patterns:
        for path in list(place.glob(pattern)):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    return place


def logs_below(place: Path) -> set[str]:
    return {name for name in content(place) if "_delta_log" in name and "converted" not in name}


INSIDE = ["_delta_log", "_delta_log/x", "_delta_log/_sidecars/t", "_change_data/t", "_delta_index", "a/_delta_log/t",
          "linked/t"]  # fmt: skip


@looped("door", DOORS.items())
def test_no_table_begins_in_the_folders_of_a_table(tmp_path: Path, door: tuple[str, Door]) -> None:
    made(tmp_path / "source")
    outer = made(tmp_path / "outer")
    (outer / "linked").symlink_to(outer / "_delta_log")
    for inside in INSIDE:
        before = logs_below(tmp_path)
        with pytest.raises(InvalidArgument, match=r"No table can be created at .* is the folder of a Delta"):
            door[1](tmp_path, outer / inside)
        shutil.rmtree(tmp_path / "wh", ignore_errors=True)
        assert logs_below(tmp_path) == before


FIRST = "_delta_log/00000000000000000000.json"
# What is deleted of a table, and what doors say then that create one, and those that open it.
LEFT: list[tuple[tuple[str, ...], type[DeltaSkipError], type[DeltaSkipError] | None]] = [
    # As after a clean-up of the log.
    ((FIRST,), TableAlreadyExists, None),
    (("_delta_log/*.json", "_delta_log/*.crc"), TableAlreadyExists, None),
    ((FIRST, "_delta_log/*.checkpoint.parquet"), TableAlreadyExists, CorruptLog),
    (("_delta_log/0*",), CorruptLog, TableNotFound),
    (("_delta_log/0*", "*.parquet"), CorruptLog, TableNotFound),
    (("_delta_log/*.json", "_delta_log/*.parquet", "_delta_log/_last_checkpoint"), CorruptLog, TableNotFound),
    (("_delta_log/*",), InvalidArgument, TableNotFound),
    (("_delta_log",), InvalidArgument, TableNotFound),
]


@pytest.mark.long(gate=3)
@pytest.mark.parametrize("number", range(len(LEFT)))
def test_no_table_begins_on_what_is_left_of_one(tmp_path: Path, number: int) -> None:
    patterns, creating, opening = LEFT[number]
    # Without later commits, the version of the checkpoint is left.
    latest = 3 if "_delta_log/*.json" in patterns else 5
    made(tmp_path / "source")
    for name, door in DOORS.items():
        place = without(made(tmp_path / name), *patterns)
        before = content(place)
        if name in ("ignore", "replace") and creating is TableAlreadyExists:
            expected: type[DeltaSkipError] | None = opening
        elif name == "clone" and creating is TableAlreadyExists and opening is not None:
            expected = opening
        elif name == "convert":
            # A log that has nothing of a table is that of a folder of Parquet files.
            expected = None if creating is InvalidArgument else opening if creating is TableAlreadyExists else creating
        else:
            # A job that writes rows may be killed, and is run again.
            expected = None if name == "staged" and creating is InvalidArgument else creating
        if expected is None:
            door(tmp_path, place)
            version = latest + (name == "replace") if creating is TableAlreadyExists else 0
            assert DeltaTable(place).version == version, name
            continue
        refuses(expected, str(place), door, tmp_path, place)
        assert {path: data for path, data in content(place).items() if path != "converted.parquet"} == before, name
    place = without(made(tmp_path / "opened"), *patterns)
    if opening is None:
        assert DeltaTable(place).version == latest
    else:
        for act in (DeltaTable, lambda each: DeltaTable(each).append(ONE), lambda each: DeltaTable(each).vacuum()):
            refuses(opening, str(place), act, place)


def test_an_empty_log_and_the_files_of_a_killed_creation_are_no_table(tmp_path: Path) -> None:
    for number, names in enumerate(
        ([], [".00000000000000000000.json.8e7c0000-0000-0000-0000-000000000000.tmp"], ["x.txt"])
    ):
        place = tmp_path / str(number)
        (place / "_delta_log").mkdir(parents=True)
        (place / "p=1" / "q=2").mkdir(parents=True)
        for name in names:
            (place / "_delta_log" / name).write_bytes(b"{")
        assert DeltaTable.create(place, "id INT").version == 0


def test_the_files_of_partitions_are_data_too(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "id INT, p INT", ["p"])
    table.append(pa.table({"id": pa.array([1], pa.int32()), "p": pa.array([1], pa.int32())}))
    without(tmp_path / "t", "_delta_log")
    refuses(InvalidArgument, r"files already, such as p=1/.*\.parquet", DeltaTable.create, tmp_path / "t", "id INT")


def test_files_that_are_to_be_added_may_be_there_before_their_table(tmp_path: Path) -> None:
    pq.write_table(ONE, tmp_path / "given.parquet")
    DeltaTable.create(tmp_path, "id INT").add_files(["given.parquet"])
    assert len(DeltaTable(tmp_path).scan().to_arrow()) == 1
