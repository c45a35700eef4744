"""Changes through Spark that are killed or fail at any step: the table has the rows before or after, never half.

A copy of the table at each step is what a process leaves that is killed there.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import Any

import pytest

from deltaskip import DeltaTable
from deltaskip.stats.footer import read_footer
from deltaskip.storage.kill_points import observe_kill_points
from tests.dml.tables import files_below, rows_of
from tests.dml.test_killed_changes import SOURCE, WHERE, Failing, expected, fail_at_each_write, made, referenced
from tests.extent import WHOLE

pytestmark = pytest.mark.spark

PROPERTIES = [
    {"delta.enableChangeDataFeed": "true"},
    {"delta.enableDeletionVectors": "true", "delta.enableRowTracking": "true"},
    {"delta.enableDeletionVectors": "true", "delta.enableChangeDataFeed": "true"},
    {"delta.enableRowTracking": "true"},
]


def merged(table: DeltaTable, spark: Any) -> object:
    """As that of dml, through Spark."""
    source = spark.createDataFrame([(i,) for i in SOURCE["id"].to_pylist()], "id BIGINT")
    merge = table.merge(source, "t.id = s.id", "s", "t").when_matched_delete("s.id = 4")
    merge = merge.when_matched_update({"x": "-1", "p": "'z'"})
    return merge.when_not_matched_insert({"id": "s.id", "x": "-1", "p": "'z'"}, where="s.id = 100").execute()


CHANGES: dict[str, Callable[[DeltaTable, Any], object]] = {
    "delete": lambda table, spark: table.delete(WHERE, spark),
    "update": lambda table, spark: table.update({"x": "-1", "p": "'z'"}, WHERE, spark),
    "merge": merged,
}


class FailingToRead(Failing):
    """Storage whose nth write of this process, or read of a data file, fails."""

    def open_input(self, path: str, size: int | None = None) -> Any:
        self._write()
        return super().open_input(path, size)

    def footer(self, *given: Any) -> Any:
        """The footer of a file that Spark has written."""
        self._write()
        return read_footer(self, *given)


JOBS = ["by jobs", "partly by this process"]
# Each change of each table in one of the two ways, unless the environment asks for both.
CASES = [
    pytest.param(way, what, properties, id=f"{way}-{what}-{number}")
    for first, what in enumerate(CHANGES)
    for number, properties in enumerate(PROPERTIES)
    if WHOLE or number == first % len(PROPERTIES)
    for way in (JOBS if WHOLE else [JOBS[first % 2]])
]
each_case = pytest.mark.parametrize(("jobs", "what", "properties"), CASES, indirect=["jobs"])


@pytest.fixture
def jobs(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let Spark join the source of a merge; and by jobs alone, find and copy all rows."""
    monkeypatch.setattr("deltaskip.settings.options.source_bytes", 1)
    if request.param == JOBS[0]:
        request.getfixturevalue("found_by_a_job")


@pytest.mark.long(gate=1)
@each_case
def test_a_killed_change_leaves_the_rows_before_or_after(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jobs: None, what: str, properties: dict[str, str]
) -> None:
    # Steps have an order.
    monkeypatch.setattr("deltaskip.data_files.encoding._THREADS", 1)
    table = made(tmp_path / "t", properties)
    copies: list[tuple[str, Path]] = []
    one_at_once = Lock()

    def keep(step: str) -> None:
        with one_at_once:
            copy = tmp_path / "copies" / str(len(copies))
            shutil.copytree(tmp_path / "t", copy)
            copies.append((step, copy))

    observe_kill_points(keep)
    try:
        CHANGES[what](table, spark)
    finally:
        observe_kill_points(None)
    assert len(copies) > 4
    versions = []
    for step, copy in copies:
        left = DeltaTable(copy)
        versions.append(left.version)
        assert rows_of(left) == expected(what, left.version == 2), step
        assert referenced(left) <= files_below(copy), step
    assert versions == sorted(versions) and set(versions) == {1, 2}
    # What was left is in nobody's way.
    for step, copy in (copies[0], copies[versions.index(2) - 1], copies[-1]):
        left = DeltaTable(copy)
        CHANGES[what](left, spark)
        assert rows_of(left) == expected(what, True), step


@pytest.mark.long
@pytest.mark.usefixtures("nothing_stays_persisted")
@each_case
def test_a_change_that_fails_leaves_no_file(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jobs: None, what: str, properties: dict[str, str]
) -> None:
    monkeypatch.setattr("deltaskip.spark.write.write_dataframe.read_footer", FailingToRead.footer)
    made(tmp_path / "t", properties)
    fail_at_each_write(tmp_path / "t", FailingToRead, lambda table: CHANGES[what](table, spark))
    assert rows_of(DeltaTable(tmp_path / "t")) == expected(what, True)
