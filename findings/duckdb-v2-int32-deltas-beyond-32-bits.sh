#!/usr/bin/env bash
# DuckDB and pyarrow: INT columns of files with PARQUET_VERSION v2.
#
# The guess: a Parquet file of version 2 that DuckDB writes is read by pyarrow, which reads DELTA_BINARY_PACKED.
# DuckDB 2.0.1 (and 1.5.5) computes the deltas of INT32 in 64 bits: if two neighbours are more than 2,147,483,647 apart, a
# block has numbers of 33 bits. The specification of the encoding says that deltas wrap around in the arithmetic of the
# column's type, and pyarrow 26.0.1 allows no wider ones, so that it refuses the file. DuckDB and Polars read it. BIGINT
# wraps in 64 bits and is fine, and so are SMALLINT and TINYINT, whose deltas are small.
#
# Output seen:
#    INT 2147483647, -2147483648: OSError
#    INT 7, -8: read
#    BIGINT 9223372036854775807, -9223372036854775808: read
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet duckdb==2.0.1 pyarrow==26.0.1
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import duckdb
import pyarrow.parquet as pq

found = []
for kind, values in (
    ("INT", (2147483647, -2147483648)),
    ("INT", (7, -8)),
    ("BIGINT", (9223372036854775807, -9223372036854775808)),
):
    query = f"SELECT unnest([{values[0]}, {values[1]}]::{kind}[]) AS a"
    duckdb.execute(f"COPY ({query}) TO 't.parquet' (FORMAT parquet, PARQUET_VERSION v2)")
    assert duckdb.sql("SELECT a FROM 't.parquet'").fetchall() == [(value,) for value in values]
    try:
        assert pq.read_table("t.parquet")["a"].to_pylist() == list(values)
        found.append((f"{kind} {values[0]}, {values[1]}", "read"))
    except OSError as error:
        found.append((f"{kind} {values[0]}, {values[1]}", type(error).__name__))
print("\n".join(": ".join(each) for each in found))
assert [result for _, result in found] == ["OSError", "read", "read"], found
PYTHON
