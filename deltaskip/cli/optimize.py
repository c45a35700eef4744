"""The work and the output of `deltaskip optimize`."""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter
from typing import Any

from deltaskip.cli.display import counted, print_line, progress_bar
from deltaskip.shown import human_bytes
from deltaskip.table.table import DeltaTable


def optimize(table: DeltaTable, where: Any, chosen: Mapping[str, Any], bar: bool) -> dict[str, Any]:
    """Optimize a table; return the result for JSON."""
    start = perf_counter()
    with progress_bar(bar, "bar", "bytes", "time") as update:
        result = table.optimize(where, progress=lambda done, total: update(completed=done, total=total), **chosen)
    return {"table": table.uri, **result.to_dict(), "seconds": perf_counter() - start}


def print_optimized(done: Mapping[str, Any]) -> None:
    """Print a result as text."""
    added, removed = done["added"], done["removed"]
    if done["nothing_written"]:
        print_line(f"rewrote nothing, {done['nothing_written']}")
    elif not removed["files"]:
        print_line(f"nothing to do: {counted(done['considered'], 'file')} of {done['table']}")
    else:
        columns = f", ordered by {', '.join(done['columns'])} ({done['curve']})" if done["columns"] else ""
        files = (
            f"{counted(removed['files'], 'file')} ({human_bytes(removed['bytes'])}) of "
            f"{counted(done['partitions'], 'partition')}"
        )
        if done["dry_run"]:
            print_line(f"would rewrite {files} as about {counted(added['files'], 'file')}{columns}")
        else:
            made = f"{counted(added['files'], 'file')} ({human_bytes(added['bytes'])})"
            versions = ", ".join(map(str, done["versions"]))
            print_line(f"version {versions}: rewrote {files} as {made}{columns} in {done['seconds']:.1f} s")
        if done["vectors_removed"]:
            vectors, rows = counted(done["vectors_removed"], "deletion vector"), counted(done["deleted_rows"], "row")
            print_line(f"{vectors} of {rows} {'would go' if done['dry_run'] else 'are not needed any more'}")
    if done["left_out"]:
        print_line(f"left out {counted(done['left_out'], 'file')} that other writers changed meanwhile: run it again")
