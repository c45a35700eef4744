#!/usr/bin/env bash
# DuckDB's delta extension and a partition column of a table with column mapping.
#
# The guess: delta_scan supports column mapping, so partition columns have the values of the log, as in tables without it.
# duckdb 1.5.5 with duckdb-extension-delta 1.5.5: the partition column is NULL in every row, a condition on it finds
# nothing, and IS NULL finds everything, without an error. The same for ATTACH, and for tables of delta-spark 4.4.0.
# Other columns are right.
#
# Output seen:
#    rows: [(1, None), (2, None)]
#    p = 'a': []
#    p IS NULL: [(1,), (2,)]
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet pyarrow==26.0.1 duckdb==1.5.5 duckdb-extension-delta==1.5.5
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import json
import os

import pyarrow as pa
import pyarrow.parquet as pq


def commit(folder, schema, partitions, configuration, adds, protocol):
    """Write version 0 of a Delta table, by the protocol."""
    os.makedirs(f"{folder}/_delta_log")
    meta = {"id": "1", "format": {"provider": "parquet", "options": {}}, "schemaString": json.dumps(schema)}
    meta |= {"partitionColumns": partitions, "configuration": configuration, "createdTime": 0}
    actions = [{"protocol": protocol}, {"metaData": meta}]
    for path, values in adds:
        size = os.path.getsize(f"{folder}/{path}")
        add = {"path": path, "partitionValues": values, "size": size, "modificationTime": 0, "dataChange": True}
        actions.append({"add": add})
    with open(f"{folder}/_delta_log/{0:020}.json", "w") as log:
        log.write("\n".join(map(json.dumps, actions)))


from pathlib import Path

import duckdb
import duckdb_extension_delta


def field(name, kind, number):
    metadata = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": f"col-{name}"}
    return {"name": name, "type": kind, "nullable": True, "metadata": metadata}


os.mkdir("t")
for number, name in enumerate("ab", 1):
    pq.write_table(pa.table({"col-id": pa.array([number], pa.int64())}), f"t/{name}.parquet")
commit(
    "t",
    {"type": "struct", "fields": [field("id", "long", 1), field("p", "string", 2)]},
    ["p"],
    {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "2"},
    [(f"{name}.parquet", {"col-p": name}) for name in "ab"],
    {"minReaderVersion": 2, "minWriterVersion": 5},
)
connection = duckdb.connect(config={"autoinstall_known_extensions": "false"})
binary = next(Path(duckdb_extension_delta.__file__).parent.rglob("delta.duckdb_extension"))
connection.execute(f"LOAD '{binary}'")
rows = connection.execute("SELECT id, p FROM delta_scan('t') ORDER BY id").fetchall()
equal = connection.execute("SELECT id FROM delta_scan('t') WHERE p = 'a'").fetchall()
null = connection.execute("SELECT id FROM delta_scan('t') WHERE p IS NULL ORDER BY id").fetchall()
print("rows:", rows)
print("p = 'a':", equal)
print("p IS NULL:", null)
assert (rows, equal, null) == ([(1, None), (2, None)], [], [(1,), (2,)]), "partition columns have changed"
PYTHON
