#!/usr/bin/env bash
# Daft: unix_date() of times before 1970.
#
# The guess: unix_date() of 1969-12-31 is -1, as of Spark's function of this name, or it is refused: the documentation names
# the type UInt64.
# Daft 0.7.26: it is 18446744073709551615, without an error, so that the day before 1970 sorts as the latest one, and the
# difference of two days is none of days.
#
# Output seen:
#    unix_date: [0, 18446744073709551615]
#    the latest day: 1969-12-31
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet daft==0.7.26 pyarrow==25.0.1
cd "$folder"
"$folder/venv/bin/python" - > found 2>log <<'PYTHON' || { tail -20 log; exit 1; }
from datetime import datetime

import daft
import daft.functions as F
from daft import col

times = daft.from_pydict({"t": [datetime(1970, 1, 1, 12), datetime(1969, 12, 31, 12)]})
days = times.with_column("day", F.unix_date(col("t")))
print("unix_date:", days.to_pydict()["day"])
print(f"the latest day: {days.sort('day', desc=True).to_pydict()['t'][0]:%Y-%m-%d}")
PYTHON
cat found
diff found - <<'SEEN'
unix_date: [0, 18446744073709551615]
the latest day: 1969-12-31
SEEN
