"""The thin client of Spark Connect (`pyspark-client`) has no py4j: all that Connect needs is imported without."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CODE = """
import sys
sys.modules["py4j"] = None
import deltaskip.delta
import deltaskip.spark.spark_engine
import deltaskip.spark.source.data_source
from pyspark.sql.connect.functions import builtin as F
from deltaskip.spark.columns.from_column import column_to_node
print(column_to_node(F.col("id") > 5))
"""


def test_nothing_that_connect_needs_imports_py4j() -> None:
    pytest.importorskip("pyspark.sql.connect.functions")
    # PySpark then has what the thin client has.
    environment = {**os.environ, "SPARK_SKIP_CONNECT_COMPAT_TESTS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", CODE], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "id" in done.stdout and "5" in done.stdout
