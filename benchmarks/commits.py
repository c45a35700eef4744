"""Commits a second by one writer, and checkpoints of very many files, beside deltalake; each in a process of its own.

    python -m benchmarks.commits ENGINE commits|checkpoint|checkpoint-text FILES
    python -m benchmarks.commits ENGINE appends ROWS
    python -m benchmarks.commits ENGINE grown ROWS [TABLE]
    python -m benchmarks.commits ENGINE sidecars FILES

A commit adds one small file (an action only, no data) to an open table that neither engine checkpoints meanwhile; the
peer's call is `create_write_transaction`. Every commit of deltaskip is synced to disk, and up to 20,000 files it writes
its version checksum besides; the peer does neither. A checkpoint is opening the reference table and writing the state
of its last version: with the statistics as a struct, too (`checkpoint`), or as JSON text alone (`checkpoint-text`).
`grown_mb` is the peak of the resident set above what interpreter and libraries take.

`appends` are writes of one row each to one table, with the engine's checkpoints: appends a second among the first
hundred and the last hundred, processor time included, and row groups and bytes of the last checkpoint. Only it has a
third engine, delta-spark, which needs Java and DELTASKIP_DELTA_JARS.

`grown` compares appends to a table with ROWS commits, which deltaskip makes or TABLE is, with appends to a new table:
turn by turn in one process, so that other work on the machine is the same for both. ENGINE may be `all`; it has a
fourth engine, deltaskip-anew, which opens the table for each append.

`sidecars` are two V2 checkpoints of the reference table by one open handle, with 100 commits of a file each between
them, which deltaskip makes: seconds, of the processor, too, where the engine runs in this process, and the bytes of the
files that each checkpoint writes. The second engine is delta-spark.

Environment: DELTASKIP_BENCH_DIR keeps the tables between runs; DELTASKIP_BENCH_FILES sets the checkpoint's files.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from benchmarks.cell import answer_of, peak_mb
from benchmarks.sizes import FILES, sized
from benchmarks.tables import reference_table

ENGINES = ("deltaskip", "deltalake")
# The first of a process load what they need.
WARM, COMMITS = sized(3, 1), sized(30, 2)
# Appends to each table of `grown`.
TURNS = sized(200, 4)
_STATS = '{"numRecords":1000,"minValues":{"id":1},"maxValues":{"id":1000},"nullCount":{"id":0}}'


class Commits:
    """Commits a second to tables without files, and with many."""

    params = ((0, sized(100_000, 1_000)), ENGINES)
    param_names = ("files", "engine")
    timeout = 600

    def track_commits_a_second(self, files: int, engine: str) -> float:
        """Of one writer."""
        return COMMITS / float(measured(engine, "commits", files)["seconds"])


class Checkpoint:
    """One checkpoint of the reference table."""

    params = (("checkpoint", "checkpoint-text"), ENGINES)
    param_names = ("statistics", "engine")
    timeout = 1800

    def track_seconds(self, statistics: str, engine: str) -> float:
        """Opening the table included."""
        return float(measured(engine, statistics, FILES)["seconds"])

    def track_grown_mb(self, statistics: str, engine: str) -> float:
        """Peak memory above that of the loaded libraries."""
        return float(measured(engine, statistics, FILES)["grown_mb"])


Commits.track_commits_a_second.unit = "commits/s"  # type: ignore[attr-defined]
Checkpoint.track_seconds.unit = "s"  # type: ignore[attr-defined]
Checkpoint.track_grown_mb.unit = "MB"  # type: ignore[attr-defined]


def measured(engine: str, what: str, files: int) -> dict[str, Any]:
    """What one fresh process measured: seconds, peak_mb, grown_mb."""
    with tempfile.TemporaryDirectory(prefix="deltaskip-commits-") as scratch:
        table = Path(scratch, "table")
        if what == "commits":
            make_table(table, files)
        else:
            as_struct = str(what == "checkpoint").lower()
            copy_log(reference_table("classic", files), table, {"delta.checkpoint.writeStatsAsStruct": as_struct})
        command = [sys.executable, "-m", "benchmarks.commits", engine, what, str(files), str(table)]
        return answer_of(command)


def make_table(path: Path, files: int) -> None:
    """A table of the reference table's schema and so many files in a checkpoint, which asks for no further one."""
    import numpy as np

    import deltaskip as ds
    from benchmarks.reference_table import _add_actions, _info, _metadata, _protocol

    log = path / "_delta_log"
    log.mkdir(parents=True)
    metadata = _metadata()
    metadata["metaData"]["configuration"] = {"delta.checkpointInterval": "1000000"}
    actions = [_info(), _protocol("classic"), metadata, *_add_actions(np.arange(files))]
    text = "".join(json.dumps(action, separators=(",", ":")) + "\n" for action in actions)
    (log / f"{0:020d}.json").write_text(text, encoding="utf-8")
    if files:
        ds.DeltaTable(path).checkpoint()


