"""What delta-spark refuses for its names and types, each door of deltaskip refuses too, whatever rows there are.

By default a quarter of the texts; DELTASKIP_MERGED=all runs all.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.reference.conftest import require_delta_spark, run_module

pytestmark = pytest.mark.reference

PARTS = 4


@pytest.mark.parametrize("part", range(PARTS) if os.environ.get("DELTASKIP_MERGED") == "all" else [0])
def test_names_and_types_of_merges_mean_what_they_mean_in_delta_spark(tmp_path: Path, part: int) -> None:
    require_delta_spark()
    run_module("tests.reference.merge_names", tmp_path / "answers.json", str(part), str(PARTS))
    assert json.loads((tmp_path / "answers.json").read_text(encoding="utf-8")) == []
