"""Checkpoints whose row groups were copied, and sidecars that were named again, read by delta-spark."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import deltaskip as ds
from deltaskip.log.checkpoint import kept_groups
from deltaskip.log.checkpoint.tombstones import tombstones
from tests.reference.conftest import answers_of

pytestmark = [pytest.mark.reference, pytest.mark.spark]
POLICIES = ("classic", "v2")


def made(path: Path, policy: str) -> ds.DeltaTable:
    """A table after 33 commits, each followed by a checkpoint and written with a new handle."""
    properties = {
        "delta.checkpointPolicy": policy,
        "delta.checkpointInterval": "1",
        "delta.checkpoint.writeStatsAsStruct": "true",
        "delta.enableDeletionVectors": "true",
        "delta.enableRowTracking": "true",
    }
    ds.DeltaTable.create(path, "id BIGINT, p STRING, x DOUBLE", ["p"], properties=properties)
    for number in range(33):
        table = ds.DeltaTable(path)
        match number % 6:
            case 3:
                table.delete(f"id = {10 * number - 15}")
            case 5:
                table.update({"x": "x + 1"}, f"id = {10 * number - 36}")
            case _:
                ids = range(10 * number, 10 * number + 10)
                rows = {"id": list(ids), "p": [f"p{i % 2}" for i in ids], "x": [i / 2 for i in ids]}
                table.append(pa.table(rows))
    return ds.DeltaTable(path)


Answers = dict[str, tuple[ds.DeltaTable, dict[str, Any]]]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Answers:
    """By policy: the table, and what delta-spark finds in it."""
    folder = tmp_path_factory.mktemp("copied")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(kept_groups, "FEW_ROWS", 2)
        patched.setattr(kept_groups, "_TIMES", 1)
        tables = {policy: made(folder / policy, policy) for policy in POLICIES}
    paths = [folder / policy for policy in POLICIES]
    found = answers_of("tests.reference.playing", folder / "answers.json", *paths, first=["written"])
    return {policy: (table, found[str(folder / policy)]) for policy, table in tables.items()}


@pytest.mark.parametrize("policy", POLICIES)
def test_delta_spark_reads_copies(answers: dict[str, tuple[ds.DeltaTable, dict[str, Any]]], policy: str) -> None:
    table, theirs = answers[policy]
    assert isinstance(theirs, dict), theirs
    snapshot = table.snapshot
    assert snapshot.checkpoint is not None and theirs["checkpoint"] == snapshot.checkpoint.version == table.version
    parts = snapshot.checkpoint_parts
    assert sum(len(part.row_groups_with("add")) for part in parts) > 1
    assert (len(snapshot.checkpoint.sidecars) > 1) == (policy == "v2")
    files = {row["path"]: row for row in snapshot.adds().to_pylist()}
    assert theirs["files"].keys() == files.keys()
    for path, add in theirs["files"].items():
        row = files[path]
        assert (add["size"], add["partitionValues"]) == (row["size"], dict(row["partition_values"]))
        assert json.loads(add["stats"]) == json.loads(row["stats"])
        assert (add["baseRowId"], add["defaultRowCommitVersion"]) == (
            row["base_row_id"],
            row["default_row_commit_version"],
        )
        vector = row["deletion_vector"]
        assert add.get("deletionVector", {}).get("cardinality") == (vector and vector["cardinality"])
    removed = {row["path"] for batch in tombstones(snapshot, 0) for row in batch.to_pylist()}
    assert theirs["tombstones"].keys() == removed
    assert theirs["count"] == len(table.scan().to_arrow()) == 225
