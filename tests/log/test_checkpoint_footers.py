"""Footers of checkpoints with a damaged byte: the same files or more, or an error that names the table."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa

import deltaskip as ds

BYTES = 23 if os.environ.get("DELTASKIP_ALL_EDGES") == "1" else 47
"""One byte of so many is damaged; with 1 it takes 40 seconds."""

READING = """
import random, struct, sys
from pathlib import Path
import deltaskip as ds
table, every = sys.argv[1], int(sys.argv[2])
[checkpoint] = Path(table, "_delta_log").glob("*.checkpoint*.parquet")
whole = checkpoint.read_bytes()
(size,) = struct.unpack("<I", whole[-8:-4])
expected = set(ds.DeltaTable(table).scan("id > 3").paths())
same = refused = 0
for at in [*range(len(whole) - 8 - size, len(whole), every), *range(len(whole) - 8, len(whole))]:
    random.seed(at)
    value = random.choice([0, 255, whole[at] ^ 1 << random.randrange(8), random.randrange(256)])
    print(at, value, flush=True)
    checkpoint.write_bytes(whole[:at] + bytes([value]) + whole[at + 1 :])
    try:
        kept = set(ds.DeltaTable(table).scan("id > 3").paths())
    except ds.CorruptLog as error:
        assert table in str(error), error
        refused += 1
    else:
        assert expected <= kept, (at, value, kept)
        same += 1
print(same, refused)
"""


def test_no_byte_of_a_footer_loses_files_or_ends_the_process(tmp_path: Path) -> None:
    properties = {"delta.checkpoint.writeStatsAsStruct": "true"}
    table = ds.DeltaTable.create(tmp_path / "t", "id BIGINT, s STRING, p INT", ["p"], properties=properties)
    for number in range(6):
        table.append(pa.table({"id": [number, number + 1], "s": ["a", "b"], "p": [number % 2] * 2}))
    ds.DeltaTable(tmp_path / "t").checkpoint()
    # Without commits to read instead, nothing but the checkpoint has the files.
    for commit in (tmp_path / "t" / "_delta_log").glob("*[0-5].json"):
        commit.unlink()
    program = [sys.executable, "-c", READING, str(tmp_path / "t"), str(BYTES)]
    finished = subprocess.run(program, capture_output=True, text=True, check=False)
    lines = finished.stdout.splitlines()
    assert finished.returncode == 0, (lines[-1], finished.stderr[-2000:])
    same, refused = map(int, lines[-1].split())
    assert same > 10
    assert refused > 10
