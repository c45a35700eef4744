#!/usr/bin/env bash
# Two answers of Spark's SQL that depend on the session, and that the documentation does not lead one to expect.
#
# 1. Raw strings. The guess: r'a\b' is a\b whatever the parser does with escapes, because that is what raw strings are
#    for. PySpark 4.1.4: with spark.sql.parser.escapedStringLiterals = true its value begins with the quote.
# 2. Functions that hide built-in ones. The guess: what spark.udf.register('length', ...) has put in front of Spark's
#    length, DROP TEMPORARY FUNCTION length takes away. PySpark 4.1.4: it cannot be dropped for the life of the session.
#
# Output seen:
#    usual settings: a\b
#    escapedStringLiterals: 'a\b
#    hidden: mine
#    DROP: Cannot drop built-in function 'length'.
#    hidden: mine
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet pyspark==4.1.4
cd "$folder"
"$folder/venv/bin/python" - 2>"$folder/log" <<'PYTHON' || { tail -20 "$folder/log"; exit 1; }
from pyspark.sql import SparkSession

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()


def value(text):
    return spark.sql(text).head()[0]


usual = value(r"SELECT r'a\b'")
print("usual settings:", usual)
spark.conf.set("spark.sql.parser.escapedStringLiterals", "true")
escaped = value(r"SELECT r'a\b'")
print("escapedStringLiterals:", escaped)
spark.conf.unset("spark.sql.parser.escapedStringLiterals")

spark.udf.register("length", lambda text: "mine")
before = value("SELECT length('abc')")
print("hidden:", before)
try:
    spark.sql("DROP TEMPORARY FUNCTION length")
    refused = ""
except Exception as error:
    refused = str(error).splitlines()[0]
print("DROP:", refused)
after = value("SELECT length('abc')")
print("hidden:", after)
spark.stop()
assert (usual, escaped) == ("a\\b", "'a\\b"), "raw strings have changed"
assert before == after == "mine" and "Cannot drop built-in function" in refused, "dropping has changed"
PYTHON
