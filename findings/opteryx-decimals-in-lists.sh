#!/usr/bin/env bash
# Opteryx: decimals of a Parquet file in IN lists, and NULL in NOT IN and count(DISTINCT).
#
# The guess: `d IN (0.10, 0.25)` finds the rows that `d = 0.10` and `d = 0.25` find, `d = 0.10 OR d = 0.01` those of both, and
# NULL is neither in NOT IN nor counted by count(DISTINCT), as in SQL.
# opteryx 0.26.8 compares the values of an IN list as binary numbers with decimals: only those that binary numbers have
# exactly, such as 0.25, are found. An OR of two equalities becomes such a list, and finds nothing, where each of them alone
# is right. NOT IN of integers returns rows with NULL, that of strings does not. No error is raised.
#
# Output seen:
#    d = 0.10: [1]
#    d IN (0.10, 0.25, 0.01): [2]
#    d = 0.10 OR d = 0.01: []
#    d >= 0.01 AND d <= 0.10: [1, 4]
#    k NOT IN (1, 3): [2, 4, 5]
#    s NOT IN ('a'): [3]
#    count(DISTINCT k), of 1, NULL, 3, 4, NULL: 4
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet opteryx==0.26.8 pyarrow==26.0.1
cd "$folder"
"$folder/venv/bin/python" - > found 2>log <<'PYTHON' || { tail -20 log; exit 1; }
from decimal import Decimal

import opteryx
import pyarrow as pa
import pyarrow.parquet as pq

rows = pa.table(
    {
        "id": [1, 2, 3, 4, 5],
        "d": pa.array([Decimal("0.10"), Decimal("0.25"), None, Decimal("0.01"), Decimal("99.99")], pa.decimal128(10, 2)),
        "k": [1, None, 3, 4, None],
        "s": ["a", None, "b", "a", None],
    }
)
pq.write_table(rows, "rows.parquet")
PREDICATES = (
    "d = 0.10",
    "d IN (0.10, 0.25, 0.01)",
    "d = 0.10 OR d = 0.01",
    "d >= 0.01 AND d <= 0.10",
    "k NOT IN (1, 3)",
    "s NOT IN ('a')",
)
for predicate in PREDICATES:
    found = opteryx.query(f"SELECT id FROM 'rows.parquet' WHERE {predicate}").arrow()
    print(f"{predicate}: {sorted(found['id'].to_pylist())}")
[count] = opteryx.query("SELECT count(DISTINCT k) FROM 'rows.parquet'").arrow()[0].to_pylist()
print(f"count(DISTINCT k), of 1, NULL, 3, 4, NULL: {count}")
PYTHON
cat found
diff found - <<'SEEN'
d = 0.10: [1]
d IN (0.10, 0.25, 0.01): [2]
d = 0.10 OR d = 0.01: []
d >= 0.01 AND d <= 0.10: [1, 4]
k NOT IN (1, 3): [2, 4, 5]
s NOT IN ('a'): [3]
count(DISTINCT k), of 1, NULL, 3, 4, NULL: 4
SEEN