def copy_log(table: Path, path: Path, properties: dict[str, str]) -> None:
    """The log of the table, whose files are linked where they can be, with one commit more that sets properties."""
    from benchmarks.reference_table import COMMITS as LAST
    from benchmarks.reference_table import _info, _metadata

    shutil.copytree(table / "_delta_log", path / "_delta_log", copy_function=_link)
    metadata = _metadata()
    metadata["metaData"]["configuration"] = properties
    text = "".join(json.dumps(action, separators=(",", ":")) + "\n" for action in (_info(), metadata))
    (path / "_delta_log" / f"{LAST + 1:020d}.json").write_text(text, encoding="utf-8")


def _link(source: str, target: str) -> str:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
    return target


def _commits_of_deltaskip(table: str, commits: int = COMMITS) -> float:
    import deltaskip as ds
    from deltaskip.actions import AddFile

    opened = ds.DeltaTable(table)
    start = perf_counter()
    for number in range(-WARM, commits):
        start = perf_counter() if number == 0 else start
        txn = opened.transaction(look_up_files=False)
        txn.add(AddFile(f"day=2026-01-01/new-{number}.parquet", {"day": "2026-01-01"}, 1000, 1, True, _STATS))
        txn.commit()
        opened.refresh()
    return perf_counter() - start


def _commits_of_deltalake(table: str) -> float:
    import deltalake
    from deltalake.transaction import AddAction

    opened = deltalake.DeltaTable(table)
    schema = opened.schema()
    start = perf_counter()
    for number in range(-WARM, COMMITS):
        start = perf_counter() if number == 0 else start
        path = f"day=2026-01-01/new-{number}.parquet"
        add = AddAction(path, 1000, {"day": "2026-01-01"}, 1, True, _STATS)
        opened.create_write_transaction([add], "append", schema, ["day"])
    return perf_counter() - start


def _checkpoint_of_deltaskip(table: str) -> float:
    import deltaskip as ds

    start = perf_counter()
    ds.DeltaTable(table).checkpoint()
    return perf_counter() - start


def _checkpoint_of_deltalake(table: str) -> float:
    import deltalake

    start = perf_counter()
    deltalake.DeltaTable(table).create_checkpoint()
    return perf_counter() - start


def _appends(engine: str, table: str, rows: int) -> dict[str, Any]:
    """What appends of one row each take at the beginning and at the end."""
    append = _APPENDS[engine](table)
    walls, processor = [], []
    for number in range(-WARM, rows):
        wall, cpu = perf_counter(), process_time()
        append(number)
        if number >= 0:
            walls.append(perf_counter() - wall)
            processor.append(process_time() - cpu)
    some = min(100, rows)
    checkpoint = max(Path(table, "_delta_log").glob("*.checkpoint*.parquet"), default=None)
    found: dict[str, Any] = {"rows": rows}
    for name, seconds in (("a_second", walls), ("a_processor_second", processor)):
        found[f"first_{name}"], found[f"last_{name}"] = some / sum(seconds[:some]), some / sum(seconds[-some:])
    if checkpoint is not None:
        import pyarrow.parquet as pq

        found["groups"], found["bytes"] = pq.read_metadata(checkpoint).num_row_groups, checkpoint.stat().st_size
    return found


