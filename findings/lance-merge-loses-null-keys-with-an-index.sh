#!/usr/bin/env bash
# Lance: merge_insert of rows whose key is NULL, into a table with an index on the key.
#
# The guess: a row of the source that matches nothing is inserted by when_not_matched_insert_all(), and an index on the key
# makes the merge faster and changes no rows. NULL matches nothing, as in SQL's MERGE.
# pylance 14.0.2: without an index the row with the key NULL is inserted; with an index BTREE it is neither inserted nor
# does it replace the row with NULL: it is lost, without an error. With when_not_matched_by_source_delete() it is inserted.
# (Lance's issues have NULL keys of merges; the documentation has not.)
#
# Output seen:
#    no index: [(1, 'A'), (2, 'b'), (5, 'E'), (None, 'C'), (None, 'c')]
#    BTREE: [(1, 'A'), (2, 'b'), (5, 'E'), (None, 'c')]
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet pylance==14.0.2 pyarrow==26.0.1
cd "$folder"
"$folder/venv/bin/python" - > found <<'PYTHON'
import lance
import pyarrow as pa

rows = pa.table({"k": [1, 2, None], "v": ["a", "b", "c"]})
source = pa.table({"k": [1, None, 5], "v": ["A", "C", "E"]})
for kind in (None, "BTREE"):
    name = kind or "no index"
    dataset = lance.write_dataset(rows, f"{name}.lance")
    if kind is not None:
        dataset.create_scalar_index("k", kind)
    dataset.merge_insert("k").when_matched_update_all().when_not_matched_insert_all().execute(source)
    found = [tuple(row.values()) for row in lance.dataset(f"{name}.lance").to_table().to_pylist()]
    print(f"{name}: {sorted(found, key=str)}")
PYTHON
cat found
diff found - <<'SEEN'
no index: [(1, 'A'), (2, 'b'), (5, 'E'), (None, 'C'), (None, 'c')]
BTREE: [(1, 'A'), (2, 'b'), (5, 'E'), (None, 'c')]
SEEN
