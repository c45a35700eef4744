"""What tests of catalogs need: a Postgres server, and a Spark session."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.catalogs.database import postgres


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[postgres.PostgresServer]:
    """The server; tests are skipped where Postgres is absent."""
    if postgres.programs() is None:
        pytest.skip(postgres.ABSENT)
    server = postgres.PostgresServer()
    yield server
    server.close()


SESSION_KIND = "DELTASKIP_CATALOG_SESSION"
"""Variable that names the kind of the session: "memory" (the default), "hive" or "connect"."""


@pytest.fixture(scope="session")
def catalog_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    """A small local session, with its catalog in memory or in a Hive metastore, classic or Connect."""
    sql = pytest.importorskip("pyspark.sql")
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    scratch: Path = tmp_path_factory.mktemp("session")
    kind = os.environ.get(SESSION_KIND, "memory")
    settings = {
        "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1", "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": f"-Duser.timezone=UTC -Dderby.system.home={scratch}/derby",
        "spark.sql.session.timeZone": "UTC", "spark.sql.warehouse.dir": f"file:{scratch}/ware house",
    }  # fmt: skip
    if kind == "hive":
        settings["spark.sql.catalogImplementation"] = "hive"
        place = f"jdbc:derby:;databaseName={scratch}/metastore;create=true"
        settings["spark.hadoop.javax.jdo.option.ConnectionURL"] = place
    builder = sql.SparkSession.builder
    builder = builder.remote("local[1]") if kind == "connect" else builder.master("local[2]")
    for key, value in settings.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    if kind != "connect":
        session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
