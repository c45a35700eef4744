#!/usr/bin/env bash
# A partition value -0.0 of a Delta table, and the condition p = 0.
#
# The guess: -0.0 = 0.0 in every SQL engine, so the row is found whether the column is stored in files or in the log.
# deltalake 1.6.6 (SQL), DuckDB 1.5.5 (delta_scan): p = 0 finds no row of the partition -0.0, p IN (0) neither, though
# SELECT p = 0 over the same rows is true; both prune partitions by the bits. Polars 2.1.0 finds the row.
#
# Output seen:
#    deltalake: p = 0 [] and SELECT p = 0 [True]
#    DuckDB: p = 0 [] and SELECT p = 0 [True]
#    Polars: p = 0 [1]
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet pyarrow==26.0.1 deltalake==1.6.6 duckdb==1.5.5 duckdb-extension-delta==1.5.5 polars==2.1.0
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

import deltalake
import duckdb
import duckdb_extension_delta
import polars as pl

os.makedirs("t/p=-0.0")
pq.write_table(pa.table({"id": pa.array([1], pa.int64())}), "t/p=-0.0/a.parquet")
fields = [
    {"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in (("id", "long"), ("p", "double"))
]
adds = [("p=-0.0/a.parquet", {"p": "-0.0"})]
commit("t", {"type": "struct", "fields": fields}, ["p"], {}, adds, {"minReaderVersion": 1, "minWriterVersion": 2})

query = deltalake.QueryBuilder().register("t", deltalake.DeltaTable("t"))
by_deltalake = pa.table(query.execute("SELECT id FROM t WHERE p = 0").read_all())["id"].to_pylist()
truth = pa.table(query.execute("SELECT p = 0 AS e FROM t").read_all())["e"].to_pylist()
print("deltalake: p = 0", by_deltalake, "and SELECT p = 0", truth)
connection = duckdb.connect(config={"autoinstall_known_extensions": "false"})
binary = next(Path(duckdb_extension_delta.__file__).parent.rglob("delta.duckdb_extension"))
connection.execute(f"LOAD '{binary}'")
by_duckdb = [row[0] for row in connection.execute("SELECT id FROM delta_scan('t') WHERE p = 0").fetchall()]
true = [row[0] for row in connection.execute("SELECT p = 0 FROM delta_scan('t')").fetchall()]
print("DuckDB: p = 0", by_duckdb, "and SELECT p = 0", true)
by_polars = pl.scan_delta("t").filter(pl.col("p") == 0).collect()["id"].to_list()
print("Polars: p = 0", by_polars)
assert (by_deltalake, truth, by_duckdb, true, by_polars) == ([], [True], [], [True], [1]), "pruning has changed"
PYTHON
