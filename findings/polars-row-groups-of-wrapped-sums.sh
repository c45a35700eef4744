#!/usr/bin/env bash
# Polars: a filter of a sum, over a Parquet file and over the frame that was written to it.
#
# The guess: scan_parquet(...).filter(...) has the rows of the frame, as integers wrap around in both, and the statistics of
# a row group are only believed where they say something of the filter's values.
# Polars 2.1.0 computes the least and greatest value of y + 1 from those of y, so that the bound wraps around where the row
# group has the greatest value of the type: the row group is skipped with all other rows that match. The same for y - 1
# beside the least value, and for y * 2. use_statistics=False has all rows.
#
# Output seen:
#    y + 1 > 0 of [0, 1, 127]: frame [0, 1], file [], file without statistics [0, 1]
#    y - 1 < 0 of [-128, 0, 5]: frame [0], file [], file without statistics [0]
#    y * 2 > 0 of [1, 2, 127]: frame [1, 2], file [], file without statistics [1, 2]
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet polars==2.1.0
cd "$folder"
"$folder/venv/bin/python" - > found 2>log <<'PYTHON' || { tail -20 log; exit 1; }
import polars as pl

y = pl.col("y")
for name, where, values in (("y + 1 > 0", y + 1 > 0, [0, 1, 127]), ("y - 1 < 0", y - 1 < 0, [-128, 0, 5]),
                            ("y * 2 > 0", y * 2 > 0, [1, 2, 127])):
    frame = pl.DataFrame({"y": values}, schema={"y": pl.Int8})
    frame.write_parquet("t.parquet")
    rows = [
        each.filter(where).lazy().collect()["y"].to_list()
        for each in (frame, pl.scan_parquet("t.parquet"), pl.scan_parquet("t.parquet", use_statistics=False))
    ]
    print(f"{name} of {values}: frame {rows[0]}, file {rows[1]}, file without statistics {rows[2]}")
PYTHON
cat found
diff found - <<'SEEN'
y + 1 > 0 of [0, 1, 127]: frame [0, 1], file [], file without statistics [0, 1]
y - 1 < 0 of [-128, 0, 5]: frame [0], file [], file without statistics [0]
y * 2 > 0 of [1, 2, 127]: frame [1, 2], file [], file without statistics [1, 2]
SEEN
