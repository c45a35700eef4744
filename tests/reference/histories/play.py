"""Play histories, in a process of their own.

    python -m tests.reference.histories.play ANSWERS.json STEPS [local] SEED ...

local: without Spark and delta-spark.
ANSWERS.json has by seed the error that it ended with and the operations before it; null if all agree.
"""

import json
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Sequence
from pathlib import Path

import pytest

import deltaskip as ds
from deltaskip.dml import unchanged_row_groups
from tests.reference.histories.history import History
from tests.reference.oracle import session

JAVA_TRACE = "\n\tat "


def main(output: Path, steps: int, seeds: Sequence[str]) -> None:
    """Play each seed; a range is written 0-99."""
    found: dict[str, str | None] = {}
    local = seeds[0] == "local"
    chosen = [int(s) for text in seeds[local:] for s in _range(text)]
    with tempfile.TemporaryDirectory() as scratch, pytest.MonkeyPatch.context() as settings, warnings.catch_warnings():
        warnings.simplefilter("error", ds.errors.ChecksumWarning)
        # Row groups of small files are copied, too.
        settings.setattr(ds.options, "row_group_bytes", 60)
        settings.setattr(unchanged_row_groups, "_LEAST_BYTES", 1)
        spark = None if local else session(Path(scratch))
        for seed in chosen:
            history, started = None, time.monotonic()
            try:
                history = History(spark, Path(scratch) / f"t{seed}", seed)
                history.play(steps)
                found[str(seed)] = None
                print(f"ok {seed} {time.monotonic() - started:.0f} s {', '.join(history.shape.features)}", flush=True)
            except Exception as error:
                played = "\n".join(history.played) if history is not None else ""
                places = "".join(traceback.format_tb(error.__traceback__))
                # Spark's messages end with long traces of the JVM.
                found[str(seed)] = f"{places}{type(error).__name__}: {str(error).partition(JAVA_TRACE)[0]}\n{played}"
                print(f"FAILED {seed}\n{found[str(seed)]}", flush=True)
        if spark is not None:
            spark.stop()
    output.write_text(json.dumps(found), encoding="utf-8")


def _range(text: str) -> range:
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
