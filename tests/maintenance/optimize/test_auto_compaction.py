"""Auto compaction: writes join small files where a partition has many, if the table's property asks for it."""

from pathlib import Path

import pyarrow as pa
import pytest

import deltaskip as ds
from deltaskip.maintenance.optimize import optimize as optimizing
from tests.noted import raising

AUTO = "delta.autoOptimize.autoCompact"


def rows(number: int, p: str = "a") -> pa.Table:
    return pa.table({"id": [number], "p": [p]})


@pytest.mark.parametrize(("value", "files"), [("true", 11), ("auto", 11), ("false", 60)])
def test_appends_leave_few_files(tmp_path: Path, value: str, files: int) -> None:
    """delta-spark 4.4 leaves as many."""
    table = ds.DeltaTable.create(tmp_path / "t", "id BIGINT, p STRING", properties={AUTO: value})
    for number in range(60):
        table.append(rows(number))
    assert table.snapshot.num_files == files
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == list(range(60))
    made = [entry.operation_parameters["auto"] for entry in table.history() if entry.operation == "OPTIMIZE"]
    assert made == ["true"] * (files == 11)


def test_only_partitions_with_many_small_files_are_compacted_by_any_write(tmp_path: Path) -> None:
    table = ds.DeltaTable.create(tmp_path / "t", "id BIGINT, p STRING", ["p"])
    for number in range(49):
        table.append(rows(number))
    for number in range(3):
        table.append(rows(number, "b"))
    table.alter(ds.SetProperty(AUTO, "true"))
    table.update({"id": "id + 1"}, "p = 'b' AND id = 0")
    assert table.snapshot.num_files == 52
    with table.transaction() as transaction:
        transaction.append(rows(49))
    assert table.snapshot.num_files == 4
    assert table.scan("p = 'a'").count() == 50 and table.scan("p = 'b'").count() == 3


def test_a_compaction_that_fails_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = ds.DeltaTable.create(tmp_path / "t", "id BIGINT, p STRING", properties={AUTO: "true"})
    for number in range(49):
        table.append(rows(number))

    monkeypatch.setattr(optimizing, "run_job", raising(ds.StorageError("the disk is full")))
    with pytest.warns(ds.MaintenanceWarning, match="The rows are written, but the auto compaction .* disk is full"):
        table.append(rows(49))
    assert table.scan().count() == table.snapshot.num_files == 50
