#!/usr/bin/env bash
# DuckDB: a column of maps that it reads from Arrow data.
#
# The guess: a map is a list of structs of key and value in Arrow, in Parquet and in DuckDB, so it takes as long as that list.
# DuckDB 2.0.1 (and 1.5.5) checks the keys of each map that it makes from Arrow data or by map_from_entries, and takes eight
# times as long as for the list; from Parquet files and from its own tables, maps are as fast as lists.
#
# Output seen (processor seconds, a million maps of two keys):
#    list: 0.06, map: 0.49, map_from_entries: 0.49, own table: 0.07
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet duckdb==2.0.1 pyarrow==26.0.1
"$folder/venv/bin/python" - <<'PYTHON'
import time

import duckdb
import pyarrow as pa

rows = 1_000_000
offsets = pa.array(range(0, 2 * rows + 1, 2), pa.int32())
keys, values = pa.array(["a", "b"] * rows), pa.array([f"v{i % 100}" for i in range(2 * rows)])
entries = pa.StructArray.from_arrays([keys, values], ["key", "value"])
connection = duckdb.connect()
connection.register("maps", pa.table({"m": pa.MapArray.from_arrays(offsets, keys, values)}))
connection.register("lists", pa.table({"m": pa.ListArray.from_arrays(offsets, entries)}))
connection.execute("CREATE TABLE own AS SELECT m FROM maps")


def seconds(query):
    begun = time.process_time()
    connection.execute(f"CREATE OR REPLACE TABLE x AS {query}")
    return time.process_time() - begun


queries = ("m FROM lists", "m FROM maps", "map_from_entries(m) AS m FROM lists", "m FROM own")
found = [min(seconds(f"SELECT {query}") for _ in range(3)) for query in queries]
print("list: {:.2f}, map: {:.2f}, map_from_entries: {:.2f}, own table: {:.2f}".format(*found))
assert found[1] > 3 * found[0] and found[1] > 3 * found[3], "maps are no slower than lists"
PYTHON
