#!/usr/bin/env bash
# DuckDB: parameters of the type decimal.Decimal whose exponent is above 0.
#
# The guess: a parameter has the value of the Decimal that is passed, however it is written.
# DuckDB 1.5.5 reads the exponent's sign wrongly where it is above 0: Decimal("1E+3"), which Decimal(1000).normalize()
# returns, becomes 1.000, and Decimal("1.5E+10") becomes 15.000000000. DuckDB 2.0.1 passes the values.
#
# Output seen:
#    1.5.5 1.000 15.000000000 -2.00 1000
#    2.0.1 1000 15000000000 -200 1000
# (the last one is Decimal("1000"))
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat > "$folder/parameters.py" <<'PYTHON'
from decimal import Decimal

import duckdb

given = [Decimal(1000).normalize(), Decimal("1.5E+10"), Decimal("-2E+2"), Decimal("1000")]
print(duckdb.__version__, *duckdb.execute("SELECT ?, ?, ?, ?", given).fetchone())
PYTHON
for version in 1.5.5 2.0.1; do
    python3 -m venv "$folder/$version"
    "$folder/$version/bin/pip" install --quiet "duckdb==$version"
    "$folder/$version/bin/python" "$folder/parameters.py" >> "$folder/found"
done
cat "$folder/found"
diff "$folder/found" <(printf '1.5.5 1.000 15.000000000 -2.00 1000\n2.0.1 1000 15000000000 -200 1000\n')
