"""`deltaskip inspect`, `compatibility` and `collations`: facts about a table, and what other engines make of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from deltaskip.cli.command_line import CommandTable, opens_table, program, show
from deltaskip.cli.display import counted, print_facts, print_line, print_table
from deltaskip.shown import human_bytes

if TYPE_CHECKING:
    from deltaskip.actions import Protocol
    from deltaskip.stats.coverage import ColumnCoverage, TableCoverage
    from deltaskip.table.detail import LogDetail, TableDetail


@program.command("inspect")
@opens_table
def _inspect(source: CommandTable, as_json: bool) -> None:
    """Show protocol, size, log and properties of a table.

    Also shows which columns have stats.
    """
    table = source.open()
    detail, coverage = table.detail(), table.stats(overlap=False)
    done = _inspection(detail.to_dict(), table.protocol, coverage) if as_json else None
    show(done, as_json, lambda _: _print_inspection(detail, coverage))


def _inspection(detail: Mapping[str, Any], protocol: Protocol, coverage: TableCoverage) -> dict[str, Any]:
    """Facts about one version of a table for JSON; `coverage` has no overlap and no recommendations."""
    found = {
        "table": detail["location"],
        "version": detail["version"],
        "min_reader_version": detail["min_reader_version"],
        "min_writer_version": detail["min_writer_version"],
        "reader_features": list(protocol.reader_features or ()),
        "writer_features": list(protocol.writer_features or ()),
        "log": detail["log"],
        "partition_columns": detail["partition_columns"],
        "properties": detail["properties"],
        "files": detail["num_files"],
        "bytes": detail["size_in_bytes"],
        "rows": detail["num_known_rows"],
        "files_without_count": detail["num_files_without_row_count"],
        "deletion_vectors": detail["num_deletion_vectors"],
        "deleted_rows": detail["num_deleted_rows"],
        "columns": [_column(column, coverage.files) for column in _data_columns(coverage)],
    }
    more = ("id", "name", "description", "created_at", "last_modified", "clustering_columns", "table_features")
    return {**found, **{name: detail[name] for name in more}}


def _print_inspection(detail: TableDetail, coverage: TableCoverage) -> None:
    print_facts(_facts(detail))
    print()
    total = coverage.files
    rows = [
        (
            column.name,
            column.type,
            "not supported" if column.files_with_bounds is None else _present(column.files_with_bounds, total),
            _present(column.files_with_null_count, total),
        )
        for column in _data_columns(coverage)
    ]
    if rows:
        headings = [("column", "left"), ("type", "left"), ("min/max", "left"), ("null count", "left")]
        print_table(headings, rows)


def _data_columns(coverage: TableCoverage) -> list[ColumnCoverage]:
    return [column for column in coverage.columns if not column.partition]


def _column(column: ColumnCoverage, files: int) -> dict[str, Any]:
    """Number of files that lack the column's bounds and null count; None for bounds that its type does not have.

    A file whose rows are all NULL has no bounds to record, and does not count.
    """
    bounds = column.files_with_bounds
    return {
        "name": column.name,
        "type": column.type,
        "files_without_bounds": None if bounds is None else files - bounds,
        "files_without_null_count": files - column.files_with_null_count,
    }


def _facts(detail: TableDetail) -> list[tuple[str, str]]:
    facts = [
        ("location", detail.location),
        ("version", str(detail.version)),
        ("id", detail.id),
        ("name", detail.name),
        ("description", detail.description),
        ("created", _time(detail.created_at)),
        ("last modified", _time(detail.last_modified)),
        ("protocol", f"reader {detail.min_reader_version}, writer {detail.min_writer_version}"),
        ("table features", ", ".join(detail.table_features) or "none"),
        ("log", _log(detail.log)),
        ("files", f"{counted(detail.num_files, 'file')}, {human_bytes(detail.size_in_bytes)}"),
        ("rows", _rows(detail)),
        ("deletion vectors", _deletion_vectors(detail)),
        ("partition columns", ", ".join(detail.partition_columns) or "none"),
        ("clustering columns", ", ".join(detail.clustering_columns) or None),
        *(("property", f"{key} = {value}") for key, value in sorted(detail.properties.items())),
    ]
    return [(label, text) for label, text in facts if text is not None]


def _time(moment: Any) -> str | None:
    return None if moment is None else moment.isoformat(sep=" ", timespec="seconds").replace("+00:00", " UTC")


def _rows(detail: TableDetail) -> str:
    uncounted = detail.num_files_without_row_count
    if not uncounted:
        return f"{detail.num_known_rows:,}"
    if uncounted == detail.num_files:
        return "unknown: no file has a row count"
    return f"{detail.num_known_rows:,}, without {counted(uncounted, 'file')} that have no row count"


def _deletion_vectors(detail: TableDetail) -> str | None:
    if not detail.num_deletion_vectors:
        return None
    return f"{detail.num_deletion_vectors:,}, {counted(detail.num_deleted_rows, 'deleted row')}"


def _log(log: LogDetail) -> str:
    checksum = ", version checksum" if log.has_checksum else ""
    if log.checkpoint_version is None:
        return f"no checkpoint, {counted(log.commits_after, 'commit')}{checksum}"
    kind = (log.checkpoint_kind or "checkpoint").removeprefix("part of a ")
    parts = f" ({log.checkpoint_files} files)" if log.checkpoint_files > 1 else ""
    return f"{kind}{parts} at version {log.checkpoint_version}, {counted(log.commits_after, 'newer commit')}{checksum}"


def _present(files: int, total: int) -> str:
    if files == total:
        return "all files"
    return f"{files:,} of {counted(total, 'file')}" if files else "no file"


@program.command("compatibility")
@opens_table
@click.option(
    "--engine", "engines", multiple=True, metavar="NAME", help="Only this engine, such as polars. May repeat."
)
def _compatibility(source: CommandTable, as_json: bool, engines: Sequence[str]) -> None:
    """List what other engines refuse or get wrong in a table.

    Known are Polars, DuckDB, deltalake, pyarrow, Daft, chDB and Sail, in the releases that are printed.
    """
    found = source.open().compatibility(list(engines) or None)
    show([asdict(each) for each in found], as_json, _print_found)


def _print_found(found: Sequence[Mapping[str, Any]]) -> None:
    if not found:
        click.echo("Nothing is known that these engines refuse or get wrong.")
        return
    names = ("release", "rule", "where", "operation", "effect", "behaviour", "change")
    rows = [[", ".join(v) if isinstance(v := each[name], tuple) else v or "-" for name in names] for each in found]
    print_table([(name, "prose") for name in names], rows)
    for engine, instead in dict.fromkeys((each["engine"], each["instead"]) for each in found):
        click.echo(f"{engine}: to read the rows right, {instead}.")


@program.command("collations")
@partial(opens_table, required=False)
def _collations(source: CommandTable, as_json: bool) -> None:
    """List available collation versions.

    With TABLE, also list its collated columns and the versions that they need.
    """
    if source.table is None and (not source.is_latest or source.storage_options):
        raise click.UsageError("--version, --timestamp and --option need a TABLE.")
    from deltaskip.sparkexpr.collations import available_collations, refused_icu_files

    found: dict[str, Any] = {
        "available": [asdict(entry) for entry in available_collations()],
        "refused": dict(refused_icu_files()),
    }
    if source.table is not None:
        table = source.open()
        columns = [asdict(column) for column in table.collations()]
        found.update(table=table.uri, version=table.version, columns=columns)
    show(found, as_json, _print_collations)


def _print_collations(found: dict[str, Any]) -> None:
    if "table" in found:
        print_line(f"{found['table']} at version {found['version']}")
        _print_columns(found["columns"])
        click.echo()
    by_source: dict[tuple[str, str], list[str]] = {}
    for entry in found["available"]:
        by_source.setdefault((entry["provider"], entry["source"]), []).append(entry["version"])
    print_table(
        [("provider", "left"), ("versions", "prose"), ("library", "prose")],
        ((provider, ", ".join(versions), source) for (provider, source), versions in by_source.items()),
    )
    for reason in found["refused"].values():
        print_line(f"not used: {reason}")


def _print_columns(columns: list[dict[str, Any]]) -> None:
    if not columns:
        click.echo("No column has a collation: strings are compared as bytes.")
        return
    print_table(
        [("column", "left"), ("collation", "left"), ("write versions", "prose"), ("available versions", "prose")],
        (
            (
                each["column"],
                each["collation"],
                ", ".join(each["write_versions"]) or "any",
                ", ".join(each["evaluated_in"]) or "none",
            )
            for each in columns
        ),
    )
    for missing in dict.fromkeys(column["missing"] for column in columns if column["missing"]):
        print_line(missing)
