#!/usr/bin/env bash
# CHANGES of Spark 4.2 over a partitioned table of delta-spark, whose files do not have the partition columns.
#
# The guess: partition values are those of the log, as in a query of the table and in table_changes.
# delta-spark 4.4.0 with Spark 4.2.1: the partition column is NULL in every change, without an error, unless the writer
# also stored it in the files, which delta-spark 4.4 does by default, and other writers and older releases do not.
#
# Output seen:
#    rows: [(1, 'a'), (2, 'b')]
#    changes: [(1, None), (2, None)]
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet pyspark==4.2.1
cat > "$folder/pom.xml" <<'POM'
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>findings</groupId>
  <artifactId>jars</artifactId>
  <version>1</version>
  <dependencies>
    <dependency>
      <groupId>io.delta</groupId>
      <artifactId>delta-spark_4.2_2.13</artifactId>
      <version>4.4.0</version>
    </dependency>
  </dependencies>
</project>
POM
artifacts=delta-spark_4.2_2.13,delta-storage,delta-kernel-api,delta-kernel-defaults,delta-kernel-unitycatalog
artifacts=$artifacts,unitycatalog-client,unitycatalog-hadoop,jts-core
mvn --batch-mode --quiet -f "$folder/pom.xml" dependency:copy-dependencies \
    -DincludeArtifactIds="$artifacts" -DoutputDirectory="$folder/jars"
cd "$folder"
"$folder/venv/bin/python" - 2>spark.log <<'PYTHON'
import os
from pathlib import Path

from pyspark.sql import SparkSession

settings = {
    "spark.ui.enabled": "false",
    "spark.jars": ",".join(map(str, Path("jars").absolute().glob("*.jar"))),
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.databricks.delta.changelogV2.enabled": "true",
}
builder = SparkSession.builder.master("local[1]")
for name, value in settings.items():
    builder = builder.config(name, value)
spark = builder.getOrCreate()
table = f"delta.`{os.getcwd()}/t`"
properties = "'delta.enableRowTracking' = 'true', 'delta.writePartitionColumnsToParquet' = 'false'"
spark.sql(f"CREATE TABLE {table} (id BIGINT, p STRING) USING delta PARTITIONED BY (p) TBLPROPERTIES ({properties})")
spark.sql(f"INSERT INTO {table} VALUES (1, 'a'), (2, 'b')")
rows = sorted(map(tuple, spark.sql(f"SELECT id, p FROM {table}").collect()))
changes = sorted(map(tuple, spark.sql(f"SELECT id, p FROM {table} CHANGES FROM VERSION 1 TO VERSION 1").collect()))
print("rows:", rows)
print("changes:", changes)
assert (rows, changes) == ([(1, "a"), (2, "b")], [(1, None), (2, None)]), "CHANGES have changed"
PYTHON
