#!/usr/bin/env bash
# pyarrow: isin with 0.0 over a Parquet file of zeros.
#
# The guess: rows whose value is 0.0 are found by isin([0.0, 5.0]) as they are by == 0.0; a file is skipped only if no row
# can match.
# pyarrow 26.0.1: in memory both rows are found; from the file, none. The writer stores the minimum of zeros as -0.0 (so the
# Parquet format asks), the dataset concludes from the footer which values are possible, and isin, which compares bits,
# excludes 0.0. A file with 0.0 and 1.0 is read. The same through pq.read_table(filters=[("g", "in", …)]), and through
# pyiceberg 0.12.0, whose scans use it. In memory, isin([0.0]) does not find -0.0, which == 0.0 finds.
#
# Output seen:
#    in memory: 2, from the file: 0, == 0.0 from the file: 2, filters=in: 0
#    0.0 and -0.0 in memory: isin 1, == 2
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet pyarrow==26.0.1
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pds
import pyarrow.parquet as pq

g = pc.field("g")
zeros = pa.table({"g": [0.0, 0.0]})
pq.write_table(zeros, "zeros.parquet")
dataset = pds.dataset("zeros.parquet")
memory = zeros.filter(g.isin([0.0, 5.0])).num_rows
file = dataset.to_table(filter=g.isin([0.0, 5.0])).num_rows
equal = dataset.to_table(filter=g == 0.0).num_rows
filtered = pq.read_table("zeros.parquet", filters=[("g", "in", [0.0, 5.0])]).num_rows
print(f"in memory: {memory}, from the file: {file}, == 0.0 from the file: {equal}, filters=in: {filtered}")
both = pa.table({"g": [0.0, -0.0]})
counts = both.filter(g.isin([0.0])).num_rows, both.filter(g == 0.0).num_rows
print("0.0 and -0.0 in memory: isin {}, == {}".format(*counts))
assert (memory, file, equal, filtered, counts) == (2, 0, 2, 0, (1, 2)), "isin of zero has changed"
PYTHON
