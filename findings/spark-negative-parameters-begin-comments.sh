#!/usr/bin/env bash
# What a negative value of a parameter does after a minus.
#
# The guess: with args={"n": -5}, DELETE FROM t WHERE id = 10 -:n AND day = '2026-01-01' compares with 15: a parameter is a
# value, whatever stands before it, which is why one uses parameters.
# PySpark 4.1.4: the value is written into the text, and the text is parsed again: 10 --5 AND … is 10 and a comment, up to
# the end of the line. The other conditions are gone without an error. A blank after the minus helps, and so does
# spark.sql.legacy.parameterSubstitution.constantsOnly = true, with which parameters are values of the parsed text.
#
# Output seen:
#    10 -:n: 10, and 3 rows
#    10 - :n: 15, and 1 row
#    constantsOnly: 15, and 1 row
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet pyspark==4.1.4
cd "$folder"
"$folder/venv/bin/python" - 2>"$folder/log" <<'PYTHON' || { tail -20 "$folder/log"; exit 1; }
from pyspark.sql import SparkSession

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()


def answers(difference):
    """The value of the difference, and how many of three rows match a condition that follows it."""
    [value] = spark.sql(f"SELECT {difference}", args={"n": -5}).head()
    text = f"SELECT id FROM range(3) WHERE 15 >= {difference} AND id = 1"
    return value, spark.sql(text, args={"n": -5}).count()


found = {"10 -:n": answers("10 -:n"), "10 - :n": answers("10 - :n")}
spark.conf.set("spark.sql.legacy.parameterSubstitution.constantsOnly", "true")
found["constantsOnly"] = answers("10 -:n")
for name, (value, rows) in found.items():
    print(f"{name}: {value}, and {rows} row{'s' * (rows != 1)}")
spark.stop()
assert [*found.values()] == [(10, 3), (15, 1), (15, 1)], "parameters after a minus have changed"
PYTHON
