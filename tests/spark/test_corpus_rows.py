"""Rows of every version of every table of the corpus, against the count and the digest of the manifest."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import types

from deltaskip.errors import DeltaSkipError
from deltaskip.schema.types import VARIANT, ArrayType, DataType, MapType, StructType
from tests import corpus
from tests.spark.reading import dataframe_of, digest_module, snapshot_of

pytestmark = pytest.mark.spark


def has_variant(data_type: DataType) -> bool:
    match data_type:
        case StructType(fields):
            return any(has_variant(f.type) for f in fields)
        case ArrayType(element):
            return has_variant(element)
        case MapType(_, value):
            return has_variant(value)
        case _:
            return data_type == VARIANT


def digestible(value: Any, kind: DataType) -> Any:
    """A value of Spark or Arrow as the digest takes it: variants as canonical JSON text, maps as digest.Map."""
    if value is None:
        return None
    match kind:
        case StructType(fields):
            return {f.name: digestible(value[f.name], f.type) for f in fields}
        case ArrayType(element):
            return [digestible(v, element) for v in value]
        case MapType(key, item):
            entries = value.items() if isinstance(value, dict) else value
            return digest_module().Map([(digestible(k, key), digestible(v, item)) for k, v in entries])
        case _ if kind == VARIANT:
            value = types.VariantVal(**value) if isinstance(value, dict) else value
            return json.dumps(json.loads(value.toJson()), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        case _:
            return value


def rows_and_digest(frame: Any, schema: StructType) -> tuple[int, str]:
    digest = digest_module()
    if has_variant(schema):
        # PySpark's Arrow types refuse an array with a null variant.
        rows = [digestible(row, schema) for row in frame.collect()]
        return len(rows), digest.digest(rows)
    table = frame.toArrow()
    return len(table), digest.digest_arrow(table)


def arrow_digest(table: pa.Table, schema: StructType) -> str:
    """The digest of rows of Arrow; variants are read by PySpark."""
    if not has_variant(schema):
        return str(digest_module().digest_arrow(table))
    if not hasattr(types, "VariantVal"):
        pytest.skip("PySpark before 4.0 has no variants")
    return str(digest_module().digest([digestible(row, schema) for row in table.to_pylist()]))


def expected_rows(version: dict[str, Any]) -> list[dict[str, Any]]:
    """The counts and digests that are right; none where reading must raise."""
    rows = version.get("rows") or {}
    return [rows] if "count" in rows else []


@pytest.mark.parametrize(("table", "version"), corpus.version_params("read", "snapshot-only"))
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


@pytest.mark.parametrize("table", corpus.table_params("reject-or-read", where=lambda table: bool(other_readers(table))))
def test_what_the_reference_refuses_reads_like_other_readers(spark: Any, table: corpus.CorpusTable) -> None:
    snapshot = snapshot_of(table.path)
    found = rows_and_digest(dataframe_of(spark, snapshot), snapshot.schema)
    assert found in {(r["count"], r["digest"]) for r in other_readers(table).values()}
