#!/usr/bin/env bash
# pyarrow: sums of decimals that need more than 38 digits.
#
# The guess: the sum of decimal128(38, 18) is refused where it does not fit, as Polars and DuckDB refuse it and as pyarrow
# itself refuses the addition of two such values, or it gets the type decimal256.
# pyarrow 26.0.1 adds the bits: 9e19 and 9e19 are -160282366920938463463.374607431768211456, a decimal of 39 digits below
# zero, without an error, in sum, in mean, and in group_by().aggregate().
#
# Output seen:
#    sum: -160282366920938463463.374607431768211456, mean: -80141183460469231731.687303715884105728
#    group_by: -160282366920938463463.374607431768211456
#    add: ArrowInvalid
#    DuckDB: OutOfRangeException, Polars: ComputeError
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet pyarrow==26.0.1 duckdb==2.0.1 polars==2.1.0
cd "$folder"
"$folder/venv/bin/python" - > found <<'PYTHON'
from decimal import Decimal

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

values = pa.array([Decimal("9e19")] * 2, pa.decimal128(38, 18))
rows = pa.table({"k": [1, 1], "v": values})


def raised(of):
    try:
        return of()
    except Exception as error:
        return type(error).__name__


print(f"sum: {pc.sum(values)}, mean: {pc.mean(values)}")
print("group_by:", rows.group_by("k").aggregate([("v", "sum")])["v_sum"][0])
largest = pa.array([Decimal("9" * 38)], pa.decimal128(38, 0))
print("add:", raised(lambda: pc.add(largest, largest)))
duck = raised(lambda: duckdb.sql("SELECT sum(v) FROM rows").fetchall())
print(f"DuckDB: {duck}, Polars: {raised(lambda: pl.from_arrow(rows)['v'].sum())}")
PYTHON
cat found
diff found - <<'SEEN'
sum: -160282366920938463463.374607431768211456, mean: -80141183460469231731.687303715884105728
group_by: -160282366920938463463.374607431768211456
add: ArrowInvalid
DuckDB: OutOfRangeException, Polars: ComputeError
SEEN
