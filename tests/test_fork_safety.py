"""Children that a process forks while its threads read."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.extent import TIME_LIMIT_SECONDS, extent

_ROOT = Path(__file__).resolve().parents[1]
KINDS = ("pool", "executor", "prefork", "celery", "iterating", "forkserver", "spawn")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot fork")
@pytest.mark.parametrize("kind", KINDS)
def test_children_read_while_threads_of_their_parent_read(tmp_path: Path, kind: str) -> None:
    # These two start their children without the threads of the parent.
    rounds = str(extent(1 if kind in ("forkserver", "spawn") else 3, 60))
    command = [sys.executable, "-W", "ignore", "-m", "tests.forked_reads", str(tmp_path / "t"), kind, rounds]
    done = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, timeout=TIME_LIMIT_SECONDS, check=False)
    assert done.returncode == 0, done.stderr
