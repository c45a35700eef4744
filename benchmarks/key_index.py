"""One key out of many files, and a merge of keys: with the key index, without it, and beside deltalake and DuckDB.

    python -m benchmarks.key_index [--files 10000] [--rows 2000] [--keys 1000] [--rounds 3] [--folder DIR]
                                   [--no-peers] [--no-merge]

The table has so many files of so many rows, with a random UUID as text in each, so that the bounds of every file
contain every key. First the index is built, in a process of its own whose memory is measured. Then look-ups of present
and absent keys are counted. A look-up returns the row of a key: `table.scan(where).to_arrow()` on an open table, by
`to_pyarrow_table(filters=…)` of an open table of deltalake, by SQL over an attached table of DuckDB, which keeps its
snapshot, and by delta-spark if DELTASKIP_DELTA_JARS is set. Their runs alternate, the first round warms up and is not
counted, and their answers are equal. The merge updates the rows of some keys in copies of the table with and without
the index, by deletion vectors.
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
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.reads import _connection
from benchmarks.recompute import JARS, session
from deltaskip import DeltaTable, SetProperty
from deltaskip.skipping.key_index.folder import KEY_FOLDER

PROPERTIES = {"deltaskip.keyIndexColumns": "id"}
_LOOK_UPS = 1_000


def key(number: int) -> str:
    """The key of a row, which is random and always the same."""
    low, high = ((number + 1) * 0x9E3779B97F4A7C15) % (1 << 64), ((number + 1) * 0xBF58476D1CE4E5B9) % (1 << 64)
    return str(uuid.UUID(int=(low ^ (high >> 31)) % (1 << 64) << 64 | high))


def keys(first: int, count: int) -> pa.Array:
    """The keys of successive rows."""
    return pa.array([key(number) for number in range(first, first + count)])


def write_table(path: Path, files: int, rows: int) -> None:
    """Write the table: id, a number and a text."""
    table = DeltaTable.create(path, "id STRING, n BIGINT, s STRING", properties=PROPERTIES)
    words = pa.array([f"word {number}" for number in range(100)])
    names = []
    for number in range(files):
        index = np.arange(number * rows, (number + 1) * rows)
        part = pa.table([keys(number * rows, rows), index, words.take(pa.array(index % 100))], ["id", "n", "s"])
        names.append(f"{number:05}.parquet")
        pq.write_table(part, path / names[-1], use_dictionary=["s"])
    table.add_files(names)
    DeltaTable(path).checkpoint()


def _status(name: str) -> int:
    """A member of /proc/self/status in KiB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


def build(path: Path) -> None:
    """Build the index in this process, and print what it takes."""
    table = DeltaTable(path)
    table.scan("id = 'x'").files()
    before = _status("VmRSS")
    # The peak of the memory begins anew.
    Path("/proc/self/clear_refs").write_text("5")
    found = table.recompute_stats(columns=[], index=True).index
    assert found is not None
    more = (_status("VmHWM") - before) / 1024
    print(
        f"{found.keys:,} keys of {found.files:,} files in {found.seconds:.1f} s, {found.bytes / 1e6:.1f} MB, "
        f"{8 * found.bytes / found.keys:.2f} bits a key, {more:.0f} MiB of memory more than before"
    )


def count_files(path: Path, total: int) -> None:
    """Print how many files look-ups keep."""
    table, random = DeltaTable(path), np.random.default_rng(3)
    for what, texts in (
        ("present", [key(int(each)) for each in random.integers(0, total, _LOOK_UPS)]),
        ("absent", [key(int(each)) for each in random.integers(total, 1 << 40, _LOOK_UPS)]),
    ):
        start = time.perf_counter()
        kept = [len(table.scan(f"id = '{text}'").files(columns=["path"])) for text in texts]
        each = (time.perf_counter() - start) / _LOOK_UPS
        print(f"{_LOOK_UPS:,} {what} keys: {sum(kept) / _LOOK_UPS:.4f} files on average, {1000 * each:.2f} ms a plan")


