#!/usr/bin/env bash
# DataFusion, and with it deltalake's SQL: percentile_cont.
#
# The guess: percentile_cont(0.3) of 1, 2, 3, 4 is 1.9: the exact percentile, beside approx_percentile_cont.
# datafusion 55.0.0 and deltalake 1.6.6 cut the weight between two values to six digits, so that a weight which is not
# exact in binary loses its last one: it is 1.899999, and the 95th percentile of 0, 10^9 and 2 * 10^9 is a thousand too low.
# DuckDB 2.0.1 has 1.9. (It is an open issue of DataFusion; the documentation of the function does not say it.)
#
# Output seen:
#    datafusion: 1.899999 1899999000
#    deltalake: 1.899999 1899999000
#    DuckDB: 1.9 1900000000
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet datafusion==55.0.0 deltalake==1.6.6 duckdb==2.0.1 pyarrow==26.0.1
cd "$folder"
"$folder/venv/bin/python" - > found <<'PYTHON'
import datafusion
import duckdb
import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder, write_deltalake

tables = {"few": pa.table({"x": [1.0, 2.0, 3.0, 4.0]}), "far": pa.table({"x": [0.0, 1e9, 2e9]})}
QUERIES = (
    "SELECT percentile_cont(0.3) WITHIN GROUP (ORDER BY x) FROM few",
    "SELECT percentile_cont(0.95) WITHIN GROUP (ORDER BY x) FROM far",
)
context, builder, connection = datafusion.SessionContext(), QueryBuilder(), duckdb.connect()
for name, rows in tables.items():
    context.register_record_batches(name, [rows.to_batches()])
    write_deltalake(name, rows)
    builder = builder.register(name, DeltaTable(name))
    connection.register(name, rows)


def show(name, query):
    found = [pa.table(query(each)).column(0)[0].as_py() for each in QUERIES]
    print(f"{name}:", *(f"{each:.10g}" for each in found))


show("datafusion", lambda query: context.sql(query).to_arrow_table())
show("deltalake", lambda query: builder.execute(query).read_all())
show("DuckDB", lambda query: connection.sql(query).to_arrow_table())
PYTHON
cat found
diff found - <<'SEEN'
datafusion: 1.899999 1899999000
deltalake: 1.899999 1899999000
DuckDB: 1.9 1900000000
SEEN
