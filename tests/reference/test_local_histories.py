"""Random histories of deltaskip alone, without Spark, against a plain model and a reader typed from the protocol.

DELTASKIP_LONG_HISTORIES: the number of seeds, or a range such as 100-199; DELTASKIP_HISTORY_STEPS: operations of each.
"""

import os
from pathlib import Path

import pytest

import deltaskip as ds
from tests.extent import extent
from tests.reference.histories.history import History

pytestmark = pytest.mark.usefixtures("small_row_groups_are_copied")

CHOSEN = os.environ.get("DELTASKIP_LONG_HISTORIES", extent("4", "14"))
STEPS = int(os.environ.get("DELTASKIP_HISTORY_STEPS", "12"))
FIRST, LAST = map(int, CHOSEN.split("-")) if "-" in CHOSEN else (0, int(CHOSEN) - 1)


@pytest.mark.long(gate=1)
@pytest.mark.parametrize("seed", range(FIRST, LAST + 1))
def test_every_commit_of_a_local_history_is_that_of_the_model(tmp_path: Path, seed: int) -> None:
    history = History(None, tmp_path / "table", seed)
    try:
        history.play(STEPS)
    except Exception as error:
        error.add_note("\n".join(history.played))
        raise
    found = ds.verify(tmp_path / "table", data=True)
    assert [each for each in found if each.severity != "info"] == [], "\n".join(history.played)
    assert found.not_checked == ()
