"""One table on HDFS with delta-spark as the other writer: neither overwrites the other's commits."""

import json
from pathlib import Path

import pytest

from tests.reference.conftest import require_delta_spark, run_module
from tests.reference.on_hdfs import COMMITS
from tests.storage.hdfs import Cluster, cluster

__all__ = ["cluster"]

pytestmark = [pytest.mark.reference, pytest.mark.spark]


@pytest.mark.long
def test_commits_of_both_writers_are_there(cluster: Cluster, tmp_path: Path) -> None:
    require_delta_spark()
    said = json.loads(run_module("tests.reference.on_hdfs", cluster.uri, tmp_path).splitlines()[-1])
    versions = list(range(2 * COMMITS + 1))
    assert [version for version, _ in said["history"]] == versions
    assert [version for version, operation in said["history"] if operation == "MARK"] == said["mine"]
    assert len(set(said["mine"])) == COMMITS
    assert (said["version"], said["app"]) == (versions[-1], COMMITS - 1)
    assert said["counts"] == [100 + COMMITS, 100 + COMMITS]
