"""A demonstration on a sample table: create it, prune it, read the kept files, and compare with a full read.

The table has 200 Parquet files in 10 date partitions, and a name column with a case-insensitive collation. The log has
one commit. Statistics come from the Parquet footers, as Delta writers record them; bounds of the names are computed
under their collation.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import asdict
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from shlex import quote as quoted
from typing import Any, TypeVar
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pyarrow.parquet as pq

from deltaskip.engine import current_collation_version, engine
from deltaskip.errors import DeltaSkipError, SparkUnavailable, StorageError
from deltaskip.records import dataclass
from deltaskip.skipping.scan import Scan
from deltaskip.sparkexpr.collations import SPARK_VERSION, Collation, find, how_to_get, installed_spark_version
from deltaskip.storage import LOG_FOLDER
from deltaskip.table.table import DeltaTable

T = TypeVar("T")

FILES = 200
ROWS_PER_FILE = 1_000
FILES_PER_DAY = 20
FIRST_DATE = date(2026, 1, 1)
FIRST_INSTANT = datetime(2026, 1, 1, tzinfo=UTC)
SECONDS_PER_ROW = 4
SURNAMES = (
    "Adams", "Bauer", "Costa", "Dubois", "Eriksen", "Fischer", "García", "Hansen", "Ivanova", "Jones", "Kowalska",
    "Lindström", "Müller", "Novák", "Okafor", "Petit", "Rossi", "Silva", "Tanaka", "Virtanen",
)  # fmt: skip
COLLATION = "icu.UNICODE_CI"
DEFAULT_FOLDER = Path("customers")
"""Where the command keeps the table by default."""
PREDICATE = "day >= '2026-01-04' AND name = 'MÜLLER 0500'"
MIN_JAVA = 17

_COMMAND = "deltaskip"
_ACT = "The demo with Spark"

# The files contain plain strings; only the table's schema has their collation.
_OF_PLAIN_STRINGS = PREDICATE.replace("name =", "name COLLATE UNICODE_CI =")

_METADATA = {"name": {"__COLLATIONS": {"name": COLLATION}}}
_SCHEMA = {
    "type": "struct",
    "fields": [
        {"name": name, "type": kind, "nullable": True, "metadata": _METADATA.get(name, {})}
        for name, kind in {"id": "long", "name": "string", "amount": "double", "ts": "timestamp", "day": "date"}.items()
    ],
}

Report = Callable[[str], None]
Read = tuple[tuple[int, int], int]


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of the demo: files and bytes kept, matching rows, and times in seconds (the better of two runs each).

    kept_files: Files that planning kept. read_files: Files that the engine read, as its plan reports.
    """

    engine: str
    table: str
    predicate: str
    total_files: int
    kept_files: int
    read_files: int
    total_bytes: int
    skipped_bytes: int
    matching_rows: int
    make_seconds: float
    prune_seconds: float
    list_all_seconds: float
    read_kept_seconds: float
    read_all_seconds: float
    note: str | None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields for JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class DemoEngine:
    """Functions that write the table, read the kept files, and read all files.

    collation_version: The version by which the engine compares the names. Both reads return the number of matching
    rows, a digest of the rows, and the number of files that were read.
    """

    name: str
    collation_version: str
    write: Callable[[Path], None]
    read_kept: Callable[[Path], Read]
    read_all: Callable[[Path], Read]


def run(keep: Path | None, report: Report) -> Outcome:
    """Run the demo.

    Args:
        keep: An empty or new folder for the table; None for a temporary folder, which is deleted.
        report: Called with each line of output.

    Raises:
        StorageError: `keep` is not empty.
        DeltaSkipError: The pruned read and the full read differ.
    """
    with tempfile.TemporaryDirectory(prefix="deltaskip-demo-") as scratch:
        root = _empty_folder(keep) if keep is not None else Path(scratch) / "customers"
        with ExitStack() as session:
            engine, note = _engine(Path(scratch), session)
            outcome = _measure(engine, root, note, report)
        _report(outcome, keep, report)
    return outcome


