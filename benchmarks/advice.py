"""What `DeltaTable.advise` takes for many predicates over many files.

    python -m benchmarks.advice [--files 100000] [--predicates 10000] [--folder DIR]

The files are links to a hundred files of 200 rows, so that the table takes little space; their log has statistics for
each. The predicates are on three columns in turns. The report shows seconds, and those of the processor.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.sizes import sized
from deltaskip import DeltaTable

_KINDS = 100
_ROWS = 200


def write_table(path: Path, files: int) -> None:
    """Write the table: id, day, country and x."""
    table = DeltaTable.create(path, "id BIGINT, day INT, country STRING, x DOUBLE")
    random, names = np.random.default_rng(1), []
    for kind in range(_KINDS):
        columns = {
            "id": random.integers(0, 10**9, _ROWS),
            "day": pa.array(random.integers(0, 365, _ROWS), pa.int32()),
            "country": [f"c{number}" for number in random.integers(0, 50, _ROWS)],
            "x": random.random(_ROWS),
        }
        pq.write_table(pa.table(columns), path / "one")
        for number in range(files // _KINDS):
            names.append(f"{kind}-{number}.parquet")
            os.link(path / "one", path / names[-1])
        (path / "one").unlink()
    table.add_files(names)
    DeltaTable(path).checkpoint()


def predicates(count: int) -> list[str]:
    """Predicates on days, ids and countries, in turns."""
    numbers = np.random.default_rng(2).integers(0, 10**6, count).tolist()
    forms = (
        lambda n: f"day = {n % 365}",
        lambda n: f"id BETWEEN {n * 1000} AND {n * 1000 + 400}",
        lambda n: f"country = 'c{n % 50}' AND day > {n % 300}",
    )
    return [forms[place % 3](number) for place, number in enumerate(numbers)]


class Advice:
    """For asv."""

    def setup(self) -> None:
        """Write the table."""
        self.path = Path(tempfile.mkdtemp(prefix="advice-")) / "t"
        write_table(self.path, sized(10_000, 200))

    def time_advise(self) -> None:
        """Ask for advice."""
        DeltaTable(self.path).advise(predicates(sized(1_000, 20)), target_file_bytes=100_000)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=sized(100_000, 200))
    parser.add_argument("--predicates", type=int, default=sized(10_000, 20))
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        path = (given.folder or Path(scratch)) / f"advice-{given.files}"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            write_table(path, given.files)
        table, asked = DeltaTable(path), predicates(given.predicates)
        start, processor = time.perf_counter(), time.process_time()
        advice = table.advise(asked, target_file_bytes=100_000)
        seconds = time.perf_counter() - start, time.process_time() - processor
        print(f"{len(asked):,} predicates over {given.files:,} files: {seconds[0]:.1f} s, {seconds[1]:.1f} s processor")
        print(advice)


if __name__ == "__main__":
    main()
