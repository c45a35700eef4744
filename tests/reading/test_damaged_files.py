"""A sample of `python -m tests.reading.damaged_files`, and one byte of a chunk changed, seen through a scan."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaskip as ds
from deltaskip.errors import StorageError
from tests.extent import extent
from tests.reading.damaged_files import run


def test_the_kernels_take_what_pyarrow_decodes_or_leave_it_to_pyarrow(tmp_path: Path) -> None:
    findings, counts = run(range(extent(15, 300)), tmp_path, 1)
    assert findings == []
    # Damage in one column leaves the others to the kernels.
    assert counts["taken, decoded"] > 10 * counts["left to pyarrow, decoded"] / 4
    assert counts["left to pyarrow, raises"] > extent(5, 200) and counts["scans"] >= extent(0, 11)


@pytest.mark.parametrize("predicate", ["id IN (5, 40, 41)", "id = 5", None])
def test_a_changed_length_of_a_string_is_no_other_value(tmp_path: Path, predicate: str | None) -> None:
    rows = pa.table({"id": range(64), "v": [f"value {number:034d}" for number in range(64)]})
    table = ds.DeltaTable.create(tmp_path, rows.schema)
    file = tmp_path / "1.parquet"
    pq.write_table(rows, file, use_dictionary=False, compression="none", write_statistics=False)
    table.add_files(["1.parquet"])
    data = bytearray(file.read_bytes())
    # The length of each string is 40; one becomes 39, so that the strings after it begin elsewhere.
    at = data.index(b"value " + b"0" * 32 + b"41") - 4
    assert data[at] == 40
    for changed in (39, 38, 41, 0):
        data[at] = changed
        file.write_bytes(data)
        with pytest.raises(pa.ArrowException):
            pq.read_table(file)
        with pytest.raises(StorageError, match=r"1\.parquet"):
            ds.DeltaTable(tmp_path).scan(predicate).to_arrow()
