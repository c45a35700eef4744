"""Operations that are killed at any step: the table reads as before or as after, and the next run finishes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from deltaskip import DeltaTable, transforms
from deltaskip.data_files import encoding
from deltaskip.errors import TableNotFound
from deltaskip.maintenance import vacuum
from deltaskip.storage import local
from tests.dml.tables import DDL, files_below, rows, rows_of
from tests.maintenance.test_vacuum import needed, put, vectors_of
from tests.txn.killed import copied, steps_of


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A table of odd partitions whose version 1 has more rows than the latest, and two orphans."""
    folder = tmp_path / "source"
    table = DeltaTable.create(folder, DDL, ["p"], properties={"delta.enableDeletionVectors": "true"})
    table.append(rows(range(12)))
    table.delete("id = 4")
    table.delete("p = 'a'")
    for name in ("orphan", "p=x/orphan"):
        put(folder / name)
    (tmp_path / "copies").mkdir()
    return folder


def begun(stop: int, what: str, folder: str, table: str) -> Callable[[], object]:
    """An operation that writes and deletes one file after the other."""
    vacuum._DELETED_AT_ONCE = local._DELETING_THREADS = encoding._THREADS = 1
    opened = DeltaTable(table if what == "clone" else copied(stop, folder, table))
    acts: dict[str, Callable[[], object]] = {
        "vacuum": lambda: opened.vacuum(0, enforce_retention=False),
        "restore": lambda: opened.restore(1),
        "replace partitioning": lambda: opened.replace_partitioning(transforms.bucket("id", 3)),
        "clone": lambda: opened.clone(f"{folder}/{stop}"),
    }
    return acts[what]


def test_a_killed_vacuum_deletes_nothing_that_is_needed_and_the_next_one_finishes(source: Path, tmp_path: Path) -> None:
    expected = rows_of(DeltaTable(source))
    steps = steps_of(begun, "vacuum", tmp_path / "copies", source, most=3)
    assert steps.count("deleted") == 3
    assert steps.index("VACUUM START") < steps.index("deleted") < steps.index("VACUUM END")
    for stop, step in enumerate(steps):
        folder = tmp_path / "copies" / str(stop)
        table = DeltaTable(folder)
        assert rows_of(table) == expected, step
        keep = needed(table) | vectors_of(table)
        assert keep <= files_below(folder), step
        if stop < steps.index("VACUUM START"):
            assert (folder / "orphan").exists(), step
        table.vacuum(0, enforce_retention=False)
        assert files_below(folder) == keep and rows_of(table) == expected, step


def test_a_killed_restore_is_made_or_not(source: Path, tmp_path: Path) -> None:
    before, after = rows_of(DeltaTable(source)), rows_of(DeltaTable(source, 1))
    steps = steps_of(begun, "restore", tmp_path / "copies", source)
    assert "linked" in steps
    for stop, step in enumerate(steps):
        table = DeltaTable(tmp_path / "copies" / str(stop))
        made = stop >= steps.index("linked")
        assert rows_of(table) == (after if made else before), step
        assert files_below(tmp_path / "copies" / str(stop)) == files_below(source), step
        table.restore(1)
        assert rows_of(table) == after, step


@pytest.mark.long
def test_a_killed_clone_is_a_table_or_none(source: Path, tmp_path: Path) -> None:
    expected = rows_of(DeltaTable(source))
    steps = steps_of(begun, "clone", tmp_path / "copies", source, most=None)
    assert "linked" in steps
    for stop, step in enumerate(steps):
        folder = tmp_path / "copies" / str(stop)
        if stop < steps.index("linked"):
            with pytest.raises(TableNotFound):
                DeltaTable(folder)
            DeltaTable(source).clone(folder)
        assert rows_of(DeltaTable(folder)) == expected, step


def shown(table: DeltaTable) -> list[dict[str, Any]]:
    """Rows in the columns that are not hidden."""
    return table.scan().to_arrow().sort_by("id").to_pylist()


@pytest.mark.long
def test_a_killed_change_of_the_partitioning_is_made_or_not(source: Path, tmp_path: Path) -> None:
    expected, layout = shown(DeltaTable(source)), (transforms.bucket("id", 3),)
    steps = steps_of(begun, "replace partitioning", tmp_path / "copies", source)
    assert len(steps) > 4
    made = []
    for stop, step in enumerate(steps):
        table = DeltaTable(tmp_path / "copies" / str(stop))
        made.append(table.version == 4)
        assert (table.partitioning == layout) == made[-1], step
        assert shown(table) == expected, step
        if stop % 4 == 0:
            table.replace_partitioning(*layout)
            assert table.partitioning == layout and shown(table) == expected, step
    assert made == sorted(made) and set(made) == {False, True}
