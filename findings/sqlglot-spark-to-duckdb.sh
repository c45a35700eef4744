#!/usr/bin/env bash
# sqlglot: queries of Spark that are translated to DuckDB.
#
# The guess: with unsupported_level=RAISE a translation either has the answer that Spark gives, or is refused. LIKE,
# datediff(MONTH, ...) and max_by are known to both dialects.
# sqlglot 30.30.0 translates without an error, and DuckDB 2.0.1 answers otherwise than PySpark 4.1.4: an escaped % in LIKE
# loses its meaning (DuckDB has no escape character without ESCAPE), whole months become changes of the month, and max_by
# leaves out the row whose value is NULL.
#
# Output seen:
#    LIKE: Spark ['5%'], DuckDB []
#    months: Spark [0], DuckDB [1]
#    max_by: Spark [None], DuckDB [1]
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet sqlglot==30.30.0 duckdb==2.0.1 pyspark==4.1.4
cd "$folder"
"$folder/venv/bin/python" - > found 2>log <<'PYTHON' || { tail -20 log; exit 1; }
import duckdb
import sqlglot
from pyspark.sql import SparkSession

QUERIES = {
    "LIKE": r"SELECT v FROM VALUES ('5%'), ('50') AS t(v) WHERE v LIKE '5\\%'",
    "months": "SELECT datediff(MONTH, DATE'2021-01-31', DATE'2021-02-01')",
    "max_by": "SELECT max_by(v, at) FROM VALUES (1, 1), (NULL, 2) AS t(v, at)",
}
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
for name, query in QUERIES.items():
    [translated] = sqlglot.transpile(query, read="spark", write="duckdb", unsupported_level=sqlglot.ErrorLevel.RAISE)
    first = [row[0] for row in spark.sql(query).collect()]
    second = [row[0] for row in duckdb.sql(translated).fetchall()]
    print(f"{name}: Spark {first}, DuckDB {second}")
PYTHON
cat found
diff found - <<'SEEN'
LIKE: Spark ['5%'], DuckDB []
months: Spark [0], DuckDB [1]
max_by: Spark [None], DuckDB [1]
SEEN
