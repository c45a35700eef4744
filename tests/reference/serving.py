"""A process with delta-spark that runs modules of this folder one after the other, which share its session.

    python -m tests.reference.serving FOLDER

A line on standard input is the JSON list of a module's name and its arguments. A line on standard output says, as JSON,
what the module printed and the traceback it ended with, or null. FOLDER is for the databases of the session.
"""

import atexit
import json
import os
import runpy
import select
import subprocess
import sys
import tempfile
import traceback
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass
from functools import cache
from io import StringIO
from pathlib import Path

from tests.reference.oracle import SERVED

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Server:
    """The running process, and the file with what it writes to standard error."""

    process: subprocess.Popen[bytes]
    errors: Path

    def run(self, module: str, arguments: list[str], seconds: float) -> str:
        """Return what a module prints; raises AssertionError with its traceback, or if it takes longer."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps([module, *arguments]).encode() + b"\n")
        self.process.stdin.flush()
        ready, _, _ = select.select([self.process.stdout], [], [], seconds)
        answer = self.process.stdout.readline() if ready else b""
        if not answer:
            self.process.kill()
            server.cache_clear()
            why = "ended" if ready else f"took more than {seconds} s"
            raise AssertionError(f"{module} {why}:\n{self.errors.read_text(errors='replace')[-4000:]}")
        found = json.loads(answer)
        assert found["error"] is None, f"{module} failed:\n{found['error'][-4000:]}"
        return str(found["printed"])


@cache
def server() -> Server:
    """The server of this process, which ends with it."""
    folder = Path(tempfile.mkdtemp(prefix="deltaskip-served-"))
    errors = folder / "errors"
    with errors.open("wb") as written:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.reference.serving", str(folder)],
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=written,
            cwd=ROOT,
        )
    atexit.register(process.kill)
    return Server(process, errors)


def main(folder: Path) -> None:
    """Run the modules that standard input names."""
    os.environ[SERVED] = str(folder)
    # What the JVM prints must not be taken for an answer.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    for line in sys.stdin:
        module, *arguments = json.loads(line)
        printed, error = StringIO(), None
        sys.argv[1:] = arguments
        try:
            with redirect_stdout(printed):
                runpy.run_module(module, run_name="__main__", alter_sys=True)
        except BaseException:
            error = traceback.format_exc()
        _tidy()
        answers.write(json.dumps({"printed": printed.getvalue(), "error": error}) + "\n")
        answers.flush()


def _tidy() -> None:
    """Leave the session as it started: no tables, databases or views, and its first settings."""
    from pyspark.errors import AnalysisException
    from pyspark.sql import SparkSession

    spark = SparkSession.getActiveSession()
    if spark is None:
        return
    first = spark.first_settings
    for name, value in spark.conf.getAll.items():
        # What is fixed for a session, no module has set.
        with suppress(AnalysisException):
            if name not in first:
                spark.conf.unset(name)
            elif value != first[name]:
                spark.conf.set(name, first[name])
    spark.sql("USE spark_catalog.default")
    for [database] in spark.sql("SHOW DATABASES").collect():
        if database != "default":
            spark.sql(f"DROP DATABASE `{database}` CASCADE")
    views = {view for _, view, *_ in spark.sql("SHOW VIEWS").collect()}
    for _, table, *_ in spark.sql("SHOW TABLES").collect():
        spark.sql(f"DROP {'VIEW' if table in views else 'TABLE'} `{table}`")
    spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
