"""Predicates with base64 in sessions in which its text is not divided into lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from deltaskip import DeltaTable, UnsupportedFeature

pytestmark = pytest.mark.spark
_CHUNKS = "spark.sql.chunkBase64String.enabled"


def test_base64_is_refused_in_a_session_where_it_has_no_lines(spark: Any, tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path, "b BINARY")
    table.append(pa.table({"b": [b"a" * 60]}))
    wheres = [f"{text} = 'YQ=='" for text in ("base64(b)", "to_char(b, 'base64')")]
    before = spark.conf.get(_CHUNKS)
    spark.conf.set(_CHUNKS, "false")
    try:
        for where in wheres:
            with pytest.raises(UnsupportedFeature, match="chunkBase64String"):
                table.scan(where).to_spark(spark)
            with pytest.raises(UnsupportedFeature, match="chunkBase64String"):
                table.delete(where, spark=spark)
    finally:
        spark.conf.set(_CHUNKS, before)
    for where in wheres:
        assert table.scan(where).to_spark(spark).count() == 0
