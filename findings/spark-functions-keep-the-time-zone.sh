#!/usr/bin/env bash
# Spark: an SQL function that was made before the time zone of the session changed.
#
# The guess: CREATE TEMPORARY FUNCTION h(t TIMESTAMP) RETURNS INT RETURN hour(t) gives what hour(t) gives, in the time
# zone of the session that calls it, as a function of Python or a macro of Hive would.
# PySpark 4.1.4 and 4.3.0 evaluate its body in the time zone in which it was made: in one row of one query, h(t) and
# hour(t) differ. So it does that of a DataFrame that was made before, whose timestamps show() prints in the new zone.
#
# Output seen:
#    4.1.4 hour(t) 19, h(t) 0, DataFrame made before 0, shown 2023-12-31 19:30:00
#    4.3.0 hour(t) 19, h(t) 0, DataFrame made before 0, shown 2023-12-31 19:30:00
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat > "$folder/zones.py" <<'PYTHON'
import pyspark
from pyspark.sql import SparkSession

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
ZONE = "spark.sql.session.timeZone"
spark.conf.set(ZONE, "UTC")
spark.sql("SELECT TIMESTAMP'2024-01-01 00:30:00' AS t").createOrReplaceTempView("rows")
spark.sql("CREATE TEMPORARY FUNCTION h(t TIMESTAMP) RETURNS INT RETURN hour(t)")
before = spark.table("rows").selectExpr("hour(t) AS hour", "t")
spark.conf.set(ZONE, "America/New_York")
[(now, own)] = spark.sql("SELECT hour(t), h(t) FROM rows").collect()
[kept] = before.collect()
shown = before.select("t")._jdf.showString(1, 20, False).splitlines()[3].strip("|")
print(f"{pyspark.__version__} hour(t) {now}, h(t) {own}, DataFrame made before {kept.hour}, shown {shown}")
spark.stop()
PYTHON
for version in 4.1.4 4.3.0; do
    python3 -m venv "$folder/$version"
    "$folder/$version/bin/pip" install --quiet "pyspark==$version"
    (cd "$folder" && "$folder/$version/bin/python" zones.py 2>"$folder/log" || { tail -20 "$folder/log"; exit 1; }) >> "$folder/found"
done
cat "$folder/found"
seen='hour(t) 19, h(t) 0, DataFrame made before 0, shown 2023-12-31 19:30:00'
diff "$folder/found" <(printf '4.1.4 %s\n4.3.0 %s\n' "$seen" "$seen")
