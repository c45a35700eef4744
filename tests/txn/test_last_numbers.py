"""Numbers that a commit continues at the end of 64 bits: it is refused before anything is written."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import deltaskip as ds
from deltaskip import CorruptLog, DeltaSkipError, InvalidCommit
from tests.builder import relog
from tests.each import each, refuses

LAST = 2**63 - 1
ROWS = pa.table({"c": [7, 8]})
TRACKED = {"delta.enableRowTracking": "true"}
TIMED = {"delta.enableInCommitTimestamps": "true"}


def _table(path: Path, properties: dict[str, str], change: Callable[[dict[str, Any]], None]) -> str:
    """A table with rows whose last commit was changed, line by line."""
    table = ds.DeltaTable.create(str(path), "c BIGINT", properties=properties)
    table.append(ROWS)
    relog(path, change, 1)
    return str(path)


def _mark(value: int) -> Callable[[dict[str, Any]], None]:
    def change(action: dict[str, Any]) -> None:
        if "domainMetadata" in action:
            action["domainMetadata"]["configuration"] = json.dumps({"rowIdHighWaterMark": value})

    return change


def _time(value: int) -> Callable[[dict[str, Any]], None]:
    def change(action: dict[str, Any]) -> None:
        if "commitInfo" in action:
            action["commitInfo"]["inCommitTimestamp"] = value

    return change


def test_a_commit_without_numbers_left_is_refused(tmp_path: Path) -> None:
    cases: list[tuple[dict[str, str], Callable[[dict[str, Any]], None], type[DeltaSkipError], str]] = [
        (TRACKED, _mark(LAST), InvalidCommit, "no row ids left"),
        (TRACKED, _mark(LAST - 1), InvalidCommit, "no row ids left"),
        (TRACKED, _mark(10**23), CorruptLog, "rowIdHighWaterMark"),
        (TRACKED, _mark(-2), CorruptLog, "rowIdHighWaterMark"),
        (TIMED, _time(LAST), CorruptLog, "no version can follow"),
    ]

    def check(number: int) -> None:
        properties, change, error, message = cases[number]
        path = _table(tmp_path / str(number), properties, change)
        refuses(error, message, lambda: ds.DeltaTable(path).append(ROWS))
        assert not (Path(path) / "_delta_log" / f"{2:020d}.json").exists()
        assert ds.DeltaTable(path).scan().to_arrow()["c"].to_pylist() == [7, 8]

    each(range(len(cases)), check)


def test_the_last_numbers_are_given(tmp_path: Path) -> None:
    path = _table(tmp_path / "ids", TRACKED, _mark(LAST - 2))
    assert ds.DeltaTable(path).append(ROWS).version == 2
    assert ds.DeltaTable(path).scan().count() == 4
    path = _table(tmp_path / "times", TIMED, _time(LAST - 1))
    assert ds.DeltaTable(path).append(ROWS).version == 2
    assert len(ds.DeltaTable(path).history()) == 3


def _enormous(action: dict[str, Any]) -> None:
    if "add" in action:
        action["add"]["size"] = LAST


def test_a_sum_of_sizes_does_not_overflow(tmp_path: Path) -> None:
    path = _table(tmp_path / "t", {}, _enormous)
    table = ds.DeltaTable(path)
    table.append(ROWS)
    detail = table.detail()
    assert detail.size_in_bytes > LAST
    checksum = tmp_path / "t" / "_delta_log" / f"{2:020d}.crc"
    assert not checksum.exists()


def test_a_deletion_vector_of_more_rows_than_a_double_can_count_is_damaged(tmp_path: Path) -> None:
    def deleted(action: dict[str, Any]) -> None:
        if "add" in action:
            action["add"]["deletionVector"] = {
                "storageType": "u", "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^", "offset": 1, "sizeInBytes": 34,
                "cardinality": LAST,
            }  # fmt: skip

    path = _table(tmp_path / "t", {"delta.enableDeletionVectors": "true"}, deleted)
    for act in (ds.DeltaTable.optimize, lambda table: table.scan().to_arrow(), lambda table: table.delete("c = 7")):
        with pytest.raises(DeltaSkipError) as caught:
            act(ds.DeltaTable(path))
        assert not isinstance(caught.value, ds.UnexpectedError)
