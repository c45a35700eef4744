#!/usr/bin/env bash
# datacompy: integers and decimals beyond 2^53.
#
# The guess: two frames match if their values are equal; the tolerances are 0 unless they are given, and integers and
# decimals are exact.
# datacompy 1.1.0 compares all numbers as doubles, in pandas and in Polars: order numbers of 19 digits that differ by 100, and
# amounts of DECIMAL(22, 2) that differ by a cent, match, and the report has no row for them. The same digits as strings, and
# as the key of the join, differ.
#
# Output seen:
#    pandas, order numbers: match True, equal rows 2 of 2
#    pandas, as strings: match False, equal rows 1 of 2
#    pandas, amounts: match True, equal rows 2 of 2
#    pandas, order numbers as the key: match False, equal rows 1 of 2
#    Polars, order numbers: match True, equal rows 2 of 2
#    Polars, as strings: match False, equal rows 1 of 2
#    Polars, amounts: match True, equal rows 2 of 2
#    Polars, order numbers as the key: match False, equal rows 1 of 2
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet datacompy==1.1.0 pandas==2.3.3 polars==1.44.2 pyarrow==19.0.1
cd "$folder"
"$folder/venv/bin/python" - > found 2>log <<'PYTHON' || { tail -20 log; exit 1; }
from decimal import Decimal

import datacompy
import pandas as pd
import polars as pl

orders = [1_772_366_400_000_000_000, 1_772_366_400_000_000_700]
others = [orders[0], orders[1] + 100]
CASES = {
    "order numbers": (orders, others),
    "as strings": ([str(each) for each in orders], [str(each) for each in others]),
    "amounts": ([Decimal("0.10"), Decimal("12345678901234567890.12")], [Decimal("0.10"), Decimal("12345678901234567890.13")]),
}


def show(name, compare, key, left, right):
    found = compare(left, right, join_columns=key)
    print(f"{name}: match {bool(found.matches())}, equal rows {found.count_matching_rows()} of {len(left)}")


for library, frame, compare in (
    ("pandas", pd.DataFrame, datacompy.PandasCompare),
    ("Polars", pl.DataFrame, datacompy.PolarsCompare),
):
    for name, (left, right) in CASES.items():
        show(f"{library}, {name}", compare, "k", frame({"k": [1, 2], "v": left}), frame({"k": [1, 2], "v": right}))
    left, right = (frame({"k": each, "v": [1, 2]}) for each in (orders, others))
    show(f"{library}, order numbers as the key", compare, "k", left, right)
PYTHON
cat found
diff found - <<'SEEN'
pandas, order numbers: match True, equal rows 2 of 2
pandas, as strings: match False, equal rows 1 of 2
pandas, amounts: match True, equal rows 2 of 2
pandas, order numbers as the key: match False, equal rows 1 of 2
Polars, order numbers: match True, equal rows 2 of 2
Polars, as strings: match False, equal rows 1 of 2
Polars, amounts: match True, equal rows 2 of 2
Polars, order numbers as the key: match False, equal rows 1 of 2
SEEN
