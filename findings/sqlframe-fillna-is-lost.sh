#!/usr/bin/env bash
# SQLFrame: fillna and replace before select, filter, groupBy or join.
#
# The guess: what df.fillna(...) and df.replace(...) of SQLFrame, the DataFrame API of PySpark over DuckDB and other databases,
# change is changed for whatever follows, as it is in PySpark, and as after withColumn in SQLFrame.
# SQLFrame 4.10.0 over DuckDB 1.5.5: collect, drop and union have the new values; a select, withColumn, groupBy or join that comes
# next starts from the values before the change, and a filter compares them, all without an error. So df.fillna(0).select("v")
# fills nothing, and df.replace("?", "x").groupBy("s") still has the group "?".
# The way round: .alias("t") after fillna and replace, which makes a query of its own, or withColumn with coalesce.
#
# Output seen:
#    fillna: collect none,a,none; select NULL,a,NULL; IS NULL 2 rows; groups NULL,a; withColumn NULL,a,NULL; join NULL,a,NULL
#    replace: collect NULL,b,NULL; select NULL,a,NULL; IS NULL 2 rows; groups NULL,a; withColumn NULL,a,NULL; join NULL,a,NULL
#    alias: collect none,a,none; select none,a,none; IS NULL 0 rows; groups a,none; withColumn none,a,none; join none,a,none
#    coalesce: collect none,a,none; select none,a,none; IS NULL 0 rows; groups a,none; withColumn none,a,none; join none,a,none
#    sum after fillna(100): 5, after alias 105
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet sqlframe==4.10.0 sqlglot==30.29.0 duckdb==1.5.5
cd "$folder"
"$folder/venv/bin/python" - > found <<'PYTHON'
import duckdb
from sqlframe.duckdb import DuckDBSession
from sqlframe.duckdb import functions as F

duckdb.sql("COPY (FROM (VALUES (1, NULL, NULL), (2, 'a', 5), (3, NULL, 0)) AS t(k, s, v)) TO 'rows.parquet'")
session = DuckDBSession.builder.getOrCreate()
rows = session.read.parquet("rows.parquet")


def values(frame):
    return ",".join(str(row["s"] or "NULL") for row in sorted(frame.collect(), key=lambda row: row["k"]))


for name, frame in {
    "fillna": rows.fillna("none", subset=["s"]),
    "replace": rows.replace("a", "b", subset=["s"]),
    "alias": rows.fillna("none", subset=["s"]).alias("t"),
    "coalesce": rows.withColumn("s", F.coalesce("s", F.lit("none"))),
}.items():
    groups = sorted(str(row["s"] or "NULL") for row in frame.groupBy("s").count().collect())
    print(f"{name}: collect {values(frame)}; select {values(frame.select('k', 's'))}", end="; ")
    print(f"IS NULL {len(frame.filter(F.col('s').isNull()).collect())} rows; groups {','.join(groups)}", end="; ")
    print(f"withColumn {values(frame.withColumn('one', F.lit(1)))}; join {values(frame.join(rows.select('k'), 'k'))}")
filled = rows.fillna(100, subset=["v"])
[first], [second] = (frame.agg(F.sum("v").alias("n")).collect() for frame in (filled, filled.alias("t")))
print(f"sum after fillna(100): {first['n']}, after alias {second['n']}")
PYTHON
cat found
diff found - <<'SEEN'
fillna: collect none,a,none; select NULL,a,NULL; IS NULL 2 rows; groups NULL,a; withColumn NULL,a,NULL; join NULL,a,NULL
replace: collect NULL,b,NULL; select NULL,a,NULL; IS NULL 2 rows; groups NULL,a; withColumn NULL,a,NULL; join NULL,a,NULL
alias: collect none,a,none; select none,a,none; IS NULL 0 rows; groups a,none; withColumn none,a,none; join none,a,none
coalesce: collect none,a,none; select none,a,none; IS NULL 0 rows; groups a,none; withColumn none,a,none; join none,a,none
sum after fillna(100): 5, after alias 105
SEEN
