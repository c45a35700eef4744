"""The work and the output of the commands on a catalog."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from deltaskip.catalogs.identifier import CatalogIdentifier, identifier_of, namespace_of, shown_namespace
from deltaskip.cli.display import print_facts, print_line, print_table
from deltaskip.cli.opening import open_catalog, open_table, session_for_catalog
from deltaskip.errors import SparkUnavailable, TableNotFound
from deltaskip.schema.json import simple_string

Options = Mapping[str, str]


def tables(namespace: str, storage_options: Options) -> list[str]:
    """Return the names of the tables of a namespace, as SQL text."""
    return [str(ident) for ident in open_catalog(storage_options).list_tables(namespace)]


def namespaces(parent: str, storage_options: Options) -> list[str]:
    """Return the names of the namespaces below another one, as SQL text."""
    return [shown_namespace(each) for each in open_catalog(storage_options).list_namespaces(parent)]


def create_namespace(name: str, properties: Mapping[str, str], storage_options: Options) -> None:
    """Create a namespace."""
    open_catalog(storage_options).create_namespace(name, properties)


def drop_namespace(name: str, cascade: bool, storage_options: Options) -> None:
    """Drop a namespace. Raises NamespaceNotFound if there is none."""
    catalog = open_catalog(storage_options)
    if not catalog.drop_namespace(name, cascade=cascade):
        catalog.load_namespace(namespace_of(name))


def print_names(names: Sequence[str]) -> None:
    """Print one name a line."""
    for name in names:
        print_line(name)


def described(table: str, storage_options: Options) -> dict[str, Any]:
    """Return what a table is, for JSON."""
    found = open_table(table, storage_options)
    return {
        "name": table,
        "location": found.uri,
        "version": found.version,
        "comment": found.metadata.description,
        "columns": [
            {
                "name": field.name,
                "type": simple_string(field.type),
                "nullable": field.nullable,
                "comment": field.metadata.get("comment"),
            }
            for field in found.schema.fields
        ],
        "partitioning": [str(each) for each in found.partitioning],
        "sort_order": [str(each) for each in found.sort_order],
        "properties": dict(found.properties),
    }


def print_described(table: Mapping[str, Any]) -> None:
    """Print the description of a table as text."""
    rows = [
        (each["name"], each["type"] + ("" if each["nullable"] else " NOT NULL"), each["comment"] or "")
        for each in table["columns"]
    ]
    print_table([("column", "left"), ("type", "prose"), ("comment", "prose")], rows)
    facts = [("location", table["location"]), ("version", str(table["version"]))]
    if table["comment"]:
        facts.append(("comment", table["comment"]))
    lists = [(name, table[name]) for name in ("partitioning", "sort_order") if table[name]]
    facts += [(name.replace("_", " "), ", ".join(each)) for name, each in lists]
    facts += [(f"property {name}", text) for name, text in sorted(table["properties"].items())]
    print_facts(facts)


def drop(table: str, purge: bool, if_exists: bool, storage_options: Options) -> dict[str, Any]:
    """Drop a table; return what was done, for JSON. Raises TableNotFound."""
    catalog = open_catalog(storage_options)
    dropped = catalog.drop_table(table, purge=purge)
    if not dropped and not if_exists:
        raise TableNotFound(f"The catalog {catalog.name} has no table {identifier_of(table)}.")
    return {"table": table, "dropped": dropped}


def print_dropped(done: Mapping[str, Any]) -> None:
    """Print whether a table was dropped."""
    print_line(f"dropped {done['table']}" if done["dropped"] else f"there was no table {done['table']}")


def rename(table: str, new_name: str, storage_options: Options) -> dict[str, str]:
    """Rename a table; return the names, for JSON."""
    old, new = identifier_of(table), _beside(identifier_of(table), new_name)
    open_catalog(storage_options).rename_table(old, new)
    return {"table": str(old), "new_name": str(new)}


def print_renamed(done: Mapping[str, str]) -> None:
    """Print the names of a renamed table."""
    print_line(f"renamed {done['table']} to {done['new_name']}")


def run_sql(text: str, storage_options: Options) -> list[dict[str, Any]]:
    """Run a statement, with a local session of Spark if it needs one; return the rows of its answer."""
    catalog = open_catalog(storage_options)
    try:
        answer = catalog.sql(None, text)
    except SparkUnavailable:
        answer = catalog.sql(session_for_catalog(), text)
    if answer is None:
        return []
    if isinstance(answer, pa.Table):
        found: list[dict[str, Any]] = answer.to_pylist()
    else:
        found = [row.asDict(recursive=True) for row in answer.collect()]
    return [{name: _plain(value) for name, value in row.items()} for row in found]


def print_rows(rows: Sequence[Mapping[str, Any]]) -> None:
    """Print rows as a table; nothing if there are none."""
    if rows:
        print_table([(name, "prose") for name in rows[0]], [[_cell(value) for value in row.values()] for row in rows])


def _beside(ident: CatalogIdentifier, name: str) -> CatalogIdentifier:
    """The new name of a table; one without a namespace stays in that of the old one."""
    found = identifier_of(name, "new_name")
    return found if found.namespace else CatalogIdentifier(ident.namespace, found.name)


def _plain(value: Any) -> Any:
    """A value of a row as JSON has it."""
    if isinstance(value, Mapping):
        return {str(name): _plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _cell(value: Any) -> str:
    if value is None:
        return "NULL"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
