"""`deltaskip files`: the files that can contain matching rows.

The output is written in batches, so that memory does not grow with the number of files.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

import click

from deltaskip.cli.command_line import CommandTable, float_bounds_option, opens_table, program, takes_predicate
from deltaskip.cli.display import counted, json_records, terminal_width, write_files_json
from deltaskip.printable import printable
from deltaskip.shown import human_bytes

if TYPE_CHECKING:
    import pyarrow as pa

    from deltaskip.table.table import DeltaTable

_JSON_COLUMNS = ("path", "uri", "size", "num_records", "partition_values")
"""Columns of `Scan.files()` in JSON output."""

_TEXT_COLUMNS = ("path", "size", "num_records", "deletion_vector")
"""Columns of `Scan.files()` for text output."""

_COUNTED_ROWS = 200_000


@program.command("files")
@opens_table
@takes_predicate
@float_bounds_option
@click.option("--limit", type=click.IntRange(min=0), metavar="N", help="List only as many files as N rows need.")
@click.option("--paths", is_flag=True, help="Print only paths, one per line, as spark.read.parquet accepts them.")
def _files(source: CommandTable, as_json: bool, chosen: dict[str, Any], limit: int | None, paths: bool) -> None:
    """List the files that can contain matching rows."""
    if paths and as_json:
        raise click.UsageError("Specify either --paths or --json, not both.")
    opened = source.open()
    if paths:
        scan = opened.scan(**chosen, limit=limit)
        text = printable if sys.stdout.isatty() else str
        sys.stdout.writelines(f"{text(path)}\n" for path in scan.paths())
        return
    # Counting reads the complete list of files, planning only a part of it; they run in parallel.
    with _counting(opened, always=as_json) as total_files:
        files = opened.scan(**chosen, limit=limit).files(columns=_JSON_COLUMNS if as_json else _TEXT_COLUMNS)
        total = total_files()
    if as_json:
        head = {"version": opened.version, "total_files": total, "kept_files": files.num_rows}
        write_files_json(sys.stdout, head, files, _JSON_COLUMNS)
    else:
        _write_text(sys.stdout, opened.version, total, files)


@contextmanager
def _counting(table: DeltaTable, always: bool) -> Iterator[Callable[[], int | None]]:
    """Count the active files in the background; the yielded function returns the number or raises the error.

    It returns None if counting could take longer than listing, unless `always` is set.
    """
    if not always and bool(sum(part.metadata.num_rows for part in table.snapshot.checkpoint_parts) > _COUNTED_ROWS):
        yield lambda: None
        return
    from concurrent.futures import ThreadPoolExecutor

    table.snapshot.commit_adds  # noqa: B018 replay once, before both threads use it
    with ThreadPoolExecutor(1) as pool:
        yield pool.submit(table.scan().total_files).result


def _write_text(out: IO[str], version: int, total_files: int | None, files: pa.Table) -> None:
    """Write a summary, then size, row count without deleted rows and path of each file."""
    import pyarrow.compute as pc

    from deltaskip.sparkexpr.values.arrow_values import exact_sum

    size = exact_sum(files.column("size"))
    found = counted(files.num_rows, "file")
    if total_files is not None:
        found = f"{files.num_rows:,} of {counted(total_files, 'file')}"
    out.write(f"version {version}: {found}, {human_bytes(size)}\n")
    width = terminal_width()
    longest = pc.max(pc.utf8_length(files.column("path"))).as_py() or 0
    # In a narrow terminal the path has a separate line.
    line = "{size:>11}  {rows:>13}  {path}\n"
    if width is not None and longest + len(line.format(size="", rows="", path="")) > width + 1:
        line = "{path}\n{size:>11}  {rows:>13}\n"
    if files.num_rows:
        out.write(line.format(size="SIZE", rows="ROWS", path="PATH"))
    for record in json_records(files, _TEXT_COLUMNS):
        rows = _live_rows(record["num_records"], record["deletion_vector"])
        out.write(line.format(size=human_bytes(record["size"]), rows=rows, path=printable(record["path"])))


def _live_rows(num_records: int | None, deletion_vector: dict[str, Any] | None) -> str:
    if num_records is None:
        return "?"
    deleted = (deletion_vector or {}).get("cardinality") or 0
    return f"{num_records - deleted:,}"
