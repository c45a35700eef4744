#!/usr/bin/env bash
# DuckDB over Arrow tables: joins on keys with nanoseconds.
#
# The guess: a join of two Arrow tables on columns of timestamp[ns] has the rows of the same join of DuckDB's own tables,
# since DuckDB has the type TIMESTAMP_NS, and a comparison with a constant is exact.
# DuckDB 1.5.5 hands the keys of one side to the Arrow scan of the other as a list in microseconds, in which pyarrow
# looks for values of nanoseconds: no key that has digits below a microsecond finds itself, and the join is empty. The
# same list is given for IN (SELECT ...). Keys of whole microseconds are found. DuckDB 2.0.1 has every row.
#
# Output seen:
#    1.5.5 3 1 1
#    2.0.1 3 3 3
# (rows of the join of DuckDB's own table, of the join of the Arrow table, and of IN (SELECT ...) over it)
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat > "$folder/join.py" <<'PYTHON'
import duckdb
import pyarrow as pa

# One key of whole microseconds, and two with digits below.
keys = pa.table({"t": pa.array([1_000, 1_001, 2_002], pa.timestamp("ns"))})
connection = duckdb.connect()
connection.register("arrow_keys", keys)
connection.execute("CREATE TABLE own AS SELECT * FROM arrow_keys")
join = "SELECT count(*) FROM {0} a JOIN {0} b ON a.t = b.t"
listed = "SELECT count(*) FROM arrow_keys WHERE t IN (SELECT t FROM arrow_keys)"
queries = (join.format("own"), join.format("arrow_keys"), listed)
print(duckdb.__version__, *(connection.execute(query).fetchone()[0] for query in queries))
PYTHON
for version in 1.5.5 2.0.1; do
    python3 -m venv "$folder/$version"
    "$folder/$version/bin/pip" install --quiet "duckdb==$version" pyarrow==26.0.1
    "$folder/$version/bin/python" "$folder/join.py" >> "$folder/found"
done
cat "$folder/found"
diff "$folder/found" <(printf '1.5.5 3 1 1\n2.0.1 3 3 3\n')
