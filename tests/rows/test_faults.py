"""Writers that are killed or that fail at any step: the table has the old or the new version, and no half of either."""

import os
import resource
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deltaskip import DeltaTable
from deltaskip.actions import decode_path
from deltaskip.data_files import encoding
from deltaskip.errors import CommitConflict, DeltaSkipError, StorageError, TableNotFound
from deltaskip.storage import LocalStorage
from tests.dml.test_killed_changes import Failing
from tests.each import in_threads, refuses
from tests.extent import extent
from tests.storage.s3 import endpoint, s3_options
from tests.txn.killed import copied, steps_of

__all__ = ["endpoint", "s3_options"]

COLUMNS = "id BIGINT, p STRING, n BIGINT GENERATED ALWAYS AS IDENTITY"
PASSED_OVER = extent(("tidied", "named"), ())
ROWS = pa.table({"id": [1, 2, 3], "p": ["a", "b/c", None]})


def rows_of(table: DeltaTable) -> list[dict[str, Any]]:
    """The rows of a local table without deletion vectors or mapped columns."""
    found = []
    for file in table.snapshot.adds(["path", "partition_values"]).to_pylist():
        path = os.path.join(table.snapshot.root, decode_path(file["path"]))
        found += [{**dict(file["partition_values"]), **row} for row in pq.ParquetFile(path).read().to_pylist()]
    return found


def data_files(folder: Path) -> set[str]:
    """All files outside of the log, by their paths below the table."""
    found = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return {str(path) for path in found if path.parts[0] != "_delta_log"}


def active_files(table: DeltaTable) -> set[str]:
    return {decode_path(path) for path in table.snapshot.adds(["path"])["path"].to_pylist()}


def creating(stop: int, folder: str) -> Callable[[], object]:
    return lambda: DeltaTable.create(f"{folder}/{stop}", COLUMNS, ["p"])


def appending(stop: int, folder: str, table: str) -> Callable[[], object]:
    """A writer that appends three rows of three partitions, one file after the other: its steps have an order."""
    encoding._THREADS = 1
    copy = DeltaTable(copied(stop, folder, table))
    return lambda: copy.append(ROWS)


def test_a_killed_creation_leaves_no_table_or_a_whole_one(tmp_path: Path) -> None:
    steps = steps_of(creating, tmp_path)
    assert len(steps) > 4
    for stop, step in enumerate(steps):
        folder = tmp_path / str(stop)
        if stop < steps.index("linked"):
            refuses(TableNotFound, None, DeltaTable, folder)
        else:
            assert DeltaTable(folder).version == 0, step
        # Whatever was left, the next writer has a table.
        table = DeltaTable.create(folder, COLUMNS, ["p"], mode="ignore")
        assert table.append(ROWS).version == 1, step


@pytest.mark.long
def test_a_killed_append_leaves_the_old_or_the_new_rows_and_files_that_vacuum_finds(tmp_path: Path) -> None:
    DeltaTable.create(tmp_path / "t", COLUMNS, ["p"]).append(ROWS)
    (tmp_path / "copies").mkdir()
    steps = steps_of(appending, tmp_path / "copies", tmp_path / "t", most=None, passed_over=PASSED_OVER)
    assert steps.count("linked") == 1, "only the commit gets its name by a link"
    commit = steps.index("linked")
    for stop, step in enumerate(steps):
        folder = tmp_path / "copies" / str(stop)
        table = DeltaTable(folder)
        assert table.version == (1 if stop < commit else 2), step
        assert sorted(row["id"] for row in rows_of(table)) == sorted([1, 2, 3] * table.version)
        orphans = data_files(folder) - active_files(table)
        assert not [path for path in orphans if any(part[0] in "._" for part in path.split("/"))], step
        assert table.append(ROWS).version == table.version
        numbers = [row["n"] for row in rows_of(table)]
        assert len(set(numbers)) == len(numbers)


class FailingToCommit(Failing):
    """Also the write of a commit may fail."""

    def put_if_absent(self, path: str, data: bytes, *after: Any) -> None:
        self._write()
        super().put_if_absent(path, data, *after)


@pytest.mark.parametrize("at", [1, 2, 3, 4])
def test_a_write_that_fails_leaves_nothing(tmp_path: Path, at: int) -> None:
    table = DeltaTable.create(tmp_path / "t", COLUMNS, ["p"])
    table.snapshot.storage = FailingToCommit(at, "The disk is gone.")
    refuses(StorageError, "The disk is gone", table.append, ROWS)
    again = DeltaTable(tmp_path / "t")
    assert again.version == 0
    if at < 4:
        assert data_files(tmp_path / "t") == set()
    assert again.append(ROWS).version == 1


