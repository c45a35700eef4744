"""What the check that strings are UTF-8 adds to reads of them: processor time with it and without it, in turn.

    python -m benchmarks.strings [--rows 500000] [--rounds 30]

Short and long ASCII, texts of letters beyond ASCII, a dictionary of few texts, and texts in structs, which pyarrow
decodes. The runs without the check take the kernels' binary columns and leave out `has_utf8`.
"""

from __future__ import annotations

import argparse
import statistics
import string
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pyarrow as pa

import deltaskip as ds
from deltaskip.reading import plain_columns, small_files, stored_rows

LETTERS = string.ascii_letters + " "
WIDE = "\xe4\xf6\xfc\xdf\xe9\xe8\xf1\xe7\u0430\u0431\u0432\u0433\u0434\u0435\u0436\u0437\u6f22\u5b57\u4eee\u540d"
KINDS = {
    "short ASCII": (LETTERS, 4, 10),
    "long ASCII": (LETTERS, 60, 140),
    "beyond ASCII": (WIDE, 20, 60),
    "a dictionary": (WIDE, 5, 30),
    "long ASCII in structs": (LETTERS, 60, 140),
    "beyond ASCII in structs": (WIDE, 20, 60),
}


def texts(kind: str, rows: int) -> pa.Array:
    """Random texts of a kind."""
    letters, least, most = KINDS[kind]
    chance = np.random.default_rng(1)
    count = 1000 if kind == "a dictionary" else rows
    ends = np.cumsum(chance.integers(least, most + 1, count)).tolist()
    drawn = "".join(np.array(list(letters))[chance.integers(0, len(letters), ends[-1])])
    found = pa.array([drawn[start:end] for start, end in zip([0, *ends], ends, strict=False)])
    found = found if count == rows else found.take(pa.array(chance.integers(0, count, rows)))
    return pa.StructArray.from_arrays([found], ["s"]) if kind.endswith("structs") else found


def measured(table: ds.DeltaTable, rounds: int) -> dict[bool, list[float]]:
    """Seconds of the processor of reads, with the check and without."""
    # Names of modules that are replaced for a run.
    reading: Any = stored_rows
    check, width = reading.has_utf8, plain_columns._TEXT
    found: dict[bool, list[float]] = {True: [], False: []}
    for number in range(2 * rounds):
        checks = number % 2 == 0
        plain_columns._TEXT = width if checks else plain_columns._OF_ANY_LENGTH
        reading.has_utf8 = check if checks else lambda _: True
        small_files._KINDS.clear()
        start = process_time()
        table.scan().to_arrow()
        found[checks].append(process_time() - start)
    plain_columns._TEXT, reading.has_utf8 = width, check
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure every kind and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--rounds", type=int, default=30)
    given = parser.parse_args(arguments)
    for kind in KINDS:
        with tempfile.TemporaryDirectory(prefix="deltaskip-strings-") as folder:
            declared = "STRUCT<s: STRING>" if kind.endswith("structs") else "STRING"
            table = ds.DeltaTable.create(Path(folder) / "t", f"c {declared}")
            table.append(pa.table({"c": texts(kind, given.rows)}))
            found = {checks: statistics.median(times) for checks, times in measured(table, given.rounds).items()}
        ratio = found[True] / found[False]
        print(f"| {kind} | {found[True] * 1e3:.1f} ms | {found[False] * 1e3:.1f} ms | {ratio:.3f} × |")


if __name__ == "__main__":
    main()
