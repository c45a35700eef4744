"""Tables with the adaptive metadata tree that delta-spark writes, and what it says of each of their versions.

    python -m tests.reference.trees FOLDER [read]

FOLDER/NAME is a table, and FOLDER/NAME.json has its files and a digest of its rows by version. delta-spark reads a
version from all commits, never from a tree, so that its answers do not depend on what is tested. It writes trees only
for tables of a catalog: FOLDER/NAME is without that feature, so that it is opened by its path, and FOLDER/plain/NAME,
which delta-spark reads, is also without the feature of the tree; FOLDER/written/NAME is where the tree says that its
deletion vectors are. With `read`, only answers are written, of the last versions of the tables in FOLDER/plain.

# RFC Adaptive Metadata (protocol_rfcs/iceberg-v4-metadata.md)
"""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

from tests.extent import some
from tests.reference.oracle import _defaults, session
from tests.reference.rows import digest, plain_rows

FEATURE, CATALOG = "adaptiveMetadata-preview", "catalogManaged"
SETTINGS = "spark.databricks.delta.amt."
ENTRIES, INLINE = f"{SETTINGS}entriesPerLeaf", f"{SETTINGS}largeCommitActionsCountThresholdForInlineManifestCommit"
_ALL: dict[str, dict[str, str]] = {
    "inside_commits": {ENTRIES: "10", INLINE: "1"},
    "root": {},
    "leaves": {ENTRIES: "10"},
    "odd folder %20 é": {ENTRIES: "3"},
}
SCENARIOS = {name: _ALL[name] for name in some(_ALL, 1)}
COLUMNS = "id BIGINT, s STRING, d DATE, part INT, `q r` STRING"
PROPERTIES = {
    f"delta.feature.{FEATURE}": "supported",
    f"delta.feature.{CATALOG}": "supported",
    "delta.columnMapping.mode": "id",
    "delta.checkpointInterval": "2",
}


def written(spark: Any, name: str, folder: Path) -> None:
    """Write the table of a scenario: appends, a delete and an update by deletion vectors, whole files removed."""
    for setting in (ENTRIES, INLINE):
        spark.conf.unset(setting)
    for setting, value in SCENARIOS[name].items():
        spark.conf.set(setting, value)
    table = f"tree_{list(SCENARIOS).index(name)}"
    properties = ", ".join(f"'{key}' = '{value}'" for key, value in PROPERTIES.items())
    testing = spark.sparkContext._jvm.java.lang.System
    # Else only Unity Catalog may create tables of a catalog.
    testing.setProperty("spark.testing", "true")
    spark.sql(
        f"CREATE TABLE {table} ({COLUMNS}) USING delta PARTITIONED BY (part, `q r`) LOCATION '{folder}' "
        f"TBLPROPERTIES ({properties})"
    )
    testing.clearProperty("spark.testing")
    rows = "id, concat('s', id) AS s, date_add(DATE '2024-01-01', CAST(id AS INT)) AS d, CAST(id % 3 AS INT) AS part"
    odd = "CASE WHEN id % 2 = 0 THEN 'a b/%' END AS `q r`"
    spark.conf.set("spark.sql.files.maxRecordsPerFile", "10")
    for start in range(0, 360, 120):
        spark.sql(f"INSERT INTO {table} SELECT {rows}, {odd} FROM range({start}, {start + 120})")
    spark.sql(f"DELETE FROM {table} WHERE id IN (3, 4, 125)")
    spark.sql(f"DELETE FROM {table} WHERE id < 60 AND part = 0")
    spark.sql(f"UPDATE {table} SET s = 'changed' WHERE id IN (4, 5, 125, 126, 341)")
    spark.sql(f"INSERT INTO {table} SELECT {rows}, {odd} FROM range(360, 380)")
    spark.sql(f"DELETE FROM {table} WHERE id IN (5, 127, 361)")


def answers(spark: Any, folder: Path, last: int | None) -> dict[str, Any]:
    """By version, the files as `add` actions and a digest of the rows. last: the number of versions; None for all."""
    from pyspark.sql import DataFrame

    log = spark.sparkContext._jvm.org.apache.spark.sql.delta.DeltaLog.forTable(spark._jsparkSession, str(folder))
    latest = log.update(False, *_defaults(log, "update", 2, 3)).version()
    found = {}
    for version in range(0 if last is None else latest + 1 - last, latest + 1):
        snapshot = log.getSnapshotAt(version, *_defaults(log, "getSnapshotAt", 2, 3, 4))
        adds = DataFrame(snapshot.allFiles().toDF(), spark).drop("backReference", "amtPassthrough").toJSON().collect()
        reader = spark.read.format("delta").option("versionAsOf", version)
        rows = plain_rows(reader.load(str(folder)).toArrow())
        found[version] = {
            "files": sorted(map(json.loads, adds), key=lambda add: str(add["path"])),
            "rows": digest(rows),
        }
    return {"versions": found}


def without_features(folder: Path, *names: str) -> None:
    """Rewrite the log of a table as one without these features."""

    def changed(value: Any) -> Any:
        if isinstance(value, list):
            return [changed(each) for each in value if each not in names]
        return {key: changed(each) for key, each in value.items()} if isinstance(value, dict) else value

    log = folder / "_delta_log"
    for path in log.glob("*.crc"):
        path.unlink()
    for path in log.glob("*.json"):
        lines = path.read_text(encoding="utf-8").splitlines()
        path.write_text("".join(json.dumps(changed(json.loads(line))) + "\n" for line in lines), encoding="utf-8")


def main(folder: Path, read: bool) -> None:
    """Write every table and its answers."""
    (folder / "scratch").mkdir(parents=True, exist_ok=True)
    spark = session(folder / "scratch", {"spark.sql.catalogImplementation": "in-memory"})
    coordination = spark.sparkContext._jvm.org.apache.spark.sql.delta.coordinatedcommits
    coordination.CatalogOwnedCommitCoordinatorProvider.registerBuilder(
        "spark_catalog", coordination.InMemoryCommitCoordinatorBuilder(1)
    )
    for name in () if read else SCENARIOS:
        place = folder / "written" / name
        written(spark, name, place)
        for copy, features in ((folder / name, [CATALOG]), (folder / "plain" / name, [CATALOG, FEATURE])):
            shutil.copytree(place, copy)
            without_features(copy, *features)
        without_features(place, CATALOG)
    for place in sorted((folder / "plain").iterdir()):
        found = answers(spark, place, 6 if read else None)
        (folder / f"{place.name}.json").write_text(json.dumps(found), encoding="utf-8")
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), "read" in sys.argv[2:])
