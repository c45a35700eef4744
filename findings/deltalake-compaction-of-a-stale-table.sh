#!/usr/bin/env bash
# deltalake: two compactions of the same files, of which the second has not seen the first.
#
# The guess: optimize.compact() of a table object that was opened before another process compacted the same files either
# fails with a conflict or does nothing, since the files that it would remove are no longer part of the table: as
# delta-spark's ConcurrentDeleteDeleteException, and as deltalake itself does after a DELETE or an UPDATE.
# deltalake 1.6.6 commits: it removes files that were already removed, and adds their rows once more, so that every row of
# these files is there twice.
#
# Output seen:
#    rows before 4, after the first compaction 4, after the second 8
#    the second after a delete: CommitFailedError
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet deltalake==1.6.6 pyarrow==26.0.1
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import pyarrow as pa
from deltalake import DeltaTable, write_deltalake


def table(name: str) -> str:
    for number in range(4):
        write_deltalake(name, pa.table({"id": [number]}), mode="append")
    return name


def rows(name: str) -> int:
    return DeltaTable(name).to_pyarrow_table().num_rows


name = table("twice")
counts = [rows(name)]
stale = DeltaTable(name)
DeltaTable(name).optimize.compact()
counts.append(rows(name))
stale.optimize.compact()
counts.append(rows(name))
print(f"rows before {counts[0]}, after the first compaction {counts[1]}, after the second {counts[2]}")

name = table("deleted")
stale = DeltaTable(name)
DeltaTable(name).delete("id = 1")
try:
    stale.optimize.compact()
    after = rows(name)
except Exception as error:
    after = type(error).__name__
print(f"the second after a delete: {after}")
assert (counts, after) == ([4, 4, 8], "CommitFailedError"), (counts, after)
PYTHON
