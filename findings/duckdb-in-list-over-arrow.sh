#!/usr/bin/env bash
# DuckDB 1.5.5: IN lists over an Arrow table in memory.
#
# The guess: a query over a registered Arrow table has the rows that it has over a table of DuckDB with the same rows.
# duckdb 1.5.5 with pyarrow 26.0.1 hands the list to pyarrow's is_in, which compares bits: g IN (0.0, 1.5) loses the row
# with -0.0, which g = 0.0 finds. A list of TIMESTAMPTZ raises without the package pytz, which = does not need.
# duckdb 2.0.1 is right in both.
#
# Output seen:
#    own table: 3 rows, Arrow table: 2 rows, g = 0.0 over Arrow: 2 rows
#    ts IN (...): Required module 'pytz' failed to import; ts = ...: 1 row
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet pyarrow==26.0.1 duckdb==1.5.5
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
from datetime import datetime, timezone

import duckdb
import pyarrow as pa

times = pa.array([datetime(2020, 1, day, tzinfo=timezone.utc) for day in (1, 2, 3)], pa.timestamp("us", "UTC"))
rows = pa.table({"g": [0.0, -0.0, 1.5], "ts": times})
connection = duckdb.connect()
connection.register("arrow_rows", rows)
connection.execute("CREATE TABLE own AS FROM arrow_rows")


def count(where, table="arrow_rows"):
    return connection.execute(f"SELECT count(*) FROM {table} WHERE {where}").fetchone()[0]


own, ours, equal = count("g IN (0.0, 1.5)", "own"), count("g IN (0.0, 1.5)"), count("g = 0.0")
print(f"own table: {own} rows, Arrow table: {ours} rows, g = 0.0 over Arrow: {equal} rows")
first, second = (f"TIMESTAMPTZ '2020-01-0{day} 00:00:00+00'" for day in (1, 3))
try:
    count(f"ts IN ({first}, {second})")
    refused = ""
except duckdb.Error as error:
    refused = "pytz" if "pytz" in str(error) else str(error)
print(f"ts IN (...): Required module '{refused}' failed to import; ts = ...: {count(f'ts = {first}')} row")
assert (own, ours, equal, refused, count(f"ts = {first}")) == (3, 2, 2, "pytz", 1), "IN over Arrow has changed"
PYTHON
