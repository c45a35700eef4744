"""One Spark session for all tests of this room, and tables of the corpus read through it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    """A small local session in UTC; the tests are skipped where PySpark is not installed."""
    sql = pytest.importorskip("pyspark.sql")
    scratch: Path = tmp_path_factory.mktemp("spark")
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "2g",
        "spark.driver.extraJavaOptions": "-Duser.timezone=UTC",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.files.openCostInBytes": "65536",
        "spark.sql.warehouse.dir": (scratch / "warehouse").as_uri(),
    }
    builder = sql.SparkSession.builder.master("local[2]").appName("deltaskip tests")
    for key, value in settings.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture
def settings_put_back(spark: Any) -> Iterator[None]:
    """Settings that a fault below the session has left there are put back after the test."""
    if not hasattr(spark.conf, "getAll"):
        yield
        return
    before = dict(spark.conf.getAll)
    yield
    for key, value in dict(spark.conf.getAll).items():
        if key.startswith("spark.sql.") and before.get(key) != value:
            if key in before:
                spark.conf.set(key, before[key])
            else:
                spark.conf.unset(key)


@pytest.fixture
def found_by_a_job(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let Spark jobs find the rows that match a predicate and copy others, although there is little to read."""
    monkeypatch.setattr("deltaskip.settings.options.spark_jobs", "always")
