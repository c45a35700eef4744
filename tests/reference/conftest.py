"""The oracle's answers, made once in a process of their own, and a Spark session without Delta."""

import fcntl
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.extent import TIME_LIMIT_SECONDS
from tests.reference.oracle import JARS
from tests.reference.serving import server

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def oracle_answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """By table of recipes.py what delta-spark says; tests are skipped where it cannot run."""
    require_delta_spark()
    base = tmp_path_factory.getbasetemp()
    # Workers of pytest-xdist share one folder, and the first to come runs the oracle for all.
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder, done = shared / "oracle", shared / "oracle.done"
    with (shared / "oracle.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            run_module("tests.reference.oracle", folder)
            done.touch()
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("*.json")}


def run_module(module: str, *arguments: object, alone: bool = False) -> str:
    """What a module prints that is run in another process, since a JVM with Delta needs one.

    alone: in a process of its own, not in the one whose session such modules share.
    """
    if not alone:
        return server().run(module, [*map(str, arguments)], TIME_LIMIT_SECONDS)
    run = subprocess.run(
        [sys.executable, "-m", module, *map(str, arguments)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=TIME_LIMIT_SECONDS,
        check=False,
    )
    assert run.returncode == 0, f"{module} failed:\n{run.stderr[-4000:]}"
    return run.stdout


def answers_of(module: str, output: Path, *arguments: object, first: Sequence[object] = ()) -> Any:
    """What a module writes to the file `output`, see `run_module`. first: Arguments before the name of the file."""
    require_delta_spark()
    run_module(module, *first, output, *arguments)
    return json.loads(output.read_text(encoding="utf-8"))


def require_delta_spark() -> None:
    """Skip the test where delta-spark cannot run."""
    jars = os.environ.get(JARS)
    if not jars or not list(Path(jars).glob("delta-spark_*.jar")):
        pytest.skip(f"delta-spark is not there: {JARS} must name a folder with its jars")
    pyspark = pytest.importorskip("pyspark", reason="PySpark is not installed")
    if not pyspark.__version__.startswith("4.1."):
        pytest.skip(f"delta-spark 4.4 needs PySpark 4.1, but {pyspark.__version__} is installed")
    if not os.environ.get("JAVA_HOME") and shutil.which("java") is None:
        pytest.skip("Java was not found: put a JRE 17 on PATH or name it in JAVA_HOME")
