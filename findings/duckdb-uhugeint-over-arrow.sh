#!/usr/bin/env bash
# DuckDB: unsigned integers of 128 bits in Arrow.
#
# The guess: a UHUGEINT that Arrow's decimals of 38 digits cannot hold is refused, or arrives as text or a floating-point
# number.
# DuckDB 1.5.5 and 2.0.1 give its bits as a signed decimal128(38, 0): the greatest value arrives as -1, and 10**38 as a
# decimal of 39 digits, which pyarrow shows without an error.
#
# Output seen:
#    1.5.5 decimal128(38, 0) -1 -6 100000000000000000000000000000000000000
#    2.0.1 decimal128(38, 0) -1 -6 100000000000000000000000000000000000000
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat > "$folder/unsigned.py" <<'PYTHON'
import duckdb

values = [2**128 - 1, 2**128 - 6, 10**38]
query = "SELECT " + ", ".join(f"{value}::UHUGEINT AS c{at}" for at, value in enumerate(values))
found = duckdb.connect().sql(query).to_arrow_table()
print(duckdb.__version__, found.schema.field("c0").type, *(column[0] for column in found.columns))
PYTHON
for version in 1.5.5 2.0.1; do
    python3 -m venv "$folder/$version"
    "$folder/$version/bin/pip" install --quiet "duckdb==$version" pyarrow==26.0.1
    "$folder/$version/bin/python" "$folder/unsigned.py" >> "$folder/found"
done
cat "$folder/found"
seen='decimal128(38, 0) -1 -6 100000000000000000000000000000000000000'
diff "$folder/found" <(printf '1.5.5 %s\n2.0.1 %s\n' "$seen" "$seen")
