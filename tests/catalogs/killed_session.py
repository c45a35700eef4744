"""A session with a Hive metastore that is killed while it creates a table.

    python -m tests.catalogs.killed_session FOLDER STEP

With an empty STEP it creates the tables that are missing, and prints the rows of each and which were there before.
"""

import json
import os
import signal
import sys

import pyarrow as pa
from pyspark.sql import SparkSession

import deltaskip as ds
from deltaskip.storage.kill_points import observe_kill_points
from tests.dml.tables import ids_of

ROWS = pa.table({"id": [1, 2, 3]})


def main(folder: str, step: str) -> None:
    """Create the table that is named after the step, and end there."""
    settings = {
        "spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.warehouse.dir": f"file:{folder}/warehouse", "spark.sql.catalogImplementation": "hive",
        "spark.hadoop.javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={folder}/metastore;create=true",
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={folder}/derby",
    }  # fmt: skip
    builder = SparkSession.builder.master("local[1]")
    for key, value in settings.items():
        builder = builder.config(key, value)
    catalog = ds.catalog("spark:", spark=builder.getOrCreate())
    if not catalog.namespace_exists("db"):
        catalog.create_namespace("db")

    def kill(reached: str) -> None:
        if reached == step:
            os.kill(os.getpid(), signal.SIGKILL)

    before = [ident.name for ident in catalog.list_tables("db")]
    steps = [step] if step else ["none", "table created", "entry added"]
    observe_kill_points(kill)
    for each in steps:
        name = f"db.{each.replace(' ', '_')}"
        if not catalog.table_exists(name):
            with catalog.stage_create(name, "id BIGINT") as staged:  # type: ignore[attr-defined]
                staged.append(ROWS)
    found = {ident.name: len(ids_of(catalog.load_table(ident))) for ident in catalog.list_tables("db")}
    print(json.dumps({**found, "before": before}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
