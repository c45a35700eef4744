"""`deltaskip changes`: the versions of a change data feed, and the files with the changes of each."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Literal

import click

from deltaskip.cli.command_line import (
    CommandTable,
    choice_option,
    float_bounds_option,
    opens_table,
    program,
    takes_predicate,
)
from deltaskip.cli.display import counted, json_records, print_table, write_files_json
from deltaskip.printable import printable
from deltaskip.shown import human_bytes

if TYPE_CHECKING:
    import pyarrow as pa

    from deltaskip.change_feed.change_scan import ChangeScan

_JSON_COLUMNS = ("version", "timestamp", "change_type", "path", "uri", "size", "partition_values", "num_rows")
"""Columns of `ChangeScan.files()` in JSON output."""

_BY_KIND = {
    "insert": "inserted",
    "delete": "deleted",
    "update_preimage": "before update",
    "update_postimage": "updated",
    None: "change file",
}


@program.command("changes")
@opens_table
@takes_predicate
@float_bounds_option
@click.option("--start", metavar="N|TIME", help="First version, or the first at or after a time. [default: 0]")
@click.option("--end", metavar="N|TIME", help="Last version, or the last at or before a time. [default: --version]")
@click.option(
    "--allow-out-of-range", is_flag=True, help="No error if --start is after the latest version, or --end a later time."
)
@choice_option(
    "--source",
    "changes_from",
    values=["auto", "feed", "rows"],
    help="The change data feed, the files whose rows are compared, or the feed where there is one and row ids.",
)
@click.option("--net", is_flag=True, help="One change of each row for the whole range.")
@click.option("--snapshot-first", is_flag=True, help="The rows of the first version as inserts, not its changes.")
@click.option("--files", "list_files", is_flag=True, help="Print a line for each file instead of each version.")
def _changes(
    source: CommandTable,
    as_json: bool,
    chosen: dict[str, Any],
    start: str | None,
    end: str | None,
    changes_from: Literal["auto", "feed", "rows"],
    list_files: bool,
    **asked: Any,
) -> None:
    """List the changes of a range of versions.

    Shows for each version the files with rows that it inserted, deleted or updated, by the change data feed or by the
    ids of rows.
    """
    scan = source.open().changes(_bound(start), _bound(end), source=changes_from, **chosen, **asked)
    if as_json:
        files = scan.files()
        write_files_json(
            sys.stdout, {"start": scan.start, "end": scan.end, "num_files": files.num_rows}, files, _JSON_COLUMNS
        )
    else:
        _print_changes(scan, list_files)


def _bound(text: str | None) -> int | str | None:
    """A version or a time: a number of only digits is a version."""
    return int(text) if text is not None and text.isascii() and text.isdigit() else text


def _print_changes(scan: ChangeScan, list_files: bool) -> None:
    """Print a line for each version with the files and rows by type of change, or for each file."""
    from deltaskip.sparkexpr.values.arrow_values import exact_sum

    files = scan.files()
    size = exact_sum(files["size"])
    many = max(0, scan.end - scan.start + 1)
    versions = f"versions {scan.start} to {scan.end}" if many else f"no versions from {scan.start} on"
    print(f"{versions}: {counted(files.num_rows, 'file')} with changes, {human_bytes(size)}")
    if files.num_rows:
        (_print_files if list_files else _print_versions)(files)


def _print_versions(files: pa.Table) -> None:
    grouped = files.group_by(["version", "timestamp", "change_type"], use_threads=False).aggregate(
        [("path", "count"), ("size", "sum"), ("num_rows", "sum"), ("num_rows", "count")]
    )
    rows = []
    for row in grouped.sort_by([("version", "ascending"), ("change_type", "descending")]).to_pylist():
        known = row["num_rows_count"] == row["path_count"]
        rows.append(
            (
                str(row["version"]),
                f"{row['timestamp']:%Y-%m-%d %H:%M:%S}",
                _BY_KIND[row["change_type"]],
                f"{row['path_count']:,}",
                f"{row['num_rows_sum']:,}" if known else "?",
                human_bytes(row["size_sum"] or 0),
            )
        )
    columns = [("version", "right"), ("time (UTC)", "left"), ("changes", "left")]
    print_table([*columns, ("files", "right"), ("rows", "right"), ("size", "right")], rows)


def _print_files(files: pa.Table) -> None:
    rows = (
        (
            str(record["version"]),
            _BY_KIND[record["change_type"]],
            "?" if record["num_rows"] is None else f"{record['num_rows']:,}",
            human_bytes(record["size"] or 0),
            printable(record["path"]),
        )
        for record in json_records(files, _JSON_COLUMNS)
    )
    columns = [("version", "right"), ("changes", "left"), ("rows", "right"), ("size", "right"), ("path", "left")]
    print_table(columns, rows)