def look_ups(path: Path, total: int, rounds: int, with_peers: bool) -> None:
    """Print the time of one look-up of each engine."""
    table = DeltaTable(path)
    engines: dict[str, Callable[[str], pa.Table]] = {
        "deltaskip": lambda text: table.scan(f"id = '{text}'").to_arrow(),
        "deltaskip, opened anew": lambda text: DeltaTable(path).scan(f"id = '{text}'").to_arrow(),
    }
    if with_peers:
        import deltalake

        opened = deltalake.DeltaTable(str(path))
        connection = _connection()
        connection.execute(f"ATTACH '{path}' AS t (TYPE delta, PIN_SNAPSHOT)")
        engines["deltalake"] = lambda text: opened.to_pyarrow_table(filters=[("id", "=", text)])
        engines["DuckDB"] = lambda text: connection.execute(f"SELECT * FROM t WHERE id = '{text}'").to_arrow_table()
        if os.environ.get(JARS):
            spark = session(Path(os.environ[JARS]))
            engines["delta-spark"] = lambda text: spark.sql(
                f"SELECT * FROM delta.`{path}` WHERE id = '{text}'"
            ).toArrow()
    _report("one key", engines, [key(total * place // 7 % total) for place in range(1, rounds + 2)], 5)


def _report(what: str, engines: dict[str, Callable[[str], Any]], texts: list[str], repeats: int) -> None:
    seconds: dict[str, list[float]] = {name: [] for name in engines}
    for turn, text in enumerate(texts):
        answers = []
        for name, run in engines.items():
            times = []
            for _ in range(repeats if name.startswith("deltaskip") else 1):
                start = time.perf_counter()
                answer = run(text)
                times.append(time.perf_counter() - start)
            answers.append(sorted(map(str, pa.table(answer).to_pylist())))
            if turn:
                seconds[name] += times
        assert all(each == answers[0] for each in answers) and len(answers[0]) == 1, answers
    best = min(seconds["deltaskip"])
    for name, found in seconds.items():
        print(f"{what}, {name}: {statistics.median(found) * 1000:,.2f} ms, best {min(found) / best:,.1f} ×")


def merges(path: Path, total: int, count: int, rounds: int) -> None:
    """Print the time of a merge that updates the rows of some keys, with and without the index."""
    random = np.random.default_rng(5)
    seconds: dict[str, list[float]] = {"with the index": [], "without": []}
    for turn in range(rounds):
        wanted = random.integers(0, total, count)
        source = pa.table({"id": [key(int(each)) for each in np.unique(wanted)], "n": [-1] * len(np.unique(wanted))})
        for name, found in seconds.items():
            copied = path.with_name(f"merged {turn} {name}")
            shutil.copytree(path, copied, copy_function=os.link)
            if name == "without":
                shutil.rmtree(copied / KEY_FOLDER)
            table = DeltaTable(copied)
            table.alter(SetProperty("delta.enableDeletionVectors", "true"))
            start = time.perf_counter()
            done = table.merge(source, "id").when_matched_update({"n": "source.n"}).execute()
            found.append(time.perf_counter() - start)
            assert done.metrics["numTargetRowsUpdated"] == len(source), done
            shutil.rmtree(copied)
    for name, found in seconds.items():
        ratio = min(found) / min(seconds["with the index"])
        print(f"merge of {count:,} keys {name}: {statistics.median(found):,.2f} s, best {ratio:,.1f} ×")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--rows", type=int, default=2_000)
    parser.add_argument("--keys", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--build", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--no-merge", action="store_true")
    given = parser.parse_args()
    if given.build is not None:
        build(given.build)
        return
    with tempfile.TemporaryDirectory() as scratch:
        path = (given.folder or Path(scratch)) / f"keys-{given.files}-{given.rows}"
        if not path.exists():
            write_table(path, given.files, given.rows)
        subprocess.run([sys.executable, "-m", "benchmarks.key_index", "--build", str(path)], check=True)
        total = given.files * given.rows
        count_files(path, total)
        look_ups(path, total, given.rounds, not given.no_peers)
        if not given.no_merge:
            merges(path, total, given.keys, given.rounds)


if __name__ == "__main__":
    main()
