"""OPTIMIZE in processes of its own: killed at each step, and beside other writers."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from deltaskip import DeltaTable
from deltaskip.data_files import encoding
from deltaskip.settings import options
from tests.dml.tables import ids_of, info_of, row_ids_of, rows_of
from tests.extent import TIME_LIMIT_SECONDS, extent, some
from tests.maintenance.optimize.tables import ROW_IDS, VECTORS, made
from tests.txn.killed import copied, steps_of

ROOT = Path(__file__).resolve().parents[3]


def optimizing(stop: int, folder: str, table: str) -> Callable[[], object]:
    """A writer that joins the files of three partitions, each in a commit of its own."""
    encoding._THREADS = 1
    options.optimize_job_bytes = 1
    return DeltaTable(copied(stop, folder, table)).optimize


@pytest.mark.long
def test_a_kill_at_any_step_loses_one_job_and_no_row(tmp_path: Path) -> None:
    table = made(tmp_path, files=3, partition_by=("p",), **VECTORS, **ROW_IDS)
    table.delete("id % 5 = 1")
    before, ids = rows_of(table), row_ids_of(table)
    (tmp_path / "killed").mkdir()
    assert len(steps_of(optimizing, tmp_path / "killed", tmp_path / "t", most=2)) > 9
    versions = set()
    for folder in sorted((tmp_path / "killed").iterdir()):
        left = DeltaTable(folder)
        versions.add(left.version - table.version)
        assert rows_of(left) == before and row_ids_of(left) == ids, folder.name
        left.optimize()
        assert rows_of(left) == before and row_ids_of(left) == ids, folder.name
    assert versions == {0, 1, 2, 3}


@pytest.mark.parametrize("properties", some([VECTORS, {}], 1))
def test_processes_that_append_delete_and_optimize_lose_no_row(tmp_path: Path, properties: dict[str, str]) -> None:
    table = made(tmp_path, files=20, each=30, **properties, **ROW_IDS)
    ids = row_ids_of(table)
    kinds = ["append", "delete", "optimize", "optimize"]
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.maintenance.optimize.writer", table.uri, kind, extent("2", "6"), str(seed)],
            cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for seed, kind in enumerate(kinds, 1)
    ]  # fmt: skip
    found = []
    for each in running:
        out, error = each.communicate(timeout=TIME_LIMIT_SECONDS)
        assert each.returncode == 0, error
        found.append(json.loads(out))
    latest = DeltaTable(table.uri)
    appended = {id_ for each in found for id_ in each["appended"]}
    deleted = {id_ for each in found for id_ in each["deleted"]}
    assert ids_of(latest) == sorted((set(range(600)) | appended) - deleted)
    operations = [info_of(latest, version)["operation"] for version in range(1, latest.version + 1)]
    assert "OPTIMIZE" in operations
    now = row_ids_of(latest)
    assert all(now[id_] == ids[id_] for id_ in ids if id_ in now)
    assert len({row_id for row_id, _ in now.values()}) == len(now)
