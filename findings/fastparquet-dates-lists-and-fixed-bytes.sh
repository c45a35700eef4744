#!/usr/bin/env bash
# fastparquet reads dates, lists of structs and bytes of a fixed length.
#
# The guess: a type that fastparquet cannot read right is refused, as structs are (KeyError).
# fastparquet 2026.9.0 with pandas 3.1.1, each without an error: a DATE beyond 1677-2262 wraps around in nanoseconds,
# although TIMESTAMP in microseconds is read right beyond them; a list of structs is None in every row; FIXED_LEN_BYTE_ARRAY
# loses zero bytes at its end; a half-float column (FLOAT16) is bytes.
#
# Output seen:
#    DATE 9999-12-31: 1816-03-29, TIMESTAMP 9999-12-31: 9999-12-31
#    [[{'a': 1}], []]: [None, None]
#    b'c\\0': b'c'
#    1.5 as FLOAT16: b'\\x00>'
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet pyarrow==26.0.1 pandas==3.1.1 fastparquet==2026.9.0
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
from datetime import date, datetime

import fastparquet
import pyarrow as pa
import pyarrow.parquet as pq


def read(values, kind=None):
    pq.write_table(pa.table({"x": pa.array(values, kind)}), "x.parquet")
    return fastparquet.ParquetFile("x.parquet").to_pandas()["x"].tolist()


[day], [time] = read([date(9999, 12, 31)]), read([datetime(9999, 12, 31)], pa.timestamp("us"))
print(f"DATE 9999-12-31: {day.date()}, TIMESTAMP 9999-12-31: {time.date()}")
lists = read([[{"a": 1}], []])
print("[[{'a': 1}], []]:", lists)
[fixed] = read([b"c\0"], pa.binary(2))
print("b'c\\0':", fixed)
[half] = read([1.5], pa.float16())
print("1.5 as FLOAT16:", half)
assert (str(day.date()), str(time.date())) == ("1816-03-29", "9999-12-31"), "dates have changed"
assert (lists, fixed, half) == ([None, None], b"c", b"\x00>"), "other types have changed"
PYTHON
