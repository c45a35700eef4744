#!/usr/bin/env bash
# Apache Avro for Python: decimals that are written with fewer digits than the scale of their type.
#
# The guess: the value of a Decimal is written, so that Decimal("150") comes back from a decimal(8, 2) as 150.00; a Decimal
# with more digits than the scale is refused, as the specification asks.
# avro 1.12.2 writes the digits of the Decimal and leaves out its exponent: 150 comes back as 1.50, 1.5 as 0.15, and
# Decimal(1000).normalize(), which is 1E+3, as 0.01, without an error, in bytes as in fixed. Only Decimals whose exponent is
# the scale are right. fastavro 1.13.1 writes the values.
#
# Output seen:
#    avro: 1.50 1.50, 1.5 0.15, 150 1.50, 1E+3 0.01
#    fastavro: 1.50 1.50, 1.5 1.50, 150 150.00, 1E+3 1000.00
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet avro==1.12.2 fastavro==1.13.1
cd "$folder"
"$folder/venv/bin/python" - > found <<'PYTHON'
import io
import json
from decimal import Decimal

import avro.io
import avro.schema
import fastavro

KIND = {"type": "bytes", "logicalType": "decimal", "precision": 8, "scale": 2}
schema = avro.schema.parse(json.dumps(KIND))


def with_avro(value):
    file = io.BytesIO()
    avro.io.DatumWriter(schema).write(value, avro.io.BinaryEncoder(file))
    return avro.io.DatumReader(schema).read(avro.io.BinaryDecoder(io.BytesIO(file.getvalue())))


def with_fastavro(value):
    file = io.BytesIO()
    fastavro.schemaless_writer(file, KIND, value)
    return fastavro.schemaless_reader(io.BytesIO(file.getvalue()), KIND)


values = [Decimal("1.50"), Decimal("1.5"), Decimal("150"), Decimal(1000).normalize()]
for name, again in (("avro", with_avro), ("fastavro", with_fastavro)):
    print(f"{name}: " + ", ".join(f"{value} {again(value)}" for value in values))
PYTHON
cat found
diff found - <<'SEEN'
avro: 1.50 1.50, 1.5 0.15, 150 1.50, 1E+3 0.01
fastavro: 1.50 1.50, 1.5 1.50, 150 150.00, 1E+3 1000.00
SEEN
