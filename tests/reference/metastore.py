"""Sessions with and without delta-spark that use one Hive metastore in turns.

    python -m tests.reference.metastore FOLDER delta-creates | plain-uses | delta-uses

Each prints what it saw as JSON. A metastore in Derby has one process at a time, so each step is a process of its own.
"""

import json
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

import deltaskip as ds
from tests.dml.tables import ids_of
from tests.reference import oracle


def _session(folder: Path, delta: bool) -> Any:
    metastore = {
        "spark.sql.catalogImplementation": "hive",
        "spark.hadoop.javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={folder}/metastore;create=true",
    }
    if delta:
        return oracle.session(folder, metastore)
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.warehouse.dir": (folder / "warehouse").as_uri(),
        **metastore,
    }
    builder = SparkSession.builder.master("local[1]")
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def _names(catalog: ds.TableCatalog) -> list[str]:
    return [ident.name for ident in catalog.list_tables("db")]


def _ids(spark: Any, name: str) -> list[int]:
    return sorted(row[0] for row in spark.sql(f"SELECT id FROM {name}").collect())


def delta_creates(folder: Path) -> dict[str, Any]:
    """delta-spark creates a table that Spark manages and one at a location of its own."""
    spark = _session(folder, delta=True)
    spark.sql("CREATE DATABASE db")
    spark.sql("CREATE TABLE db.managed USING delta AS SELECT id FROM range(3)")
    spark.sql(f"CREATE TABLE db.external (id BIGINT) USING delta LOCATION '{folder}/external'")
    spark.sql("INSERT INTO db.external VALUES (7)")
    return {"names": _names(ds.catalog("spark:", spark=spark))}


def plain_uses(folder: Path) -> dict[str, Any]:
    """A session without delta-spark reads, appends to and renames these tables, and creates others."""
    catalog = ds.catalog("spark:", spark=_session(folder, delta=False))
    seen: dict[str, Any] = {"names": _names(catalog)}
    for name in seen["names"]:
        seen[name] = ids_of(catalog.load_table(("db", name)))
    for old, new in (("managed", "kept"), ("external", "moved")):
        catalog.load_table(("db", old)).append(pa.table({"id": [100]}))
        catalog.rename_table(("db", old), ("db", new))
    catalog.create_table("db.ours", "id BIGINT, day DATE", ["day"]).append(pa.table({"id": [1]}))
    with catalog.stage_create("db.selected", "id BIGINT") as staged:  # type: ignore[attr-defined]
        staged.append(pa.table({"id": [4, 5]}))
    catalog.create_table("db.dropped", "id BIGINT")
    catalog.drop_table("db.dropped")
    seen["after"] = _names(catalog)
    return seen


def delta_uses(folder: Path) -> dict[str, Any]:
    """delta-spark reads, changes, renames and drops the tables by their names, and the catalog works beside it."""
    spark = _session(folder, delta=True)
    catalog = ds.catalog("spark:", spark=spark)
    seen: dict[str, Any] = {name: _ids(spark, f"db.{name}") for name in _names(catalog)}
    spark.sql("INSERT INTO db.ours VALUES (2, DATE'2026-01-01')")
    spark.sql("UPDATE db.selected SET id = id + 10")
    seen["changed"] = [ids_of(catalog.load_table(f"db.{name}")) for name in ("ours", "selected")]
    root = catalog.load_table("db.selected").snapshot.root
    spark.sql("ALTER TABLE db.selected RENAME TO db.renamed")
    seen["renamed"] = catalog.load_table("db.renamed").snapshot.root == root
    catalog.create_table("db.beside", "id BIGINT").append(pa.table({"id": [6]}))
    seen["beside"] = _ids(spark, "db.beside")
    seen["provider"] = spark.sql("DESCRIBE DETAIL db.beside").collect()[0]["format"]
    spark.sql("DROP TABLE db.ours")
    roots = {name: catalog.load_table(f"db.{name}").snapshot.root for name in ("kept", "moved", "renamed")}
    for name in roots:
        catalog.drop_table(f"db.{name}")
    seen["files left"] = [name for name, where in roots.items() if Path(where).exists()]
    seen["after"] = _names(catalog)
    return seen


STEPS = {"delta-creates": delta_creates, "plain-uses": plain_uses, "delta-uses": delta_uses}


if __name__ == "__main__":
    print(json.dumps(STEPS[sys.argv[2]](Path(sys.argv[1]))))
