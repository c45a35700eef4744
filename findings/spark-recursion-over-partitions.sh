#!/usr/bin/env bash
# Spark: a recursive query that joins itself with a partitioned table on the partition column.
#
# The guess: WITH RECURSIVE over a table of Parquet gives the same rows however the table is laid out, as any query does;
# dynamic partition pruning is an optimization that only reads less.
# PySpark 4.1.4 and 4.3.0 answer over the table that is not partitioned, and end with INTERNAL_ERROR ("Found the
# unresolved operator: 'Filter … dynamicpruning") over the same rows partitioned by the column of the join: the pruning
# filter that the optimizer adds to the partitioned side is left in the plan of the next step of the recursion. With
# spark.sql.optimizer.dynamicPartitionPruning.enabled=false the answer is right. So it is with the table named first in
# the join.
#
# Output seen, in both versions:
#    plain: 6 rows
#    partitioned: INTERNAL_ERROR
#    partitioned, table first: 6 rows
#    partitioned, without pruning: 6 rows
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat > "$folder/recursion.py" <<'PYTHON'
import sys
from pyspark.sql import SparkSession

folder = sys.argv[1]
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
rows = spark.sql("SELECT id, id % 3 AS kind FROM range(6)")
rows.write.parquet(f"{folder}/plain")
rows.write.partitionBy("id").parquet(f"{folder}/partitioned")


def answer(name: str, table: str, joined: str) -> None:
    table = f"parquet.`{folder}/{table}`"
    text = f"""WITH RECURSIVE r(id, depth) AS (
        SELECT id, 0 FROM {table} WHERE kind = 0
        UNION ALL SELECT a.id, depth + 1 FROM {joined.format(table=table)} ON a.id = r.id + 1 AND depth < 2
    ) SELECT * FROM r"""
    try:
        found = f"{len(spark.sql(text).collect())} rows"
    except Exception as error:
        found = "INTERNAL_ERROR" if "INTERNAL_ERROR" in str(error) and "dynamicpruning" in str(error) else str(error)
    print(f"{name}: {found}")


answer("plain", "plain", "r JOIN {table} a")
answer("partitioned", "partitioned", "r JOIN {table} a")
answer("partitioned, table first", "partitioned", "{table} a JOIN r")
spark.conf.set("spark.sql.optimizer.dynamicPartitionPruning.enabled", "false")
answer("partitioned, without pruning", "partitioned", "r JOIN {table} a")
spark.stop()
PYTHON
for version in 4.1.4 4.3.0; do
    python3 -m venv "$folder/$version"
    "$folder/$version/bin/pip" install --quiet "pyspark==$version"
    mkdir "$folder/tables-$version"
    "$folder/$version/bin/python" "$folder/recursion.py" "$folder/tables-$version" 2>"$folder/log" > "$folder/found" \
        || { tail -20 "$folder/log"; exit 1; }
    echo "$version"
    cat "$folder/found"
    diff "$folder/found" <(printf '%s\n' 'plain: 6 rows' 'partitioned: INTERNAL_ERROR' \
        'partitioned, table first: 6 rows' 'partitioned, without pruning: 6 rows')
done
