"""Planning on the reference table, cold and warm, beside the peers.

Environment: DELTASKIP_BENCH_DIR keeps the tables between runs; DELTASKIP_BENCH_FILES and DELTASKIP_BENCH_COMMITS set
their size (1,000,000 and 20,000); DELTASKIP_BENCH_TEN_MILLION=1 adds the table of 10,000,000 files;
DELTASKIP_BENCH_JARS names the folder of Delta Kernel's jars.
"""

from __future__ import annotations

import os
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from benchmarks.cell import measure, whole_process
from benchmarks.peers import ENGINES, delta_kernel
from benchmarks.questions import Question, questions
from benchmarks.sizes import COMMITS, FILES, sized
from benchmarks.tables import reference_table

RUNS = sized(3, 1)
TEN_MILLION = 10_000_000
ASKED = ("narrow", "partition", "window", "string", "scattered", "listing")
VARIANTS = ("classic", "json", "parts", "v2", "commits", "tree")
PEERS = ("deltalake", "DuckDB", "Delta Kernel", "pyarrow", "pyarrow with paths")


def _files(variant: str) -> int:
    return COMMITS if variant == "commits" else FILES


class _OnTables:
    """Tables are built once a run."""

    timeout = 1800
    warmup_time = 0

    def setup_cache(self) -> dict[str, Path]:
        return {variant: reference_table(variant, _files(variant)) for variant in VARIANTS}


class Cold(_OnTables):
    """Opening and planning; the libraries are loaded, and the operating system has the log in memory."""

    params = (ASKED,)
    param_names = ("predicate",)

    def setup(self, tables: dict[str, Path], predicate: str) -> None:
        self.table = str(tables["classic"])
        self.question: Question = questions(FILES)[predicate]
        self.engine = ENGINES["deltaskip"]
        self.engine.load()

    def time_files(self, tables: dict[str, Path], predicate: str) -> None:
        self.engine.plan(self.engine.open_table(self.table), self.question)

    def peakmem_files(self, tables: dict[str, Path], predicate: str) -> None:
        self.engine.plan(self.engine.open_table(self.table), self.question)


class Warm(_OnTables):
    """Planning on an open table that was planned once."""

    params = (ASKED, ("deltaskip", "deltaskip paths", "deltaskip all columns"))
    param_names = ("predicate", "answer")

    def setup(self, tables: dict[str, Path], predicate: str, answer: str) -> None:
        self.question: Question = questions(FILES)[predicate]
        self.engine = ENGINES[answer]
        self.engine.load()
        self.handle = self.engine.open_table(str(tables["classic"]))
        self.engine.plan(self.handle, self.question)

    def time_plan(self, tables: dict[str, Path], predicate: str, answer: str) -> None:
        self.engine.plan(self.handle, self.question)


class Variants(_OnTables):
    """Cold planning of the narrow range over the other shapes of the log."""

    params = (VARIANTS,)
    param_names = ("variant",)

    def setup(self, tables: dict[str, Path], variant: str) -> None:
        self.table = str(tables[variant])
        self.question: Question = questions(_files(variant))["narrow"]
        self.engine = ENGINES["deltaskip"]
        self.engine.load()

    def time_cold_narrow(self, tables: dict[str, Path], variant: str) -> None:
        self.engine.plan(self.engine.open_table(self.table), self.question)

    def peakmem_cold_narrow(self, tables: dict[str, Path], variant: str) -> None:
        self.engine.plan(self.engine.open_table(self.table), self.question)


class Ratios(_OnTables):
    """How many times longer a peer needs; fresh processes when cold."""

    params = (PEERS, ASKED[: sized(len(ASKED), 1)])
    param_names = ("peer", "predicate")

    def track_cold(self, tables: dict[str, Path], peer: str, predicate: str) -> float:
        ours = measure("deltaskip", "cold", tables["classic"], predicate, FILES, RUNS).seconds
        if peer == "Delta Kernel":
            return _kernel(tables["classic"], predicate)[0] / ours
        return measure(peer, "cold", tables["classic"], predicate, FILES, RUNS).seconds / ours

    def track_warm(self, tables: dict[str, Path], peer: str, predicate: str) -> float:
        ours = measure("deltaskip", "warm", tables["classic"], predicate, FILES).seconds
        if peer == "Delta Kernel":
            return _kernel(tables["classic"], predicate)[1] / ours
        return measure(peer, "warm", tables["classic"], predicate, FILES).seconds / ours

    track_cold.unit = track_warm.unit = "times"  # type: ignore[attr-defined]


class Process(_OnTables):
    """`deltaskip files TABLE --where …`, a whole process."""

    def time_command(self, tables: dict[str, Path]) -> None:
        whole_process(tables["classic"], "narrow", FILES, 1)

    def track_peak_memory(self, tables: dict[str, Path]) -> float:
        return whole_process(tables["classic"], "narrow", FILES, 1).peak_mb

    track_peak_memory.unit = "MB"  # type: ignore[attr-defined]


class OpenTable(_OnTables):
    """What opening alone costs, and a refresh that finds nothing new."""

    def setup(self, tables: dict[str, Path]) -> None:
        self.engine = ENGINES["deltaskip"]
        self.engine.load()
        self.path = str(tables["classic"])
        self.table: Any = self.engine.open_table(self.path)

    def time_open(self, tables: dict[str, Path]) -> None:
        self.engine.open_table(self.path)

    def time_refresh(self, tables: dict[str, Path]) -> None:
        self.table.refresh()

    def track_first_plan_of_an_open_table(self, tables: dict[str, Path]) -> float:
        seconds = []
        for _ in range(5):
            table = self.engine.open_table(self.path)
            start = perf_counter()
            self.engine.plan(table, questions(FILES)["narrow"])
            seconds.append(perf_counter() - start)
        return median(seconds)

    track_first_plan_of_an_open_table.unit = "s"  # type: ignore[attr-defined]


if os.environ.get("DELTASKIP_BENCH_TEN_MILLION") == "1":

    class TenMillion:
        """10,000,000 files, cold."""

        timeout = 3600
        params = (("narrow", "scattered"),)
        param_names = ("predicate",)

        def setup_cache(self) -> Path:
            return reference_table("classic", TEN_MILLION)

        def track_seconds(self, table: Path, predicate: str) -> float:
            return measure("deltaskip", "cold", table, predicate, TEN_MILLION, RUNS).seconds

        def track_peak_memory(self, table: Path, predicate: str) -> float:
            return measure("deltaskip", "cold", table, predicate, TEN_MILLION, 1).peak_mb

        def track_ratio_to_duckdb(self, table: Path, predicate: str) -> float:
            peer = measure("DuckDB", "cold", table, predicate, TEN_MILLION, 1).seconds
            return peer / self.track_seconds(table, predicate)

        track_seconds.unit, track_peak_memory.unit = "s", "MB"  # type: ignore[attr-defined]


def _kernel(table: Path, predicate: str) -> tuple[float, float]:
    """Cold and warm seconds; not a number where Delta Kernel cannot run."""
    found = delta_kernel(str(table), questions(FILES)[predicate], 2)
    return (float("nan"), float("nan")) if found is None else (found["cold"], min(found["warm"]))
