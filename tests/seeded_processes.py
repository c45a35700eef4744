"""Damaged files of many seeds, each read by a process with limits of time and memory, of which one follows another."""

from __future__ import annotations

import argparse
import json
import resource
import select
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

_STARTING = 120


def told_of(module: str, folder: Path, seeds: Sequence[int], processes: int, seconds: int) -> list[dict[str, Any]]:
    """What the processes `python -m MODULE --read FOLDER` tell of each seed, with `fault` if something went wrong.

    seconds: The time for one line of what a process tells.
    """

    def of_share(share: Sequence[int]) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        while len(found) < len(share):
            with tempfile.TemporaryFile() as complaints:
                # Without buffers, since what they hold would be invisible to select.
                with subprocess.Popen(
                    [sys.executable, "-m", module, "--read", str(folder)],
                    bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=complaints,
                ) as process:  # fmt: skip
                    try:
                        _line(process, _STARTING)
                        for seed in share[len(found) :]:
                            found.append({"seed": seed, **_answer(process, seed, seconds)})
                            if "done" not in found[-1]:
                                break
                    finally:
                        process.kill()
                if "done" not in found[-1]:
                    complaints.seek(0)
                    why = complaints.read().decode(errors="replace")[-2500:]
                    found[-1]["fault"] = f"hangs or dies ({process.returncode}) in {found[-1].get('act')}\n{why}"
        return found

    with ThreadPoolExecutor(processes) as pool:
        return [told for found in pool.map(of_share, [seeds[i::processes] for i in range(processes)]) for told in found]


def _answer(process: subprocess.Popen[bytes], seed: int, seconds: int) -> dict[str, Any]:
    """What the process tells about a seed, up to the time at which it must have said more."""
    assert process.stdin is not None
    told: dict[str, Any] = {}
    process.stdin.write(f"{seed}\n".encode())
    while "done" not in told and (line := _line(process, seconds)):
        told |= json.loads(line)
    return told


def _line(process: subprocess.Popen[bytes], seconds: float) -> bytes:
    assert process.stdout is not None
    ready, _, _ = select.select([process.stdout], [], [], seconds)
    return process.stdout.readline() if ready else b""


def read_seeds(reader: Callable[[], Callable[[int], object]], memory_bytes: int) -> None:
    """Read for the seeds on standard input, within a limit of memory. reader: makes what reads for a seed."""
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    read = reader()
    tell(started=True)
    for line in sys.stdin:
        try:
            read(int(line))
        except BaseException:
            tell(fault=traceback.format_exc()[-3000:])
        tell(done=True)


def tell(**members: object) -> None:
    """Tell the process that has sent the seed."""
    print(json.dumps(members), flush=True)


def arguments(description: str | None, seeds: int) -> argparse.Namespace:
    """The arguments of the command: `read`, a folder or None, `seeds` and `processes`."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=seeds, help="how many seeds")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--seed", type=int, help="only this seed")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--read", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    given.seeds = range(given.first, given.first + given.seeds) if given.seed is None else [given.seed]
    return given
