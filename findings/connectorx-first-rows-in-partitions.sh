#!/usr/bin/env bash
# ConnectorX, and with it Polars' read_database_uri: queries with ORDER BY … LIMIT that are read in partitions.
#
# The guess: partition_on and partition_num only divide the work: the rows of a query are those that it has in one piece.
# connectorx 0.4.6 finds the range of the partitions by the query without its ORDER BY, but with its LIMIT: any hundred rows
# decide where "the hundred largest orders" may be, and those outside are lost, without an error. Rows whose value in the
# column is NULL are lost, too, such as a group of GROUP BY. A LIMIT alone, and ORDER BY alone, are right.
#
# Output seen:
#    the 100 largest orders: 100 rows, in four partitions 0, by Polars 0
#    any 100 orders: 100 rows, in four partitions 100, by Polars 100
#    all orders in their order: 10000 rows, in four partitions 10000, by Polars 10000
#    a sum for each region: 5 rows, in four partitions 4, by Polars 4
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet connectorx==0.4.6 polars==2.1.0 pyarrow==26.0.1
cd "$folder"
"$folder/venv/bin/python" - > found 2>log <<'PYTHON' || { tail -20 log; exit 1; }
import os
import sqlite3

import connectorx
import polars

database = sqlite3.connect("orders.db")
database.execute("CREATE TABLE orders (id INTEGER, region INTEGER, amount REAL)")
rows = [(number, number % 5 or None, float(number * 7919 % 10_000)) for number in range(10_000)]
database.executemany("INSERT INTO orders VALUES (?, ?, ?)", rows)
database.commit()
uri = f"sqlite://{os.path.abspath('orders.db')}"

QUERIES = {
    "the 100 largest orders": ("SELECT * FROM orders ORDER BY amount DESC LIMIT 100", "id"),
    "any 100 orders": ("SELECT * FROM orders LIMIT 100", "id"),
    "all orders in their order": ("SELECT * FROM orders ORDER BY amount DESC", "id"),
    "a sum for each region": ("SELECT region, sum(amount) AS amount FROM orders GROUP BY region", "region"),
}
for name, (query, column) in QUERIES.items():
    parts = {"partition_on": column, "partition_num": 4}
    whole = connectorx.read_sql(uri, query, return_type="arrow").num_rows
    divided = connectorx.read_sql(uri, query, return_type="arrow", **parts).num_rows
    frame = polars.read_database_uri(query, uri, **parts)
    print(f"{name}: {whole} rows, in four partitions {divided}, by Polars {frame.height}")
PYTHON
cat found
diff found - <<'SEEN'
the 100 largest orders: 100 rows, in four partitions 0, by Polars 0
any 100 orders: 100 rows, in four partitions 100, by Polars 100
all orders in their order: 10000 rows, in four partitions 10000, by Polars 10000
a sum for each region: 5 rows, in four partitions 4, by Polars 4
SEEN
