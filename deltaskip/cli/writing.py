"""The work and the output of `deltaskip create`, `append` and `alter`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from time import perf_counter
from typing import Any

from deltaskip.alter.table_changes import ClusterBy
from deltaskip.catalogs import TransactionalTableCatalog
from deltaskip.cli.display import counted, nothing_done, print_facts, print_line, print_table, progress_bar
from deltaskip.cli.input_files import InputFiles
from deltaskip.cli.input_files import input_files as files_of
from deltaskip.cli.opening import given_catalog, open_catalog
from deltaskip.cli.spark import session_for_location
from deltaskip.data_files.data import GivenRows
from deltaskip.errors import DeltaSkipError, InvalidArgument, TableAlreadyExists
from deltaskip.rows.arrow_conversion import ArrowRows
from deltaskip.rows.plan import plan_rows
from deltaskip.schema.calendar import zone_of
from deltaskip.schema.json import simple_string
from deltaskip.schema.types import StructType
from deltaskip.shown import human_bytes
from deltaskip.table.table import DeltaTable

_ORIGINS = {
    "given": "from the files",
    "default": "default",
    "null": "NULL",
    "generated": "generated",
    "identity": "identity",
}


def create(
    table: str, storage_options: Mapping[str, str], columns: str, mode: Any, described: Mapping[str, Any]
) -> dict[str, Any]:
    """Create a table; return its description for JSON."""
    if given_catalog() is not None:
        made = _created_by_name(table, storage_options, columns, mode, described)
    else:
        session_for_location(table)
        made = DeltaTable.create(table, columns, mode=mode, storage_options=storage_options or None, **described)
    return {"location": made.uri, "version": made.version, **_state(made.schema, made.protocol, made.properties),
            "partition_columns": list(made.partition_columns)}  # fmt: skip


def _created_by_name(
    table: str, storage_options: Mapping[str, str], columns: str, mode: Any, described: Mapping[str, Any]
) -> DeltaTable:
    """Create a table of the catalog that `--catalog` gives."""
    catalog = open_catalog(storage_options)
    clustered = [ClusterBy(*described["cluster_by"])] if described["cluster_by"] else []
    comment = {} if described["comment"] is None else {"comment": described["comment"]}
    parts, properties = [*described["partition_by"], *clustered], {**described["properties"], **comment}
    if mode == "replace":
        if not isinstance(catalog, TransactionalTableCatalog):
            raise InvalidArgument(f"The catalog {catalog.name} cannot replace tables: drop {table} first.")
        return catalog.stage_create_or_replace(table, columns, parts, None, properties).commit_staged_changes()
    try:
        return catalog.create_table(table, columns, parts, properties)
    except TableAlreadyExists:
        if mode == "error":
            raise
        return catalog.load_table(table)


def print_created(made: Mapping[str, Any]) -> None:
    """Print a new table as text."""
    print_line(f"version {made['version']} of {made['location']}")
    print_table([("column", "left"), ("type", "prose")], _columns(made["schema"]))
    print_facts(_protocol_facts(made))


def input_files(
    table: DeltaTable, names: Sequence[str], file_format: str | None, delimiter: str | None, time_zone: str
) -> InputFiles:
    """Return the files to append to a table. Raises InvalidArgument for an unknown time zone and for the files."""
    try:
        zone = zone_of(time_zone)
    except LookupError as error:
        raise InvalidArgument(f"There is no time zone {time_zone!r}; one is Europe/Berlin, +02:00 or UTC.") from error
    return files_of(names, file_format, delimiter, table.schema, zone)


def append_plan(table: DeltaTable, source: InputFiles, schema_mode: Any, time_zone: str, bar: bool) -> dict[str, Any]:
    """Read and check the rows of files as an append does, and write nothing; return the plan for JSON."""
    snapshot = table.snapshot
    with errors_of(source):
        rows = GivenRows(source)
        plan = plan_rows(
            snapshot.schema,
            snapshot.table_properties,
            rows.schema_for(snapshot.schema),
            schema_mode,
            snapshot.partition_columns,
            mapping_mode=snapshot.mapping_mode,
        )
        with progress(source, bar):
            count = sum(batch.num_rows for batch in ArrowRows(plan, time_zone).stream(rows.batches(plan.table)))
    before = {field.name for field in snapshot.schema.fields}
    return {
        "table": table.uri,
        "version": table.version,
        "files": list(source.paths),
        "rows": count,
        "columns": [
            {
                "name": column.field.name,
                "type": simple_string(column.field.type, column.field),
                "origin": column.origin,
                "source": None if column.source is None else column.source.name,
                "expression": column.expression,
                "new": column.field.name not in before,
            }
            for column in plan.columns
        ],
        "rules": [{"name": rule.name, "expression": rule.expression} for rule in plan.rules],
    }


def print_append_plan(plan: Mapping[str, Any]) -> None:
    """Print a plan as text."""
    print_line(
        f"would append {counted(plan['rows'], 'row')} of {counted(len(plan['files']), 'file')} to version "
        f"{plan['version']} of {plan['table']}"
    )
    rows = [(each["name"], each["type"], _origin(each), "new" if each["new"] else "") for each in plan["columns"]]
    print_table([("column", "left"), ("type", "left"), ("values", "prose"), ("", "left")], rows)
    for rule in plan["rules"]:
        print_line(f"every row satisfies {rule['name']}: {rule['expression']}")


def append(table: DeltaTable, source: InputFiles, chosen: Mapping[str, Any], bar: bool) -> dict[str, Any]:
    """Append the rows of files in one commit; return the result for JSON."""
    start = perf_counter()
    with errors_of(source), progress(source, bar):
        result = table.append(source, **chosen)
    return {
        "table": table.uri,
        "version": result.version,
        "files_read": len(source.paths),
        "metrics": dict(result.metrics),
        "nothing_written": result.nothing_written,
        "seconds": perf_counter() - start,
    }


def print_appended(done: Mapping[str, Any]) -> None:
    """Print the result of an append as text."""
    if done["version"] is None:
        print_line(nothing_done("appended", "there are no rows", done["nothing_written"]))
        return
    metrics = done["metrics"]
    print_line(
        f"version {done['version']}: appended {counted(metrics['numOutputRows'], 'row')} of "
        f"{counted(done['files_read'], 'file')} as {counted(metrics['numFiles'], 'data file')} "
        f"({human_bytes(metrics['numOutputBytes'])}) in {done['seconds']:.1f} s"
    )


def alter(table: DeltaTable, statements: Sequence[str], dry_run: bool) -> dict[str, Any]:
    """Alter a table by statements in one commit; return its state before and after for JSON."""
    from deltaskip.alter.sql import parse_alter

    changes = [change for statement in statements for change in parse_alter(statement)]
    before = _state(table.schema, table.protocol, table.properties)
    if dry_run:
        transaction = table.transaction()
        try:
            transaction.alter(*changes)
            after = _state(transaction.schema, transaction.protocol, transaction.metadata.configuration)
        finally:
            transaction.discard()
        version = None
    else:
        version = table.alter(*changes).version
        after = _state(table.schema, table.protocol, table.properties)
    return {"table": table.uri, "version": version, "dry_run": dry_run, "before": before, "after": after}


def print_altered(done: Mapping[str, Any]) -> None:
    """Print what altering a table changes, or has changed."""
    before, after = done["before"], done["after"]
    if before == after and done["version"] is None:
        print_line("nothing would change" if done["dry_run"] else "nothing changed")
        return
    print_line(f"would alter {done['table']}" if done["dry_run"] else f"version {done['version']} of {done['table']}")
    old, new = dict(_columns(before["schema"])), dict(_columns(after["schema"]))
    rows = [(name, old.get(name, "-"), new.get(name, "-")) for name in {**old, **new} if old.get(name) != new.get(name)]
    if rows:
        print_table([("column", "left"), ("before", "prose"), ("after", "prose")], rows)
    facts = [
        (label, f"{was} → {now}")
        for (label, was), (_, now) in zip(_protocol_facts(before), _protocol_facts(after), strict=True)
        if was != now
    ]
    print_facts(facts)


def _origin(column: Mapping[str, Any]) -> str:
    origin = _ORIGINS[column["origin"]]
    return f"{origin}: {column['expression']}" if column["expression"] else origin


def _state(schema: StructType, protocol: Any, properties: Mapping[str, str]) -> dict[str, Any]:
    return {
        "schema": [
            {
                "name": field.name,
                "type": simple_string(field.type, field),
                "nullable": field.nullable,
                "metadata": dict(field.metadata),
            }
            for field in schema.fields
        ],
        "min_reader_version": protocol.min_reader_version,
        "min_writer_version": protocol.min_writer_version,
        "reader_features": sorted(protocol.reader_features or ()),
        "writer_features": sorted(protocol.writer_features or ()),
        "properties": dict(sorted(properties.items())),
    }


def _columns(schema: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    return [(each["name"], each["type"] + ("" if each["nullable"] else " NOT NULL")) for each in schema]


def _protocol_facts(state: Mapping[str, Any]) -> list[tuple[str, str]]:
    features = ", ".join(state["writer_features"]) or "-"
    properties = ", ".join(f"{name}={value}" for name, value in state["properties"].items()) or "-"
    return [
        ("protocol:", f"reader {state['min_reader_version']}, writer {state['min_writer_version']}"),
        ("features:", features),
        ("properties:", properties),
    ]


@contextmanager
def errors_of(source: InputFiles) -> Iterator[None]:
    """Within the block, an error of the files is raised as it was, and not as Arrow's stream hands it on."""
    try:
        yield
    except DeltaSkipError as error:
        if source.error is None or source.error is error:
            raise
        raise source.error from None


@contextmanager
def progress(source: InputFiles, shown: bool) -> Iterator[None]:
    """Show a progress bar on standard error: files and rows."""
    seen: dict[str, int] = {}
    columns = ("bar", "count", "files, {task.fields[rows]:,} rows", "time")
    with progress_bar(shown, *columns, total=len(source.paths), rows=0) as update:

        def advance(path: str, rows: int) -> None:
            seen[path] = seen.get(path, 0) + rows
            update(completed=len(seen) - 1, rows=sum(seen.values()))

        source.advance = advance
        yield
        update(completed=len(source.paths))
