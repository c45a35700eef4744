#!/usr/bin/env bash
# pyarrow: NumPy arrays of texts or bytes of a fixed width.
#
# The guess: pa.array(a) has the items of the array, as a.tolist() has them: NumPy pads values with NUL characters, and
# drops only those at the end.
# pyarrow 26.0.1 ends each value at its first NUL, so that what follows is lost; a list of the same values, an array of
# objects and NumPy's StringDType keep it.
#
# Output seen:
#    [b'a\x00b', b'cd'] [b'a', b'cd'] [b'a\x00b', b'cd']
#    ['a\x00b', 'cd'] ['a', 'cd'] ['a\x00b', 'cd']
# (the items, pa.array of the array, pa.array of the array of objects)
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet pyarrow==26.0.1 numpy==2.3.5
"$folder/env/bin/python" - > "$folder/found" <<'PYTHON'
import numpy as np
import pyarrow as pa

for given in (np.array([b"a\0b", b"cd"]), np.array(["a\0b", "cd"])):
    print(given.tolist(), pa.array(given).to_pylist(), pa.array(given.astype(object)).to_pylist())
PYTHON
cat "$folder/found"
diff "$folder/found" - <<'SEEN'
[b'a\x00b', b'cd'] [b'a', b'cd'] [b'a\x00b', b'cd']
['a\x00b', 'cd'] ['a', 'cd'] ['a\x00b', 'cd']
SEEN
