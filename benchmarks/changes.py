"""Changes of rows beside delta-spark, in one session: deletes, updates, merges, and what keeps a table in shape.

    python -m benchmarks.changes [--rows 10000000] [--files 100] [--rounds 3] [--only NAME ...]
                                 [--without-vectors | --both] [--memory]

It needs Java and DELTASKIP_DELTA_JARS, the folder with the jars of delta-spark (`.ci/run` lists them). First each case
runs on a small table, by both engines, which must leave the same rows; this warms both up. Then their runs alternate,
each on a copy of its own, whose data files are hard links to those of one table. delta-spark has loaded the copy's log
before its run, as in a session that has used the table; a run of deltaskip opens the table. Both include the commit.
The report has the medians and the ratio of the best runs. With --memory each engine also runs each case in a process
of its own, whose peak memory is reported: that of Python and of the JVM.

The cases are in `benchmarks.change_cases`.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.change_cases import CASES, TABLES, Case, Size, Turn
from benchmarks.recompute import JARS, session

_SMALL = Size(rows=20_000, files=4)


class Stage:
    """A folder with one table of each kind and size, of which the runs get copies.

    Args:
        spark: The session that writes the tables.
        folder: The folder.
    """

    def __init__(self, spark: Any, folder: Path) -> None:
        self._spark = spark
        self._folder = folder
        self._turns = 0

    def turn(self, case: Case, size: Size) -> Turn:
        """A fresh copy of the table that a case changes."""
        vectors = "with" if size.vectors else "without"
        original = self._folder / f"{case.table}-{size.rows}-{size.files}-{vectors}"
        if not original.exists():
            making = original.with_name(f"{original.name}.making")
            TABLES[case.table](self._spark, making, size)
            making.rename(original)
        self._turns += 1
        copy = Path(tempfile.mkdtemp(prefix=f"turn-{self._turns}-", dir=self._folder)) / "table"
        shutil.copytree(original, copy, copy_function=_linked)
        turn = Turn(self._spark, copy, size)
        if case.prepare is not None:
            case.prepare(turn)
        return turn


def _linked(source: str, target: str) -> None:
    """A hard link; files of the log, which writers may overwrite, are copied."""
    if "_delta_log" in Path(source).parts:
        shutil.copy(source, target)
    else:
        os.link(source, target)


def compare(stage: Stage, case: Case, size: Size) -> None:
    """Run a case by both engines. Raises AssertionError if they leave different rows."""
    left = []
    for run in (case.ours, case.theirs):
        turn = stage.turn(case, size)
        run(turn)
        frame = turn.spark.read.format("delta").load(str(turn.path))
        left.append(frame.selectExpr("count(*)", "sum(cast(xxhash64(*) AS decimal(38, 0)))").collect()[0])
        shutil.rmtree(turn.path.parent)
    assert not case.same_rows or left[0] == left[1], f"{case.name}: deltaskip leaves {left[0]}, delta-spark {left[1]}"


def _peak_of(process: int) -> int:
    """The most memory that a process has had, in bytes."""
    lines = Path(f"/proc/{process}/status").read_text(encoding="ascii").splitlines()
    [peak] = [line.split()[1] for line in lines if line.startswith("VmHWM:")]
    return int(peak) << 10


def run_alone(stage: Stage, name: str, size: Size, engine: str) -> None:
    """Run one case by one engine on the small table and then the large one, and print the peak memory in MB."""
    [case] = [each for each in CASES if each.name == name]
    for each in (replace(_SMALL, vectors=size.vectors), size):
        turn = stage.turn(case, each)
        (case.ours if engine == "deltaskip" else case.theirs)(turn)
        shutil.rmtree(turn.path.parent)
    java = turn.spark.sparkContext._gateway.proc.pid
    print(round((_peak_of(os.getpid()) + _peak_of(java)) / 1e6))


def memory_of(case: Case, size: Size, folder: Path) -> str:
    """Return the line of a case in the report of memory."""
    peaks = {}
    for engine in ("deltaskip", "delta-spark"):
        command = [sys.executable, "-m", "benchmarks.changes", "--rows", str(size.rows), "--files", str(size.files)]
        command += ["--folder", str(folder), "--alone", case.name, engine]
        command += [] if size.vectors else ["--without-vectors"]
        said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        peaks[engine] = int(said.split()[-1])
    return f"| {case.name} | {peaks['deltaskip']:,} MB | {peaks['delta-spark']:,} MB |"


def measure(stage: Stage, case: Case, size: Size, rounds: int) -> str:
    """Return the line of a case in the report."""
    seconds: dict[str, list[float]] = {"ours": [], "theirs": []}
    for _ in range(rounds):
        for name, run in (("ours", case.ours), ("theirs", case.theirs)):
            turn = stage.turn(case, size)
            if name == "theirs":
                turn.load()
            start = time.perf_counter()
            run(turn)
            seconds[name].append(time.perf_counter() - start)
            shutil.rmtree(turn.path.parent)
    ours, theirs = (statistics.median(each) for each in seconds.values())
    ratio = min(seconds["theirs"]) / min(seconds["ours"])
    return f"| {case.name} | {ours:.2f} s | {theirs:.2f} s | {ratio:.1f} × |"


def chosen_cases(only: Sequence[str]) -> list[Case]:
    """The cases of these names, or parts of names; all if there are none."""
    return [case for case in CASES if not only or any(name in case.name for name in only)]


def run(spark: Any, folder: Path, size: Size, rounds: int, only: Sequence[str] = ()) -> None:
    """Run the cases of these names, or parts of names, and print the report."""
    chosen = chosen_cases(only)
    stage = Stage(spark, folder)
    for case in chosen:
        compare(stage, case, replace(_SMALL, vectors=size.vectors))
    vectors = "with" if size.vectors else "without"
    print(f"\n{size.rows:,} rows in {size.files} files {vectors} deletion vectors\n")
    print("| | deltaskip | delta-spark | delta-spark ÷ deltaskip |\n|---|---|---|---|", flush=True)
    for case in chosen:
        print(measure(stage, case, size, rounds), flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what the command line names."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.changes",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--files", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--without-vectors", action="store_true", help="create the tables without deletion vectors")
    parser.add_argument("--both", action="store_true", help="with deletion vectors, and then without them")
    parser.add_argument("--memory", action="store_true", help="report peak memory, too")
    parser.add_argument("--alone", nargs=2, metavar=("NAME", "ENGINE"), help=argparse.SUPPRESS)
    parser.add_argument("--only", nargs="*", default=(), metavar="NAME", help="run the cases whose names contain one")
    parser.add_argument("--folder", type=Path, help="keep the tables here between runs; by default they are deleted")
    options = parser.parse_args(arguments)
    if not os.environ.get(JARS):
        parser.error(f"{JARS} must name the folder with the jars of delta-spark.")
    kinds = (True, False) if options.both else (not options.without_vectors,)
    sizes = [Size(options.rows, options.files, vectors) for vectors in kinds]
    with tempfile.TemporaryDirectory(prefix="deltaskip-changes-") as scratch:
        folder = options.folder or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        spark = session(Path(os.environ[JARS]))
        # The default of 50 is for logs of a cluster, and costs a second at each version.
        spark.conf.set("spark.databricks.delta.snapshotPartitions", "2")
        try:
            if options.alone is not None:
                name, engine = options.alone
                run_alone(Stage(spark, folder), name, sizes[0], engine)
                return
            for size in sizes:
                run(spark, folder, size, options.rounds, options.only)
        finally:
            spark.stop()
        for size in sizes if options.memory else ():
            vectors = "with" if size.vectors else "without"
            print(f"\n{size.rows:,} rows in {size.files} files {vectors} deletion vectors, peak memory\n")
            print("| | deltaskip | delta-spark |\n|---|---|---|", flush=True)
            for case in chosen_cases(options.only):
                print(memory_of(case, size, folder), flush=True)


if __name__ == "__main__":
    main()
