#!/usr/bin/env bash
# hyparquet: orderBy over a column with NULL or NaN.
#
# The guess: parquetQuery({ file, orderBy: 's' }) has the rows in the order of s, with the NULLs before or after them, so that
# rowEnd: 3 has the three smallest values.
# hyparquet 1.33.0 takes NULL and NaN to be equal to every string and NaN to every number, with which no sort can work:
# values on both sides of one keep the order of the file. NULL among numbers is where 0 is. Columns without either are
# right.
#
# Output seen:
#    strings: d,null,c,null,b,null,a
#    with rowEnd 3: d,null,c
#    numbers: -2,-1,null,null,1,2
#    doubles: 2,NaN,1,NaN,0.5
#    without NULL: a,b,c,d
set -euo pipefail
HYPARQUET_VERSION=1.33.0
HYPARQUET_WRITER_VERSION=0.17.0
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund "hyparquet@$HYPARQUET_VERSION" "hyparquet-writer@$HYPARQUET_WRITER_VERSION"
cat > order.mjs <<'JS'
import { asyncBufferFromFile, parquetQuery } from 'hyparquet'
import { parquetWriteFile } from 'hyparquet-writer'

async function ordered(data, rowEnd) {
  parquetWriteFile({ filename: 'rows.parquet', columnData: [{ name: 'v', data }] })
  const file = await asyncBufferFromFile('rows.parquet')
  const rows = await parquetQuery({ file, orderBy: 'v', rowEnd })
  return rows.map(row => String(row.v)).join(',')
}

const strings = ['d', null, 'c', null, 'b', null, 'a']
console.log('strings:', await ordered(strings))
console.log('with rowEnd 3:', await ordered(strings, 3))
console.log('numbers:', await ordered([2, null, -1, 1, null, -2]))
console.log('doubles:', await ordered([2.0, NaN, 1.0, NaN, 0.5]))
console.log('without NULL:', await ordered(['d', 'c', 'b', 'a']))
JS
node order.mjs > found
cat found
diff found - <<'SEEN'
strings: d,null,c,null,b,null,a
with rowEnd 3: d,null,c
numbers: -2,-1,null,null,1,2
doubles: 2,NaN,1,NaN,0.5
without NULL: a,b,c,d
SEEN