def _grown(engine: str, table: str, scratch: str) -> dict[str, Any]:
    """Milliseconds of the processor for appends to a new table and to a copy of a large one, turn by turn."""
    appends = TURNS if engine.startswith("deltaskip") else TURNS // 10
    shutil.copytree(table, f"{scratch}/{engine}-grown")
    found: dict[str, Any] = {"engine": engine, "appends": appends}
    act = {name: _APPENDS[engine](f"{scratch}/{engine}-{name}") for name in ("new", "grown")}
    spent: dict[str, list[tuple[float, float]]] = {name: [] for name in act}
    for number in range(-10, appends):
        for name, append in act.items():
            wall, cpu = perf_counter(), process_time()
            append(number)
            if number >= 0:
                spent[name].append((perf_counter() - wall, process_time() - cpu))
    for name, each in spent.items():
        walls, processor = (sorted(values) for values in zip(*each, strict=True))
        for kind, values in (("wall", walls), ("processor", processor)):
            found[f"{name}_{kind}_ms"] = round(1000 * sum(values) / appends, 2)
            found[f"{name}_median_{kind}_ms"] = round(1000 * values[appends // 2], 2)
    # The driver of delta-spark is another process, whose processor time is not known here.
    kind = "wall" if engine == "delta-spark" else "processor"
    found["speed"] = round(found[f"new_{kind}_ms"] / found[f"grown_{kind}_ms"], 2)
    return found


def _sidecars(engine: str, files: int, scratch: Path) -> dict[str, Any]:
    """Seconds and bytes of a V2 checkpoint, and of the one that follows after 100 commits."""
    log = scratch / "table" / "_delta_log"
    properties = {"delta.checkpointPolicy": "v2", "delta.checkpointInterval": "1000000"}
    copy_log(reference_table("v2", files), log.parent, properties)
    checkpoint = _CHECKPOINTS[engine](str(log.parent))
    found: dict[str, Any] = {"engine": engine, "files": files}
    for name in ("first", "second"):
        before = set(log.rglob("*.parquet"))
        wall, cpu = perf_counter(), process_time()
        checkpoint()
        found[f"{name}_seconds"], found[f"{name}_processor"] = perf_counter() - wall, process_time() - cpu
        written = set(log.rglob("*.parquet")) - before
        found[f"{name}_files"], found[f"{name}_bytes"] = len(written), sum(each.stat().st_size for each in written)
        _commits_of_deltaskip(str(log.parent), 100 - WARM)
    found["peak_mb"] = peak_mb()
    return found


def _checkpoint_by_deltaskip(table: str) -> Callable[[], object]:
    import deltaskip as ds

    opened = ds.DeltaTable(table)
    return lambda: opened.refresh().checkpoint()


def _checkpoint_by_delta_spark(table: str) -> Callable[[], object]:
    from tests.reference.oracle import _defaults, session

    # What tests set for small tables is as it is by default.
    defaults = {"wholeStage": "true", "factoryMode": "FALLBACK"}
    settings = {f"spark.sql.codegen.{name}": value for name, value in defaults.items()}
    settings |= {"spark.driver.memory": "10g", "spark.databricks.delta.snapshotPartitions": "50"}
    spark = session(Path(table).parent / "session", {**settings, "spark.sql.adaptive.enabled": "true"})
    log = spark.sparkContext._jvm.org.apache.spark.sql.delta.DeltaLog.forTable(spark._jsparkSession, table)
    return lambda: log.checkpoint(log.update(False, *_defaults(log, "update", 2, 3)), *_defaults(log, "checkpoint", 2))


def _row(number: int) -> Any:
    import pyarrow as pa

    return pa.table({"id": [number], "name": [f"value {number}"]})


def _append_of_deltaskip(table: str) -> Callable[[int], object]:
    import deltaskip as ds

    properties = {"delta.checkpointInterval": "10"}
    opened = ds.DeltaTable.create(table, "id BIGINT, name STRING", properties=properties, mode="ignore")
    return lambda number: opened.append(_row(number))


def _append_of_new_handles(table: str) -> Callable[[int], object]:
    import deltaskip as ds

    _append_of_deltaskip(table)
    return lambda number: ds.DeltaTable(table).append(_row(number))


def _append_of_deltalake(table: str) -> Callable[[int], object]:
    import deltalake

    # Its default is a checkpoint at every hundredth version.
    configuration = {"delta.checkpointInterval": "10"}
    if not deltalake.DeltaTable.is_deltatable(table):
        deltalake.write_deltalake(table, _row(-1), configuration=configuration)
    opened = deltalake.DeltaTable(table)
    return lambda number: deltalake.write_deltalake(opened, _row(number), mode="append")


def _append_of_delta_spark(table: str) -> Callable[[int], object]:
    from tests.reference.oracle import session

    spark = session(Path(table).parent / "session")
    frame = spark.range(1).selectExpr("id", "concat('value ', id) AS name")
    return lambda number: frame.coalesce(1).write.format("delta").mode("append").save(table)


_APPENDS = {
    "deltaskip": _append_of_deltaskip,
    "deltaskip-anew": _append_of_new_handles,
    "deltalake": _append_of_deltalake,
    "delta-spark": _append_of_delta_spark,
}
_CHECKPOINTS = {"deltaskip": _checkpoint_by_deltaskip, "delta-spark": _checkpoint_by_delta_spark}
_RUNS = {
    ("deltaskip", "commits"): _commits_of_deltaskip,
    ("deltalake", "commits"): _commits_of_deltalake,
    ("deltaskip", "checkpoint"): _checkpoint_of_deltaskip,
    ("deltalake", "checkpoint"): _checkpoint_of_deltalake,
}


def main() -> None:
    """Measure one of them and print JSON; with a table, in this process."""
    engine, what, files, *given = sys.argv[1:]
    if what == "grown":
        with tempfile.TemporaryDirectory(prefix="deltaskip-commits-") as scratch:
            table = given[0] if given else f"{scratch}/table"
            if not given:
                append = _append_of_deltaskip(table)
                for number in range(int(files)):
                    append(number)
            for each in _APPENDS if engine == "all" else [engine]:
                print(json.dumps(_grown(each, table, scratch)), flush=True)
        return
    if what == "sidecars":
        with tempfile.TemporaryDirectory(prefix="deltaskip-commits-") as scratch:
            print(json.dumps(_sidecars(engine, int(files), Path(scratch))))
        return
    if what == "appends":
        with tempfile.TemporaryDirectory(prefix="deltaskip-commits-") as scratch:
            print(json.dumps(_appends(engine, f"{scratch}/table", int(files))))
        return
    if not given:
        print(json.dumps(measured(engine, what, int(files))))
        return
    if engine == "deltaskip":
        import deltaskip.log.checkpoint.write
        import deltaskip.table.table
        import deltaskip.txn.transaction  # noqa: F401
    else:
        import deltalake  # noqa: F401
    before = peak_mb()
    seconds = _RUNS[engine, what.partition("-")[0]](given[0])
    peak = peak_mb()
    print(json.dumps({"seconds": seconds, "peak_mb": peak, "grown_mb": peak - before}))


if __name__ == "__main__":
    main()
