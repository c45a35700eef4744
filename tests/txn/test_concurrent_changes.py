"""Processes and threads that delete, update, merge, append and optimize one table: the result is a serial order's."""

import itertools
import json
import os
import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from deltaskip import DeltaTable
from deltaskip.errors import CommitConflict
from tests.extent import extent
from tests.txn.trial import changed, chosen, live_rows, logged, made, replayed, run

SECONDS = float(os.environ.get("DELTASKIP_TRIAL_SECONDS", extent("2", "4")))
PAIRS = int(os.environ.get("DELTASKIP_PAIRS", extent("6", "25")))


def test_processes_leave_the_rows_of_a_serial_order(tmp_path: Path) -> None:
    found = run(tmp_path / "t", ["arrow", "arrow", "arrow"], SECONDS, 1)
    assert found["versions"] > 2


@pytest.mark.long(gate=1)
@pytest.mark.parametrize("isolation", ["Serializable", "WriteSerializable"])
def test_pairs_of_changes_leave_the_rows_of_one_of_both_orders(tmp_path: Path, isolation: str) -> None:
    """Two threads begin on one version; whichever order the log has, others must not be."""
    rng = random.Random(isolation)
    for number in range(PAIRS):
        folder = tmp_path / str(number)
        table = made(folder, {"delta.isolationLevel": isolation})
        pair = [chosen(rng, f"writer{i}", number) for i in range(2)]
        with ThreadPoolExecutor(2) as pool:
            for done in pool.map(_tried, [folder] * 2, pair):
                assert done is None
        start = dict(live_rows(DeltaTable(folder, version=table.version)))
        orders = [replayed(replayed(start, one), other) for one, other in itertools.permutations(pair)]
        assert dict(live_rows(table.refresh())) in orders, json.dumps(pair)
        if isolation == "Serializable":
            rows = start
            for _, operation in logged(table)[3:]:
                rows = replayed(rows, operation or {"kind": "none"})
            assert dict(live_rows(table)) == rows, json.dumps(pair)


def _tried(folder: Path, done: dict[str, object]) -> str | None:
    try:
        changed(folder, done, None)
    except CommitConflict as error:
        return str(error)
    return None
