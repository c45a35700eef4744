#!/usr/bin/env bash
# deltalake: a condition that computes with a partition column, in SQL and in delete.
#
# The guess: p + 1 = 2 finds the row with p = 1, whether p is a partition column or not; a delete with it removes that row.
# deltalake 1.6.6: the filter is handed to the scan, which reports it as applied in full and skips only what it can
# evaluate: p + 1 = 2, p * 2 = 4 and CASE WHEN p = 1 THEN true ELSE false END are true for every row. delete("p + 1 = 2")
# removes all rows. p = 1, p % 2 = 1, abs(p) = 1 and upper(p) are right, and so is p + 1 = 2 in the SELECT list, and in the
# WHERE if p is not a partition column.
#
# Output seen:
#    WHERE p + 1 = 2: [1, 2, 3], WHERE abs(p) = 1: [1], SELECT p + 1 = 2: [True, False, False]
#    without partitions, WHERE p + 1 = 2: [1]
#    delete("p + 1 = 2") leaves: []
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet pyarrow==26.0.1 deltalake==1.6.6
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import deltalake
import pyarrow as pa

rows = pa.table({"id": pa.array([1, 2, 3], pa.int64()), "p": pa.array([1, 2, 3], pa.int64())})
deltalake.write_deltalake("parted", rows, partition_by=["p"])
deltalake.write_deltalake("plain", rows)


def values(path, query):
    found = deltalake.QueryBuilder().register("t", deltalake.DeltaTable(path)).execute(query).read_all()
    return pa.table(found)["x"].to_pylist()


computed = values("parted", "SELECT id AS x FROM t WHERE p + 1 = 2 ORDER BY id")
by_function = values("parted", "SELECT id AS x FROM t WHERE abs(p) = 1")
selected = values("parted", "SELECT p + 1 = 2 AS x FROM t ORDER BY id")
plain = values("plain", "SELECT id AS x FROM t WHERE p + 1 = 2")
print(f"WHERE p + 1 = 2: {computed}, WHERE abs(p) = 1: {by_function}, SELECT p + 1 = 2: {selected}")
print("without partitions, WHERE p + 1 = 2:", plain)
deltalake.DeltaTable("parted").delete("p + 1 = 2")
left = values("parted", "SELECT id AS x FROM t")
print('delete("p + 1 = 2") leaves:', left)
assert (computed, by_function, selected) == ([1, 2, 3], [1], [True, False, False]), "conditions have changed"
assert (plain, left) == ([1], []), "deletes have changed"
PYTHON
