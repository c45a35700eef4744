"""The table of targets with what this machine measures, each engine in processes of its own.

    python -m benchmarks.targets [--files N] [--commits N] [--ten-million] [--runs N] [--only TEXT] [--json FILE]

Cold: a fresh process, its libraries imported, opens the table and plans. Warm: the table is open and was planned once.
Memory: the largest resident set of the cold process. Medians of several runs, in brackets the fastest of ours: the two
lie apart where the machine was busy. A ratio is how many times longer (of memory: how many times more) the peer needs.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.cell import Cell, measure, whole_process
from benchmarks.peers import delta_kernel, kernel_classpath
from benchmarks.questions import questions
from benchmarks.sizes import COMMITS, FILES
from benchmarks.tables import reference_table

TEN_MILLION = 10_000_000
PEERS = ("deltalake", "DuckDB", "Delta Kernel", "pyarrow", "pyarrow with paths")
_WITHOUT_STRUCTS = ("json", "commits")


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table. limit: seconds, or megabytes with memory; ratios: (peer or "best", how many times)."""

    label: str
    variant: str
    question: str
    mode: str
    limit: float | None = None
    ratios: tuple[tuple[str, float], ...] = ()
    memory: bool = False
    ours: str = "deltaskip"
    files: int | None = None


def rows(ten_million: bool) -> list[Row]:
    """The issue's rows, then others that tell what lies behind them."""
    listed = [
        Row("cold, narrow range", "classic", "narrow", "cold", 0.04, (("deltalake", 90), ("DuckDB", 15))),
        Row("cold, decimal AND double", "classic", "scattered", "cold", 0.2, (("deltalake", 15),)),
        Row("warm, narrow range", "classic", "narrow", "warm", 0.005, (("best", 130),)),
        Row("warm, string keeping 70 %, as Arrow", "classic", "string", "warm", 0.12, (("best", 20),)),
        Row(
            "warm, string keeping 70 %, as a list",
            "classic",
            "string",
            "warm",
            None,
            (("best", 10),),
            ours="deltaskip paths",
        ),
        Row("warm, partition equality", "classic", "partition", "warm", 0.005, (("best", 20),)),
        Row("cold, JSON statistics only, narrow", "json", "narrow", "cold", 0.5, (("best", 4),)),
        Row("full listing, cold", "classic", "listing", "cold", 0.3, (("best", 8),)),
        Row("peak memory, cold narrow", "classic", "narrow", "cold", 200, memory=True),
        Row("20,000 commits, no checkpoint", "commits", "narrow", "cold", None, (("best", 3),)),
        Row("whole process, narrow", "classic", "narrow", "process", 0.6),
        Row("cold, narrow, every column", "classic", "narrow", "cold", ours="deltaskip all columns"),
        Row("cold, partition equality", "classic", "partition", "cold"),
        Row("cold, timestamps AND country", "classic", "window", "cold"),
        Row("warm, timestamps AND country", "classic", "window", "warm"),
        Row("warm, decimal AND double", "classic", "scattered", "warm"),
        Row("cold, string keeping 70 %", "classic", "string", "cold"),
        Row("10 parts, cold narrow", "parts", "narrow", "cold"),
        Row("V2 with sidecars, cold narrow", "v2", "narrow", "cold"),
    ]
    if ten_million:
        n = TEN_MILLION
        listed += [
            Row("10,000,000 files, cold narrow", "classic", "narrow", "cold", 0.06, (("best", 80),), files=n),
            Row("10,000,000 files, cold narrow, memory", "classic", "narrow", "cold", 250, memory=True, files=n),
            Row("10,000,000 files, decimal AND double", "classic", "scattered", "cold", 1.5, files=n),
            Row(
                "10,000,000 files, decimal AND double, memory",
                "classic",
                "scattered",
                "cold",
                600,
                memory=True,
                files=n,
            ),
        ]
    return listed


class Measurements:
    """Cells by what was asked, measured when first asked for."""

    def __init__(self, runs: int, report: Callable[[str], None]) -> None:
        self._runs = runs
        self._report = report
        self._cells: dict[tuple[str, ...], Cell | None] = {}

    def cell(self, engine: str, row: Row, files: int) -> Cell | None:
        """The engine's cell of the row; None where it cannot answer it."""
        key = (engine, row.variant, row.question, row.mode, str(files))
        if key not in self._cells:
            self._report(f"{row.label}: {engine}")
            self._cells[key] = self._measured(engine, row, files)
        return self._cells[key]

    def _measured(self, engine: str, row: Row, files: int) -> Cell | None:
        table = reference_table(row.variant, files)
        runs = self._runs if engine.startswith("deltaskip") else _peer_runs(self._runs, files)
        if row.mode == "process":
            return whole_process(table, row.question, files, runs) if engine == "deltaskip" else None
        if engine == "Delta Kernel":
            return self._kernel(table, row, files)
        if engine.startswith("pyarrow") and row.variant in _WITHOUT_STRUCTS:
            return None
        return measure(engine, row.mode, table, row.question, files, runs)

    def _kernel(self, table: Path, row: Row, files: int) -> Cell | None:
        if kernel_classpath() is None or files >= TEN_MILLION:
            return None
        # One process tells both times: its start and the compiling of the source take seconds.
        found = delta_kernel(table.as_posix(), questions(files)[row.question], 2)
        if found is None:
            return None
        for mode, seconds in (("cold", found["cold"]), ("warm", min(found["warm"]))):
            cell = Cell(seconds, seconds, 0, found["kept"])
            self._cells["Delta Kernel", row.variant, row.question, mode, str(files)] = cell
        return self._cells["Delta Kernel", row.variant, row.question, row.mode, str(files)]


