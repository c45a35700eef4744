"""A recomputation that died is finished by the next run: which files it has done."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import deltaskip as ds
from deltaskip.log.stats_provenance import COMPUTE_OPERATION
from deltaskip.maintenance.recompute import request
from deltaskip.maintenance.recompute.computed_files import RESULT_SCHEMA
from deltaskip.maintenance.recompute.recompute import commit_statistics
from deltaskip.maintenance.recompute.request import computed_before, recompute_request
from deltaskip.version import engine_info
from tests.txn.tables import append, file, gone, make_table, vector

pytestmark = pytest.mark.usefixtures("without_look_ups")

PARAMETERS = {"mode": "auto", "columns": ["id"], "collations": {}, "kernelSpelling": False, "complete": True}
ADD = {"path": "a", "partitionValues": {}, "size": 100, "modificationTime": 1, "dataChange": False}


def compute(table: ds.DeltaTable, *names: str, **parameters: Any) -> None:
    txn = table.refresh().transaction(operation=COMPUTE_OPERATION, parameters={**PARAMETERS, **parameters})
    txn.add(*(file(name, 1, 2, data_change=False) for name in names))
    txn.commit()


def done(table: ds.DeltaTable, **parameters: Any) -> list[str]:
    return sorted(computed_before(table.refresh().snapshot, {**PARAMETERS, **parameters}).to_pylist())


def test_files_of_commits_with_the_same_settings_are_done(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t")
    append(table, *(file(name) for name in ("a%20b", "b", "c", "d")))
    assert done(table) == []
    compute(table, "a%20b", "b")
    append(table, file("e"))
    compute(table, "c")
    assert done(table) == ["a b", "b", "c"]


@pytest.mark.parametrize(
    "other",
    [
        {"mode": "scan"},
        {"columns": ["id", "name"]},
        {"collations": {"name": ["icu.UNICODE_CI.77.1"]}},
        {"kernelSpelling": True},
        {"complete": False},
    ],
)
def test_what_was_computed_with_other_settings_is_not_done(tmp_path: Path, other: dict[str, Any]) -> None:
    table = make_table(tmp_path / "t")
    append(table, file("a"), file("b"))
    compute(table, "a", **other)
    assert done(table) == []
    assert done(table, **other) == ["a"]
    compute(table, "a", "b")
    assert (done(table), done(table, **other)) == (["a", "b"], [])


def test_a_file_that_somebody_has_replaced_is_not_done(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", {"delta.enableDeletionVectors": "true"}, features=["deletionVectors"])
    append(table, file("a"), file("b"), file("c"))
    compute(table, "a", "b", "c")
    txn = table.refresh().transaction(read="true")
    txn.remove(gone("a"))
    txn.add(file("a", deletion_vector=vector("x")))
    txn.commit()
    again = table.refresh().transaction(operation="OPTIMIZE")
    again.add(file("b", data_change=False))
    again.commit()
    assert done(table) == ["c"]


def test_another_version_of_the_package_has_done_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = make_table(tmp_path / "t")
    append(table, file("a"))
    compute(table, "a")
    monkeypatch.setattr(request, "engine_info", lambda: "deltaskip/99.0")
    assert done(table) == []


def test_commits_of_other_writers_do_not_matter_whatever_they_say(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t")
    append(table, file("a"))
    log = tmp_path / "t" / "_delta_log"
    odd = [
        {"commitInfo": {"operation": COMPUTE_OPERATION, "operationParameters": "none", "engineInfo": engine_info()}},
        {"commitInfo": {"operation": COMPUTE_OPERATION, "operationParameters": {**PARAMETERS}, "engineInfo": "mine"}},
        {"txn": {"appId": COMPUTE_OPERATION, "version": 1}},
    ]
    for version, action in enumerate(odd, 2):
        text = json.dumps(action) + "\n" + json.dumps({"add": ADD}) + "\n"
        (log / f"{version:020d}.json").write_text(text, encoding="utf-8")
    assert done(table) == []


def test_a_long_first_line_is_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request, "_HEAD_BYTES", 400)
    table = make_table(tmp_path / "t")
    append(table, file("a"))
    columns = [f"column{number}" for number in range(200)]
    txn = table.refresh().transaction(operation=COMPUTE_OPERATION, parameters={"columns": columns})
    txn.add(file("a", 1, 2, data_change=False))
    txn.commit()
    head = (tmp_path / "t" / "_delta_log" / f"{2:020d}.json").read_bytes()[:400]
    assert COMPUTE_OPERATION.encode() in head and b"\n" not in head
    assert computed_before(table.refresh().snapshot, {"columns": columns}).to_pylist() == ["a"]


def test_the_settings_are_told_of_the_request(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t")
    collations = {"name": ["ICU.unicode_ci.77.1"]}
    request = recompute_request(table.snapshot, collations=collations, mode="scan", kernel_spelling=True)
    assert request.identifiers == ("icu.UNICODE_CI.77.1",)
    assert request.parameters == {
        "mode": "scan",
        "columns": ["id", "name", "part"],
        "collations": {"name": ["icu.UNICODE_CI.77.1"]},
        "kernelSpelling": True,
        "complete": True,
    }


def test_a_file_whose_statistics_were_already_equal_is_done(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t")
    append(table, file("a"), file("b"))
    logged = table.refresh().snapshot.adds()
    new = {"dv_id": None, "num_records": 2, "scanned": 0}
    rows = [{**row, **new, "logged_stats": row["stats"]} for row in logged.to_pylist() if row["path"] == "a"]
    found = commit_statistics(table.snapshot, [pa.Table.from_pylist(rows, RESULT_SCHEMA)], [], PARAMETERS)
    assert (found.files, found.unchanged) == (0, 1)
    assert done(table) == ["a"]
