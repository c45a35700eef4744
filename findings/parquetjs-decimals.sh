#!/usr/bin/env bash
# parquetjs (@dsnp/parquetjs): decimals that it has written and reads again.
#
# The guess: a column of type DECIMAL has the values that were written, in each row, and 19.99 is one of two digits.
# @dsnp/parquetjs 1.8.8 writes decimals of up to 9 digits in 32 bits, as Parquet asks, and reads them as 64: each value is
# followed by a 0 (or -0.01, after a negative one), and the second half of the rows is lost, without an error. Decimals of
# 10 to 18 digits are read right. In both, 19.99 is stored as 19.98, since 19.99 * 100 is rounded down. pyarrow reads what
# the file has.
#
# Output seen:
#    precision 9: 1.5 0 -2.5 -0.01
#    precision 10: 1.5 -2.5 4.5 19.98
#    pyarrow 9: 1.50 -2.50 4.50 19.98
#    pyarrow 10: 1.50 -2.50 4.50 19.98
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund @dsnp/parquetjs@1.8.8
cat > decimals.mjs <<'JS'
import parquet from '@dsnp/parquetjs'

for (const precision of [9, 10]) {
  const path = `${precision}.parquet`
  const schema = new parquet.ParquetSchema({ v: { type: 'DECIMAL', precision, scale: 2 } })
  const writer = await parquet.ParquetWriter.openFile(schema, path)
  for (const v of [1.5, -2.5, 4.5, 19.99]) await writer.appendRow({ v })
  await writer.close()
  const reader = await parquet.ParquetReader.openFile(path)
  const cursor = reader.getCursor()
  const found = []
  for (let row = await cursor.next(); row; row = await cursor.next()) found.push(row.v)
  await reader.close()
  console.log(`precision ${precision}:`, found.join(' '))
}
JS
node decimals.mjs > found
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet pyarrow==26.0.1
"$folder/venv/bin/python" - >> found <<'PYTHON'
import pyarrow.parquet as pq

for precision in (9, 10):
    print(f"pyarrow {precision}:", *pq.read_table(f"{precision}.parquet")["v"].to_pylist())
PYTHON
cat found
diff found - <<'SEEN'
precision 9: 1.5 0 -2.5 -0.01
precision 10: 1.5 -2.5 4.5 19.98
pyarrow 9: 1.50 -2.50 4.50 19.98
pyarrow 10: 1.50 -2.50 4.50 19.98
SEEN
