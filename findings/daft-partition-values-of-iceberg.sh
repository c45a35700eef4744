#!/usr/bin/env bash
# Daft and Iceberg: partition values that Daft computes.
#
# The guess: a row that Daft writes into a partitioned table is found by a filter on its value: Daft's truncate, bucket and
# hour follow Iceberg's specification, as pyiceberg's do.
# Daft 0.7.26 truncates strings to bytes (the specification: Unicode characters), rounds hours before 1970 toward zero
# (it rounds days and months down), and hashes negative decimals otherwise. What Daft writes, pyiceberg 0.12.0 then prunes:
# the rows are in the table and in no answer. Neither does Daft find such rows in a table that pyiceberg wrote, because it
# prunes by its own values. If the cut is inside a character (truncate of 3 for 'éé'), Daft raises.
#
# Output seen:
#    truncate[3] of 日本: Daft wrote 日, pyiceberg finds []
#    hour of 1969-12-31 22:30:00: Daft wrote -1, pyiceberg finds []
#    bucket[16] of -14.20: Daft wrote 12, pyiceberg finds []
#    truncate[3] of 日本: pyiceberg wrote 日本, Daft finds []
#    hour of 1969-12-31 22:30:00: pyiceberg wrote -2, Daft finds []
#    bucket[16] of -14.20: pyiceberg wrote 7, Daft finds []
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet daft==0.7.26 'pyiceberg[sql-sqlite,pyarrow]==0.12.0' \
    pyiceberg-core==0.11.0 pyarrow==25.0.1
cd "$folder"
"$folder/venv/bin/python" - > found 2>log <<'PYTHON' || { tail -20 log; exit 1; }
import os
from datetime import datetime
from decimal import Decimal

import daft
import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.expressions import EqualTo
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import BucketTransform, HourTransform, TruncateTransform
from pyiceberg.types import DecimalType, LongType, NestedField, StringType, TimestampType

catalog = SqlCatalog("c", uri=f"sqlite:///{os.getcwd()}/c.db", warehouse=f"file://{os.getcwd()}")
catalog.create_namespace("n")
CASES = (
    (StringType(), pa.string(), TruncateTransform(3), "日本"),
    (TimestampType(), pa.timestamp("us"), HourTransform(), datetime(1969, 12, 31, 22, 30)),
    (DecimalType(10, 2), pa.decimal128(10, 2), BucketTransform(16), Decimal("-14.20")),
)
for writer in ("Daft", "pyiceberg"):
    for number, (kind, arrow, transform, value) in enumerate(CASES):
        schema = Schema(NestedField(1, "v", kind, required=False), NestedField(2, "id", LongType(), required=False))
        spec = PartitionSpec(PartitionField(1, 1000, transform, "p"))
        table = catalog.create_table(f"n.{writer}{number}", schema=schema, partition_spec=spec)
        rows = pa.table({"v": pa.array([value], arrow), "id": pa.array([1], pa.int64())})
        if writer == "Daft":
            daft.from_arrow(rows).write_iceberg(table)
        else:
            table.append(rows)
        table.refresh()
        assert table.scan().to_arrow()["id"].to_pylist() == [1]
        if writer == "Daft":
            reader, ids = "pyiceberg", table.scan(row_filter=EqualTo("v", value)).to_arrow()["id"].to_pylist()
        else:
            reader, ids = "Daft", daft.read_iceberg(table).where(daft.col("v") == value).to_pydict()["id"]
        [partition] = table.inspect.partitions()["partition"].to_pylist()
        print(f"{transform} of {value}: {writer} wrote {partition['p']}, {reader} finds {ids}")
PYTHON
cat found
diff found - <<'SEEN'
truncate[3] of 日本: Daft wrote 日, pyiceberg finds []
hour of 1969-12-31 22:30:00: Daft wrote -1, pyiceberg finds []
bucket[16] of -14.20: Daft wrote 12, pyiceberg finds []
truncate[3] of 日本: pyiceberg wrote 日本, Daft finds []
hour of 1969-12-31 22:30:00: pyiceberg wrote -2, Daft finds []
bucket[16] of -14.20: pyiceberg wrote 7, Daft finds []
SEEN
