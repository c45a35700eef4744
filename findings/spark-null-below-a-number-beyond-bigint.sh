#!/usr/bin/env bash
# Spark: a BIGINT column compared with an integer that BIGINT does not hold.
#
# The guess: c < 18446744073709551616 (2^64) is NULL where c is NULL, as every comparison is, so that WHERE leaves the
# row out, and DELETE leaves it in the table.
# PySpark 4.1.4 and 4.3.0 replace the comparison by TRUE, also for NULL, if the number is out of the range of the
# column's type, with and without ANSI mode; -2^64 <= c as well. A comparison with a number of the type, or of two
# columns, is NULL.
#
# Output seen:
#    4.1.4 below 2^64: [1, None], below 2^62: [1], above -2^64: [1, None]
#    4.3.0 below 2^64: [1, None], below 2^62: [1], above -2^64: [1, None]
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat > "$folder/compare.py" <<'PYTHON'
import pyspark
from pyspark.sql import SparkSession

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
spark.createDataFrame([(1,), (None,)], "c BIGINT").createOrReplaceTempView("rows")


def found(condition):
    return [row[0] for row in spark.sql(f"SELECT c FROM rows WHERE {condition}").collect()]


below, within, above = (found(each) for each in (f"c < {2**64}", f"c < {2**62}", f"c >= -{2**64}"))
print(pyspark.__version__, f"below 2^64: {below}, below 2^62: {within}, above -2^64: {above}")
spark.stop()
PYTHON
for version in 4.1.4 4.3.0; do
    python3 -m venv "$folder/$version"
    "$folder/$version/bin/pip" install --quiet "pyspark==$version"
    (cd "$folder" && "$folder/$version/bin/python" compare.py 2>"$folder/log" || { tail -20 "$folder/log"; exit 1; }) >> "$folder/found"
done
cat "$folder/found"
seen='below 2^64: [1, None], below 2^62: [1], above -2^64: [1, None]'
diff "$folder/found" <(printf '4.1.4 %s\n4.3.0 %s\n' "$seen" "$seen")
