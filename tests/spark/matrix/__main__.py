"""What the installed PySpark can do with tables of this package: `python -m tests.spark.matrix [classic|connect]`.

With SPARK_REMOTE=sc://host:port, `connect` uses the server there, as the thin client `pyspark-client` has to, which
cannot start one; `python -m tests.spark.matrix server 15077` is one, in an environment with the whole of PySpark.

Runs every case through one local session and prints a line for each: "ok", "refused" where this Spark cannot do it and
deltaskip has to say so, or what is wrong; the exit status is 1 if something is. `.ci/run` runs it with each PySpark
that docs/pages/spark.md claims, but for the one of the tests. The server of Spark Connect 3.5 is not part of PySpark:
DELTASKIP_CONNECT_JAR names its jar (org.apache.spark:spark-connect_2.12), and without it nothing is run there.
"""

from __future__ import annotations

import importlib
import os
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import deltaskip as ds
from tests.jvm import start_quickly
from tests.spark.matrix.cases import CASES, Case, Session

KINDS = ("classic", "connect")
_PLUGIN = "org.apache.spark.sql.connect.SparkConnectPlugin"
CONNECT_JAR = "DELTASKIP_CONNECT_JAR"
MODULES = (
    *("reading", "column_mapping", "predicates", "collations", "statistics", "changes", "settings", "delta_names",
        "statements"),
    *("catalogs", "data_source", "shapes"),
)  # fmt: skip


def local_session(kind: str, folder: Path, port: str = "") -> Any:
    """A local session of this kind with two threads."""
    from pyspark.sql import SparkSession

    settings = {
        "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1", "spark.driver.memory": "1g", "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": (folder / "warehouse").as_uri(),
    }  # fmt: skip
    start_quickly()
    builder = SparkSession.builder.appName("deltaskip matrix")
    if kind == "server":
        settings |= {"spark.plugins": _PLUGIN, "spark.connect.grpc.binding.port": port}
    remote = os.environ.get("SPARK_REMOTE") if kind == "connect" else None
    if remote is not None:
        return builder.remote(remote).getOrCreate()
    builder = builder.remote("local[2]") if kind == "connect" else builder.master("local[2]")
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def outcome_of(each: Case, session: Session, version: tuple[int, int]) -> tuple[str, str]:
    """What came of a case: "ok", "refused" or "WRONG", and a detail."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", FutureWarning)
            each.run(session)
    except ds.UnsupportedFeature as error:
        return ("refused", f"Spark {each.since[0]}.{each.since[1]}") if version < each.since else ("WRONG", str(error))
    except Exception as error:
        if "--debug" in sys.argv:
            traceback.print_exc()
        return "WRONG", f"{type(error).__name__}: {' '.join(str(error).split())[:500]}"
    return ("ok", "") if version >= each.since else ("WRONG", "it is not refused")


def main(arguments: Sequence[str]) -> int:
    """Run all cases with a session of a kind; the exit status."""
    kind = next((each for each in arguments if each in KINDS), KINDS[0])
    os.environ["TZ"] = "UTC"
    time.tzset()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if arguments[:1] == ["server"]:
        with tempfile.TemporaryDirectory(prefix="deltaskip-matrix-") as scratch:
            local_session("server", Path(scratch), arguments[1])
            print("ready", flush=True)
            sys.stdin.read()
        return 0
    import pandas
    import pyspark

    version = tuple(map(int, pyspark.__version__.split(".")[:2]))
    if kind == "connect" and version < (4, 0):
        if CONNECT_JAR not in os.environ:
            print(f"PySpark {pyspark.__version__}, connect: not run, as {CONNECT_JAR} is not set")
            return 0
        os.environ["PYSPARK_SUBMIT_ARGS"] = f"--jars {os.environ[CONNECT_JAR]} pyspark-shell"
    for name in MODULES:
        # A module registers its cases.
        importlib.import_module(f"tests.spark.matrix.{name}")
    failed = 0
    with tempfile.TemporaryDirectory(prefix="deltaskip-matrix-", ignore_cleanup_errors=True) as scratch:
        spark = local_session(kind, Path(scratch))
        if kind == "classic":
            spark.sparkContext.setLogLevel("OFF")
        print(f"PySpark {pyspark.__version__}, {kind}, pandas {pandas.__version__}, Python {sys.version.split()[0]}")
        for number, each in enumerate(CASES):
            folder = Path(scratch) / str(number)
            folder.mkdir()
            start = time.perf_counter()
            what, detail = outcome_of(each, Session(spark, kind, folder), (version[0], version[1]))
            failed += what == "WRONG"
            print(f"  {what:8}{each.name} {detail} ({time.perf_counter() - start:.1f} s)", flush=True)
        spark.stop()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
