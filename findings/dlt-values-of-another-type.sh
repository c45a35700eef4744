#!/usr/bin/env bash
# dlt: values that are not of the type of the column's first value.
#
# The guess: a value that the type of the column cannot hold goes to a variant column of its own type, as dlt's
# documentation says of data that cannot be coerced, and as 2.5 does after 1.
# dlt 1.31.0 counts every number as a boolean and as a time: after True, 2 and 0.5 are stored as true, and after a time, 5 is
# 1970-01-01 00:00:05 and the text "2024" is 2024-01-01, all without an error. After 1, the texts "0x1F" and "1_000" are 31
# and 1000.
#
# Output seen:
#    1, 2.5: a [1, None], a__v_double [None, 2.5]
#    True, 2, 0.5: a [True, True, True]
#    a time, 5, '2024': a ['2024-05-01 10:00', '1970-01-01 00:00', '2024-01-01 00:00']
#    1, '0x1F', '1_000': a [1, 31, 1000]
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet 'dlt[parquet]==1.31.0' pyarrow==26.0.1
cd "$folder"
export RUNTIME__DLTHUB_TELEMETRY=false RUNTIME__LOG_LEVEL=ERROR DLT_DATA_DIR="$folder/data"
"$folder/venv/bin/python" - > found 2>log <<'PYTHON' || { tail -20 log; exit 1; }
from datetime import datetime
from pathlib import Path

import dlt
import pyarrow.parquet as pq

CASES = {
    "1, 2.5": [1, 2.5],
    "True, 2, 0.5": [True, 2, 0.5],
    "a time, 5, '2024'": ["2024-05-01T10:00:00Z", 5, "2024"],
    "1, '0x1F', '1_000'": [1, "0x1F", "1_000"],
}
for number, (name, values) in enumerate(CASES.items()):
    to = dlt.destinations.filesystem(bucket_url=f"file://{Path.cwd()}/files{number}")
    pipeline = dlt.pipeline(f"p{number}", destination=to, dataset_name="d", pipelines_dir="pipelines")
    pipeline.run([{"a": value} for value in values], table_name="r", loader_file_format="parquet")
    [path] = Path(f"files{number}").glob("d/r/*.parquet")
    found = pq.read_table(path).to_pydict()
    columns = {
        column: [f"{each:%Y-%m-%d %H:%M}" if isinstance(each, datetime) else each for each in rows]
        for column, rows in found.items()
        if not column.startswith("_dlt")
    }
    print(f"{name}: " + ", ".join(f"{column} {rows}" for column, rows in columns.items()))
PYTHON
cat found
diff found - <<'SEEN'
1, 2.5: a [1, None], a__v_double [None, 2.5]
True, 2, 0.5: a [True, True, True]
a time, 5, '2024': a ['2024-05-01 10:00', '1970-01-01 00:00', '2024-01-01 00:00']
1, '0x1F', '1_000': a [1, 31, 1000]
SEEN
