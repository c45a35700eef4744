#!/usr/bin/env bash
# SQLFrame: NULL in windows, lists and casts, beside PySpark.
#
# The guess: a program for PySpark has the same rows when it imports SQLFrame over DuckDB. NULLs come first in an ascending order,
# which df.orderBy("v") of SQLFrame keeps, and Window.orderBy("v") too.
# SQLFrame 4.10.0 over DuckDB 1.5.5, beside PySpark 4.1.4: NULLs are last in Window.orderBy("v"), and first in df.orderBy("v") and in
# Window.orderBy(F.asc("v")), so that row_number() == 1, the usual way to one row per key, keeps another row. collect_list has the
# NULLs that Spark leaves out, array_max is NULL where a list has one, get_json_object of a string has its quotes, and a cast
# of 1.7 to int rounds.
# The way round: F.asc("v") in windows; F.floor before casts of numbers above zero.
#
# Output seen:
#    PySpark: window None,1,2; orderBy None,1,2; F.asc None,1,2; list 1,2; max 2; JSON x; cast 1
#    SQLFrame: window 1,2,None; orderBy None,1,2; F.asc None,1,2; list 1,2,None; max None; JSON "x"; cast 2
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet pyspark==4.1.4 sqlframe==4.10.0 sqlglot==30.29.0 duckdb==1.5.5
cd "$folder"
cat > windows.py <<'PYTHON'
import sys

if sys.argv[1] == "PySpark":
    from pyspark.sql import SparkSession, Window
    from pyspark.sql import functions as F

    session = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
else:
    from sqlframe.duckdb import DuckDBSession, Window
    from sqlframe.duckdb import functions as F

    session = DuckDBSession.builder.getOrCreate()

rows = session.createDataFrame([(2,), (None,), (1,)], ["v"])


def shown(values):
    return ",".join(str(value) for value in values)


def in_window(order):
    numbered = rows.select("v", F.row_number().over(Window.orderBy(order)).alias("n")).collect()
    return shown(row["v"] for row in sorted(numbered, key=lambda row: row["n"]))


[lists] = rows.agg(F.collect_list("v").alias("all")).collect()
[other] = (
    session.createDataFrame([([1, 2, None], '{"a": "x"}', 1.7)], ["list", "json", "d"])
    .select(F.array_max("list").alias("max"), F.get_json_object("json", "$.a").alias("a"), F.col("d").cast("int").alias("i"))
    .collect()
)
print(f"{sys.argv[1]}: window {in_window('v')}; orderBy {shown(row['v'] for row in rows.orderBy('v').collect())}", end="; ")
print(f"F.asc {in_window(F.asc('v'))}; list {shown(sorted(lists['all'], key=lambda v: v or 9))}", end="; ")
print(f"max {other['max']}; JSON {other['a']}; cast {other['i']}")
PYTHON
for library in PySpark SQLFrame; do
    "$folder/venv/bin/python" windows.py "$library" 2>log >> found || { tail -20 log; exit 1; }
done
cat found
diff found - <<'SEEN'
PySpark: window None,1,2; orderBy None,1,2; F.asc None,1,2; list 1,2; max 2; JSON x; cast 1
SQLFrame: window 1,2,None; orderBy None,1,2; F.asc None,1,2; list 1,2,None; max None; JSON "x"; cast 2
SEEN
