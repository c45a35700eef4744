#!/usr/bin/env bash
# A Float32 column of Polars and a list of Python floats.
#
# The guess: is_in([0.1]) finds the rows that == 0.1 finds. Polars compares a Float32 column with the literal 0.1 as
# Float32, so == 0.1 is true for the float 0.1.
# Polars 2.1.0: is_in([0.1]) is false; the list loses its value before the query runs (the optimized plan has is_in([[]])),
# because 0.1 as a Float64 is no Float32. is_between(0.1, 0.1) is true. Values such as 0.5 are found by both.
#
# Output seen:
#    == 0.1: 1, is_between(0.1, 0.1): 1, is_in([0.1]): 0, is_in([0.5]): 1
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet polars==2.1.0
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import polars as pl

frame = pl.DataFrame({"f": pl.Series([0.1, 0.5], dtype=pl.Float32)})
f = pl.col("f")
found = [frame.filter(each).height for each in (f == 0.1, f.is_between(0.1, 0.1), f.is_in([0.1]), f.is_in([0.5]))]
print("== 0.1: {}, is_between(0.1, 0.1): {}, is_in([0.1]): {}, is_in([0.5]): {}".format(*found))
assert found == [1, 1, 0, 1], "lists of floats have changed"
PYTHON
