"""Children that read and write while threads of their parent read: `python -m tests.forked_reads ROOT KIND ROUNDS`.

pool and executor: multiprocessing and concurrent.futures with fork. prefork: workers with threads of their own, as in
gunicorn. celery: children that write and fork again. iterating: a fork between two batches of a scan. spawn and
forkserver: tables are pickled.
"""

import concurrent.futures
import multiprocessing
import signal
import sys
import threading
from functools import partial

import pyarrow as pa

import deltaskip as ds
from tests.forks import CHILD_SECONDS, in_child

_shared: ds.DeltaTable | None = None


def read(table: ds.DeltaTable, number: int) -> tuple[int, int]:
    """The numbers of rows, and of files, that scans find."""
    # Also in children of libraries.
    signal.alarm(CHILD_SECONDS)
    rows = table.scan(where="s = 'x'").to_arrow().num_rows
    files = table.scan(where=f"id BETWEEN 6 AND 7 AND s > '{number}a'").files().num_rows
    assert ds.DeltaTable(table.uri).scan("s = 'x'").to_arrow().num_rows == rows
    grouped = ds.sql(f"SELECT s, count(*) AS n FROM '{table.uri}' WHERE s = 'x' GROUP BY s")
    assert grouped.to_pylist() == [{"s": "x", "n": rows}]
    signal.alarm(0)
    return rows, files


def read_shared(number: int) -> tuple[int, int]:
    assert _shared is not None
    return read(_shared, number)


def served(table: ds.DeltaTable) -> bool:
    found: list[tuple[int, int]] = []
    threads = [threading.Thread(target=lambda i=i: found.append(read(table, i))) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found == [(8, 2)] * 3


def worked(table: ds.DeltaTable, number: int) -> bool:
    ds.DeltaTable(table.uri).append(pa.table({"id": [100 + number], "s": ["y"]}))
    return in_child(lambda: read(table.refresh(), number) == (8, 2)) == 0


def rounds(table: ds.DeltaTable, kind: str, number: int) -> bool:
    """Whether the children of one round found the right rows."""
    if kind == "pool":
        with multiprocessing.get_context("fork").Pool(2) as pool:
            return pool.map_async(read_shared, range(3)).get(CHILD_SECONDS) == [(8, 2)] * 3
    if kind == "executor":
        with concurrent.futures.ProcessPoolExecutor(2, multiprocessing.get_context("fork")) as executor:
            return list(executor.map(read_shared, range(3), timeout=CHILD_SECONDS)) == [(8, 2)] * 3
    if kind == "prefork":
        return in_child(partial(served, table)) == 0
    if kind == "celery":
        return in_child(partial(worked, table, number)) == 0
    if kind == "iterating":
        batches = iter(table.scan().to_batches())
        next(batches)
        status = in_child(lambda: read(table, number) == (8, 2))
        return status == 0 and sum(1 for _ in batches) >= 0
    with multiprocessing.get_context(kind).Pool(2) as pool:
        return pool.starmap_async(read, [(table, i) for i in range(3)]).get(CHILD_SECONDS) == [(8, 2)] * 3


def main(root: str, kind: str, count: int) -> str | None:
    """What failed."""
    global _shared
    made = ds.DeltaTable.create(root, "id BIGINT, s STRING", properties={"delta.checkpointInterval": "3"})
    for number in range(8):
        made.append(pa.table({"id": [number], "s": ["x"]}))
    _shared = ds.DeltaTable(root)
    _shared.scan(where="s = 'x'").to_arrow()
    ended = threading.Event()

    def reading(opened: ds.DeltaTable | None) -> None:
        number = 0
        while not ended.is_set():
            number += 1
            found = ds.DeltaTable(root) if opened is None else opened
            found.scan(where=f"id >= {number % 5} AND s > '{number % 7}'").files()
            found.scan(where="s = 'x'").to_arrow()

    threads = [threading.Thread(target=reading, args=(opened,)) for opened in (None, _shared, _shared)]
    for thread in threads:
        thread.start()
    try:
        wrong = [number for number in range(count) if not rounds(_shared, kind, number)]
    finally:
        ended.set()
        for thread in threads:
            thread.join()
    return f"wrong rounds: {wrong}" if wrong else None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
