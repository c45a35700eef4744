"""Counts and digests of the rows of the corpus, as its manifest has them."""

import importlib.util
import json
import sys
from functools import cache
from types import ModuleType
from typing import Any

import pyarrow as pa
import pytest

from deltaskip.sparkexpr.types.data_types import VARIANT, ArrayType, DataType, MapType, StructType
from tests import corpus


@cache
def digest_module() -> ModuleType:
    """The corpus's digest.py."""
    spec = importlib.util.spec_from_file_location("corpus_digest", corpus.SHARED / "tables" / "digest.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


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


def _canonical(text: str) -> str:
    return json.dumps(json.loads(text), sort_keys=True, separators=(",", ":"), ensure_ascii=True)


@cache
def _variant_text(value: bytes, metadata: bytes) -> str:
    return _canonical(pytest.importorskip("pyspark.sql.types").VariantVal(value, metadata).toJson())


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
            return _variant_text(**value) if isinstance(value, dict) else _canonical(value.toJson())
        case _:
            return value


def arrow_digest(table: pa.Table, schema: StructType) -> str:
    """The digest of rows of Arrow; variants are read by PySpark."""
    if not has_variant(schema):
        return str(digest_module().digest_arrow(table))
    if not hasattr(pytest.importorskip("pyspark.sql.types"), "VariantVal"):
        pytest.skip("PySpark before 4.0 has no variants")
    return str(digest_module().digest([digestible(row, schema) for row in table.to_pylist()]))


def expected_rows(version: dict[str, Any]) -> list[dict[str, Any]]:
    """The counts and digests that are right; none where reading must raise."""
    rows = version.get("rows") or {}
    return [rows] if "count" in rows else []
