#!/usr/bin/env bash
# pyarrow: views of lists that are cast to lists.
#
# The guess: `list_view.cast(list_)` has the same values, as casts between the other kinds of lists.
# pyarrow 26.0.1, without an error: the offsets of the views are taken as those of lists, which lack the last one, so every
# list has other values, or one that is read behind the buffer.
#
# Output seen:
#    [['a', 'b'], [], None, ['c']] has no valid cast: Offsets buffer size (bytes): 16 isn't large enough for length: 4 and offset: 0
#    [['c'], ['a', 'b']] has no valid cast: Offsets buffer size (bytes): 8 isn't large enough for length: 2 and offset: 0
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet pyarrow==26.0.1
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import pyarrow as pa

kind = pa.list_view(pa.string())
views = (
    pa.array([["a", "b"], [], None, ["c"]], kind),
    pa.ListViewArray.from_arrays(pa.array([2, 0], pa.int32()), pa.array([1, 2], pa.int32()), pa.array(["a", "b", "c"])),
)
for view in views:
    try:
        view.cast(pa.list_(pa.string())).validate(full=True)
    except pa.ArrowInvalid as error:
        print(view.to_pylist(), "has no valid cast:", error)
PYTHON
