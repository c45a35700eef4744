"""Evaluation and planning of hostile predicates and values take bounded time and memory (tests.expr.hostile)."""

from __future__ import annotations

import subprocess
import sys

from tests.expr.hostile import KINDS
from tests.extent import some


def test_hostile_arguments_take_bounded_time_and_memory() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.expr.hostile", *some(KINDS, 1)], capture_output=True, text=True, check=False
    )
    assert done.stdout.endswith("end\n"), (done.returncode, done.stdout[-300:], done.stderr[-2000:])
