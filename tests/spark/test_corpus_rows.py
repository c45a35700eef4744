"""Rows of the corpus against the count and the digest of the manifest: all versions, in the gate few tables."""

from __future__ import annotations

from typing import Any

import pytest

from deltaskip.errors import DeltaSkipError
from deltaskip.sparkexpr.types.data_types import StructType
from tests import corpus
from tests.corpus_digests import digest_module, digestible, expected_rows, has_variant
from tests.spark.reading import dataframe_of, snapshot_of

pytestmark = pytest.mark.spark


def rows_and_digest(frame: Any, schema: StructType) -> tuple[int, str]:
    digest = digest_module()
    if has_variant(schema):
        # PySpark's Arrow types refuse an array with a null variant.
        rows = [digestible(row, schema) for row in frame.collect()]
        return len(rows), digest.digest(rows)
    table = frame.toArrow()
    return len(table), digest.digest_arrow(table)


@corpus.each_version("read", "snapshot-only", gate=1)
def test_rows_are_those_of_the_reference(spark: Any, table: corpus.CorpusTable, version: dict[str, Any]) -> None:
    snapshot = snapshot_of(table.path, version["version"])
    expected = expected_rows(version)
    if not expected:
        with pytest.raises(DeltaSkipError):
            dataframe_of(spark, snapshot).toArrow()
        return
    frame = dataframe_of(spark, snapshot)
    assert frame.columns == [name for name, _ in version["columns"]]
    assert [kind for _, kind in frame.dtypes] == [kind for _, kind in version["columns"]]
    assert rows_and_digest(frame, snapshot.schema) == (expected[0]["count"], expected[0]["digest"])


def other_readers(table: corpus.CorpusTable) -> dict[str, Any]:
    """What readers other than the reference found in the table."""
    return dict((table.entry.get("alternative") or {}).get("readers", {}))


@corpus.each_table("reject-or-read", where=lambda table: bool(other_readers(table)), gate=1)
def test_what_the_reference_refuses_reads_like_other_readers(spark: Any, table: corpus.CorpusTable) -> None:
    snapshot = snapshot_of(table.path)
    found = rows_and_digest(dataframe_of(spark, snapshot), snapshot.schema)
    assert found in {(r["count"], r["digest"]) for r in other_readers(table).values()}
