"""The engines that plan the same question, each as two functions: open a table, and find the files that may match.

Libraries are imported by `load`, which nobody times. What an engine answers with is what its users get: deltaskip an
Arrow table of URIs or a list of paths, deltalake a list of URIs, DuckDB a plan (its file list is made on the way and
not shown), Delta Kernel batches of scan files, the floor nothing but indices, or paths.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from benchmarks.questions import Condition, Question


@dataclass(frozen=True, slots=True)
class Engine:
    """load() imports; open_table(path) opens; plan(handle, question) gives the number of files, None if not told."""

    load: Callable[[], None]
    open_table: Callable[[str], Any]
    plan: Callable[[Any, Question], int | None]


def _deltaskip_import() -> None:
    # Names of the package are imported when they are first used, and the parser when a text needs it; `startup.py` has
    # the time of that.
    for name in ("", ".table.table", ".sparkexpr.text.expressions", ".skipping.proofs.preimage.preimage"):
        importlib.import_module(f"deltaskip{name}")


def _deltaskip_open(table: str) -> Any:
    return importlib.import_module("deltaskip").DeltaTable(table)


def _deltaskip_arrow(table: Any, question: Question) -> int:
    columns = ["path", "size"] if question.name == "listing" else ["uri"]
    return int(table.scan(question.spark_sql()).files(columns=columns).num_rows)


def _deltaskip_all_columns(table: Any, question: Question) -> int:
    return int(table.scan(question.spark_sql()).files().num_rows)


def _deltaskip_paths(table: Any, question: Question) -> int:
    return len(table.scan(question.spark_sql()).paths())


def _deltalake_load() -> None:
    importlib.import_module("deltalake")


def _deltalake_open(table: str) -> Any:
    return importlib.import_module("deltalake").DeltaTable(table)


def _deltalake_uris(table: Any, question: Question) -> int:
    # Sizes are not asked for in the full listing: file_uris is the faster of the two ways to list.
    sql = question.delta_rs_sql()
    return len(table.file_uris(file_pruning_predicate=sql) if sql else table.file_uris())


_duckdb: Any = None


def _duckdb_load() -> None:
    """A connection with the delta extension, out of the wheel that carries it: nothing is downloaded."""
    global _duckdb
    folder = Path(str(importlib.import_module("duckdb_extension_delta").__file__)).parent
    _duckdb = importlib.import_module("duckdb").connect(config={"autoinstall_known_extensions": "false"})
    _duckdb.execute(f"LOAD '{next(folder.rglob('delta.duckdb_extension'))}'")


def _duckdb_open(table: str) -> str:
    return table.replace("'", "''")


def _duckdb_explain(table: str, question: Question) -> int | None:
    if question.name == "listing":
        return int(_duckdb.execute(f"SELECT data_file FROM delta_list_files('{table}')").to_arrow_table().num_rows)
    _duckdb.execute(f"EXPLAIN SELECT count(*) FROM delta_scan('{table}') WHERE {question.duckdb_sql()}").fetchall()
    return None


def _floor_load() -> None:
    importlib.import_module("pyarrow.parquet")
    importlib.import_module("pyarrow.compute")


def _floor_open(table: str) -> list[Any]:
    """Footers of the checkpoint's files that hold adds."""
    parquet = importlib.import_module("pyarrow.parquet")
    log = Path(table, "_delta_log")
    return [parquet.ParquetFile(file) for file in sorted([*log.glob("*.parquet"), *log.glob("_sidecars/*.parquet")])]


def _floor(files: list[Any], question: Question) -> int:
    return sum(len(found) for _, _, found in _matches(files, question))


def _floor_paths(files: list[Any], question: Question) -> int:
    count = 0
    for file, group, found in _matches(files, question):
        columns = ["add.path", "add.size"] if question.name == "listing" else ["add.path"]
        if len(found):
            count += len(file.read_row_group(group, columns=columns, use_threads=True).take(found))
    return count


