"""Look-ups of added files: they exist with their sizes, and deletion vectors delete rows that there are."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import deltaskip as ds
from deltaskip.actions import AddCdcFile, AddFile, DeletionVectorDescriptor
from deltaskip.errors import InvalidCommit, UnsupportedFeature
from deltaskip.kernels.roaring_encode import encode
from deltaskip.kernels.z85 import z85_encode
from deltaskip.storage import LocalStorage
from tests.each import refuses
from tests.txn.tables import file, gone, make_table

DV = {"delta.enableDeletionVectors": "true"}


def written(table: ds.DeltaTable, path: str, size: int = 100, **members: Any) -> AddFile:
    """An add of a file that is there, of this size."""
    location = Path(table.snapshot.root, path)
    location.parent.mkdir(parents=True, exist_ok=True)
    location.write_bytes(b"x" * size)
    return file(path, size=size, **members)


def refused(table: ds.DeltaTable, match: str, *adds: AddFile, removes: Any = ()) -> None:
    """The files cannot be added, and nothing is written; without look-ups they can."""
    txn = table.transaction()
    txn.remove(*removes)
    txn.add(*adds)
    with pytest.raises(InvalidCommit, match=match) as raised:
        txn.commit()
    assert table.snapshot.root in str(raised.value)
    assert table.refresh().version == txn.snapshot.version


def test_files_that_are_not_there_are_refused(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t")
    missing = r"b cannot be added .* there is no file .*/t/b.*\(rule files\.missing\)"
    refused(table, missing, written(table, "a"), file("b"))
    refused(table, "there is no file", file(f"file:{tmp_path}/elsewhere"))
    txn = table.transaction(look_up_files=False)
    txn.add(file("b"))
    assert txn.commit() == 1


def test_files_of_another_size_are_refused(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t")
    refused(table, r"the size of .*/a is 100 bytes, not 99", replace(written(table, "a"), size=99))


def test_files_that_are_there_are_added(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", {"delta.enableChangeDataFeed": "true"}, ["changeDataFeed"])
    away = tmp_path / "away"
    away.write_bytes(b"x" * 100)
    (tmp_path / "t" / "p=a b").mkdir()
    (tmp_path / "t" / "p=a b" / "é#").write_bytes(b"x" * 100)
    with table.transaction() as txn:
        txn.add(*(written(table, f"f{i}") for i in range(100)))
        txn.add(file("p=a%20b/%C3%A9%23"), file(f"file:{away}"))
    assert txn.version == 1
    txn = table.refresh().transaction()
    txn.remove(gone("f1"))
    txn.add_cdc(AddCdcFile("_change_data/c", {}, 10))
    refuses(InvalidCommit, "_change_data/c cannot be added", txn.commit)


def test_active_files_are_not_looked_up_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = make_table(tmp_path / "t", actions=[{"add": file("gone").to_json()}])
    monkeypatch.setattr(LocalStorage, "size", lambda *_: pytest.fail("looked up"))
    txn = table.transaction()
    txn.add(file("gone", 3, 4, data_change=False))
    assert txn.commit() == 1


def inline(*rows: int) -> DeletionVectorDescriptor:
    """A vector that is in the log itself."""
    data = encode(pa.array(rows, pa.int64()))
    padded = data + b"\0" * (-len(data) % 4)
    return DeletionVectorDescriptor("i", z85_encode(padded), len(data), len(rows))


def with_rules(path: Path) -> ds.DeltaTable:
    """A table with a constraint and one file, of which rows 1 and 2 are deleted."""
    old = file("a", deletion_vector=inline(1, 2))
    return make_table(
        path, {**DV, "delta.constraints.c": "id > 0"}, ["deletionVectors", "checkConstraints"],
        actions=[{"add": old.to_json()}],
    )  # fmt: skip


def test_a_vector_deletes_rows_that_the_file_has(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", DV, ["deletionVectors"])
    add = written(table, "a", deletion_vector=inline(1, 10))
    refused(table, r"deletes row 10, counted from 0, of a file.*\(rule files\.deletion-vector\)", add)
    wrong = replace(inline(1, 2), cardinality=3)
    refused(table, r"A deletion vector .* cannot be read", replace(add, deletion_vector=wrong))
    txn = table.transaction()
    txn.add(replace(add, deletion_vector=inline(1, 9)))
    assert txn.commit() == 1


def test_a_vector_whose_file_is_missing_is_refused(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", DV, ["deletionVectors"])
    missing = DeletionVectorDescriptor("u", "ab" + "0" * 18, 40, 2, 1)
    refused(table, "A deletion vector .* which does not exist", written(table, "a", deletion_vector=missing))


def test_a_delete_beside_rules_deletes_and_restores_nothing(tmp_path: Path) -> None:
    table = with_rules(tmp_path / "t")
    old = gone("a", deletion_vector=inline(1, 2))
    for rows in ((1, 3, 4), (2,), (3, 4)):
        txn = table.transaction()
        txn.remove(old)
        txn.add(file("a", deletion_vector=inline(*rows)))
        refuses(UnsupportedFeature, "checkConstraints", txn.commit)
    txn = table.transaction()
    txn.remove(old)
    txn.add(file("a", deletion_vector=inline(1, 2, 3)))
    assert txn.commit() == 1


def test_a_vector_that_deletes_other_rows_changes_data(tmp_path: Path) -> None:
    table = make_table(
        tmp_path / "t", DV, ["deletionVectors"], actions=[{"add": file("a", deletion_vector=inline(1, 2)).to_json()}]
    )
    old = gone("a", deletion_vector=inline(1, 2), data_change=False)
    add = file("a", deletion_vector=inline(1, 3), data_change=False)
    refused(table, r"deletes other rows.*\(rule files\.data-change\)", add, removes=[old])
