#!/usr/bin/env bash
# Lance: NOT (b IS TRUE) over a column with an index.
#
# The guess: an index makes a filter faster and changes no rows: NOT (b IS TRUE), which is b IS NOT TRUE, has the rows
# whose b is false or NULL. Lance's other filters have the same rows with and without an index, NOT (b = true) among them.
# pylance 14.0.2: with an index BTREE or BITMAP the row whose b is NULL is missing, alone and within AND, and
# delete("NOT (b IS TRUE)") leaves it. So it is for NOT (b IS FALSE). b IS NOT TRUE and an index ZONEMAP are right.
#
# Output seen:
#    None: filter [2, 3], IS NOT TRUE [2, 3], delete leaves [1]
#    BTREE: filter [2], IS NOT TRUE [2, 3], delete leaves [1, 3]
#    BITMAP: filter [2], IS NOT TRUE [2, 3], delete leaves [1, 3]
#    ZONEMAP: filter [2, 3], IS NOT TRUE [2, 3], delete leaves [1]
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet pylance==14.0.2 pyarrow==26.0.1
cd "$folder"
"$folder/venv/bin/python" - > found <<'PYTHON'
import lance
import pyarrow as pa

rows = pa.table({"id": [1, 2, 3], "b": [True, False, None]})
for kind in (None, "BTREE", "BITMAP", "ZONEMAP"):
    dataset = lance.write_dataset(rows, f"{kind}.lance")
    if kind is not None:
        dataset.create_scalar_index("b", kind)
    first, second = (
        sorted(dataset.to_table(filter=each)["id"].to_pylist()) for each in ("NOT (b IS TRUE)", "b IS NOT TRUE")
    )
    dataset.delete("NOT (b IS TRUE)")
    print(f"{kind}: filter {first}, IS NOT TRUE {second}, delete leaves {dataset.to_table()['id'].to_pylist()}")
PYTHON
cat found
diff found - <<'SEEN'
None: filter [2, 3], IS NOT TRUE [2, 3], delete leaves [1]
BTREE: filter [2], IS NOT TRUE [2, 3], delete leaves [1, 3]
BITMAP: filter [2], IS NOT TRUE [2, 3], delete leaves [1, 3]
ZONEMAP: filter [2, 3], IS NOT TRUE [2, 3], delete leaves [1]
SEEN
