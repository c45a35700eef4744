#!/usr/bin/env bash
# pyarrow: tables with a column whose name begins with a dot, beside one with the same name without it.
#
# The guess: the name of a column is its name. `table[".zz"]`, `select` and dataset filters take it so, and names such as
# ".hidden" or "..data" come from folders and JSON documents.
# pyarrow 26.0.1: sort_by, sort_indices, group_by, join and struct_field take a text that begins with a dot for a path from
# the root, and use the column without the dot. Rows are ordered, grouped and joined by another column, without an error. A
# list with the one name works in struct_field.
#
# Output seen:
#    sort_by('.zz'): ['a', 'b', 'c'], want ['b', 'c', 'a']
#    group_by('.zz'): 3 groups of zz, want 1 of .zz
#    join on '.zz': 3 rows, want 9
#    struct_field('.zz'): ['z', 'z', 'z'], want ['dot', 'dot', 'dot']
#    struct_field(['.zz']): ['dot', 'dot', 'dot']
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet pyarrow==26.0.1
"$folder/venv/bin/python" - <<'PYTHON'
import pyarrow as pa
import pyarrow.compute as pc

table = pa.table({"zz": [1, 2, 3], ".zz": [3, 1, 2], "name": ["a", "b", "c"]})
one = pa.table({"zz": [1, 2, 3], ".zz": [7, 7, 7]})
structs = pa.array([{"zz": "z", ".zz": "dot"}] * 3)

ordered = table.sort_by(".zz")["name"].to_pylist()
groups = one.group_by(".zz").aggregate([([], "count_all")])
joined = one.join(one, ".zz", right_suffix=" right", coalesce_keys=False)
fields = [pc.struct_field(structs, name).to_pylist() for name in (".zz", [".zz"])]

print(f"sort_by('.zz'): {ordered}, want ['b', 'c', 'a']")
print(f"group_by('.zz'): {len(groups)} groups of {groups.column_names[0]}, want 1 of .zz")
print(f"join on '.zz': {len(joined)} rows, want 9")
print(f"struct_field('.zz'): {fields[0]}, want {['dot'] * 3}")
print(f"struct_field(['.zz']): {fields[1]}")
assert table.select([".zz"]).column_names == [".zz"] and table[".zz"].to_pylist() == [3, 1, 2]
seen = (ordered, len(groups), groups.column_names[0], len(joined), *fields)
assert seen == (["a", "b", "c"], 3, "zz", 3, ["z"] * 3, ["dot"] * 3), "names that begin with a dot are taken otherwise"
PYTHON
