"""Start-up: fresh processes from their first import to their first answer, all imports counted.

    python -m benchmarks.startup [--files N] [--runs N] [--against CHECKOUT] [--only TEXT]

Prints a line for each case: the fastest run, the least processor time of all threads, which other load changes less,
and the largest resident set, interpreter and libraries included. --against: another checkout, with its kernels built,
which is measured in turn with this one, run by run.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from benchmarks.questions import questions
from benchmarks.sizes import FILES
from benchmarks.tables import reference_table

_HERE = Path(__file__).resolve().parents[1]

_MEASURED = """
import sys, time
start, processor = time.perf_counter(), time.process_time()
{before}
{code}
seconds, processor = time.perf_counter() - start, time.process_time() - processor
print(seconds, processor, {peak})
"""
_PEAK = "next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM'))"
_COMMAND_LINE = f"""
import sys
from deltaskip.cli import main
try:
    main()
finally:
    print({_PEAK}, file=sys.stderr)
"""

# Other rows than those of the plan that is measured.
_EARLIER = "id >= 250000000 AND id <= 250003500"


@dataclass(frozen=True, slots=True)
class Case:
    """What a fresh process does.

    Attributes:
        label: What it is called in the output.
        variant: The reference table; "" for none.
        code: What is timed, with TABLE and WHERE; None for the whole process of `arguments`.
        before: What the process runs before the clock starts.
        arguments: Arguments of the command line.
    """

    label: str
    variant: str
    code: str | None = None
    before: str = ""
    arguments: tuple[str, ...] = ()


_PLAN = "import deltaskip; deltaskip.DeltaTable(TABLE).scan(WHERE).files(columns=['uri'])"
_BATCHES = "import deltaskip, collections; collections.deque(deltaskip.DeltaTable(TABLE).scan({}).file_batches(), 0)"
_LOADED = (
    "import deltaskip; deltaskip.DeltaTable(TABLE).scan(EARLIER).files(columns=['uri']); "
    "start, processor = time.perf_counter(), time.process_time()"
)

CASES = (
    Case("import pyarrow and its compute", "", "import pyarrow.compute"),
    Case("import deltaskip", "", "import deltaskip"),
    Case("import and first plan", "classic", _PLAN),
    Case("the next cold plan of the process", "classic", _PLAN, _LOADED),
    Case("deltaskip --help", "", arguments=("--help",)),
    Case("deltaskip files TABLE --where …", "classic", arguments=("files", "TABLE", "--where", "WHERE")),
    Case("import and first plan, JSON statistics", "json", _PLAN),
    Case("the next cold plan, JSON statistics", "json", _PLAN, _LOADED),
    Case("files() of every file", "classic", "import deltaskip; deltaskip.DeltaTable(TABLE).scan().files()"),
    Case("file_batches() of every file", "classic", _BATCHES.format("")),
    Case("file_batches(), decimal AND double", "classic", _BATCHES.format("'price > 100 AND amount < 9000'")),
    Case("file_batches(), JSON statistics", "json", _BATCHES.format("")),
)


def measured(case: Case, checkout: Path, table: Path | None, files: int) -> tuple[float, float, float]:
    """Seconds, seconds of the processor and megabytes of one run."""
    given = {"TABLE": str(table), "WHERE": questions(files)["narrow"].spark_sql() or "TRUE", "EARLIER": _EARLIER}
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    # An installed package has its bytecode.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    if case.code is None:
        command = [sys.executable, "-c", _COMMAND_LINE, *(given.get(each, each) for each in case.arguments)]
        before, start = _children(), perf_counter()
        run = subprocess.run(command, capture_output=True, text=True, cwd=checkout, env=environment)
        seconds = perf_counter() - start
        if run.returncode:
            raise RuntimeError(f"{case.label} failed with {run.returncode}: {run.stderr}")
        return seconds, _children() - before, int(run.stderr.split()[-1]) / 1024
    text = _MEASURED.format(before=case.before, code=case.code, peak=_PEAK)
    for name, value in given.items():
        text = text.replace(name, repr(value))
    done = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, check=True, cwd=checkout, env=environment
    )
    seconds, processor, peak = done.stdout.split()
    return float(seconds), float(processor), int(peak) / 1024


def _children() -> float:
    """Seconds of the processor of all processes that have ended."""
    times = os.times()
    return times.children_user + times.children_system


def _can(case: Case, checkout: Path, table: Path | None, files: int) -> bool:
    """Whether the checkout has what the case measures; its bytecode is written on the way."""
    try:
        measured(case, checkout, table, files)
    except subprocess.CalledProcessError as error:
        print(f"{case.label}: {checkout} fails: {error.stderr.strip().splitlines()[-1]}", file=sys.stderr)
        return False
    return True


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=FILES, help="adds in the checkpoint of the reference tables")
    parser.add_argument("--runs", type=int, default=7, help="processes for each case and checkout")
    parser.add_argument("--against", type=Path, help="another checkout")
    parser.add_argument("--only", default="", help="cases whose label contains this text")
    parser.add_argument("--json", type=Path, help="write the runs to this file as well")
    options = parser.parse_args()
    checkouts = [_HERE] if options.against is None else [_HERE, options.against.resolve()]
    records = []
    for case in CASES:
        if options.only not in case.label:
            continue
        table = reference_table(case.variant, options.files) if case.variant else None
        asked = [checkout for checkout in checkouts if _can(case, checkout, table, options.files)]
        runs = [[measured(case, checkout, table, options.files) for checkout in asked] for _ in range(options.runs)]
        shown = []
        for found in zip(*runs, strict=True):
            seconds, processor, peaks = zip(*found, strict=True)
            times = f"{min(seconds) * 1000:6.0f} ms (processor {min(processor) * 1000:.0f} ms)"
            shown.append(f"{times}, {max(peaks):.0f} MB")
        print(f"{case.label:42}{'   against '.join(shown)}", flush=True)
        records.append({"case": case.label, "runs": runs})
    if options.json is not None:
        options.json.write_text(json.dumps(records), encoding="utf-8")


if __name__ == "__main__":
    main()
