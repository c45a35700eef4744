"""The contract of changes without Spark: DeltaTable with Arrow data, and statements without a session."""

from pathlib import Path

import pytest

from tests.contracts.doors import ArrowDoor, Statements
from tests.contracts.play import played
from tests.contracts.tables import FEATURES


@pytest.mark.long(gate=6)
@pytest.mark.parametrize("feature", FEATURES)
def test_every_step_of_deltatable_leaves_what_the_model_says(tmp_path: Path, feature: str) -> None:
    played(ArrowDoor(), feature, tmp_path / "t")


@pytest.mark.long(gate=2)
@pytest.mark.parametrize("feature", FEATURES)
def test_every_step_of_statements_leaves_what_the_model_says(tmp_path: Path, feature: str) -> None:
    played(Statements(tmp_path / "catalog"), feature, tmp_path / "t")
