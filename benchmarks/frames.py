"""Rows in the frames of each library, beside its own reader: processor time, time on the clock, and peak memory.

    python -m benchmarks.frames [--rows 1000000] [--rounds 9] [--folder DIR] [--only NAME ...] [--memory]

Two tables of 30 files, one that is fresh, and one with a day of merges behind it, which update and insert rows once an
hour, and one of two large files. Each door reads some of the columns: texts of a dictionary, others, numbers, times,
decimals, nested values, or all.

| door | beside |
|---|---|
| `to_polars` | `pl.read_delta` |
| `scan_polars`, collected, and grouped by a text | `pl.scan_delta` |
| `head` of `scan_polars`, ten rows | `pl.scan_delta` |
| `to_arrow` | a dataset of pyarrow over the same files |
| `to_duckdb`, as Arrow, and grouped by a text | `delta_scan`, and `read_parquet` of the same files |
| `read_pandas` | a dataset of pyarrow, `to_pandas` |

Every run opens the table. The runs of a case alternate, the first round warms up, and the rows of all are counted. The
table shows medians of the processor time of all threads and of the time on the clock, and how many times longer the
peer takes. A dataset of pyarrow and `read_parquet` know no deletion vectors: where files have them, they are left out.
`--memory` measures each run in a process of its own instead: its peak above that of a process that only imports.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

FILES = 30
HOURS = 24
COLUMNS = {
    "few texts": ["few"],
    "texts": ["name", "words", "part"],
    "numbers": ["id", "k", "x", "b"],
    "times": ["ts", "d"],
    "decimals": ["price"],
    "nested": ["s", "l", "m"],
    "all": ["id", "k", "x", "b", "ts", "d", "price", "few", "name", "words", "part", "s", "l", "m"],
    "grouped": ["few", "x"],
}
"""The columns that a case reads. In `grouped`, the library counts the rows of each text and sums a number."""

TABLES = ("fresh", "merged", "large")


def rows_of(first: int, count: int) -> Any:
    """Rows with the keys from `first` on."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    chance, index = np.random.default_rng(first), np.arange(first, first + count)
    texts = pa.array([f"{i * 2654435761 % 2**32:08x}" for i in index.tolist()])
    few = pa.array([f"customer {i}" for i in range(1000)]).take(pa.array(chance.integers(0, 1000, count)))
    ends = pa.array(np.arange(count + 1, dtype="int32") * 2)
    two = pa.array(chance.integers(0, 1000, 2 * count).astype("int32"))
    return pa.table(
        {
            "id": index,
            "k": (index * 7919 % 1000).astype("int32"),
            "x": chance.random(count) * 1000,
            "b": pa.array(chance.random(count) < 0.5),
            "ts": pa.array(1_700_000_000_000_000 + index * 1000, pa.timestamp("us", "UTC")),
            "d": pa.array((18262 + index % 365).astype("int32"), pa.date32()),
            "price": pa.array(chance.integers(0, 10**6, count)).cast(pa.decimal128(21, 2)).cast(pa.decimal128(18, 2)),
            "few": few,
            "name": texts,
            "words": pc.binary_join_element_wise(texts, few, texts, " "),
            "part": pc.if_else(pa.array(index % 3 == 0), pa.scalar(None, pa.string()), texts),
            "s": pa.StructArray.from_arrays([pa.array(index), few], ["a", "t"]),
            "l": pa.ListArray.from_arrays(ends, two),
            "m": pa.MapArray.from_arrays(ends, pa.array(["k", "v"] * count), two),
        }
    )


