"""Several processes commit to one table at once."""

import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import deltaskip as ds
from tests.builder import logged
from tests.extent import TIME_LIMIT_SECONDS, extent
from tests.txn.tables import actions, make_table, paths

ROOT = Path(__file__).resolve().parents[2]
PROCESSES = extent(4, 8)
COMMITS = int(os.environ.get("DELTASKIP_COMMITS", extent("4", "12")))


def test_every_commit_of_several_processes_is_there_once_and_in_order(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    make_table(folder, {"delta.enableInCommitTimestamps": "true"}, ["inCommitTimestamp"])
    names = [f"p{number}" for number in range(PROCESSES)]
    writers = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.txn.writer", str(folder), name, str(COMMITS)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for name in names
    ]
    said: dict[str, list[int]] = {}
    for name, writer in zip(names, writers, strict=True):
        output, errors = writer.communicate(timeout=TIME_LIMIT_SECONDS)
        assert writer.returncode == 0, errors
        said[name] = [int(line) for line in output.split()]
    total = PROCESSES * COMMITS
    assert sorted(version for versions in said.values() for version in versions) == list(range(1, total + 1))
    assert all(versions == sorted(versions) and len(versions) == COMMITS for versions in said.values())
    for name, versions in said.items():
        for number, version in enumerate(versions):
            assert [add["path"] for add in actions(folder, version, "add")] == [f"{name}-{number}"]
    times = [logged(folder, version)[0]["commitInfo"]["inCommitTimestamp"] for version in range(total + 1)]
    assert all(earlier < later for earlier, later in pairwise(times))
    assert paths(folder) == sorted(f"{name}-{number}" for name in names for number in range(COMMITS))
    assert ds.DeltaTable(folder).app_versions == dict.fromkeys(names, COMMITS - 1)
    assert not [name for name in os.listdir(folder / "_delta_log") if name.endswith(".tmp")]
