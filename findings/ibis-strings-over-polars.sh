#!/usr/bin/env bash
# ibis: strings over Polars, beside the same expressions over DuckDB.
#
# The guess: ibis gives an expression one meaning for every backend, and that of its documentation: replace() replaces "each
# exact match", length() is in characters, nunique() counts distinct values as SQL's COUNT(DISTINCT), without NULL,
# find() of NULL is NULL, and difference(distinct=False) is that of multisets.
# ibis 12.0.0 over Polars 2.1.0: replace() replaces the first match only, length() is in bytes, nunique() counts NULL,
# find() of NULL is -1 ("not there"), and difference(distinct=False) removes every row with the value. Over DuckDB all of
# them are as guessed.
#
# Output seen:
#    duckdb: replace ['abc', 'é', None], length [5, 1, None], find [2, -1, None], nunique 2, difference 2
#    polars: replace ['ab-c', 'é', None], length [5, 2, None], find [2, -1, -1], nunique 3, difference 1
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet 'ibis-framework[duckdb,polars]==12.0.0' polars==2.1.0 duckdb==1.5.6 pyarrow==26.0.1
cd "$folder"
"$folder/venv/bin/python" - > found 2>log <<'PYTHON' || { tail -20 log; exit 1; }
import ibis
import pyarrow as pa

table = ibis.memtable(pa.table({"id": [1, 2, 3], "s": ["a-b-c", "é", None]}))
s = table.s
found = table.select("id", replace=s.replace("-", ""), length=s.length(), find=s.find("b")).order_by("id")
thrice, once = ibis.memtable(pa.table({"s": ["x", "x", "y"]})), ibis.memtable(pa.table({"s": ["x"]}))
rest = ibis.difference(thrice, once, distinct=False)
for name in ("duckdb", "polars"):
    backend = getattr(ibis, name).connect()
    columns = backend.to_pyarrow(found).to_pydict()
    listed = ", ".join(f"{each} {columns[each]}" for each in ("replace", "length", "find"))
    distinct = backend.to_pyarrow(s.nunique()).as_py()
    print(f"{name}: {listed}, nunique {distinct}, difference {len(backend.to_pyarrow(rest))}")
PYTHON
cat found
diff found - <<'SEEN'
duckdb: replace ['abc', 'é', None], length [5, 1, None], find [2, -1, None], nunique 2, difference 2
polars: replace ['ab-c', 'é', None], length [5, 2, None], find [2, -1, -1], nunique 3, difference 1
SEEN