def create(path: Path, rows: int, merged: bool, appends: int = FILES) -> None:
    """Make a table; merged: with an hourly merge, each of which updates and inserts one row in a thousand."""
    import numpy as np
    import pyarrow as pa

    import deltaskip as ds

    table = ds.DeltaTable.create(path, rows_of(0, 1).schema, properties={"delta.enableDeletionVectors": "true"})
    for number in range(appends):
        table.append(rows_of(number * rows // appends, rows // appends))
    for hour in range(HOURS if merged else 0):
        few = max(1, rows // 1000)
        new = rows_of(rows + hour * few, few)
        keys = np.random.default_rng(hour).choice(rows, few, replace=False)
        known = rows_of(hour, few).set_column(0, "id", pa.array(keys))
        merge = table.merge(pa.concat_tables([known, new]), "t.id = s.id", "s", "t")
        merge.when_matched_update_all().when_not_matched_insert_all().execute()


def _paths(path: Path) -> list[str]:
    import deltaskip as ds

    return [each.removeprefix("file://") for each in ds.DeltaTable(path).scan().paths()]


def _grouped_polars(frame: Any) -> Any:
    import polars as pl

    return frame.group_by("few").agg(pl.len(), pl.col("x").sum())


def our_polars(path: Path, columns: list[str], grouped: bool) -> int:
    """Rows of a DataFrame."""
    import deltaskip as ds

    frame = ds.DeltaTable(path).scan(columns=columns).to_polars()
    return int((_grouped_polars(frame) if grouped else frame).height)


def their_polars(path: Path, columns: list[str], grouped: bool) -> int:
    """Rows of a DataFrame."""
    import polars as pl

    frame = pl.read_delta(str(path), columns=columns)
    return int((_grouped_polars(frame) if grouped else frame).height)


def our_lazy(path: Path, columns: list[str], grouped: bool) -> int:
    """Rows of a collected LazyFrame."""
    import deltaskip as ds

    frame = ds.scan_polars(path)
    return int((_grouped_polars(frame) if grouped else frame.select(columns)).collect().height)


def their_lazy(path: Path, columns: list[str], grouped: bool) -> int:
    """Rows of a collected LazyFrame."""
    import polars as pl

    frame = pl.scan_delta(str(path))
    return int((_grouped_polars(frame) if grouped else frame.select(columns)).collect().height)


def our_head(path: Path, columns: list[str], grouped: bool) -> int:
    """Rows of the beginning of a LazyFrame."""
    import deltaskip as ds

    return int(ds.scan_polars(path).select(columns).head(10).collect().height)


def their_head(path: Path, columns: list[str], grouped: bool) -> int:
    """Rows of the beginning of a LazyFrame."""
    import polars as pl

    return int(pl.scan_delta(str(path)).select(columns).head(10).collect().height)


def our_arrow(path: Path, columns: list[str], grouped: bool) -> int:
    """Rows of an Arrow table."""
    import deltaskip as ds

    found = ds.DeltaTable(path).scan(columns=columns).to_arrow()
    return int((found.group_by("few").aggregate([("x", "sum"), ("x", "count")]) if grouped else found).num_rows)


def their_arrow(path: Path, columns: list[str], grouped: bool) -> int:
    """Rows of an Arrow table."""
    import pyarrow.dataset as pds

    found = pds.dataset(_paths(path), format="parquet").to_table(columns)
    return int((found.group_by("few").aggregate([("x", "sum"), ("x", "count")]) if grouped else found).num_rows)


def our_pandas(path: Path, columns: list[str], grouped: bool) -> int:
    """Rows of a DataFrame."""
    import deltaskip as ds

    frame = ds.read_pandas(path, columns=columns)
    return len(frame.groupby("few").agg({"x": ["sum", "count"]}) if grouped else frame)


def their_pandas(path: Path, columns: list[str], grouped: bool) -> int:
    """Rows of a DataFrame."""
    import pyarrow.dataset as pds

    frame = pds.dataset(_paths(path), format="parquet").to_table(columns).to_pandas()
    return len(frame.groupby("few").agg({"x": ["sum", "count"]}) if grouped else frame)


def our_duckdb(path: Path, columns: list[str], grouped: bool) -> int:
    """Rows of an Arrow table."""
    import deltaskip as ds

    connection = _connection()
    ds.DeltaTable(path).scan().to_duckdb(connection, "t")
    return _of_duckdb(connection, "t", columns, grouped)


def delta_scan(path: Path, columns: list[str], grouped: bool) -> int:
    """Rows of an Arrow table."""
    return _of_duckdb(_connection(), f"delta_scan('{path}')", columns, grouped)


def read_parquet(path: Path, columns: list[str], grouped: bool) -> int:
    """Rows of an Arrow table."""
    return _of_duckdb(_connection(), f"read_parquet({_paths(path)})", columns, grouped)


def _of_duckdb(connection: Any, source: str, columns: list[str], grouped: bool) -> int:
    wanted = ", ".join(columns)
    query = "SELECT few, count(*), sum(x) FROM {} GROUP BY few" if grouped else f"SELECT {wanted} FROM {{}}"
    return int(connection.execute(query.format(source)).to_arrow_table().num_rows)


_CONNECTIONS: list[Any] = []


def _connection() -> Any:
    import duckdb
    import duckdb_extension_delta

    if not _CONNECTIONS:
        connection = duckdb.connect(config={"autoinstall_known_extensions": "false"})
        extension = next(Path(duckdb_extension_delta.__file__).parent.rglob("delta.duckdb_extension"))
        connection.execute(f"LOAD '{extension}'")
        connection.execute("SET TimeZone = 'UTC'")
        _CONNECTIONS.append(connection)
    return _CONNECTIONS[0]


Read = Callable[[Path, list[str], bool], int]

DOORS: dict[str, tuple[Read, dict[str, Read]]] = {
    "to_polars": (our_polars, {"read_delta": their_polars}),
    "scan_polars": (our_lazy, {"scan_delta": their_lazy}),
    "head": (our_head, {"scan_delta": their_head}),
    "to_arrow": (our_arrow, {"dataset": their_arrow}),
    "to_duckdb": (our_duckdb, {"delta_scan": delta_scan, "read_parquet": read_parquet}),
    "read_pandas": (our_pandas, {"dataset": their_pandas}),
}
"""Our reader and the readers of others, by door. A reader returns the number of rows."""

_WITHOUT_VECTORS = ("dataset", "read_parquet")


def _times(path: Path, kind: str, readers: dict[str, Read], rounds: int) -> dict[str, tuple[float, float]]:
    """Medians of seconds of the processor, and on the clock, of each reader."""
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in readers}
    counts = set()
    for turn in range(rounds + 1):
        for name in sorted(readers, reverse=bool(turn % 2)):
            start, processor = perf_counter(), process_time()
            counts.add(readers[name](path, COLUMNS[kind], kind == "grouped"))
            used = process_time() - processor, perf_counter() - start
            if turn:
                found[name].append(used)
    assert len(counts) == 1, f"{path.name}, {kind}: {counts} rows"
    return {name: tuple(map(statistics.median, zip(*each, strict=True))) for name, each in found.items()}  # type: ignore[misc]


def _peak(door: str, name: str, path: Path, kind: str) -> float:
    """Megabytes of a process that reads once, above one that reads a single column of integers."""
    parts = [sys.executable, "-m", "benchmarks.frames", "--peak", door, name, str(path)]
    peaks = [
        min(float(subprocess.run([*parts, each], capture_output=True, text=True, check=True).stdout) for _ in range(2))
        for each in (kind, "none")
    ]
    return peaks[0] - peaks[1]


def _print_peak(door: str, name: str, path: Path, kind: str) -> None:
    ours, peers = DOORS[door]
    read = {"deltaskip": ours, **peers}[name]
    if kind != "none":
        read(path, COLUMNS[kind], kind == "grouped")
    else:
        import deltaskip as ds

        read(Path(str(path) + "-1"), ["k"], False)
        assert ds.__version__
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--only", nargs="*", default=())
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--peak", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.peak is not None:
        door, name, path, kind = given.peak
        _print_peak(door, name, Path(path), kind)
        return
    with tempfile.TemporaryDirectory(prefix="deltaskip-frames-") as folder:
        measure(given.folder or Path(folder), given.rows, given.rounds, given.only, given.memory)


def measure(folder: Path, rows: int, rounds: int, only: Sequence[str], memory: bool) -> None:
    """Measure every case that has one of some texts in its name, and print a line for each peer."""
    print("| | beside | processor | on the clock | processor, theirs ÷ ours | clock |\n|---|---|---|---|---|---|")
    for table in TABLES:
        path = folder / f"{table}-{rows}"
        if not path.exists():
            create(path, rows, table == "merged", 1 if table == "large" else FILES)
            create(Path(f"{path}-1"), FILES, table == "merged")
        for door, (ours, peers) in DOORS.items():
            for kind in COLUMNS:
                case = f"{door}, {kind}, {table}"
                if only and not any(text in case for text in only):
                    continue
                there = {name: read for name, read in peers.items() if table == "fresh" or name not in _WITHOUT_VECTORS}
                if memory:
                    peaks = {name: _peak(door, name, path, kind) for name in ("deltaskip", *there)}
                    for name in there:
                        both = f"{peaks['deltaskip']:.0f} MB beside {peaks[name]:.0f} MB"
                        ratio = peaks["deltaskip"] / max(1.0, peaks[name])
                        print(f"| {case} | {name} | {both} | {ratio:.2f} × |", flush=True)
                    continue
                found = _times(path, kind, {"deltaskip": ours, **there}, rounds)
                mine = found.pop("deltaskip")
                for name, theirs in found.items():
                    shown = [f"{a * 1000:.0f} beside {b * 1000:.0f} ms" for a, b in zip(mine, theirs, strict=True)]
                    ratios = [f"{b / a:.2f} ×" for a, b in zip(mine, theirs, strict=True)]
                    print(f"| {case} | {name} | {' | '.join([*shown, *ratios])} |", flush=True)
                if not there:
                    print(f"| {case} | | {mine[0] * 1000:.0f} ms | {mine[1] * 1000:.0f} ms | | |", flush=True)


if __name__ == "__main__":
    main()
