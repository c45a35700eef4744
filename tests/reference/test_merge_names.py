"""What delta-spark refuses for its names and types, each door of deltaskip refuses too, whatever rows there are.

The gate tries some of the texts, the whole run all of them.
"""

from pathlib import Path

import pytest

from tests.extent import extent
from tests.reference.conftest import answers_of

pytestmark = pytest.mark.reference


def test_names_and_types_of_merges_mean_what_they_mean_in_delta_spark(tmp_path: Path) -> None:
    assert answers_of("tests.reference.merge_names", tmp_path / "answers.json", extent("60", "1")) == []