def make_table(root: Path, write: Callable[[Path], None], version: str | None = None) -> None:
    """Create the demo's table: write data files with `write`, then version 0 of the log from their footers.

    version: The collation version for which the bounds of the names are computed; None for the version of the running
    or installed Spark.
    """
    write(root)
    log = root / LOG_FOLDER
    log.mkdir()
    lines = [
        json.dumps(action, ensure_ascii=False) for action in _first_commit(root, version or current_collation_version())
    ]
    (log / f"{0:020}.json").write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_with_pyarrow(root: Path) -> None:
    """Write the demo's data files with pyarrow, in the same folders as Spark."""
    for number in range(FILES):
        day = FIRST_DATE + timedelta(days=number // FILES_PER_DAY)
        folder = root / f"day={day}"
        folder.mkdir(parents=True, exist_ok=True)
        pq.write_table(_rows_of_file(number), folder / f"part-{number:05}.parquet")


def write_with_spark(spark: Any, root: Path) -> None:
    """Write the same rows with Spark: one task per half day, one file per surname of a task."""
    per_day = ROWS_PER_FILE * FILES_PER_DAY
    surnames = ", ".join(f"'{name}'" for name in SURNAMES)
    surname = f"element_at(array({surnames}), 1 + cast(id % {per_day} div {ROWS_PER_FILE} AS int))"
    first_second = int(FIRST_INSTANT.timestamp())
    frame = spark.range(0, FILES * ROWS_PER_FILE, 1, FILES * 2 // FILES_PER_DAY).selectExpr(
        "id",
        f"concat({surname}, ' ', lpad(cast(id % {ROWS_PER_FILE} AS string), 4, '0')) AS name",
        "cast((id * 37) % 100000 AS double) / 100 AS amount",
        f"timestamp_seconds({first_second} + id * {SECONDS_PER_ROW}) AS ts",
        f"date_add(DATE'{FIRST_DATE}', cast(id div {per_day} AS int)) AS day",
    )
    # With timestamps of microseconds, since INT96, Spark's default, has no statistics in the footer.
    with engine(_ACT).writing_session(spark):
        frame.write.mode("append").option("maxRecordsPerFile", ROWS_PER_FILE).partitionBy("day").parquet(str(root))


def _measure(engine: DemoEngine, root: Path, note: str | None, report: Report) -> Outcome:
    report(f"Creating a table of {FILES} files and {FILES * ROWS_PER_FILE:,} rows with {engine.name} ...")
    make_seconds, _ = _timed(lambda: make_table(root, engine.write, engine.collation_version), runs=1)
    report(f"Reading rows where {PREDICATE}")
    list_seconds, everything = _timed(lambda: DeltaTable(str(root)).scan().files())
    prune_seconds, kept = _timed(lambda: _planned(root, engine.collation_version).files())
    all_seconds, (expected, _) = _timed(lambda: engine.read_all(root))
    kept_seconds, (found, read_files) = _timed(lambda: engine.read_kept(root))
    if found != expected:
        raise DeltaSkipError(
            f"The pruned read of the demo table {root}, version 0, returned {found[0]} rows, but the full read "
            f"{expected[0]}. This is a bug in deltaskip; please report it."
        )
    total_bytes = pc.sum(everything.column("size")).as_py()
    return Outcome(
        engine=engine.name,
        table=str(root),
        predicate=PREDICATE,
        total_files=everything.num_rows,
        kept_files=kept.num_rows,
        read_files=read_files,
        total_bytes=total_bytes,
        skipped_bytes=total_bytes - (pc.sum(kept.column("size")).as_py() or 0),
        matching_rows=found[0],
        make_seconds=make_seconds,
        prune_seconds=prune_seconds,
        list_all_seconds=list_seconds,
        read_kept_seconds=kept_seconds,
        read_all_seconds=all_seconds,
        note=note,
    )


def _planned(root: Path, version: str) -> Scan:
    return DeltaTable(str(root)).scan(where=PREDICATE, collation_version=version)


def _report(outcome: Outcome, keep: Path | None, report: Report) -> None:
    share = 100 * outcome.skipped_bytes / outcome.total_bytes
    report("")
    report(f"  files kept      {outcome.kept_files} of {outcome.total_files}")
    report(f"  files read      {outcome.read_files}, as counted by {outcome.engine}")
    report(f"  bytes skipped   {outcome.skipped_bytes:,} of {outcome.total_bytes:,} ({share:.1f} %)")
    report(
        f"  planning        {outcome.prune_seconds * 1000:.0f} ms, including reading the log "
        f"(listing all files: {outcome.list_all_seconds * 1000:.0f} ms)"
    )
    report(
        f"  reading         {outcome.read_kept_seconds:.2f} s with {outcome.engine} "
        f"(full read with the same filter: {outcome.read_all_seconds:.2f} s)"
    )
    report(f"  matching rows   {outcome.matching_rows}, the same as in the full read")
    report("")
    if outcome.note is not None:
        report(outcome.note)
    table, program = keep or DEFAULT_FOLDER, _program()
    if keep is not None:
        report(f"The table is in {keep}. Next:")
    elif not (DEFAULT_FOLDER / LOG_FOLDER).is_dir():
        return
    else:
        report(f"A table is in {DEFAULT_FOLDER} already, which was left as it is. Next:")
    report(f"  {program} stats {quoted(str(table))}")
    report(f'  {program} explain {quoted(str(table))} --where "{PREDICATE}"')
    report(f"  {program} query \"SELECT id, name FROM '{table}' WHERE {PREDICATE}\"")


def _program() -> str:
    """The command as the user started it: its name if the shell finds it by that, otherwise its path."""
    started = sys.argv[0]
    found = shutil.which(_COMMAND)
    if Path(started).name != _COMMAND or (found is not None and Path(found).samefile(started)):
        return _COMMAND
    return quoted(started)


def _engine(scratch: Path, session: ExitStack) -> tuple[DemoEngine, str | None]:
    """Spark if it starts (until `session` ends), otherwise pyarrow and a note on what Spark would do."""
    reason = _why_no_spark()
    if reason is None:
        try:
            spark = session.enter_context(engine(_ACT).local_session(scratch))
            made = _spark_engine(spark)
            return made, _why_no_collated_bounds(made)
        except RuntimeError as error:
            reason = f"Spark did not start ({' '.join(str(error).split())})"
    return _pyarrow_engine(), (
        f"Without Spark: {reason}. With Spark, scan.to_spark(spark) reads only the kept files and returns a DataFrame "
        "of exactly the matching rows."
    )


def _why_no_collated_bounds(made: DemoEngine) -> str | None:
    """The reason why the names have no collated bounds, so that only the days skip files; None if they have bounds."""
    if find(f"{COLLATION}.{made.collation_version}") is not None:
        return None
    return (
        f"{made.name} compares names by ICU {made.collation_version}, which is not installed, so the names skip no "
        f"files: {how_to_get(made.collation_version)}."
    )


def _spark_engine(spark: Any) -> DemoEngine:
    def digest(frame: Any) -> Read:
        hashed = "bit_xor(xxhash64(id, name COLLATE UTF8_BINARY, amount, ts, day))"
        summary = frame.selectExpr("count(*)", hashed)
        rows, value = summary.collect()[0]
        files = engine(_ACT).files_read(summary)
        return (rows, value), len(frame.inputFiles()) if files is None else files

    return DemoEngine(
        name=f"Spark {spark.version}",
        collation_version=engine(_ACT).collation_version(spark) or SPARK_VERSION,
        write=lambda root: write_with_spark(spark, root),
        read_kept=lambda root: digest(DeltaTable(str(root)).scan(where=PREDICATE).to_spark(spark)),
        read_all=lambda root: digest(spark.read.parquet(str(root)).where(_OF_PLAIN_STRINGS)),
    )


def _pyarrow_engine() -> DemoEngine:
    partitioning = pads.partitioning(pa.schema([("day", pa.date32())]), flavor="hive")
    matches = (pads.field("day") >= pa.scalar(date(2026, 1, 4))) & (pads.field("name") == "Müller 0500")

    installed = installed_spark_version()
    version = installed if find(f"{COLLATION}.{installed}") is not None else SPARK_VERSION

    def digest(source: str | list[str], root: Path) -> Read:
        dataset = pads.dataset(source, format="parquet", partitioning=partitioning, partition_base_dir=str(root))
        rows = dataset.to_table(columns=["id"], filter=matches)
        return (rows.num_rows, pc.sum(rows.column("id")).as_py() or 0), len(dataset.files)

    def read_kept(root: Path) -> Read:
        kept = _planned(root, version).files().column("path")
        return digest([str(root / path) for path in kept.to_pylist()], root)

    return DemoEngine(
        name=f"pyarrow {pa.__version__}",
        collation_version=version,
        write=write_with_pyarrow,
        read_kept=read_kept,
        read_all=lambda root: digest(str(root), root),
    )


def _why_no_spark() -> str | None:
    """The reason why Spark cannot be used; None if it can be tried."""
    try:
        version = engine(_ACT).version
    except SparkUnavailable as error:
        return str(error).rstrip(".")
    if version.startswith("3."):
        return f"PySpark {version} does not support collations (PySpark 4.0 and newer do)"
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else shutil.which("java")
    if java is None:
        return f"Java was not found (Spark needs Java {MIN_JAVA} or newer)"
    try:
        output = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=30, check=True).stderr
    except (OSError, subprocess.SubprocessError) as error:
        return f"Java does not run ({error})"
    number = re.search(r'version "(\d+)', output)
    if number is None or int(number[1]) < MIN_JAVA:
        found = f"Java {number[1]}" if number else "Java of an unknown version"
        return f"{found} is too old (Spark needs Java {MIN_JAVA} or newer)"
    return None


