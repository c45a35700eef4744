"""What the tests cannot compare with in this environment, and how to get it.

    python -m tests.not_compared

pytest's summary and the end of `bash .ci/test` print it.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from tests import corpus
from tests.catalogs.database import postgres

DELTA_JARS = "DELTASKIP_DELTA_JARS"
HADOOP_JARS = "DELTASKIP_HADOOP_JARS"
NEWEST_PYTHON = "DELTASKIP_NEWEST_PYTHON"
SPARKS = ("3.5", "4.0", "4.1", "4.2", "4.3")
_FETCH = "bash .ci/run fetches them with Maven"


def not_compared() -> list[str]:
    """One line for each thing that is absent: what it is, and how to get it."""
    return list(_absent())


def _absent() -> Iterator[str]:
    if not corpus.present():
        yield f"real tables with expected results: put the corpus into {corpus.SHARED / 'tables'}"
    java = _java_major()
    if java < 17:
        found = f"Java {java} is here" if java else "no Java is here"
        yield f"Spark, delta-spark and HDFS ({found}): put a JRE 17 on PATH or name it in JAVA_HOME"
    yield from _jars("delta-spark", DELTA_JARS, "delta-spark_*.jar")
    yield from _jars("HDFS", HADOOP_JARS, "hadoop-client-minicluster-*.jar")
    spark = _installed("pyspark")
    if spark is None:
        yield "Spark: install the extra reference, pip install -e '.[reference]'"
    others = [version for version in SPARKS if spark is None or not spark.startswith(f"{version}.")]
    here = "none is" if spark is None else f"only {spark} is"
    yield (
        f"Spark {', '.join(others)} ({here} installed): in an environment of its own, pip install -e '.[spark,sql]' "
        f"'pyspark=={others[0]}.*', then python -m tests.spark.matrix; bash .ci/run does so for each"
    )
    if not os.environ.get(NEWEST_PYTHON):
        yield (
            f"the newest DuckDB and Polars: in an environment of its own, pip install -e . duckdb polars, and name its "
            f"python in {NEWEST_PYTHON}"
        )
    if postgres.programs() is None:
        yield f"Postgres: {postgres.CURE}"
    packages = {
        "obstore": ("object stores", "test"), "moto": ("S3", "test"), "sqlalchemy": ("databases", "test"),
        "deltalake": ("delta-rs", "reference"), "duckdb": ("DuckDB", "reference"),
    }  # fmt: skip
    for package, (what, extra) in packages.items():
        if _installed(package) is None:
            yield f"{what}: install the extra {extra}, pip install -e '.[{extra}]'"


def _jars(what: str, variable: str, pattern: str) -> Iterator[str]:
    folder = os.environ.get(variable)
    if not folder:
        yield f"{what}: name the folder with its jars in {variable}; {_FETCH}"
    elif not any(Path(folder).glob(pattern)):
        yield f"{what}: {variable} names {folder}, which has no {pattern}; {_FETCH}"


def _java_major() -> int:
    """The major version of Java; 0 without one."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which(os.path.join(home, "bin", "java") if home else "java")
    if java is None:
        return 0
    printed = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    found = re.search(r'version "(?:1\.)?(\d+)', printed)
    return int(found[1]) if found else 0


def _installed(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def main() -> None:
    """Print the lines."""
    for line in not_compared():
        print(f"not compared with {line}")


if __name__ == "__main__":
    main()
