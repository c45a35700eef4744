"""Statistics of the corpus' tables recomputed and committed: delta-spark reads the same rows as before.

Of the corpus so many tables that all it exercises comes twice; DELTASKIP_WHOLE_CORPUS=1 takes every table.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from typing import Any

import pytest

import deltaskip as ds
from deltaskip.errors import UnsupportedFeature
from tests import corpus
from tests.reference.conftest import ROOT, TIME_LIMIT_SECONDS, require_delta_spark

WHOLE = os.environ.get("DELTASKIP_WHOLE_CORPUS") == "1"
TABLES = corpus.table_params("read") if WHOLE else corpus.covering_params(2, "read")

pytestmark = [
    pytest.mark.reference,
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore::deltaskip.StatisticsWarning"),
    pytest.mark.filterwarnings("ignore::deltaskip.ChecksumWarning"),
]


@pytest.fixture(scope="session")
def read_back(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """By table: what delta-spark reads of the copy whose statistics were recomputed, or why they were not."""
    require_delta_spark()
    folder = tmp_path_factory.mktemp("recomputed-corpus")
    copies: dict[str, str] = {}
    found: dict[str, Any] = {}
    for [table] in (param.values for param in TABLES):
        if table is None or "count" not in (table.versions[0].get("rows") or {}):
            continue
        copy = shutil.copytree(table.path, folder / table.name)
        try:
            done = ds.DeltaTable(copy).recompute_stats(spark)
        except UnsupportedFeature as error:
            found[table.name] = error
            continue
        assert not done.left_out
        copies[table.name] = str(copy)
    output = folder / "rows.json"
    command = [sys.executable, "-m", "tests.reference.corpus_rows", str(output), *copies.values()]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=TIME_LIMIT_SECONDS, check=False)
    assert run.returncode == 0, run.stderr[-4000:]
    answers = json.loads(output.read_text(encoding="utf-8"))
    return found | {name: answers[path] for name, path in copies.items()}


@pytest.mark.parametrize("table", TABLES)
def test_delta_spark_reads_the_same_rows(table: corpus.CorpusTable, read_back: dict[str, Any]) -> None:
    if table.name not in read_back:
        pytest.skip("the reference reads no rows of its latest version")
    found = read_back[table.name]
    if isinstance(found, UnsupportedFeature):
        pytest.skip(f"refused by name: {found}")
    rows = table.versions[0]["rows"]
    assert found == [rows["count"], rows["digest"]], found