def table_lines(chosen: list[Row], measurements: Measurements, files: int, commits: int) -> Iterator[dict[str, Any]]:
    """One record a row: its target, every engine's cell, the ratios, and whether the target is met (None: has none)."""
    for row in chosen:
        size = row.files or (commits if row.variant == "commits" else files)
        ours = measurements.cell(row.ours, row, size)
        assert ours is not None
        peers = {name: measurements.cell(name, row, size) for name in PEERS}
        if row.memory:
            peers = {name: cell for name, cell in peers.items() if name != "Delta Kernel"}
        figures = {name: _figure(cell, row) for name, cell in peers.items() if cell is not None}
        mine = _figure(ours, row)
        # The floors answer less than was asked: no commits are read.
        rivals = {name: figure / mine for name, figure in figures.items() if not name.startswith("pyarrow")}
        ratios = {**rivals, **({"best": min(rivals.values())} if rivals else {})}
        checks = [mine <= row.limit] if row.limit is not None else []
        checks += [ratios[name] >= factor for name, factor in row.ratios if name in ratios]
        yield {
            "row": row.label,
            "unit": "MB" if row.memory else "s",
            "target": _target(row),
            "deltaskip": mine,
            "kept": ours.kept,
            "peers": figures,
            "peers_kept": {name: cell.kept for name, cell in peers.items() if cell is not None},
            "ratios": ratios,
            "met": all(checks) if checks else None,
            "cell": asdict(ours),
            "peer_cells": {name: None if cell is None else asdict(cell) for name, cell in peers.items()},
        }


def markdown(records: list[dict[str, Any]]) -> str:
    """The records as a table."""
    lines = [
        "| | **deltaskip** | deltalake | DuckDB | Delta Kernel | pyarrow floor (with paths) | best ÷ ours | target | |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for record in records:
        unit, peers = record["unit"], record["peers"]
        cells = [_shown(peers.get(name), unit) for name in ("deltalake", "DuckDB", "Delta Kernel")]
        floor = _shown(peers.get("pyarrow"), unit)
        if "pyarrow with paths" in peers:
            floor += f" ({_shown(peers['pyarrow with paths'], unit)})"
        best = record["ratios"].get("best")
        ratio = "" if best is None else f"{best:,.1f} ×"
        verdict = {None: "", True: "met", False: "missed"}[record["met"]]
        ours = f"**{_shown(record['deltaskip'], unit)}**"
        if unit == "s":
            ours += f" ({_shown(record['cell']['fastest'], unit)})"
        lines.append("| " + " | ".join([record["row"], ours, *cells, floor, ratio, record["target"], verdict]) + " |")
    return "\n".join(lines)


def _peer_runs(runs: int, files: int) -> int:
    """Fewer of what takes minutes."""
    return 1 if files >= TEN_MILLION else min(runs, 3)


def _figure(cell: Cell, row: Row) -> float:
    return cell.peak_mb if row.memory else cell.seconds


def _target(row: Row) -> str:
    parts = []
    if row.limit is not None:
        parts.append(f"≤ {row.limit:g} MB" if row.memory else f"≤ {_shown(row.limit, 's')}")
    parts += [f"≥ {factor:g} × {'the best' if name == 'best' else name}" for name, factor in row.ratios]
    return ", ".join(parts)


def _shown(value: float | None, unit: str) -> str:
    if value is None:
        return ""
    if unit == "MB":
        return f"{value:,.0f} MB"
    if value < 0.01:
        return f"{value * 1000:.1f} ms"
    return f"{value * 1000:.0f} ms" if value < 1 else f"{value:.1f} s"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=FILES, help="adds in the checkpoint")
    parser.add_argument("--commits", type=int, default=COMMITS, help="commits of the table without checkpoint")
    parser.add_argument("--ten-million", action="store_true", help="measure 10,000,000 files too")
    parser.add_argument("--runs", type=int, default=5, help="fresh processes a cold cell, plans a warm one")
    parser.add_argument("--only", help="rows whose label holds this text")
    parser.add_argument("--json", type=Path, help="write the measurements to this file as well")
    options = parser.parse_args()
    chosen = [row for row in rows(options.ten_million) if options.only is None or options.only in row.label]
    measurements = Measurements(options.runs, lambda text: print(text, file=sys.stderr, flush=True))
    records = list(table_lines(chosen, measurements, options.files, options.commits))
    if options.json is not None:
        options.json.write_text(json.dumps(records, indent=1), encoding="utf-8")
    print(markdown(records))


if __name__ == "__main__":
    main()
