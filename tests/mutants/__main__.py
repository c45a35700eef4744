"""How many faults the tests find that are put into the package on purpose.

    python -m tests.mutants map                               which tests of the gate run which line
    python -m tests.mutants run --count 300 --report R.json   mutants of all packages, against the tests of their lines
    python -m tests.mutants history --report R.json           faults of the project's own history, put back

A mutant is killed if one of its tests fails or takes too long. Its tests are those of the gate that run its line, the
quickest first; one that survives them meets the same tests with everything on (`DELTASKIP_TESTS=all`). A mutant whose
line no test runs survives. Faults of history are commits that changed both the package and its tests: the package's
part is taken back, and the tests of the commit must fail.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.mutants.operators import Mutant, mutants_of

ROOT = Path(__file__).resolve().parents[2]
MAP = ROOT / ".mutants.json"
MOST_TESTS = 60
SECONDS = 300
_LEFT_OUT = shutil.ignore_patterns(".git", ".venv*", "build", "*.egg-info", ".asv", ".mypy_cache", ".ruff_cache", "*.c")


def main(arguments: list[str] | None = None) -> None:
    """Run a command of the docstring."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__.split("\n\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("map")
    for name in ("run", "history"):
        command = commands.add_parser(name)
        command.add_argument("--count", type=int, default=300 if name == "run" else 60)
        command.add_argument("--seed", type=int, default=1)
        command.add_argument("--packages", nargs="*", default=[], help="only these packages of deltaskip")
        command.add_argument("--report", type=Path, help="JSON file for what became of each")
        command.add_argument("--workers", type=int, default=2)
    chosen = parser.parse_args(arguments)
    if chosen.command == "map":
        make_map()
        return
    found = run_mutants(chosen) if chosen.command == "run" else run_history(chosen)
    if chosen.report:
        chosen.report.write_text(json.dumps(found, indent=1), encoding="utf-8")
    counts = defaultdict(int, {})
    for each in found:
        counts[each["killed by"]] += 1
    print(f"{len(found)} faults: " + ", ".join(f"{count} {name}" for name, count in sorted(counts.items())))
    for each in found:
        if each["killed by"] in ("nothing", "the whole run"):
            print(f"  {each['killed by']}: {each['fault']}")


def make_map() -> None:
    """Record the quickest tests of the gate that run each line."""
    if sys.version_info < (3, 12):
        sys.exit("The map needs Python 3.12 or newer, which tells cheaply which lines run.")
    seconds: dict[str, float] = {}
    lines: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for chosen in (["-m", "not spark and not reference"], ["--dist", "loadfile", "-m", "spark or reference"]):
        with tempfile.TemporaryDirectory() as scratch:
            times = Path(scratch, "times.xml")
            command = ["-n", "auto", *chosen, "-q", "-p", "tests.mutants.lines", f"--junitxml={times}",
                       "-p", "no:cacheprovider", f"--basetemp={scratch}/tests"]  # fmt: skip
            environment = os.environ | {"DELTASKIP_MUTANT_LINES": scratch}
            subprocess.run([sys.executable, "-m", "pytest", *command], cwd=ROOT, env=environment, check=False)
            seconds |= dict(_times(times))
            for written in Path(scratch).glob("*.json"):
                for test, files in json.loads(written.read_bytes()).items():
                    for file, numbers in files.items():
                        for number in numbers:
                            lines[file][str(number)].append(test)
    quickest = {
        file: {
            number: sorted(tests, key=lambda test: seconds.get(test, 1.0))[:MOST_TESTS]
            for number, tests in each.items()
        }
        for file, each in lines.items()
    }
    MAP.write_text(json.dumps(quickest), encoding="utf-8")
    print(f"wrote {MAP.name}: {len(seconds)} tests, {len(lines)} modules")


def _times(xml: Path) -> Iterator[tuple[str, float]]:
    from xml.etree import ElementTree

    for case in ElementTree.parse(xml).iter("testcase"):
        parts = case.get("classname", "").split(".")
        classes = [part for part in parts if part[:1].isupper()]
        file = "/".join(part for part in parts if not part[:1].isupper()) + ".py"
        yield "::".join([file, *classes, case.get("name", "")]), float(case.get("time", 0))


