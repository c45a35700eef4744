"""Changes of rows that are killed or fail at any step: the table has the rows before or after, never half of either."""

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from deltaskip import DeltaTable
from deltaskip.data_files import encoding
from deltaskip.errors import StorageError
from deltaskip.storage import LocalStorage
from tests.dml.tables import DDL, files_below, rows, rows_of
from tests.extent import some
from tests.txn.killed import copied, steps_of

PROPERTIES = [
    {"delta.enableChangeDataFeed": "true"},
    {"delta.enableDeletionVectors": "true", "delta.enableRowTracking": "true"},
]
WHERE = "id % 2 = 0"
SOURCE = pa.table({"id": [0, 2, 4, 6, 100]})


def merged(table: DeltaTable) -> object:
    """Delete row 4, update the other even ones, and add row 100; doing it again changes nothing more."""
    merge = table.merge(SOURCE, "t.id = s.id", "s", "t").when_matched_delete("s.id = 4")
    merge = merge.when_matched_update({"x": "-1", "p": "'z'"})
    return merge.when_not_matched_insert({"id": "s.id", "x": "-1", "p": "'z'"}, where="s.id = 100").execute()


CHANGES: dict[str, Callable[[DeltaTable], object]] = {
    "delete": lambda table: table.delete(WHERE),
    "update": lambda table: table.update({"x": "-1", "p": "'z'"}, WHERE),
    "merge": merged,
}
KINDS = some(itertools.product(CHANGES, PROPERTIES), 3)


def changing(stop: int, what: str, folder: str, table: str) -> Callable[[], object]:
    """A writer that changes rows, one file after the other: its steps have an order."""
    encoding._THREADS = 1
    copy = DeltaTable(copied(stop, folder, table))
    return lambda: CHANGES[what](copy)


def made(folder: Path, properties: dict[str, str]) -> DeltaTable:
    table = DeltaTable.create(folder, DDL, ["p"], properties=properties)
    table.append(rows(range(8)))
    return table


def expected(what: str, changed: bool) -> list[dict[str, Any]]:
    found = rows(range(8)).to_pylist()
    if not changed:
        return found
    if what == "delete":
        return [row for row in found if row["id"] % 2]
    updated = [row if row["id"] % 2 else {**row, "x": -1, "p": "z"} for row in found]
    if what == "update":
        return updated
    return [*(row for row in updated if row["id"] != 4), {"id": 100, "p": "z", "x": -1, "st": None}]


def referenced(table: DeltaTable) -> set[str]:
    """Files of all versions of the table."""
    found: set[str] = set()
    for version in range(1, table.version + 1):
        path = Path(table.snapshot.root) / "_delta_log" / f"{version:020}.json"
        text = path.read_text(encoding="utf-8")
        found |= {file for file in files_below(Path(table.snapshot.root)) if file.rpartition("/")[2] in text}
    return found


@pytest.mark.long(gate=1)
@pytest.mark.parametrize(("what", "properties"), KINDS)
def test_a_killed_change_leaves_the_rows_before_or_after(tmp_path: Path, what: str, properties: dict[str, str]) -> None:
    made(tmp_path / "t", properties)
    (tmp_path / "copies").mkdir()
    steps = steps_of(changing, what, tmp_path / "copies", tmp_path / "t")
    assert len(steps) > 4
    versions = []
    for stop, step in enumerate(steps):
        table = DeltaTable(tmp_path / "copies" / str(stop))
        versions.append(table.version)
        assert rows_of(table) == expected(what, table.version == 2), step
        # What was left is in nobody's way.
        CHANGES[what](table)
        assert rows_of(table) == expected(what, True), step
    assert versions == sorted(versions) and set(versions) == {1, 2}


class Failing(LocalStorage):
    """Storage whose nth write fails."""

    def __init__(self, at: int, said: str = "the disk is full") -> None:
        super().__init__()
        self.at, self.said, self.writes = at, said, 0

    def publish(self, path: str) -> Any:
        self._write()
        return super().publish(path)

    def put_unseen(self, path: str, data: bytes | memoryview) -> None:
        self._write()
        super().put_unseen(path, data)

    def put(self, path: str, data: bytes, **more: Any) -> None:  # type: ignore[override]
        self._write()
        super().put(path, data, **more)

    def _write(self) -> None:
        self.writes += 1
        if self.writes == self.at:
            raise StorageError(self.said)


def fail_at_each_write(folder: Path, failing: Callable[[int], Failing], change: Callable[[DeltaTable], object]) -> None:
    """Let one write of a change after the other fail, until it gets through: those that failed leave no file."""
    before, failed = files_below(folder), 0
    for at in range(1, 60):
        table = DeltaTable(folder)
        table.snapshot.storage = failing(at)
        try:
            change(table)
        except StorageError:
            failed += 1
            assert files_below(folder) == before, at
            assert DeltaTable(folder).version == 1
        else:
            break
    assert failed >= 1


@pytest.mark.long(gate=1)
@pytest.mark.parametrize(("what", "properties"), KINDS)
def test_a_change_that_fails_leaves_no_file(tmp_path: Path, what: str, properties: dict[str, str]) -> None:
    made(tmp_path / "t", properties)
    fail_at_each_write(tmp_path / "t", Failing, CHANGES[what])
    assert rows_of(DeltaTable(tmp_path / "t")) == expected(what, True)
