"""The contract of changes without Spark: DeltaTable with Arrow data, and statements without a session."""

from __future__ import annotations

from pathlib import Path

from tests.contracts.doors import ArrowDoor, Statements
from tests.contracts.play import played
from tests.contracts.tables import FEATURES
from tests.each import each
from tests.extent import some


def test_every_step_of_deltatable_leaves_what_the_model_says(tmp_path: Path) -> None:
    each(FEATURES, lambda feature: played(ArrowDoor(), feature, tmp_path / "t"), str)


def test_every_step_of_statements_leaves_what_the_model_says(tmp_path: Path) -> None:
    door = Statements(tmp_path / "catalog")
    each(some(FEATURES, 3), lambda feature: played(door, feature, tmp_path / "t"), str)
