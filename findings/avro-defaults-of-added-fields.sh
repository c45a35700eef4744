#!/usr/bin/env bash
# Avro files read in Python with a newer schema: the defaults of the added fields.
#
# The guess: a field that the file does not have has the default as a value of its type: bytes for bytes, a Decimal for a
# decimal, a date for a date. The specification gives the default of bytes as a string whose characters 0 to 255 are the
# bytes, so that "\u0096" is the byte 0x96, in a decimal(4, 2) -1.06.
# fastavro 1.13.1 returns the string, and for a date the integer 0. avro 1.12.2 returns the string in UTF-8, which are two
# other bytes. No default is converted to its logical type, though the rows of a newer file, which have these fields, are.
#
# Output seen:
#    a file with the fields: b'\x96' Decimal('-1.06') datetime.date(1970, 1, 1)
#    fastavro's defaults: '\x96' '\x96' 0
#    avro's defaults: b'\xc2\x96' b'\xc2\x96' 0
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet avro==1.12.2 fastavro==1.13.1
cd "$folder"
"$folder/venv/bin/python" - > found <<'PYTHON'
import io
import json
from datetime import date
from decimal import Decimal

import avro.datafile
import avro.io
import avro.schema
import fastavro

DECIMAL = {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}
old = {"type": "record", "name": "Row", "fields": [{"name": "id", "type": "long"}]}
added = [
    {"name": "raw", "type": "bytes", "default": "\u0096"},
    {"name": "price", "type": DECIMAL, "default": "\u0096"},
    {"name": "day", "type": {"type": "int", "logicalType": "date"}, "default": 0},
]
new = {**old, "fields": old["fields"] + added}


def file_of(schema, row):
    file = io.BytesIO()
    fastavro.writer(file, schema, [row])
    file.seek(0)
    return file


def show(label, row):
    print(f"{label}:", *(repr(row[each["name"]]) for each in added))


whole = {"id": 1, "raw": b"\x96", "price": Decimal("-1.06"), "day": date(1970, 1, 1)}
show("a file with the fields", next(fastavro.reader(file_of(new, whole), new)))
show("fastavro's defaults", next(fastavro.reader(file_of(old, {"id": 1}), new)))
reader = avro.io.DatumReader(None, avro.schema.parse(json.dumps(new)))
show("avro's defaults", next(avro.datafile.DataFileReader(file_of(old, {"id": 1}), reader)))
PYTHON
cat found
diff found - <<'SEEN'
a file with the fields: b'\x96' Decimal('-1.06') datetime.date(1970, 1, 1)
fastavro's defaults: '\x96' '\x96' 0
avro's defaults: b'\xc2\x96' b'\xc2\x96' 0
SEEN
