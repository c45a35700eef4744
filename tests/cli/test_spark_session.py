"""Commands that need Spark start a session of their own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.storage.hdfs import NEEDS_HDFS, Cluster, cluster, uploaded

__all__ = ["cluster"]

pytest.importorskip("pyspark")

CODE = "import sys; from deltaskip.cli import main; sys.exit(main())"


def run(*words: object, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", CODE, *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **environment})


def test_a_spark_that_does_not_start_is_one_sentence(customers: Path, tmp_path: Path) -> None:
    ran = run("stats", customers, "--recompute", "--spark", JAVA_HOME=str(tmp_path))
    assert ran.returncode == 1
    [said] = [line for line in ran.stderr.splitlines() if line.startswith("deltaskip:")]
    act = f"Recomputing statistics of file://{customers}"
    assert said.startswith(f"deltaskip: error: {act} needs Spark, which did not start:")
    assert said.endswith("Spark needs Java 17 or newer, on PATH or named by JAVA_HOME.")
    assert len(list((customers / "_delta_log").glob("*.json"))) == 1


class TestOnHdfs:
    """A process without a session."""

    pytestmark = NEEDS_HDFS

    @pytest.mark.long
    def test_a_table_on_hdfs_is_opened(self, cluster: Cluster, customers: Path) -> None:
        root = uploaded(customers / "_delta_log", cluster.storage(), f"{cluster.uri}/cli/_delta_log")
        table = root.removesuffix("/_delta_log")
        ran = run("files", table, "--where", "id = 5", "--json")
        assert ran.returncode == 0, ran.stderr
        found = json.loads(ran.stdout)
        assert (found["total_files"], found["kept_files"]) == (200, 1)
        assert found["files"][0]["uri"].startswith(f"{table}/day=2026-01-01/")
        ran = run("checkpoint", table)
        assert ran.returncode == 0, ran.stderr
        assert cluster.storage().exists(f"{root}/{0:020d}.checkpoint.parquet")
