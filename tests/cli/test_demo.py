"""`deltaskip demo`, with Spark and without."""

import json
import os
import shlex
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from deltaskip import demo
from deltaskip.errors import DeltaSkipError, StatisticsWarning
from tests.cli.conftest import Run
from tests.extent import TIME_LIMIT_SECONDS


@pytest.fixture
def no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No Java on PATH."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """An empty folder."""
    monkeypatch.chdir(tmp_path_factory.mktemp("here"))


@pytest.mark.usefixtures("no_java")
def test_without_java_the_demo_reads_with_pyarrow_and_says_so(run: Run) -> None:
    ran = run("demo")
    assert (ran.status, ran.err) == (0, "")
    assert "files kept      7 of 200" in ran.out
    assert "matching rows   7, the same as in the full read" in ran.out
    notes = [line for line in ran.out.splitlines() if "Without Spark: " in line]
    assert len(notes) == 1
    assert "Java 17" in notes[0]


@pytest.mark.usefixtures("no_java")
def test_the_demo_as_json_has_every_figure(run: Run) -> None:
    outcome = json.loads(run("demo", "--json").out)
    assert (outcome["kept_files"], outcome["total_files"], outcome["matching_rows"]) == (7, 200, 7)
    assert 0 < outcome["skipped_bytes"] < outcome["total_bytes"]
    assert outcome["engine"].startswith("pyarrow ")
    assert not Path(outcome["table"]).exists()


@pytest.mark.usefixtures("no_java")
def test_a_kept_table_can_be_asked_again(run: Run, tmp_path: Path) -> None:
    kept = tmp_path / "new" / "customers"
    printed = run("demo", "--keep", kept).out
    assert "\n  deltaskip stats " in printed
    assert json.loads(run("files", kept, "--where", demo.PREDICATE, "--json").out)["kept_files"] == 7


@pytest.mark.usefixtures("no_java")
def test_the_table_stays_and_the_next_three_commands_run_as_they_are_printed(run: Run) -> None:
    printed = run("demo").out
    assert "\nThe table is in customers. Next:\n" in printed
    again = run("demo").out
    assert "\nA table is in customers already, which was left as it is. Next:\n" in again
    for text in (printed, again):
        commands = [shlex.split(line)[1:] for line in text.partition("Next:\n")[2].splitlines()]
        assert [command[0] for command in commands] == ["stats", "explain", "query"]
        for command in commands:
            ran = run(*command)
            assert (ran.status, ran.err) == (0, ""), command
        assert ran.out.count("Müller 0500") == 7
    assert [path.name for path in Path().iterdir()] == ["customers"]


def test_a_folder_in_use_is_left_alone(run: Run, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    ran = run("demo", "--keep", tmp_path)
    assert (ran.status, ran.out) == (1, "")
    assert str(tmp_path) in ran.err
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_a_file_is_no_folder_to_keep_the_table_in(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "mine.txt"
    file.write_text("mine", encoding="utf-8")
    ran = run("demo", "--keep", file)
    assert ran.status == 1
    assert file.read_text(encoding="utf-8") == "mine"


@pytest.mark.usefixtures("no_java", "no_pyspark")
def test_without_pyspark_the_demo_says_how_to_get_it(run: Run) -> None:
    ran = run("demo")
    assert ran.status == 0
    assert "needs PySpark, which is not installed. Run: pip install 'pyspark>=3.5'" in ran.out


def test_an_old_java_is_named(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\" 2019-01-15' >&2\n", encoding="utf-8")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert "Java 11 is too old (Spark needs Java 17 or newer)" in run("demo").out


@pytest.mark.usefixtures("no_java")
def test_a_pruned_read_that_differs_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "PREDICATE", "day >= '2026-01-05' AND name = 'Müller 0500'")
    with pytest.raises(DeltaSkipError, match="returned 6 rows, but the full read 7"):
        demo.run(None, lambda _line: None)


@pytest.mark.long
@pytest.mark.spark
def test_with_spark_the_table_is_written_and_read_by_spark() -> None:
    pytest.importorskip("pyspark")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("no Java: Spark needs Java 17")
    program = "import sys; from deltaskip.cli import main; sys.exit(main())"
    # A process of its own: the session that the other Spark tests share must keep its JVM's settings.
    finished = subprocess.run(
        [sys.executable, "-c", program, "demo", "--json"], capture_output=True, text=True, timeout=TIME_LIMIT_SECONDS
    )
    assert finished.returncode == 0, finished.stderr
    assert finished.stderr == ""
    outcome = json.loads(finished.stdout)
    assert outcome["engine"].startswith("Spark ")
    assert outcome["note"] is None
    assert (outcome["kept_files"], outcome["total_files"], outcome["matching_rows"]) == (7, 200, 7)


def test_warnings_of_other_packages_to_developers_are_not_shown(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def warns(*_arguments: object, **_named: object) -> None:
        warnings.warn_explicit("pandas will change", FutureWarning, "/site-packages/pandas/core.py", 1)
        warnings.warn_explicit("a socket", ResourceWarning, "/site-packages/pyspark/x.py", 1)
        warnings.warn("a statistic is odd", StatisticsWarning, stacklevel=1)
        raise DeltaSkipError("Enough.")

    monkeypatch.setattr(demo, "run", warns)
    assert run("demo").err == "deltaskip: warning: a statistic is odd\ndeltaskip: error: Enough.\n"
