"""Changes by expressions without Spark, beside deltalake: delete, update, merge, and rows that a CHECK allows.

    python -m benchmarks.expression_changes [--rows 1000000] [--rounds 5] [--folder DIR] [--only TEXT ...]

Every run changes a fresh copy of one table in four files; opening it counts. The runs of both alternate, the first
round warms up and is not counted, and both must change as many rows. The table shows medians of the time on the clock
and of the processor time of all threads, and the ratios of the best runs.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import deltalake
import pyarrow as pa

import deltaskip
from benchmarks.expressions import made, rows_of

_COLUMNS = ["id", "price", "q", "s", "ts"]

_CHECK = "price * 2 < 1000 AND q + 1 > 0"
_Run = Callable[[Path, pa.Table], int]


def _deleted(where: str) -> tuple[_Run, _Run]:
    return (
        lambda path, _: _count(deltaskip.DeltaTable(path).delete(where).metrics["numDeletedRows"]),
        lambda path, _: _count(deltalake.DeltaTable(str(path)).delete(where)["num_deleted_rows"]),
    )


def _updated(column: str, value: str, where: str) -> tuple[_Run, _Run]:
    return (
        lambda path, _: _count(deltaskip.DeltaTable(path).update({column: value}, where).metrics["numUpdatedRows"]),
        lambda path, _: _count(
            deltalake.DeltaTable(str(path)).update({column: value}, predicate=where)["num_updated_rows"]
        ),
    )


def _merged(path: Path, source: pa.Table) -> int:
    merge = deltaskip.DeltaTable(path).merge(source, "t.id = s.id", "s", "t")
    merge = merge.when_matched_update({"price": "s.price * 2"}, "t.price * 2 > s.price").when_not_matched_insert_all()
    found = merge.execute().metrics
    return found["numTargetRowsUpdated"] + found["numTargetRowsInserted"]


def _their_merge(path: Path, source: pa.Table) -> int:
    merge = deltalake.DeltaTable(str(path)).merge(source, "t.id = s.id", source_alias="s", target_alias="t")
    merge = merge.when_matched_update({"price": "s.price * 2"}, "t.price * 2 > s.price").when_not_matched_insert_all()
    found = merge.execute()
    return _count(found["num_target_rows_updated"] + found["num_target_rows_inserted"])


def _appended(path: Path, source: pa.Table) -> int:
    deltaskip.DeltaTable(path).append(source)
    return source.num_rows


def _their_append(path: Path, source: pa.Table) -> int:
    deltalake.write_deltalake(str(path), source, mode="append")
    return source.num_rows


def _count(rows: Any) -> int:
    return int(rows)


CASES: dict[str, tuple[_Run, _Run]] = {
    "DELETE WHERE price * 2 > 390": _deleted("price * 2 > 390"),
    "DELETE WHERE price * 2 > 150": _deleted("price * 2 > 150"),
    "DELETE WHERE s LIKE '%99'": _deleted("s LIKE '%99'"),
    "UPDATE SET price = price * 1.1 WHERE price * 2 > 390": _updated("price", "price * 1.1", "price * 2 > 390"),
    "UPDATE SET s = upper(s) WHERE id % 7 = 3": _updated("s", "upper(s)", "id % 7 = 3"),
    "MERGE of 100,000 rows, WHEN MATCHED AND t.price * 2 > s.price": (_merged, _their_merge),
    f"INSERT of 100,000 rows, CHECK ({_CHECK})": (_appended, _their_append),
}
"""The runs of deltaskip and of deltalake, each with the table and the rows to write; they return the changed rows."""


def measure(table: Path, name: str, source: pa.Table, rounds: int) -> None:
    """Change copies of the table, and print a line."""
    found: list[tuple[list[float], list[float]]] = [([], []), ([], [])]
    counts: set[int] = set()
    copy = table.with_name("copy")
    for turn in range(rounds + 1):
        for side in (0, 1) if turn % 2 else (1, 0):
            shutil.rmtree(copy, ignore_errors=True)
            shutil.copytree(table, copy)
            start, processor = perf_counter(), process_time()
            counts.add(CASES[name][side](copy, source))
            seconds, used = perf_counter() - start, process_time() - processor
            if turn:
                found[side][0].append(seconds)
                found[side][1].append(used)
    shutil.rmtree(copy)
    if len(counts) > 1:
        raise SystemExit(f"{name}: other numbers of rows: {sorted(counts)}")
    (ours, our_cpu), (theirs, their_cpu) = found
    cells = [f"{statistics.median(times) * 1000:.0f} ({statistics.median(cpu) * 1000:.0f}) ms" for times, cpu in found]
    ratios = f"{min(theirs) / min(ours):.2f} × | {min(their_cpu) / min(our_cpu):.2f} ×"
    print(f"| {name} | {counts.pop():,} | {cells[0]} | {cells[1]} | {ratios} |", flush=True)


def main() -> None:
    """Measure what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--only", nargs="+", default=[], metavar="TEXT", help="cases that have one of these texts")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        table = folder / f"changed-{options.rows}"
        if not table.exists():
            made(table, options.rows, _COLUMNS)
            deltaskip.DeltaTable(table).alter_sql(f"ADD CONSTRAINT rule CHECK ({_CHECK})")
        source = rows_of(options.rows - 50_000, 100_000).select(_COLUMNS)
        print("| | rows | deltaskip | deltalake | deltalake ÷ deltaskip | processor |\n|---|---|---|---|---|---|")
        for name in CASES:
            if not options.only or any(text in name for text in options.only):
                measure(table, name, source, options.rounds)


if __name__ == "__main__":
    main()
