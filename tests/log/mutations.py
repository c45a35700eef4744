"""Damaged copies of tables, each opened and read by a process with limits of time and memory.

`python -m tests.log.mutations --seeds 5000` prints what it finds: errors that do not derive from DeltaSkipError, hangs,
memory above the limit, and tables that open at an older version than they have. `--seed 17` repeats one of them.
"""

import faulthandler
import random
import sys
import tempfile
import warnings
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import deltaskip
from deltaskip.errors import DeltaSkipError
from tests.log.mutated_tables import Source, copied, made_sources, use
from tests.log.mutators import mutate
from tests.seeded_processes import arguments, read_seeds, tell, told_of

SECONDS = 10
_MEMORY_BYTES = 3 << 30


def run(seeds: Sequence[int], folder: Path, processes: int = 2) -> list[dict[str, Any]]:
    """Mutate and read one table for each seed, and return what is told of those with a fault."""
    made_sources(folder)
    return [told for told in told_of("tests.log.mutations", folder, seeds, processes, SECONDS) if "fault" in told]


def _read(sources: Sequence[Source], seed: int) -> None:
    rng = random.Random(seed)
    # Half of the seeds are for tables that are built here, which have every kind of log file.
    made = sources[:12]
    source = rng.choice(made if rng.random() < 0.5 else sources)
    with tempfile.TemporaryDirectory(prefix="deltaskip-mutation-") as scratch:
        table = copied(source, Path(scratch))
        mutations = mutate(table, rng)
        tell(table=source.path.name, mutations=mutations)
        for act, read in use(table, source.predicates):
            tell(act=act)
            # A stack trace if it hangs.
            faulthandler.dump_traceback_later(SECONDS - 1)
            try:
                read()
            except DeltaSkipError as error:
                str(error).encode("utf-8", "surrogatepass")
        _check_version(source, table)


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


def main() -> None:
    """The command."""
    given = arguments(__doc__, 500)
    if given.read is not None:
        warnings.simplefilter("ignore")
        read_seeds(lambda: partial(_read, made_sources(given.read)), _MEMORY_BYTES)
        return
    with tempfile.TemporaryDirectory(prefix="deltaskip-mutations-") as folder:
        findings = run(given.seeds, Path(folder), given.processes)
    for told in findings:
        print(f"seed {told['seed']}: {told.get('table')}: {'; '.join(told.get('mutations', ()))}")
        print(f"  in {told.get('act')}: {told['fault']}\n")
    print(f"{len(findings)} faults in {len(given.seeds)} mutated tables")
    sys.exit(bool(findings))


if __name__ == "__main__":
    main()
