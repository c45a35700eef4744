"""Rows of data files read by pyarrow: those of every version of every table of the corpus."""

from __future__ import annotations

import pyarrow as pa
import pytest

from deltaskip import DeltaTable
from deltaskip.dml.files import files_to_change
from deltaskip.reading.stored_rows import StoredRows
from tests import corpus
from tests.corpus_digests import arrow_digest, expected_rows


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("table", "version"), corpus.version_params("read"))
def test_rows_are_those_of_the_reference(table: corpus.CorpusTable, version: dict[str, object]) -> None:
    expected = expected_rows(version)
    if not expected:
        pytest.skip("the table cannot be read")
    number = version["version"]
    assert isinstance(number, int)
    opened = DeltaTable(table.path, number)
    reader = StoredRows(opened.snapshot, opened.schema, opened.snapshot.mapping_mode)
    files = files_to_change(opened.scan()).whole.listed
    found = [
        pa.RecordBatch.from_arrays(list(batch.columns.values()), names=list(batch.columns))
        for _, batch in reader.live(files)
    ]
    assert sum(batch.num_rows for batch in found) == expected[0]["count"]
    if found:
        assert arrow_digest(pa.Table.from_batches(found), opened.schema) == expected[0]["digest"]
