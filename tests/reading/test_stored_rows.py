"""Rows of data files read by pyarrow: those of every version of every table of the corpus, and what is refused."""

from __future__ import annotations

import pyarrow as pa
import pytest

from deltaskip import DeltaTable
from deltaskip.dml.files import files_to_change
from deltaskip.errors import UnsupportedFeature
from deltaskip.reading.stored_rows import StoredRows
from tests import corpus
from tests.spark.reading import digest_module
from tests.spark.test_corpus_rows import expected_rows, has_variant

# Tables with shredded variants.
REFUSED = (
    "spark__variant-stats-nested-no-checkpoint",
    "spark__variant-stats-no-checkpoint",
    "spark__variant-stats-state-reconstruction",
    "spark__variant-stats-with-struct-no-checkpoint",
)


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
    if table.name in REFUSED and expected[0]["count"]:
        with pytest.raises(UnsupportedFeature, match="cannot be read without Spark"):
            list(reader.live(files))
        return
    found = [
        pa.RecordBatch.from_arrays(list(batch.columns.values()), names=list(batch.columns))
        for _, batch in reader.live(files)
    ]
    assert sum(batch.num_rows for batch in found) == expected[0]["count"]
    if found and not has_variant(opened.schema):
        assert digest_module().digest_arrow(pa.Table.from_batches(found)) == expected[0]["digest"]
