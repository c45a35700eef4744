"""One cell of the table of targets, measured in a process of its own; prints JSON.

    python -m benchmarks.cell ENGINE MODE TABLE QUESTION FILES [REPEATS]

MODE cold: opening and planning, once, libraries imported before. MODE warm: planning on an open table, after one plan
that is not counted. `peak_mb` is the process's largest resident set, interpreter and libraries included.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks.peers import ENGINES
from benchmarks.questions import questions


@dataclass(frozen=True, slots=True)
class Cell:
    """seconds: the median; fastest: of the same runs; peak_mb: the largest; kept: files found, None where not told."""

    seconds: float
    fastest: float
    peak_mb: float
    kept: int | None


def measure(engine: str, mode: str, table: Path, question: str, files: int, runs: int = 5) -> Cell:
    """The cell's median over `runs` fresh processes, or for warm over plans in one process."""
    arguments = [engine, mode, str(table), question, str(files), str(max(runs, 3))]
    command = [sys.executable, "-m", "benchmarks.cell", *arguments]
    outcomes = [answer_of(command) for _ in range(runs if mode == "cold" else 1)]
    seconds = [second for outcome in outcomes for second in outcome["seconds"]]
    peak = max(outcome["peak_mb"] for outcome in outcomes)
    return Cell(statistics.median(seconds), min(seconds), peak, outcomes[0]["kept"])


def whole_process(table: Path, question: str, files: int, runs: int = 5) -> Cell:
    """`deltaskip files TABLE --where …` from start to exit."""
    code = "import sys; from deltaskip.cli import main; sys.exit(main())"
    where = questions(files)[question].spark_sql() or "TRUE"
    command = [sys.executable, "-c", code, "files", str(table), "--where", where]
    seconds, peak = [], 0.0
    for _ in range(runs):
        start = perf_counter()
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            lines = process.stdout.read().splitlines()
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        seconds.append(perf_counter() - start)
        if process.returncode:
            raise RuntimeError(f"the command failed with {process.returncode}")
        peak = max(peak, usage.ru_maxrss / 1024)
    return Cell(statistics.median(seconds), min(seconds), peak, max(len(lines) - 2, 0))


def answer_of(command: list[str]) -> dict[str, Any]:
    """The JSON object that the command prints last; it runs at the project's root."""
    root = str(Path(__file__).parent.parent)
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=root)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command[2:])} failed: {done.stderr.strip()[-800:]}")
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def _measured(engine_name: str, mode: str, table: str, question_name: str, files: int, repeats: int) -> dict[str, Any]:
    engine, question = ENGINES[engine_name], questions(files)[question_name]
    engine.load()
    seconds = []
    if mode == "cold":
        start = perf_counter()
        kept = engine.plan(engine.open_table(table), question)
        seconds.append(perf_counter() - start)
    else:
        handle = engine.open_table(table)
        kept = engine.plan(handle, question)
        for _ in range(repeats):
            start = perf_counter()
            engine.plan(handle, question)
            seconds.append(perf_counter() - start)
    return {"seconds": seconds, "peak_mb": peak_mb(), "kept": kept}


def peak_mb() -> float:
    """The largest resident set that this process has had, in MB."""
    # ru_maxrss of a child begins at its parent's on Linux; the kernel's mark of the address space does not.
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 * 1024 if sys.platform == "darwin" else 1024)


def main() -> None:
    """Measure and print one cell."""
    engine, mode, table, question, files, *repeats = sys.argv[1:]
    print(json.dumps(_measured(engine, mode, table, question, int(files), int(repeats[0]) if repeats else 5)))


if __name__ == "__main__":
    main()
