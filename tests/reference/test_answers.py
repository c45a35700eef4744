"""A key index, strings of type CHAR, and names and types of merges are for every door what they are for delta-spark.

Of the names and types the gate tries some, the whole run all.
"""

from pathlib import Path

import pytest

from tests.extent import extent
from tests.reference.conftest import answers_of, require_delta_spark, run_module


@pytest.mark.long
def test_delta_spark_reads_and_writes_a_table_with_a_key_index(tmp_path: Path) -> None:
    require_delta_spark()
    assert run_module("tests.reference.indexed", tmp_path / "t").strip() == "done"


@pytest.mark.reference
@pytest.mark.parametrize(
    ("module", "part"), [("char_values", extent("some", "all")), ("merge_names", extent("60", "1"))]
)
def test_every_door_stores_and_refuses_what_delta_spark_does(tmp_path: Path, module: str, part: str) -> None:
    assert answers_of(f"tests.reference.{module}", tmp_path / "answers.json", part) == []
