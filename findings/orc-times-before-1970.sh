#!/usr/bin/env bash
# ORC: times with fractions of a second before 1970, in Spark and pyarrow.
#
# The guess: a TIMESTAMP that is written to ORC comes back as it was, in the program that wrote it and in another one. ORC
# stores seconds and nanoseconds.
# Seconds before 1970 are stored rounded toward zero, which loses the sign of the last one: PySpark 4.1.4 reads its own
# 23:59:59.5 of 1969-12-31 (UTC) a second late, without an error; the ORC project knows (ORC-763), Spark's documentation
# does not say it. pyarrow 26.0.1 reads Spark's times right where Spark's zone is UTC, and a second early where it is New York,
# for the five hours before 1970 in UTC. What pyarrow writes, Spark cannot read: nanoseconds below zero. TIMESTAMP_NTZ is
# stored otherwise, and right in Spark.
#
# Output seen:
#    UTC, last second: Spark 1970-01-01 00:00:00.5
#    UTC, an hour before: Spark 1969-12-31 23:00:00.5, pyarrow 1969-12-31 23:00:00.500000
#    New York, an hour before: Spark 1969-12-31 23:00:00.5, pyarrow 1969-12-31 22:59:59.500000
#    of pyarrow: IllegalArgumentException, nanos > 999999999 or < 0
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet pyspark==4.1.4 pyarrow==26.0.1
cd "$folder"
cat > times.py <<'PYTHON'
import sys
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.orc as orc
from pyspark.sql import SparkSession

name, zone = sys.argv[1:]
builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
builder = builder.config("spark.driver.extraJavaOptions", f"-Duser.timezone={zone}")
spark = builder.config("spark.sql.session.timeZone", zone).getOrCreate()


def written(label, text):
    spark.sql(f"SELECT TIMESTAMP'{text}' AS t").write.orc(label)
    [[value]] = spark.read.orc(label).selectExpr("CAST(t AS STRING)").collect()
    [path] = Path(label).glob("*.orc")
    return value, orc.read_table(path)["t"][0].as_py()


if name == "UTC":
    print(f"UTC, last second: Spark {written('last', '1969-12-31 23:59:59.5')[0]}")
own, other = written(f"{name}-hour", "1969-12-31 23:00:00.5")
print(f"{name}, an hour before: Spark {own}, pyarrow {other}")
if name != "UTC":
    orc.write_table(pa.table({"t": pa.array([datetime(1960, 1, 1, 0, 0, 0, 500000)], pa.timestamp("us"))}), "pyarrow.orc")
    try:
        spark.read.orc("pyarrow.orc").collect()
        print("of pyarrow: read")
    except Exception as error:
        if "IllegalArgumentException: nanos > 999999999 or < 0" not in str(error):
            raise
        print("of pyarrow: IllegalArgumentException, nanos > 999999999 or < 0")
PYTHON
for pair in 'UTC UTC' 'New_York America/New_York'; do
    # shellcheck disable=SC2086
    "$folder/venv/bin/python" times.py $pair 2>log | sed 's/^New_York/New York/' >> found || { tail -20 log; exit 1; }
done
cat found
diff found - <<'SEEN'
UTC, last second: Spark 1970-01-01 00:00:00.5
UTC, an hour before: Spark 1969-12-31 23:00:00.5, pyarrow 1969-12-31 23:00:00.500000
New York, an hour before: Spark 1969-12-31 23:00:00.5, pyarrow 1969-12-31 22:59:59.500000
of pyarrow: IllegalArgumentException, nanos > 999999999 or < 0
SEEN