def _rows_of_file(number: int) -> pa.Table:
    first = number * ROWS_PER_FILE
    ids = range(first, first + ROWS_PER_FILE)
    surname = SURNAMES[number % FILES_PER_DAY]
    start = FIRST_INSTANT + timedelta(seconds=first * SECONDS_PER_ROW)
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "name": [f"{surname} {i:04}" for i in range(ROWS_PER_FILE)],
            "amount": [(i * 37) % 100_000 / 100 for i in ids],
            "ts": pa.array(
                [start + timedelta(seconds=i * SECONDS_PER_ROW) for i in range(ROWS_PER_FILE)],
                pa.timestamp("us", tz="UTC"),
            ),
        }
    )


def _first_commit(root: Path, version: str) -> Iterator[dict[str, Any]]:
    now_millis = int(time.time() * 1000)
    yield {"commitInfo": {"timestamp": now_millis, "operation": "WRITE", "engineInfo": "deltaskip demo"}}
    yield {
        "protocol": {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": ["collations", "domainMetadata"]}
    }
    yield {
        "metaData": {
            "id": "6f1d3f1e-6e43-4a5c-9d2e-2f6d2c1b7a10",
            "format": {"provider": "parquet", "options": {}},
            "schemaString": json.dumps(_SCHEMA),
            "partitionColumns": ["day"],
            "configuration": {},
            "createdTime": now_millis,
        }
    }
    names = find(f"{COLLATION}.{version}")
    if names is not None:
        versions = json.dumps({"writeVersions": {COLLATION: [names.id.version]}})
        yield {"domainMetadata": {"domain": "collations", "configuration": versions, "removed": False}}
    for path in sorted(root.glob("day=*/*.parquet")):
        relative = path.relative_to(root)
        status = path.stat()
        yield {
            "add": {
                "path": quote(relative.as_posix(), safe="/=-_.~"),
                "partitionValues": {"day": relative.parts[0].removeprefix("day=")},
                "size": status.st_size,
                "modificationTime": status.st_mtime_ns // 1_000_000,
                "dataChange": True,
                "stats": json.dumps({**_footer_statistics(path), **_collated(path, names)}, ensure_ascii=False),
            }
        }


def _footer_statistics(path: Path) -> dict[str, Any]:
    """Statistics of the file as the log stores them, from the footer of its only row group.

    The demo's values have no NaN, no long strings and whole seconds, so the footer's bounds are used unchanged.
    """
    footer = pq.read_metadata(path)
    if footer.num_row_groups != 1:
        raise StorageError(f"{path} has {footer.num_row_groups} row groups, but the demo writes one.")
    group = footer.row_group(0)
    columns = [group.column(i) for i in range(group.num_columns)]
    bounded = {c.path_in_schema: c.statistics for c in columns if c.statistics is not None and c.statistics.has_min_max}
    return {
        "numRecords": footer.num_rows,
        "minValues": {name: _stat_value(statistics.min) for name, statistics in bounded.items()},
        "maxValues": {name: _stat_value(statistics.max) for name, statistics in bounded.items()},
        "nullCount": {name: statistics.null_count for name, statistics in bounded.items()},
    }


def _collated(path: Path, names: Collation | None) -> dict[str, Any]:
    """Bounds of the names under their collation; empty if the collation is not available."""
    if names is None:
        return {}
    column = pq.read_table(path, columns=["name"], partitioning=None).column("name").combine_chunks()
    low, high = names.min_max(column)
    bounds = {"minValues": {"name": low}, "maxValues": {"name": high}}
    return {"statsWithCollation": {str(names.id.canonical): bounds}}


def _stat_value(value: Any) -> Any:
    return value.strftime("%Y-%m-%dT%H:%M:%S.000Z") if isinstance(value, datetime) else value


def _empty_folder(path: Path) -> Path:
    try:
        path.mkdir(parents=True, exist_ok=True)
        if any(path.iterdir()):
            raise StorageError(f"{path} is not empty; pass a new or empty folder to --keep.")
    except FileExistsError as error:
        raise StorageError(f"{path} is not a folder; pass a new or empty folder to --keep.") from error
    return path


def _timed(work: Callable[[], T], runs: int = 2) -> tuple[float, T]:
    """The shortest time of `runs` runs in seconds, and the last result."""
    best = float("inf")
    for _ in range(runs):
        start = time.perf_counter()
        result = work()
        best = min(best, time.perf_counter() - start)
    return best, result
