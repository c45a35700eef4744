#!/usr/bin/env bash
# DuckDB's vortex extension: NOT IN, and totals of a column with NaN.
#
# The guess: a query has the same rows over read_vortex() as over the table that was copied to the file: `k NOT IN (1, 2)`
# leaves out NULL, count(x) counts NaN, and the sum of a column with NaN is NaN, as in DuckDB and over its Parquet files.
# duckdb 1.5.5 with duckdb-extension-vortex 1.5.5: NOT IN has every row with NULL, too, also with NULL in the list, for
# strings as for numbers; `<>` and NOT LIKE are right. count, sum, avg and max, which the extension computes, pass over NaN,
# so that count(x) is too low; with FILTER they are DuckDB's.
#
# Output seen:
#    k NOT IN (1, 2): table 818, Parquet 818, Vortex 909
#    k NOT IN (1, NULL): table 0, Parquet 0, Vortex 954
#    s NOT IN ('n1'): table 870, Parquet 870, Vortex 982
#    k <> 1: table 863, Parquet 863, Vortex 863
#    count(x): table 872, Parquet 872, Vortex 772
#    sum(x): table nan, Parquet nan, Vortex 3857.9
#    max(x): table nan, Parquet nan, Vortex 9.9
#    max(x) FILTER (k > 0): table nan, Parquet nan, Vortex nan
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet duckdb==1.5.5 duckdb-extension-vortex==1.5.5
cd "$folder"
"$folder/venv/bin/python" - > found 2>log <<'PYTHON' || { tail -20 log; exit 1; }
from pathlib import Path

import duckdb
import duckdb_extension_vortex

connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
[extension] = Path(duckdb_extension_vortex.__file__).parent.glob("extensions/*/vortex.duckdb_extension")
connection.load_extension(str(extension))
connection.execute("""
    CREATE TABLE t AS SELECT
        CASE WHEN i % 10 = 0 THEN 'nan'::DOUBLE WHEN i % 7 <> 0 THEN i % 100 / 10 END AS x,
        CASE WHEN i % 9 <> 0 THEN 'n' || i % 50 END AS s,
        CASE WHEN i % 11 <> 0 THEN i % 20 END AS k
    FROM range(1000) AS r(i)""")
connection.execute("COPY t TO 't.parquet' (FORMAT parquet)")
connection.execute("COPY t TO 't.vortex' (FORMAT vortex)")


def show(name, value, where="TRUE"):
    found = []
    for source, table in ("table", "t"), ("Parquet", "'t.parquet'"), ("Vortex", "read_vortex('t.vortex')"):
        [(result,)] = connection.execute(f"SELECT {value} FROM {table} WHERE {where}").fetchall()
        found.append(f"{source} {round(result, 6)}")
    print(f"{name}: {', '.join(found)}")


for predicate in "k NOT IN (1, 2)", "k NOT IN (1, NULL)", "s NOT IN ('n1')", "k <> 1":
    show(predicate, "count(*)", predicate)
for total in "count(x)", "sum(x)", "max(x)":
    show(total, total)
show("max(x) FILTER (k > 0)", "max(x) FILTER (WHERE k > 0)")
PYTHON
cat found
diff found - <<'SEEN'
k NOT IN (1, 2): table 818, Parquet 818, Vortex 909
k NOT IN (1, NULL): table 0, Parquet 0, Vortex 954
s NOT IN ('n1'): table 870, Parquet 870, Vortex 982
k <> 1: table 863, Parquet 863, Vortex 863
count(x): table 872, Parquet 872, Vortex 772
sum(x): table nan, Parquet nan, Vortex 3857.9
max(x): table nan, Parquet nan, Vortex 9.9
max(x) FILTER (k > 0): table nan, Parquet nan, Vortex nan
SEEN
