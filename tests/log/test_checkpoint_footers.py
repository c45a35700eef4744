"""Footers of checkpoints with a damaged byte: the same files or more, or an error that names the table."""

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import deltaskip as ds
from deltaskip.kernels.thrift_compact import read_fields, write_fields
from tests.extent import extent

BYTES = extent(gate=199, whole=7)
"""One byte of so many is damaged; with 1 it takes a few minutes."""

READING = """
import random, struct, sys
from pathlib import Path
import pyarrow as pa, pyarrow.parquet as pq
import deltaskip as ds
from deltaskip.kernels.thrift_compact import read_fields, write_fields
table, every = sys.argv[1], int(sys.argv[2])
[checkpoint] = Path(table, "_delta_log").glob("*.checkpoint*.parquet")
whole = checkpoint.read_bytes()
(size,) = struct.unpack("<I", whole[-8:-4])
def bounds():
    groups, found = pq.read_metadata(checkpoint), []
    for group in map(groups.row_group, range(groups.num_row_groups)):
        for column in map(group.column, range(group.num_columns)):
            held = column.statistics
            try:
                found.append(held and (held.min_raw, held.max_raw, held.null_count, held.has_min_max))
            except (UnicodeDecodeError, pa.ArrowException):
                return None
    return found
def kept():
    opened = ds.DeltaTable(table)
    all_files, found = set(opened.scan().paths()), set(opened.scan("id > 3").paths())
    # Bounds that say other values are believed, those of files as those of row groups.
    return all_files, found if bounds() == stated else found | narrow
stated, narrow = bounds(), set()
everything, narrow = kept()
same = refused = 0
for at in [*range(len(whole) - 8 - size, len(whole), every), *range(len(whole) - 8, len(whole))]:
    random.seed(at)
    value = random.choice([0, 255, whole[at] ^ 1 << random.randrange(8), random.randrange(256)])
    print(at, value, flush=True)
    checkpoint.write_bytes(whole[:at] + bytes([value]) + whole[at + 1 :])
    try:
        all_files, found = kept()
    except ds.CorruptLog as error:
        assert table in str(error), error
        refused += 1
    else:
        assert everything <= all_files and narrow <= found, (at, value, all_files, found)
        same += 1
print(same, refused)
"""


@pytest.mark.long
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


def test_a_footer_with_0_as_its_number_of_rows_is_read(tmp_path: Path) -> None:
    table = ds.DeltaTable.create(tmp_path / "t", "id BIGINT")
    for number in range(3):
        table.append(pa.table({"id": [number]}))
    ds.DeltaTable(tmp_path / "t").checkpoint()
    log = tmp_path / "t" / "_delta_log"
    [checkpoint] = log.glob("*.checkpoint*.parquet")
    whole = checkpoint.read_bytes()
    size = int.from_bytes(whole[-8:-4], "little")
    fields = read_fields(whole[-8 - size : -8])
    # parquet.thrift, FileMetaData.num_rows
    fields[3] = fields[3][0], 0
    footer = write_fields(fields)
    checkpoint.write_bytes(whole[: -8 - size] + footer + len(footer).to_bytes(4, "little") + b"PAR1")
    for each in [*log.glob("*[0-2].json"), *log.glob("_last_checkpoint"), *log.glob("*.crc"), *log.glob(".*.crc")]:
        each.unlink()
    assert sorted(ds.DeltaTable(tmp_path / "t").scan().to_arrow()["id"].to_pylist()) == [0, 1, 2]
    assert len(ds.DeltaTable(tmp_path / "t").scan("id = 1").files()) == 1