def _matches(files: list[Any], question: Question) -> Any:
    """File, row group and the rows that the bounds keep; of row groups that the footer does not rule out."""
    arrow, compute = importlib.import_module("pyarrow"), importlib.import_module("pyarrow.compute")
    bounds = [bound for condition in question.conditions for bound in bounds_of(condition)]
    names = [name for name, _, _ in bounds]
    for file in files:
        leaves = {file.schema.column(i).path: i for i in range(len(file.schema))}
        for group in range(file.num_row_groups):
            chunks = file.metadata.row_group(group)
            if not all(possible(chunks.column(leaves[name]).statistics, op, value) for name, op, value in bounds):
                continue
            if not bounds:
                yield file, group, compute.indices_nonzero(arrow.repeat(True, chunks.num_rows))
                continue
            table = file.read_row_group(group, columns=names, use_threads=True)
            keep = None
            for name, op, value in bounds:
                values = table["add"]
                for part in name.split(".")[1:]:
                    values = compute.struct_field(values, part)
                one = getattr(compute, op)(values, arrow.scalar(value, values.type))
                keep = one if keep is None else compute.and_(keep, one)
            yield file, group, compute.indices_nonzero(keep)


def possible(statistics: Any, op: str, value: Any) -> bool:
    if statistics is None or not statistics.has_min_max:
        return True
    return bool(statistics.max >= value if op == "greater_equal" else statistics.min <= value)


def bounds_of(condition: Condition) -> list[tuple[str, str, Any]]:
    """Parquet column, comparison and value of the statistics that decide a condition."""
    readers: dict[str, Callable[[str], Any]] = {
        "long": int,
        "date": date.fromisoformat,
        "timestamp": datetime.fromisoformat,
        "decimal": Decimal,
        "double": float,
    }
    value = readers.get(condition.type, str)(condition.value)
    low = (f"add.stats_parsed.minValues.{condition.column}", "less_equal", value)
    high = (f"add.stats_parsed.maxValues.{condition.column}", "greater_equal", value)
    if condition.column == "day":
        name = "add.partitionValues_parsed.day"
        return [(name, "greater_equal", value), (name, "less_equal", value)]
    return {"=": [high, low], ">=": [high], "<": [low], "<=": [low]}[condition.op]


ENGINES: dict[str, Engine] = {
    "deltaskip": Engine(_deltaskip_import, _deltaskip_open, _deltaskip_arrow),
    "deltaskip paths": Engine(_deltaskip_import, _deltaskip_open, _deltaskip_paths),
    "deltaskip all columns": Engine(_deltaskip_import, _deltaskip_open, _deltaskip_all_columns),
    "deltalake": Engine(_deltalake_load, _deltalake_open, _deltalake_uris),
    "DuckDB": Engine(_duckdb_load, _duckdb_open, _duckdb_explain),
    "pyarrow": Engine(_floor_load, _floor_open, _floor),
    "pyarrow with paths": Engine(_floor_load, _floor_open, _floor_paths),
}


def kernel_classpath() -> str | None:
    """Class path for Delta Kernel; None where Java, pyspark's jars or the kernel's are missing.

    The kernel's jars and delta-storage's are looked for in the folder that DELTASKIP_BENCH_JARS names.
    """
    folder = os.environ.get("DELTASKIP_BENCH_JARS")
    spec = importlib.util.find_spec("pyspark")
    if folder is None or spec is None or spec.origin is None or not list(Path(folder).glob("delta-kernel-api*.jar")):
        return None
    try:
        subprocess.run(["java", "-version"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return os.pathsep.join([f"{folder}/*", f"{Path(spec.origin).parent}/jars/*"])


def delta_kernel(table: str, question: Question, repeats: int) -> dict[str, Any] | None:
    """Seconds of the first plan (opening included) and of further ones, and kept files; None where it cannot run."""
    classpath = kernel_classpath()
    if classpath is None:
        return None
    source = Path(__file__).parent / "DeltaKernel.java"
    conditions = [text for c in question.conditions for text in (c.column, c.op, c.type, c.value)]
    command = ["java", "-Xmx8g", "-cp", classpath, str(source), table, str(repeats), *conditions]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"Delta Kernel failed on {question.name}: {done.stderr.strip()[-500:]}")
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found