def run_mutants(chosen: argparse.Namespace) -> list[dict[str, Any]]:
    """Put mutants into the package, as many in each of its packages, and run their tests."""
    covered = json.loads(MAP.read_text(encoding="utf-8"))
    by_package: dict[str, list[Mutant]] = defaultdict(list)
    for path in sorted((ROOT / "deltaskip").rglob("*.py")):
        package = path.relative_to(ROOT / "deltaskip").parts[0].removesuffix(".py")
        if not chosen.packages or package in chosen.packages:
            by_package[package] += mutants_of(ROOT, path)
    random_ = random.Random(chosen.seed)
    for each in by_package.values():
        random_.shuffle(each)
    wanted: list[Mutant] = []
    while len(wanted) < chosen.count and any(by_package.values()):
        drawn = [each.pop() for each in by_package.values() if each]
        wanted += [each for each in drawn if each.is_python((ROOT / each.path).read_bytes())]
    del wanted[chosen.count :]

    def try_one(mutant: Mutant) -> dict[str, Any]:
        quickest = covered.get(mutant.path, {}).get(str(mutant.line), [])
        with copies.taken() as copy:
            file = copy / mutant.path
            source = file.read_bytes()
            file.write_bytes(mutant.applied_to(source))
            try:
                killed = judged(copy, quickest)
            finally:
                file.write_bytes(source)
        return _said({"fault": str(mutant), "kind": mutant.kind, "tests": len(quickest), "killed by": killed})

    with Copies(chosen.workers) as copies, ThreadPoolExecutor(chosen.workers) as pool:
        return list(pool.map(try_one, wanted))


def judged(copy: Path, tests: list[str]) -> str:
    """What kills the fault in a copy: the gate, the whole run, or nothing."""
    if not tests:
        return "nothing"
    for name, environment in (("the gate", {}), ("the whole run", {"DELTASKIP_TESTS": "all"})):
        if failing(copy, tests, environment):
            return name
    return "nothing"


def failing(copy: Path, tests: list[str], environment: dict[str, str]) -> bool:
    """Whether one of the tests fails in a copy, or they take too long."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--no-header", *tests]
    try:
        run = subprocess.run(
            command, cwd=copy, env=os.environ | environment, timeout=SECONDS, capture_output=True, check=False
        )
    except subprocess.TimeoutExpired:
        return True
    # 5: no test was selected.
    return run.returncode not in (0, 5)


def run_history(chosen: argparse.Namespace) -> list[dict[str, Any]]:
    """Take back the package's part of commits that changed the package and its tests, the newest first."""
    log = _git("log", "--max-parents=1", "--min-parents=1", "--format=%h %s")
    found: list[dict[str, Any]] = []
    with Copies(1) as copies:
        for line in log.splitlines():
            if len(found) == chosen.count:
                break
            commit = line.partition(" ")[0]
            changed = _git("diff", "--name-only", "--diff-filter=M", f"{commit}^", commit).splitlines()
            tests = [name for name in changed if re.fullmatch(r"tests/.*/?test_\w+\.py", name)]
            sources = [name for name in changed if re.fullmatch(r"deltaskip/.*\.py", name)]
            if not tests or not 0 < len(sources) <= 8:
                continue
            patch = _git("diff", f"{commit}^", commit, "--", *sources)
            with copies.taken() as copy:
                kept = {name: (copy / name).read_bytes() for name in sources if (copy / name).exists()}
                # A merge of three sides would need the repository.
                back = ["git", "apply", "-R", "-C1", "-"]
                taken_back = subprocess.run(back, cwd=copy, input=patch, text=True, capture_output=True, check=False)
                if taken_back.returncode:
                    continue
                try:
                    killed = judged(copy, tests)
                finally:
                    for name, source in kept.items():
                        (copy / name).write_bytes(source)
            found.append(_said({"fault": line, "kind": "history", "tests": len(tests), "killed by": killed}))
    return found


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def _said(result: dict[str, Any]) -> dict[str, Any]:
    print(f"{time.strftime('%H:%M:%S')} {result['killed by']}: {result['fault']}", flush=True)
    return result


class Copies:
    """Copies of the repository, one a worker, in which modules are changed; removed at the end."""

    def __init__(self, count: int) -> None:
        self._count = count

    def __enter__(self) -> Copies:
        self._scratch = tempfile.TemporaryDirectory()
        shared = ROOT.parent / "shared"
        self._free = []
        for number in range(self._count):
            place = Path(self._scratch.name, str(number))
            copy = shutil.copytree(ROOT, place / "repository", ignore=_LEFT_OUT)
            if shared.exists():
                (place / "shared").symlink_to(shared)
            self._free.append(copy)
        return self

    def __exit__(self, *_: object) -> None:
        self._scratch.cleanup()

    @contextmanager
    def taken(self) -> Iterator[Path]:
        """One that no other thread uses meanwhile."""
        copy = self._free.pop()
        try:
            yield copy
        finally:
            self._free.append(copy)


if __name__ == "__main__":
    main()
