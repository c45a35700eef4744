#!/usr/bin/env bash
# apache-arrow for JavaScript: numbers that are written as Float16.
#
# The guess: a number that is beyond Float16 becomes Infinity, and one that is nearer to 0 than the smallest becomes 0, as IEEE
# 754 and Math.f16round have it, and as the package's Float32 does.
# apache-arrow 21.2.0 makes other numbers of them: 70000 becomes 2.13, 1e-10 becomes 0.00005, and 1e-8 -Infinity, without
# an error. Numbers from 6e-8 to 65519 are right.
#
# Output seen:
#    65504 65504
#    65520 Infinity
#    70000 2.134765625
#    -1000000 -3.814453125
#    6e-8 5.960464477539063e-8
#    1e-8 -Infinity
#    1e-10 0.00005316734313964844
set -euo pipefail
APACHE_ARROW_VERSION=21.2.0
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund "apache-arrow@$APACHE_ARROW_VERSION"
cat > half.mjs <<'JS'
import { Float16, vectorFromArray } from 'apache-arrow'

for (const value of [65504, 65520, 70000, -1e6, 6e-8, 1e-8, 1e-10]) {
  console.log(value, vectorFromArray([value], new Float16()).get(0))
}
JS
node half.mjs > found
cat found
diff found - <<'SEEN'
65504 65504
65520 Infinity
70000 2.134765625
-1000000 -3.814453125
6e-8 5.960464477539063e-8
1e-8 -Infinity
1e-10 0.00005316734313964844
SEEN
