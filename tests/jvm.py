"""Options of the JVMs that tests start, and an archive of Spark's classes, which a JVM loads in half the time.

    python -m tests.jvm

writes the archive of this environment, which takes about half a minute. `.ci/test` does so once. A JVM with other jars
or of another version starts without it.
"""

import os
import subprocess
import sys
from pathlib import Path

ARCHIVE = Path(sys.prefix) / "spark-classes.jsa"

_COMPILER = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m"
_QUICK = f"{_COMPILER} -XX:+UseSerialGC -XX:MetaspaceSize=256m -XX:NewSize=256m"
# Else it tells on standard output what it does not take from an archive.
_QUIET = "-Xlog:cds=off -Xlog:cds+dynamic=off"
_SHARED = f" -XX:SharedArchiveFile={ARCHIVE} {_QUIET}" if ARCHIVE.exists() else ""
JAVA_OPTIONS = _QUICK + _SHARED
"""Most code runs too few times for the optimizing compiler to pay, and the small cache of the other one overflows.

A collection of all garbage comes when the classes need more room; the first room is large enough for those of Spark.
"""


_WORKERS = str(Path(__file__).parent / "spark" / "workers")


def start_quickly() -> None:
    """Let every JVM of Spark that this process or one of its children starts have these options, and quick workers."""
    os.environ.setdefault("SPARK_SUBMIT_OPTS", JAVA_OPTIONS)
    paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    if _WORKERS not in paths:
        os.environ["PYTHONPATH"] = os.pathsep.join([_WORKERS, *paths])


def main() -> None:
    """Write the archive, of what a JVM has loaded that appends, changes, merges and reads, also over Spark Connect."""
    written = ARCHIVE.with_suffix(".new")
    options = f"{_QUICK} -XX:ArchiveClassesAtExit={written} {_QUIET}"
    # The output ends with the JVM, which writes the archive at its end.
    subprocess.run(
        [sys.executable, "-c", _LOADING],
        env={**os.environ, "SPARK_SUBMIT_OPTS": options},
        check=True,
        capture_output=True,
    )
    written.replace(ARCHIVE)


_LOADING = """
import tempfile
from pathlib import Path
import deltaskip
from tests.contracts.doors import Frames, connect_session
from tests.contracts.steps import appends, merges, updates_rows_that_match_and_null_does_not
from tests.contracts.tables import FEATURES, Kept
from tests.spark.matrix.__main__ import local_session

with tempfile.TemporaryDirectory() as folder:
    deltaskip.options.spark_jobs = "always"
    spark = local_session("classic", Path(folder))
    spark.conf.set("spark.sql.codegen.wholeStage", "false")
    spark.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    kept = Kept(Frames(spark), FEATURES["change feed"], Path(folder) / "t")
    for step in (appends, updates_rows_that_match_and_null_does_not, merges, Kept.read_by_the_door):
        step(kept)
    connect_session(spark).range(3).collect()
    spark.stop()
"""

if __name__ == "__main__":
    main()
