#!/usr/bin/env bash
# pyiceberg: NOT IN, != and NULL, in scans and deletes.
#
# The guess: s NOT IN ('a', 'x') and s != 'a' agree about NULL, and delete(filter) removes the rows that scan(filter) shows.
# pyiceberg 0.12.0: the scan of NOT IN has the row with NULL, the scan of != does not; a delete with the same NOT IN leaves
# the row with NULL that its scan shows. (NOT IN with one value is rewritten to !=, and leaves NULL out, too.)
#
# Output seen:
#    scan s != 'a': [3], scan s not in ('a'): [3], scan s not in ('a', 'x'): [2, 3]
#    delete s not in ('a', 'x') leaves: [1, 2]
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet 'pyiceberg[sql-sqlite,pyarrow]==0.12.0' pyarrow==26.0.1
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import os
import warnings

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog

warnings.simplefilter("ignore")
catalog = SqlCatalog("c", uri=f"sqlite:///{os.getcwd()}/c.db", warehouse=f"file://{os.getcwd()}")
catalog.create_namespace("n")
rows = pa.table({"k": [1, 2, 3], "s": ["a", None, "b"]})
table = catalog.create_table("n.t", schema=rows.schema)
table.append(rows)


def found(where):
    return sorted(table.scan(row_filter=where).to_arrow()["k"].to_pylist())


unequal, one, two = found("s != 'a'"), found("s not in ('a')"), found("s not in ('a', 'x')")
print(f"scan s != 'a': {unequal}, scan s not in ('a'): {one}, scan s not in ('a', 'x'): {two}")
table.delete("s not in ('a', 'x')")
left = sorted(table.scan().to_arrow()["k"].to_pylist())
print("delete s not in ('a', 'x') leaves:", left)
assert (unequal, one, two, left) == ([3], [3], [2, 3], [1, 2]), "NULL has changed"
PYTHON
