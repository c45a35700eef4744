"""Checkpoints opened by pyarrow's reader, wherever pyarrow has it."""

import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deltaskip.log.checkpoint.read import open_reader


@pytest.mark.parametrize("elsewhere", [False, True])
def test_the_reader_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, elsewhere: bool) -> None:
    table = pa.table({"a": [{"b": 1, "c": "x"}, None], "d": [1.5, None]})
    pq.write_table(table, tmp_path / "f.parquet", row_group_size=1)
    if elsewhere:
        monkeypatch.setitem(sys.modules, "pyarrow._parquet", None)
    with pa.OSFile(str(tmp_path / "f.parquet")) as source:
        metadata = open_reader(source).metadata
        assert metadata.equals(pq.read_metadata(tmp_path / "f.parquet"))
        reader = open_reader(source, metadata, pre_buffer=True)
        found = reader.read_row_groups([1, 0], column_indices=[1, 2], use_threads=False)
        assert found.to_pylist() == [{"a": None, "d": None}, {"a": {"c": "x"}, "d": 1.5}]
        batches = list(reader.iter_batches(10, [0], column_indices=[0], use_threads=False))
        assert [batch.to_pylist() for batch in batches] == [[{"a": {"b": 1}}]]
