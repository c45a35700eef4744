"""deltaskip, with and without Spark, and delta-spark change one table at once; see tests.txn.trial.

The length of the trial is DELTASKIP_TRIAL_SECONDS, 300 for the whole one.
"""

import os
from pathlib import Path

import pytest

from tests.extent import extent
from tests.reference.conftest import require_delta_spark
from tests.txn.trial import run

pytestmark = pytest.mark.reference

SECONDS = float(os.environ.get("DELTASKIP_TRIAL_SECONDS", extent("30", "60")))


@pytest.mark.long
def test_two_writers_of_ours_and_delta_spark_leave_the_rows_of_a_serial_order(tmp_path: Path) -> None:
    require_delta_spark()
    found = run(tmp_path / "t", ["arrow", "spark", "delta-spark"], SECONDS, 1, pause=4.0)
    assert len(found["commits"]) == 3, found
