#!/usr/bin/env bash
# Which part of a statement Spark's errors mark, if a variable was replaced in it.
#
# The guess: the error of SELECT '${report.day}' AS day, 1 / (id - id) AS share marks 1 / (id - id), as it does without a
# variable: either all of it refers to the text as it was written, or all of it to the text with the value.
# PySpark 4.1.4: the text that is shown is the one with ${report.day}, the position is the one in the text with the value. The
# marked part begins too early if the value is shorter than the reference, and too late if it is longer. What is taken from
# the origin of a plan (sqlText, startIndex, stopIndex), such as fragment() of an error, is cut in the wrong places.
#
# Output seen:
#    without a variable: 1 / (id - id)
#    an empty value: ay}' AS day,
#    a long value: ' AS last FRO
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet pyspark==4.1.4
cd "$folder"
"$folder/venv/bin/python" - 2>"$folder/log" <<'PYTHON' || { tail -20 "$folder/log"; exit 1; }
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()


def marked(day):
    try:
        spark.sql(f"SELECT '{day}' AS day, 1 / (id - id) AS share, 'end' AS last FROM range(1)").collect()
    except PySparkException as error:
        return error.getQueryContext()[0].fragment()


found = {"without a variable": marked("2026-01-01")}
for name, value in {"an empty value": "", "a long value": "a value that is longer than the reference"}.items():
    spark.conf.set("report.day", value)
    found[name] = marked("${report.day}")
for name, part in found.items():
    print(f"{name}: {part}")
spark.stop()
assert [*found.values()] == ["1 / (id - id)", "ay}' AS day, ", "' AS last FRO"], "the marked parts have changed"
PYTHON
