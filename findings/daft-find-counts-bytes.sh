#!/usr/bin/env bash
# Daft: find() and substr() of strings beyond ASCII.
#
# The guess: find() is the place of a substring in characters, as length(), left() and substr() of Daft count, so that
# substr(s, find(s, "-") + 1) is what comes after the hyphen.
# Daft 0.7.26 counts bytes in find(): the hyphen of "Müller-Dean" is at 7, and substr() begins one character late.
# A substr() of nothing, such as that after the last character, is NULL, not an empty string.
#
# Output seen:
#    Muller-Dean: find 6, length 11, after the hyphen Dean
#    Müller-Dean: find 7, length 11, after the hyphen ean
#    Muller-: find 6, length 7, after the hyphen None
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet daft==0.7.26 pyarrow==25.0.1
cd "$folder"
"$folder/venv/bin/python" - > found 2>log <<'PYTHON' || { tail -20 log; exit 1; }
import daft
import daft.functions as F
from daft import col

names = daft.from_pydict({"s": ["Muller-Dean", "Müller-Dean", "Muller-"]})
found = names.select(
    "s",
    F.find(col("s"), "-").alias("at"),
    F.length(col("s")).alias("length"),
    F.substr(col("s"), F.find(col("s"), "-") + 1, 99).alias("rest"),
)
for row in found.to_pylist():
    print(f"{row['s']}: find {row['at']}, length {row['length']}, after the hyphen {row['rest']}")
PYTHON
cat found
diff found - <<'SEEN'
Muller-Dean: find 6, length 11, after the hyphen Dean
Müller-Dean: find 7, length 11, after the hyphen ean
Muller-: find 6, length 7, after the hyphen None
SEEN
