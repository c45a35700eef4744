"""Damaged copies of tables, each opened and read by a process with limits of time and memory.

`python -m tests.log.mutations --seeds 5000` prints what it finds: errors that do not derive from DeltaSkipError, hangs,
memory above the limit, and tables that open at an older version than they have. `--seed 17` repeats one of them.
"""

import argparse
import faulthandler
import json
import random
import resource
import select
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import deltaskip
from deltaskip.errors import DeltaSkipError
from tests.log.mutated_tables import Source, copied, made_sources, use
from tests.log.mutators import mutate

SECONDS = 10
_MEMORY_BYTES = 3 << 30


@dataclass(frozen=True, slots=True)
class Finding:
    """What went wrong with one seed."""

    seed: int
    table: str
    mutations: tuple[str, ...]
    act: str
    fault: str


def run(seeds: Sequence[int], folder: Path, processes: int = 2) -> list[Finding]:
    """Mutate and read one table for each seed, and return the faults."""
    made_sources(folder)
    shares = [seeds[i::processes] for i in range(processes)]
    with ThreadPoolExecutor(processes) as pool:
        return [finding for found in pool.map(lambda share: list(_share(share, folder)), shares) for finding in found]


def _share(seeds: Sequence[int], folder: Path) -> Iterator[Finding]:
    """The faults of the seeds, read one after another by processes, of which a new one follows each that dies."""
    rest = list(seeds)
    while rest:
        with tempfile.TemporaryFile() as complaints, _process(folder, complaints) as process:
            try:
                while rest:
                    told = _answer(process, rest[0])
                    seed = rest.pop(0)
                    if "done" in told:
                        continue
                    what = str(told.get("table")), tuple(told.get("mutations", ())), str(told.get("act"))
                    if "fault" in told:
                        yield Finding(seed, *what, str(told["fault"]))
                        continue
                    process.kill()
                    code = process.wait()
                    complaints.seek(0)
                    why = complaints.read().decode(errors="replace")[-2500:]
                    yield Finding(seed, *what, f"hangs or dies ({code})\n{why}")
                    break
            finally:
                process.kill()


def _process(folder: Path, complaints: IO[bytes]) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "tests.log.mutations", "--read", str(folder)]
    # Without buffers, since what they hold would be invisible to select.
    process = subprocess.Popen(command, bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=complaints)
    _line(process, _STARTING)
    return process


def _answer(process: subprocess.Popen[bytes], seed: int) -> dict[str, Any]:
    """What the process tells about a seed, up to the time at which it must have done."""
    assert process.stdin is not None
    told: dict[str, Any] = {}
    process.stdin.write(f"{seed}\n".encode())
    # The limit is for each act, which the process names when it begins.
    while "done" not in told and "fault" not in told and (line := _line(process, SECONDS)):
        told |= json.loads(line)
    return told


_STARTING = 60


def _line(process: subprocess.Popen[bytes], seconds: float) -> bytes:
    assert process.stdout is not None
    ready, _, _ = select.select([process.stdout], [], [], max(0, seconds))
    return process.stdout.readline() if ready else b""


def _read_all(folder: Path) -> None:
    """Read tables for seeds from standard input, and report on standard output."""
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    warnings.simplefilter("ignore")
    sources = made_sources(folder)
    _tell(started="started")
    for line in sys.stdin:
        _read(int(line), sources)


def _read(seed: int, sources: Sequence[Source]) -> None:
    rng = random.Random(seed)
    # Half of the seeds are for tables that are built here, which have every kind of log file.
    made = sources[:12]
    source = rng.choice(made if rng.random() < 0.5 else sources)
    with tempfile.TemporaryDirectory(prefix="deltaskip-mutation-") as scratch:
        table = copied(source, Path(scratch))
        mutations = mutate(table, rng)
        _tell(table=source.path.name, mutations=mutations)
        act = "open"
        try:
            for act, read in use(table, source.predicates):
                _tell(act=act)
                # A stack trace if it hangs.
                faulthandler.dump_traceback_later(SECONDS - 1)
                try:
                    read()
                except DeltaSkipError as error:
                    str(error).encode("utf-8", "surrogatepass")
            _check_version(source, table)
        except BaseException:
            _tell(act=act, fault=traceback.format_exc()[-3000:])
            return
    _tell(done="done")


def _check_version(source: Source, table: Path) -> None:
    """Fail if the table opens at an older version than before, although its newest files are still there."""
    log = table / "_delta_log"
    if not any(path.name.startswith(f"{source.version:020d}.") and _makes_version(path) for path in log.iterdir()):
        return
    try:
        found = deltaskip.DeltaTable(table).version
    except DeltaSkipError:
        return
    assert found >= source.version, f"opens at version {found} instead of {source.version}"


def _makes_version(path: Path) -> bool:
    rest = path.name[20:]
    return rest == ".json" or (rest == ".checkpoint.parquet")


def _tell(**members: object) -> None:
    print(json.dumps(members), flush=True)


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=500, help="number of mutated tables")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--seed", type=int, help="only this seed")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--read", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.read is not None:
        _read_all(given.read)
        return
    seeds = range(given.first, given.first + given.seeds) if given.seed is None else [given.seed]
    with tempfile.TemporaryDirectory(prefix="deltaskip-mutations-") as folder:
        findings = run(seeds, Path(folder), given.processes)
    for finding in findings:
        print(f"seed {finding.seed}: {finding.table}: {'; '.join(finding.mutations)}")
        print(f"  in {finding.act}: {finding.fault}\n")
    print(f"{len(findings)} faults in {len(seeds)} mutated tables")
    sys.exit(bool(findings))


if __name__ == "__main__":
    main()
