"""A table with a key index and Bloom filters is a table like any other for delta-spark."""

from pathlib import Path

import pytest

from tests.reference.conftest import require_delta_spark, run_module


@pytest.mark.long
def test_delta_spark_reads_and_writes_a_table_with_a_key_index(tmp_path: Path) -> None:
    require_delta_spark()
    assert run_module("tests.reference.indexed", tmp_path / "t").strip() == "done"
