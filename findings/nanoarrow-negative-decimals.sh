#!/usr/bin/env bash
# nanoarrow for Python: decimals below zero.
#
# The guess: to_pylist() of a decimal column has its values, as pyarrow's to_pylist() has them.
# nanoarrow 0.9.0 reads the bytes of each decimal as an unsigned number and rounds it to the digits of the type: -1.50 as
# decimal128(10, 2) becomes 3.402823669E+36, without an error. Positive values and NULL are right. The same for decimal256
# and for iter_py().
#
# Output seen:
#    pyarrow: 1.50 -1.50 None -0.01
#    nanoarrow: 1.50 3.402823669E+36 None 3.402823669E+36
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet nanoarrow==0.9.0 pyarrow==26.0.1
cd "$folder"
"$folder/venv/bin/python" - > found <<'PYTHON'
from decimal import Decimal

import nanoarrow as na
import pyarrow as pa

values = pa.array([Decimal("1.50"), Decimal("-1.50"), None, Decimal("-0.01")], pa.decimal128(10, 2))
print("pyarrow:", *values.to_pylist())
print("nanoarrow:", *na.Array(values).to_pylist())
PYTHON
cat found
diff found - <<'SEEN'
pyarrow: 1.50 -1.50 None -0.01
nanoarrow: 1.50 3.402823669E+36 None 3.402823669E+36
SEEN
