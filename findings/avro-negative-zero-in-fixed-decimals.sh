#!/usr/bin/env bash
# Avro files written in Python: the decimal -0.00 in a field of the type fixed.
#
# The guess: Decimal("-0.00"), which Decimal("-0.001").quantize(Decimal("0.01")) returns, is a zero: integers of two's
# complement, in which Avro stores decimals, have no other one.
# fastavro 1.13.1 and avro 1.12.2 take the sign of the Decimal and store -2, which every reader reads as -0.02. In a decimal
# of the type bytes, fastavro stores 0, and avro -2 as well.
#
# Output seen:
#    fastavro: fixed -0.02, bytes 0.00
#    avro: fixed -0.02, bytes -0.02
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

value = Decimal("-0.001").quantize(Decimal("0.01"))
DECIMAL = {"logicalType": "decimal", "precision": 8, "scale": 2}
kinds = {"fixed": {"type": "fixed", "name": "f", "size": 4, **DECIMAL}, "bytes": {"type": "bytes", **DECIMAL}}


def with_avro(file, kind):
    avro.io.DatumWriter(avro.schema.parse(json.dumps(kind))).write(value, avro.io.BinaryEncoder(file))


def with_fastavro(file, kind):
    fastavro.schemaless_writer(file, kind, value)


for name, write in (("fastavro", with_fastavro), ("avro", with_avro)):
    found = []
    for label, kind in kinds.items():
        file = io.BytesIO()
        write(file, kind)
        file.seek(0)
        found.append(f"{label} {fastavro.schemaless_reader(file, kind)}")
    print(f"{name}: " + ", ".join(found))
PYTHON
cat found
diff found - <<'SEEN'
fastavro: fixed -0.02, bytes 0.00
avro: fixed -0.02, bytes -0.02
SEEN
