#!/usr/bin/env bash
# fastparquet: the filter "not in".
#
# The guess: with row_filter=True the rows whose value is not in the list, and without it every row group that may have
# one: ("k", "not in", [1]) over 1, 2, 3 gives 2 and 3.
# fastparquet 2026.9.0: a row group is skipped if a value of the list is its minimum or maximum, so no row is found. A list
# with a value between them works.
#
# Output seen:
#    not in [1]: [], not in [3]: [], not in [2]: [1, 3], not in [9]: [1, 2, 3]
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet pandas==3.1.1 fastparquet==2026.9.0
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import fastparquet
import pandas as pd

fastparquet.write("k.parquet", pd.DataFrame({"k": [1, 2, 3]}))
file = fastparquet.ParquetFile("k.parquet")
found = [file.to_pandas(filters=[("k", "not in", [each])], row_filter=True)["k"].tolist() for each in (1, 3, 2, 9)]
print("not in [1]: {}, not in [3]: {}, not in [2]: {}, not in [9]: {}".format(*found))
assert found == [[], [], [1, 3], [1, 2, 3]], "the filter has changed"
PYTHON
