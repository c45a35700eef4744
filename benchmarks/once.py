"""Runs every benchmark of asv once, in this process: this shows that they work, not how fast they are.

    DELTASKIP_BENCH_SMALL=1 python -m benchmarks.once

`asv run --quick` starts a process for each combination of parameters, which takes ten times as long.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import itertools
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

KINDS = ("time_", "track_", "peakmem_")


def classes() -> Iterator[type]:
    """The classes that asv finds."""
    for path in sorted(Path(__file__).parent.glob("*.py")):
        module = importlib.import_module(f"benchmarks.{path.stem}")
        for name, found in vars(module).items():
            if inspect.isclass(found) and found.__module__ == module.__name__ and not name.startswith("_"):
                yield found


def combinations(benchmark: Any) -> Iterator[tuple[Any, ...]]:
    """The arguments of each run; asv takes one list of values or a list of lists."""
    params: Sequence[Any] = getattr(benchmark, "params", ())
    nested = bool(params) and all(isinstance(each, (list, tuple)) for each in params)
    return itertools.product(*(params if nested else [params] if params else []))


def run(benchmark: type) -> int:
    """Run each benchmark of a class with every combination of parameters; how many there are."""
    names = [name for name in dir(benchmark) if name.startswith(KINDS)]
    if not names:
        return 0
    instance = benchmark()
    cached = [instance.setup_cache()] if hasattr(instance, "setup_cache") else []
    for name, arguments in itertools.product(names, combinations(instance)):
        if hasattr(instance, "setup"):
            instance.setup(*cached, *arguments)
        getattr(instance, name)(*cached, *arguments)
        if hasattr(instance, "teardown"):
            instance.teardown(*cached, *arguments)
    return len(names)


if __name__ == "__main__":
    found = list(classes())
    # asv runs them in a folder of its own, too.
    with tempfile.TemporaryDirectory() as scratch, contextlib.chdir(scratch):
        print(f"ran {sum(map(run, found))} benchmarks")
