#!/usr/bin/env bash
# narwhals: one expression over frames of several libraries.
#
# The guess: narwhals gives an expression the same meaning for every library, where it takes it at all.
# narwhals 2.29.0: 2.5.round() is 2 in Polars 2.1.0 and 3 in pyarrow 26.0.1 and DuckDB 2.0.1; 1.7.cast(Int64) is 1 in
# Polars, 2 in DuckDB, and an error in pyarrow; NaN.clip(0, 2) is NaN in Polars, and 2.0 in pyarrow and DuckDB.
#
# Output seen:
#    polars: round 2.0, cast 1, clip nan
#    pyarrow: round 3.0, cast refused, clip 2.0
#    duckdb: round 3.0, cast 2, clip 2.0
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet narwhals==2.29.0 polars==2.1.0 pyarrow==26.0.1 duckdb==2.0.1
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import duckdb
import narwhals as nw
import polars as pl
import pyarrow as pa

rows = {"r": [2.5], "c": [1.7], "n": [float("nan")]}
arrow = pa.table(rows)
frames = {"polars": pl.DataFrame(rows), "pyarrow": arrow, "duckdb": duckdb.from_arrow(arrow)}
expressions = {"round": nw.col("r").round(0), "cast": nw.col("c").cast(nw.Int64), "clip": nw.col("n").clip(0, 2)}


def value(frame, expression):
    try:
        found = nw.from_native(frame).select(x=expression)
        return str((found.collect() if isinstance(found, nw.LazyFrame) else found)["x"].to_list()[0])
    except Exception:
        return "refused"


found = {}
for library, frame in frames.items():
    found[library] = [value(frame, each) for each in expressions.values()]
    print(f"{library}: round {found[library][0]}, cast {found[library][1]}, clip {found[library][2]}")
expected = {"polars": ["2.0", "1", "nan"], "pyarrow": ["3.0", "refused", "2.0"], "duckdb": ["3.0", "2", "2.0"]}
assert found == expected, "the answers have changed"
PYTHON
