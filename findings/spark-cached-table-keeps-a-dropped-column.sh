#!/usr/bin/env bash
# Spark 4.1 and cached tables of a V2 catalog: columns that ALTER TABLE dropped.
#
# The guess: ALTER TABLE ... DROP COLUMN refreshes or drops the cached rows of the table, as INSERT does.
# In Spark 4.1.4, a cached table of a V2 catalog (here Spark's own JDBC catalog over Derby, which is in the package) keeps
# its old schema through ALTER TABLE: after DROP COLUMN n and ADD COLUMN n STRING, `n` is still INT with the dropped
# values. Any INSERT or REFRESH TABLE ends it. Spark 4.2.1 has the new column at once.
#
# Output seen:
#    4.1.4 cached n int [(1, 7)], refreshed n string [(1, None)]
#    4.2.1 cached n string [(1, None)], refreshed n string [(1, None)]
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat > "$folder/cached.py" <<'PYTHON'
from pyspark.sql import SparkSession

builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
catalog = "spark.sql.catalog.j"
for key, value in {
    catalog: "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog",
    f"{catalog}.url": "jdbc:derby:memory:x;create=true",
    f"{catalog}.driver": "org.apache.derby.iapi.jdbc.AutoloadedDriver",
}.items():
    builder = builder.config(key, value)
spark = builder.getOrCreate()
for text in (
    "CREATE TABLE j.APP.C (id BIGINT, n INT)",
    "INSERT INTO j.APP.C VALUES (1, 7)",
    "CACHE TABLE j.APP.C",
    "ALTER TABLE j.APP.C DROP COLUMN n",
    "ALTER TABLE j.APP.C ADD COLUMN n STRING",
):
    spark.sql(text)


def seen() -> str:
    table = spark.table("j.APP.C")
    return f"n {dict(table.dtypes)['n']} {[tuple(row) for row in table.collect()]}"


cached = seen()
spark.sql("REFRESH TABLE j.APP.C")
print(f"{spark.version} cached {cached}, refreshed {seen()}")
PYTHON
cd "$folder"
for version in 4.1.4 4.2.1; do
    python3 -m venv "$folder/$version"
    "$folder/$version/bin/pip" install --quiet "pyspark==$version"
    "$folder/$version/bin/python" cached.py 2> /dev/null >> found
done
cat found
diff found - <<'SEEN'
4.1.4 cached n int [(1, 7)], refreshed n string [(1, None)]
4.2.1 cached n string [(1, None)], refreshed n string [(1, None)]
SEEN
