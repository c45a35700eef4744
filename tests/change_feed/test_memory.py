"""Versions that rewrite a table: the ids of one version's rows are in memory, and few of the rows."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa

from deltaskip import DeltaTable
from tests.change_feed.test_changes_by_row_id import IDS

FILES, ROWS, COLUMNS, VERSIONS = 8, 100_000, 24, 3
# Of all files of a version: a row id and a row commit version, and less than two such numbers for comparing them.
IDS_BYTES = FILES * ROWS * 8 * 4

PROGRAM = """
import re, sys
import deltaskip as ds

def peak():
    # The largest set of getrusage is that of the process that started this one, if that was larger.
    return int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) * 1024

table = ds.DeltaTable(sys.argv[1])
last = table.version
list(table.changes(last, source="rows", where="id < 0").to_batches())
before = peak()
rows = sum(len(batch) for batch in table.changes(last + 1 - int(sys.argv[2]), source="rows").to_batches())
print(rows, peak() - before)
"""


def test_the_ids_of_one_version_are_in_memory_and_few_rows(tmp_path: Path) -> None:
    ddl = "id BIGINT, " + ", ".join(f"c{number} DOUBLE" for number in range(COLUMNS))
    table = DeltaTable.create(tmp_path, ddl, properties=IDS)
    chance = np.random.default_rng(1)
    for number in range(FILES):
        columns = {f"c{at}": chance.random(ROWS) for at in range(COLUMNS)}
        table.append(pa.table({"id": np.arange(number * ROWS, (number + 1) * ROWS), **columns}))
    for number in range(VERSIONS):
        table.update({"c0": "0"}, f"id % 100 = {number}")
    ran = subprocess.run([sys.executable, "-c", PROGRAM, str(tmp_path), str(VERSIONS)], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    rows, grown = map(int, ran.stdout.split())
    assert rows == VERSIONS * 2 * FILES * ROWS // 100
    of_both_sides = 2 * FILES * ROWS * (COLUMNS + 1) * 8
    assert grown < IDS_BYTES + of_both_sides // 2
