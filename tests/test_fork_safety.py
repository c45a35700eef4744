"""Children that a process forks while its threads read."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parents[1]
_PROGRAM = """
import os, signal, sys, threading
import pyarrow as pa
import deltaskip as ds

root, forks = sys.argv[1], int(sys.argv[2])
table = ds.DeltaTable.create(root, "id BIGINT, s STRING", properties={"delta.checkpointInterval": "3"})
for number in range(8):
    table.append(pa.table({"id": [number], "s": ["x"]}))
shared = ds.DeltaTable(root)
shared.scan(where="s = 'x'").to_arrow()
ended = threading.Event()

def read(opened):
    number = 0
    while not ended.is_set():
        number += 1
        found = ds.DeltaTable(root) if opened is None else opened
        found.scan(where=f"id >= {number % 5} AND s > '{number % 7}'").files()
        found.scan(where="s = 'x'").to_arrow()

threads = [threading.Thread(target=read, args=(opened,)) for opened in (None, shared, shared)]
for thread in threads:
    thread.start()
failed = []
for number in range(forks):
    child = os.fork()
    if not child:
        signal.alarm(30)
        found = ds.DeltaTable(root).scan(where="s = 'x'").to_arrow().num_rows
        pruned = shared.scan(where=f"id >= 6 AND s > '{number}a'").files().num_rows
        os._exit(0 if (found, pruned) == (8, 2) else 1)
    failed.append(os.waitpid(child, 0)[1])
ended.set()
for thread in threads:
    thread.join()
sys.exit(str(failed) if any(failed) else 0)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot fork")
def test_a_child_that_is_forked_while_threads_read_can_read(tmp_path: Path) -> None:
    command = [sys.executable, "-W", "ignore", "-c", _PROGRAM, str(tmp_path / "t"), "12"]
    done = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
