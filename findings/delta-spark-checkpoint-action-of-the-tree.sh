#!/usr/bin/env bash
# delta-spark 4.4.0: the `checkpoint` action of a metadata tree, as the RFC has it and as delta-spark writes it.
#
# The guess: delta-spark has the feature `adaptiveMetadata-preview`, so it reads the action as the RFC of the feature says
# (protocol_rfcs/iceberg-v4-metadata.md: "whose value is an array of the actions"), or at least ignores it in a table
# without the feature, as PROTOCOL.md asks of readers for unknown actions.
# delta-spark 4.4.0 writes an object, and fails to read a commit with an array, with and without the feature: the whole
# table is unreadable from then on. A writer can follow the text or be read, not both.
#
# Output seen:
#    object: 2 rows
#    array: FAILED_READ_FILE
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet pyspark==4.1.4
cat > "$folder/pom.xml" <<'POM'
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>findings</groupId>
  <artifactId>jars</artifactId>
  <version>1</version>
  <dependencies>
    <dependency>
      <groupId>io.delta</groupId>
      <artifactId>delta-spark_4.1_2.13</artifactId>
      <version>4.4.0</version>
    </dependency>
  </dependencies>
</project>
POM
artifacts=delta-spark_4.1_2.13,delta-storage,delta-kernel-api,delta-kernel-defaults,delta-kernel-unitycatalog
artifacts=$artifacts,unitycatalog-client,unitycatalog-hadoop,jts-core
mvn --batch-mode --quiet -f "$folder/pom.xml" dependency:copy-dependencies \
    -DincludeArtifactIds="$artifacts" -DoutputDirectory="$folder/jars"
cd "$folder"
"$folder/venv/bin/python" - 2>"$folder/log" <<'PYTHON' || { tail -20 "$folder/log"; exit 1; }
import json
from pathlib import Path

from pyspark.sql import SparkSession

builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
builder = builder.config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
builder = builder.config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
jars = ",".join(map(str, Path("jars").absolute().glob("*.jar")))
spark = builder.config("spark.jars", jars).getOrCreate()
seen = {}
for form in ("object", "array"):
    table = Path(form).absolute()
    spark.range(2).write.format("delta").save(str(table))
    log = table / "_delta_log"
    for checksum in log.glob("*.crc"):
        checksum.unlink()
    actions = [json.loads(line) for line in (log / f"{0:020d}.json").read_text().splitlines()]
    state = {name: action[name] for action in actions for name in ("protocol", "metaData") if name in action}
    root = {"path": "metadata/root.parquet", "sizeInBytes": 1, "version": 0}
    if form == "object":
        named = {"version": 0, "contentRoot": root, **state, "domainMetadata": [], "txns": [], "sidecars": []}
    else:
        named = [{"checkpointMetadata": {"version": 0}}, {"contentRoot": root}, *({name: state[name]} for name in state)]
    (log / f"{1:020d}.json").write_text(json.dumps({"checkpoint": named}) + "\n")
    spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
    try:
        seen[form] = f"{spark.read.format('delta').load(str(table)).count()} rows"
    except Exception as error:
        seen[form] = str(error).split("[", 1)[1].split("]")[0].split(".")[0]
    print(f"{form}: {seen[form]}")
assert seen == {"object": "2 rows", "array": "FAILED_READ_FILE"}
PYTHON
