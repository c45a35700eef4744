#!/usr/bin/env bash
# pyarrow: round with more than ten digits.
#
# The guess: round(0.1, ndigits=11) is 0.1, as in Python, NumPy, DuckDB and in pyarrow itself for ten digits.
# pyarrow 26.0.1 multiplies and divides by a power of ten with the precision of Float32, which has 10^10 and no power beyond
# it exactly: 0.1 becomes 0.099999999998, and 1234567890123.0 rounded to -11 digits 1199999975424. So it is in a Series of
# pandas 3.1.1 with the type double[pyarrow]. Decimals are right.
#
# Output seen:
#    round(0.1, 10): 0.1
#    round(0.1, 11): 0.099999999998, Python 0.1, DuckDB 0.1
#    round(1234567890123.0, -11): 1199999975424.0, Python 1200000000000.0
#    pandas: 0.099999999998
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet pyarrow==26.0.1 pandas==3.1.1 duckdb==2.0.1
cd "$folder"
"$folder/venv/bin/python" - > found <<'PYTHON'
import duckdb
import pandas as pd
import pyarrow.compute as pc

print("round(0.1, 10):", pc.round(0.1, ndigits=10))
duck = duckdb.execute("SELECT round(0.1::DOUBLE, 11)").fetchone()[0]
print(f"round(0.1, 11): {pc.round(0.1, ndigits=11)}, Python {round(0.1, 11)}, DuckDB {duck}")
large = 1234567890123.0
print(f"round({large}, -11): {pc.round(large, ndigits=-11)}, Python {round(large, -11)}")
print("pandas:", pd.Series([0.1], dtype="double[pyarrow]").round(11)[0])
PYTHON
cat found
diff found - <<'SEEN'
round(0.1, 10): 0.1
round(0.1, 11): 0.099999999998, Python 0.1, DuckDB 0.1
round(1234567890123.0, -11): 1199999975424.0, Python 1200000000000.0
pandas: 0.099999999998
SEEN
