"""What delta-spark refuses for its names and types, each door of deltaskip refuses too, whatever rows there are.

The gate tries some of the texts, the whole run all of them.
"""

import json
from pathlib import Path

import pytest

from tests.extent import extent
from tests.reference.conftest import require_delta_spark, run_module

pytestmark = pytest.mark.reference


def test_names_and_types_of_merges_mean_what_they_mean_in_delta_spark(tmp_path: Path) -> None:
    require_delta_spark()
    run_module("tests.reference.merge_names", tmp_path / "answers.json", extent("60", "1"))
    assert json.loads((tmp_path / "answers.json").read_text(encoding="utf-8")) == []
