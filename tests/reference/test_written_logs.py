"""Logs that deltaskip has written, read by delta-spark: the same table as before."""

import json
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

import deltaskip as ds
from deltaskip.actions import add_actions, remove_of, with_stats
from tests.extent import TIME_LIMIT_SECONDS, some
from tests.reference.conftest import ROOT, answers_of
from tests.reference.recipes import CHOSEN
from tests.txn.tables import make_table
from tests.txn.test_concurrent import COMMITS, PROCESSES

pytestmark = [
    pytest.mark.reference,
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore::deltaskip.StatisticsWarning"),
]

# Paths of these are absolute, so a copy would be another table.
NOT_COPIED = frozenset({"shallow_clone"})
CONCURRENT = "concurrent"
MOVED = "moved-"
NAMES = some([name for name in CHOSEN if name not in NOT_COPIED], 3)
STATE = ("protocol", "metadata", "txns", "domains", "count", "digest")


@dataclass(frozen=True, slots=True)
class Written:
    """delta-spark's answers for the original and for each copy that deltaskip wrote to."""

    original: dict[str, Any]
    checkpointed: dict[str, Any]
    rewritten: dict[str, Any]


@pytest.fixture(scope="session")
def written(oracle_answers: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Written]:
    """By recipe: read as delta-spark left it, from a checkpoint alone, and after commits and a checkpoint."""
    folder = tmp_path_factory.mktemp("written")
    tables: dict[str, tuple[str, str, str]] = {}
    for name in NAMES:
        assert "error" not in oracle_answers[name], oracle_answers[name]["error"]
        original = Path(oracle_answers[name]["path"])
        copies = [shutil.copytree(original, folder / kind / original.name / name) for kind in ("a", "b")]
        checkpoint_alone(copies[0])
        rewrite(copies[1])
        tables[name] = (str(original), str(copies[0]), str(copies[1]))
    concurrent = f"log:{folder / CONCURRENT}"
    commit_concurrently(folder / CONCURRENT)
    every = (path for paths in tables.values() for path in paths)
    answers = answers_of("tests.reference.playing", folder / "answers.json", concurrent, *every, first=["written"])
    found = {CONCURRENT: Written(*[answers[concurrent]] * 3)}
    return found | {name: Written(*(answers[path] for path in paths)) for name, paths in tables.items()}


def commit_concurrently(folder: Path) -> None:
    """Eight processes, a few commits each."""
    make_table(folder)
    command = [sys.executable, "-m", "tests.txn.writer", str(folder)]
    writers = [subprocess.Popen([*command, f"p{number}", str(COMMITS)], cwd=ROOT) for number in range(PROCESSES)]
    assert [writer.wait(TIME_LIMIT_SECONDS) for writer in writers] == [0] * PROCESSES


def checkpoint_alone(folder: Path) -> None:
    """Leave only a checkpoint by deltaskip and the commit of its version."""
    log = folder / "_delta_log"
    if (log / f"{0:020d}.json").exists():
        for file in log.iterdir():
            if file.is_file() and ("checkpoint" in file.name or file.suffix == ".crc" or "compacted" in file.name):
                file.unlink()
    table = ds.DeltaTable(folder)
    if table.snapshot.checkpoint is not None and table.snapshot.checkpoint.version == table.version:
        return
    made = table.checkpoint()
    assert made.written
    for file in log.iterdir():
        commit = re.fullmatch(r"\.?(\d{20})\.json(\.crc)?", file.name)
        if commit is not None and int(commit[1]) < made.version:
            file.unlink()


def rewrite(folder: Path) -> None:
    """Add every file again with the statistics it has, checkpoint, and put one in another's place."""
    table = ds.DeltaTable(folder)
    files = list(add_actions(table.snapshot.adds()))
    if not files:
        return
    again = table.transaction(operation="RECOMPUTE STATISTICS")
    again.add(*(with_stats(file, file.stats) for file in files))
    again.commit()
    table.refresh().checkpoint()
    # As OPTIMIZE does: the same rows, deletion vector and all, in another file.
    first = files[0]
    moved = first.path.rpartition("/")
    new = f"{moved[0]}{moved[1]}{MOVED}{moved[2]}"
    shutil.copyfile(folder / unquote(first.path), folder / unquote(new))
    move = table.transaction(read="true", operation="OPTIMIZE")
    move.remove(remove_of(first, 1_700_000_000_000, data_change=False))
    move.add(replace(first, path=new, data_change=False))
    move.commit()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.long(gate=1)
def test_delta_spark_reads_a_checkpoint_as_it_read_the_log(written: dict[str, Written], name: str) -> None:
    before, after = written[name].original, written[name].checkpointed
    assert isinstance(after, dict), after
    assert (after["version"], after["checkpoint"]) == (before["version"], before["version"])
    assert {key: after[key] for key in STATE} == {key: before[key] for key in STATE}
    assert files_of(after) == files_of(before)
    assert set(after["tombstones"]) == set(before["tombstones"])


@pytest.mark.parametrize("name", NAMES)
def test_delta_spark_reads_what_was_committed(written: dict[str, Written], name: str) -> None:
    before, after = written[name].original, written[name].rewritten
    assert isinstance(after, dict), after
    if before["files"]:
        assert after["version"] == before["version"] + 2
        assert before["version"] < after["checkpoint"] <= after["version"]
    assert {key: after[key] for key in STATE} == {key: before[key] for key in STATE}
    assert sum(MOVED in path for path in after["files"]) == bool(before["files"])
    assert {path.replace(MOVED, ""): add for path, add in files_of(after).items()} == files_of(before)


def test_delta_spark_reads_what_eight_processes_committed_at_once(written: dict[str, Written]) -> None:
    found = written[CONCURRENT].original
    assert isinstance(found, dict), found
    assert found["version"] == PROCESSES * COMMITS
    expected = {f"p{process}-{number}" for process in range(PROCESSES) for number in range(COMMITS)}
    assert set(found["files"]) == expected
    assert found["txns"] == {f"p{process}": COMMITS - 1 for process in range(PROCESSES)}


def files_of(answers: dict[str, Any]) -> dict[str, Any]:
    """Adds by path: statistics as JSON values, null members left out."""
    same = {"path": None, "dataChange": False}
    return {path: {**add, "stats": stats_of(add.get("stats")), **same} for path, add in answers["files"].items()}


def stats_of(text: str | None) -> Any:
    """Statistics without members that say nothing: what a struct cannot tell from absent."""
    return None if text is None else plain(json.loads(text))


def plain(value: Any) -> Any:
    """Without nulls and empty objects; instants as their shortest text."""
    if isinstance(value, dict):
        inner = {key: plain(member) for key, member in value.items() if member is not None}
        return {key: member for key, member in inner.items() if member != {}}
    if isinstance(value, str) and (instant := re.fullmatch(r"(\d{4}-\d\d-\d\dT[\d:]+)(\.\d+)?(Z|\+00:00)?", value)):
        return instant[1] + (instant[2] or "").rstrip("0").rstrip(".")
    return value
