"""Every door stores strings of type CHAR as delta-spark does: as given, and never longer than declared."""

from pathlib import Path

import pytest

from tests.extent import extent
from tests.reference.conftest import answers_of

pytestmark = pytest.mark.reference


def test_every_door_stores_strings_of_type_char_as_delta_spark_does(tmp_path: Path) -> None:
    assert answers_of("tests.reference.char_values", tmp_path / "answers.json", extent("some", "all")) == []
