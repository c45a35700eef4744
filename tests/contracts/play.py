"""All steps on one table."""

from pathlib import Path

from tests.contracts.doors import Door
from tests.contracts.steps import STEPS
from tests.contracts.tables import FEATURES, Kept


def played(door: Door, feature: str, folder: Path) -> None:
    """Do every step to a table with this feature; the error of one that is wrong names it."""
    kept = Kept(door, FEATURES[feature], folder)
    for step in STEPS:
        try:
            step(kept)
        except BaseException as error:
            error.add_note(f"{feature}: {step.__name__}")
            raise
