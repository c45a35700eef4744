"""Rows of every version and every predicate of the corpus, as scans and changes read them without Spark."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import deltaskip as ds
from deltaskip.dml.files_to_change import files_to_change
from deltaskip.errors import DataFileMissing, UnsupportedFeature
from deltaskip.reading.stored_rows import StoredRows
from tests import corpus
from tests.corpus_digests import arrow_digest, expected_rows
from tests.each import each, refuses
from tests.extent import some

# startswith under a collation.
REFUSED_CASES = frozenset(("gen__collations_part#21",))


@pytest.mark.long(gate=20)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("table", corpus.table_params("read", where=lambda table: bool(table.versions)))
def test_rows_are_those_of_the_reference(table: corpus.CorpusTable) -> None:
    each(table.versions, lambda version: check_rows(table, version), lambda version: version["version"])


def check_rows(table: corpus.CorpusTable, version: dict[str, Any]) -> None:
    """The rows of a scan, and those that a change of all files reads."""
    expected = expected_rows(version)
    opened = ds.DeltaTable(table.path, version["version"])
    scan = opened.scan()
    if not expected and opened.schema.fields:
        refuses(DataFileMissing, None, scan.to_arrow)
        return
    found = scan.to_arrow()
    if not expected:
        # delta-spark refuses to read a table without columns.
        assert found.shape == (0, 0)
        return
    assert found.num_rows == expected[0]["count"]
    assert arrow_digest(found, opened.schema) == expected[0]["digest"]
    reader = StoredRows(opened.snapshot, opened.schema, opened.snapshot.mapping_mode)
    batches = [
        pa.RecordBatch.from_arrays(list(batch.columns.values()), names=list(batch.columns))
        for _, batch in reader.live(files_to_change(scan).whole.listed)
    ]
    assert sum(batch.num_rows for batch in batches) == expected[0]["count"]
    stored = pa.Table.from_batches(batches) if batches else found
    # The same rows have the same digest, which takes longest.
    assert stored.equals(found) or arrow_digest(stored, opened.schema) == expected[0]["digest"]


@pytest.mark.long(gate=20)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("cases", corpus.skipping_params())
def test_as_many_rows_match_as_in_spark_also_if_columns_are_read_one_after_the_other(
    cases: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    table = ds.DeltaTable(corpus.table(cases[0]["table"]).path, cases[0]["version"])
    found: dict[str, pa.Table] = {}

    def check_count(case: dict[str, Any]) -> None:
        if case["id"] in REFUSED_CASES:
            refuses(UnsupportedFeature, "to_spark", lambda: table.scan(case["sql"]).to_arrow())
            return
        found[case["id"]] = table.scan(case["sql"]).to_arrow()
        assert found[case["id"]].num_rows == case["matching_rows"]

    def check_by_column(case: dict[str, Any]) -> None:
        rows = table.scan(case["sql"]).to_arrow()
        assert rows.equals(found[case["id"]]) or as_ipc(rows) == as_ipc(found[case["id"]])

    each(cases, check_count, lambda case: case["id"])
    monkeypatch.setattr("deltaskip.settings.options.read_staged_bytes", 1)
    # Single rows are taken whatever their share is.
    monkeypatch.setattr("deltaskip.reading.open_file.ROWS_PER_MATCH", 0)
    each(some([case for case in cases if case["id"] in found], 3), check_by_column, lambda case: case["id"])


def as_ipc(table: pa.Table) -> bytes:
    """The rows as bytes, in which NaN equals NaN."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        for batch in pa.table(table.combine_chunks().to_pydict(), schema=table.schema).to_batches():
            writer.write_batch(batch)
    return bytes(sink.getvalue().to_pybytes())
