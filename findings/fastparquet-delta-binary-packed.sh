#!/usr/bin/env bash
# fastparquet reads integers with the encoding DELTA_BINARY_PACKED.
#
# The guess: 64-bit integers are read as they were written, or the encoding is refused, as fastparquet refuses
# DELTA_BYTE_ARRAY and BYTE_STREAM_SPLIT.
# fastparquet 2026.9.0: where the differences in a block need more than 32 bits, other numbers are read, without an error:
# 2**33 becomes -2**33, and every number after it is wrong. pyarrow, which wrote the file, reads it right.
#
# Output seen:
#    written: [1, 2, 8589934592, -5]
#    pyarrow: [1, 2, 8589934592, -5]
#    fastparquet: [1, 2, -8589934592, -17179869189]
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet pyarrow==26.0.1 pandas==3.1.1 fastparquet==2026.9.0
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import fastparquet
import pyarrow as pa
import pyarrow.parquet as pq

written = [1, 2, 2**33, -5]
pq.write_table(
    pa.table({"x": written}), "x.parquet", use_dictionary=False, column_encoding={"x": "DELTA_BINARY_PACKED"}
)
by_pyarrow = pq.read_table("x.parquet")["x"].to_pylist()
found = fastparquet.ParquetFile("x.parquet").to_pandas()["x"].tolist()
print("written:", written)
print("pyarrow:", by_pyarrow)
print("fastparquet:", found)
assert by_pyarrow == written and found == [1, 2, -(2**33), -17179869189], "the encoding has changed"
PYTHON
