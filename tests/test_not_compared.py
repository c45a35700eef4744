"""Every run of the tests ends with what it could not compare with, and how to get it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests import corpus, not_compared
from tests.catalogs.database import postgres
from tests.docs.generated import ROOT


def test_whatever_is_absent_is_named_with_its_cure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(corpus, "SHARED", tmp_path / "shared")
    monkeypatch.setattr(not_compared, "_installed", lambda _: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(postgres, "DEBIAN", tmp_path)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.delenv(not_compared.DELTA_JARS, raising=False)
    monkeypatch.setenv(not_compared.HADOOP_JARS, str(tmp_path))
    lines = "\n".join(not_compared.not_compared())
    for what, cure in [
        ("real tables", str(tmp_path / "shared" / "tables")), ("no Java is here", "JRE 17"),
        ("delta-spark: name the folder", not_compared.DELTA_JARS), ("HDFS", "which has no hadoop-client-minicluster"),
        ("Spark 3.5, 4.0, 4.1, 4.2, 4.3", "pyspark==3.5.*"), ("delta-rs", ".[reference]"), ("DuckDB", ".[reference]"),
        ("S3", ".[test]"), ("databases", ".[test]"), ("Postgres", "apt-get install postgresql"),
    ]:  # fmt: skip
        assert re.search(f"{re.escape(what)}.*{re.escape(cure)}", lines), what


def test_what_is_here_is_not_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "delta-spark_4.1_2.13-4.4.0.jar").touch()
    monkeypatch.setenv(not_compared.DELTA_JARS, str(tmp_path))
    assert not [line for line in not_compared.not_compared() if line.startswith("delta-spark")]


@pytest.mark.long(gate=1)
@pytest.mark.parametrize("markers", ["", "not spark and not reference"])
def test_pytest_ends_with_its_closing_line_after_what_is_absent(markers: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DELTASKIP_BOTH_RUNS", raising=False)
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-m", markers, "tests/cli/test_display.py"]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    assert re.fullmatch(r"=+ .*passed.* =+", printed[-1])
    absent = [line for line in printed if line.startswith("not compared with ")]
    assert absent and absent == printed[-1 - len(absent) : -1]
    assert any("bash .ci/test runs" in line for line in absent) == (markers != "")


def test_the_complete_run_says_it_before_its_closing_line() -> None:
    text = (ROOT / ".ci" / "test").read_text(encoding="utf-8")
    assert text.index("-m tests.not_compared") < text.index("printf '%s' \"$closings\" | awk")
