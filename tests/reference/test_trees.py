"""Tables with the adaptive metadata tree, as delta-spark writes and reads them."""

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaskip as ds
from deltaskip.actions import DeletionVectorDescriptor
from deltaskip.log.deletion_vectors import vector_location
from tests.reference.conftest import require_delta_spark, run_module
from tests.reference.rows import digest, plain_rows
from tests.reference.trees import FEATURE, SCENARIOS, without_features

pytestmark = [pytest.mark.reference, pytest.mark.spark]
NAMED = "DELTASKIP_TREES"
"""A folder that `python -m tests.reference.trees` has written, to run the tests again without Spark."""


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the tables of the scenarios and their answers."""
    if NAMED in os.environ:
        return Path(os.environ[NAMED])
    require_delta_spark()
    folder = tmp_path_factory.mktemp("trees")
    run_module("tests.reference.trees", folder, alone=True)
    return folder


def versions(written: Path, name: str, tables: Path | None = None) -> Iterator[tuple[ds.DeltaTable, dict[str, Any]]]:
    """The versions of a table and their answers. tables: the folder with the table, if it is another one."""
    answers = json.loads((written / f"{name}.json").read_text(encoding="utf-8"))["versions"]
    for version, answer in answers.items():
        yield ds.DeltaTable(str((tables or written) / name), version=int(version)), answer


def of_add(table: ds.DeltaTable, add: dict[str, Any]) -> dict[str, Any]:
    """What the tree has of an add, with the place of its deletion vector."""
    vector = add.get("deletionVector")
    descriptor = None if vector is None else DeletionVectorDescriptor.from_json(vector)
    return {
        "path": add["path"],
        "partition": {key: value for key, value in add["partitionValues"].items() if value is not None},
        "size": add["size"],
        "rows": json.loads(add["stats"])["numRecords"],
        "ids": (add["baseRowId"], add["defaultRowCommitVersion"]),
        "vector": descriptor and (Path(vector_location(table.snapshot.table_root, descriptor) or "").name,
            descriptor.offset, descriptor.size_in_bytes, descriptor.cardinality),
    }  # fmt: skip


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_version_has_the_files_that_delta_spark_reads_from_all_commits(written: Path, name: str) -> None:
    trees = set()
    for table, answer in versions(written, name):
        snapshot = table.snapshot
        adds = [each.to_json() for each in ds.actions.add_actions(snapshot.adds())]
        found = sorted((of_add(table, add) for add in adds), key=lambda each: str(each["path"]))
        assert found == [of_add(table, add) for add in answer["files"]], snapshot
        assert snapshot.num_files == len(found)
        assert snapshot.totals() == (len(found), sum(each["size"] for each in found))
        trees.add(None if snapshot.checkpoint is None else snapshot.checkpoint.version)
    assert len(trees) >= 5


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_version_has_the_rows_that_delta_spark_reads(written: Path, name: str) -> None:
    for table, answer in versions(written, name):
        assert digest(plain_rows(table.scan().to_arrow())) == answer["rows"], table.snapshot


def test_delta_spark_reads_commits_on_top_of_trees(written: Path, tmp_path: Path) -> None:
    for name in SCENARIOS:
        # Trees have absolute locations of deletion vectors, which are of this folder.
        place = written / "written" / name
        table = ds.DeltaTable(str(place))
        day = pa.array([1, 2], pa.int32()).cast(pa.date32())
        part = pa.array([1, 2], pa.int32())
        table.append(pa.table({"id": [1000, 1001], "s": ["a", "b"], "d": day, "part": part, "q r": ["x", None]}))
        table.delete("id IN (7, 126, 127, 1000)")
        table.update({"s": "'up'"}, where="id IN (200, 201, 361)")
        table.delete("part = 2")
        table.optimize(where="part = 1")
        table.recompute_stats()
        # A tree is due at even versions, so that there may be one already.
        assert table.checkpoint().version == table.version - 1
        shutil.copytree(place, tmp_path / "plain" / name)
        without_features(tmp_path / "plain" / name, FEATURE)
    run_module("tests.reference.trees", tmp_path, "read", alone=True)
    for name in SCENARIOS:
        checked = 0
        for table, answer in versions(tmp_path, name, written / "written"):
            assert digest(plain_rows(table.scan().to_arrow())) == answer["rows"], table.snapshot
            paths = sorted(table.snapshot.adds(["path"])["path"].to_pylist())
            assert paths == sorted(add["path"] for add in answer["files"])
            checked += 1
        assert checked == 6


def test_the_scenarios_have_what_they_are_named_for(written: Path) -> None:
    for name, settings in SCENARIOS.items():
        assert len([*(written / name / "metadata").glob("leaf-*.parquet")]) > (5 if settings else 0), name
    entries = [pq.read_table(path) for path in (written / "inside_commits" / "metadata").glob("root-*.parquet")]
    infos = [info for table in entries for info in table["manifest_info"].to_pylist() if info]
    assert any(info["dv"] for info in infos), "no manifest has deleted entries"


@pytest.mark.long
@pytest.mark.parametrize("trees", ["built", "written"])
def test_commits_of_both_engines_in_turns_have_equal_snapshots(tmp_path: Path, trees: str) -> None:
    require_delta_spark()
    run_module("tests.reference.tree_turns", tmp_path, "200", trees, alone=True)
    assert len(list((tmp_path / "t" / "metadata").glob("root-*.parquet"))) > 10