@pytest.fixture
def small_files() -> Iterator[None]:
    """A process that may write no file of more than 64 KiB, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
    signal.signal(signal.SIGXFSZ, ignored)


@pytest.mark.parametrize("count", [20_000, 200_000])
def test_a_full_disk_is_an_error_that_leaves_nothing_behind(tmp_path: Path, small_files: None, count: int) -> None:
    """Small files are written when they are complete, and others while they grow."""
    table = DeltaTable.create(tmp_path / "t", "id BIGINT, p STRING")
    opened = len(os.listdir("/proc/self/fd"))
    with pytest.raises(StorageError, match=r"Cannot write (the data file )?/.*(large|space)") as caught:
        table.append(pa.table({"p": [os.urandom(32).hex() for _ in range(count)]}))
    assert data_files(tmp_path / "t") == set()
    assert len(os.listdir("/proc/self/fd")) == opened, "a deleted file that is open still takes its space"
    assert DeltaTable(tmp_path / "t").version == 0
    assert table.append(pa.table({"p": ["x"]})).version == 1
    assert caught.value.__cause__ is not None


def test_writers_of_one_new_table_agree_on_one(tmp_path: Path) -> None:
    outcomes: list[object] = []

    def create(number: int) -> None:
        try:
            outcomes.append(DeltaTable.create(tmp_path / "t", f"c{number} BIGINT").schema.names)
        except DeltaSkipError as error:
            outcomes.append(type(error).__name__)

    in_threads(create, range(6))
    assert outcomes.count("TableAlreadyExists") == 5
    assert DeltaTable(tmp_path / "t").schema.names in outcomes


@pytest.mark.long(gate=1)
@pytest.mark.parametrize("same", [True, False])
def test_writers_that_merge_their_columns_into_one_schema_end_in_a_serial_order(tmp_path: Path, same: bool) -> None:
    DeltaTable.create(tmp_path / "t", "id BIGINT", properties={"delta.columnMapping.mode": "name"})
    errors: list[BaseException] = []

    def write(number: int) -> None:
        try:
            column = "c" if same else f"c{number}"
            values = pa.array([number], pa.int32() if number % 2 else pa.int64())
            DeltaTable(tmp_path / "t").append(pa.table({"id": [number], column: values}), "merge")
        except BaseException as error:
            errors.append(error)

    in_threads(write, range(5))
    assert all(isinstance(error, CommitConflict | DeltaSkipError) for error in errors), errors
    assert errors == []
    table = DeltaTable(tmp_path / "t")
    assert len(table.snapshot.adds(["path"])) == 5
    assert len(table.schema.fields) == (2 if same else 6)
    ids = [field.metadata["delta.columnMapping.id"] for field in table.schema.fields]
    assert len(set(ids)) == len(ids) and max(ids) == int(table.properties["delta.columnMapping.maxColumnId"])
    physical = {field.metadata["delta.columnMapping.physicalName"] for field in table.schema.fields}
    assert len(physical) == len(ids)


def test_a_commit_whose_reply_is_lost_is_there_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = DeltaTable.create(tmp_path / "t", COLUMNS, ["p"])
    put = LocalStorage.put_if_absent

    def lossy(self: LocalStorage, path: str, data: bytes, *after: Any) -> None:
        put(self, path, data, *after)
        if path.endswith("1.json"):
            raise StorageError("The connection was reset.")

    with monkeypatch.context() as patched:
        patched.setattr(LocalStorage, "put_if_absent", lossy)
        try:
            assert table.append(ROWS).version == 1
        except StorageError as error:
            assert "connection was reset" in str(error)
    again = DeltaTable(tmp_path / "t")
    assert again.version == 1
    assert sorted(row["id"] for row in rows_of(again)) == [1, 2, 3], "files that readers may have are not deleted"


def test_rows_on_an_object_store_are_appended_and_after_an_error_deleted(
    s3_options: dict[str, str], request: pytest.FixtureRequest
) -> None:
    uri = f"s3://bucket/{request.node.name}"
    table = DeltaTable.create(
        uri, "id BIGINT, p STRING", ["p"], storage_options=s3_options, properties={"delta.constraints.c": "id > 0"}
    )
    assert table.append(pa.table({"id": [1, 2], "p": ["a b/é", None]})).version == 1
    batches = [pa.record_batch({"id": [3], "p": ["x"]}), pa.record_batch({"id": [-1], "p": ["y"]})]
    with pytest.raises(DeltaSkipError, match="CHECK constraint c"):
        table.append(pa.RecordBatchReader.from_batches(batches[0].schema, batches))
    storage = table.snapshot.storage
    found = {path for path in listed(storage, uri) if "_delta_log" not in path}
    assert found == {f"{uri}/{path}" for path in active_files(DeltaTable(uri, storage_options=s3_options))}


def listed(storage: Any, uri: str) -> list[str]:
    from deltaskip.storage.tree import files_below

    return [file.path for file in files_below(storage, uri, lambda _: True)]
