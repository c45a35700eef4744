"""Collations that can be evaluated here, and those of a table's columns, for `deltaskip collations`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import click

from deltaskip.cli.display import print_table, printable
from deltaskip.collations import registry
from deltaskip.collations.identifier import CollationId
from deltaskip.collations.libraries import refused_icu_files
from deltaskip.collations.registry import AvailableCollations, available_collations
from deltaskip.collations.write_versions import DOMAIN
from deltaskip.collations.write_versions import write_versions as listed_versions
from deltaskip.errors import DeltaSkipError, InvalidCollation
from deltaskip.schema.collations import string_paths
from deltaskip.schema.types import ArrayType, DataType, MapType, StructType, declared_collation

if TYPE_CHECKING:
    from deltaskip.table.table import DeltaTable


@dataclass(frozen=True, slots=True)
class CollatedColumn:
    """A string of a table with a collation of its own.

    column: its path, through `element`, `key` and `value`. collation: as the schema spells it. write_versions: those
    that the table asks writers to make statistics in. evaluated_in: versions here that know it, the newest first.
    missing: why statistics in a version of write_versions, or in all, serve nothing here.
    """

    column: str
    collation: str
    write_versions: tuple[str, ...]
    evaluated_in: tuple[str, ...]
    missing: str | None


@dataclass(frozen=True, slots=True)
class Collations:
    """What is here, and for a table what its columns need. refused: ICU files that were found and not used, and why."""

    available: tuple[AvailableCollations, ...]
    refused: Mapping[str, str]
    table: str | None = None
    version: int | None = None
    columns: tuple[CollatedColumn, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it; what is about a table only where one was given."""
        about_table = {} if self.table is None else {
            "table": self.table, "version": self.version, "columns": [asdict(column) for column in self.columns]
        }
        return {"available": [asdict(entry) for entry in self.available], "refused": dict(self.refused), **about_table}


def collations(table: DeltaTable | None) -> Collations:
    """What can be evaluated in this process, and what each collated column of the table, if one is given, needs."""
    available = available_collations()
    refused = refused_icu_files()
    if table is None:
        return Collations(available, refused)
    hints = write_versions(table.domains.get(DOMAIN))
    columns = tuple(_column(path, text, hints, available) for path, text in _declared(table.schema, ""))
    return Collations(available, refused, table.uri, table.version, columns)


def print_collations(found: Collations) -> None:
    """Prints them for people."""
    if found.table is not None:
        click.echo(f"{printable(found.table)} at version {found.version}")
        if found.columns:
            rows = [
                (c.column, c.collation, ", ".join(c.write_versions) or "any", ", ".join(c.evaluated_in) or "none")
                for c in found.columns
            ]
            print_table([(name, "left") for name in ("column", "collation", "statistics in", "evaluated in")], rows)
            for missing in dict.fromkeys(column.missing for column in found.columns if column.missing):
                click.echo(printable(missing))
        else:
            click.echo("No column has a collation: strings are compared as bytes.")
        click.echo()
    by_source: dict[tuple[str, str], list[str]] = {}
    for entry in found.available:
        by_source.setdefault((entry.provider, entry.source), []).append(entry.version)
    print_table(
        [(name, "left") for name in ("provider", "version", "from")],
        ((provider, ", ".join(versions), source) for (provider, source), versions in by_source.items()),
    )
    for reason in found.refused.values():
        click.echo(f"not used: {printable(reason)}")


def write_versions(configuration: str | None) -> dict[CollationId, tuple[str, ...]]:
    """The versions by collation in the configuration of a table's `collations` domain; what is malformed says nothing.

    # COLLATIONS RFC, Collation versions: "Clients are allowed to ignore the hints."
    """
    found: dict[CollationId, tuple[str, ...]] = {}
    for text, versions in listed_versions(configuration).items():
        collation = _parsed(text)
        if collation is not None:
            found[collation] = tuple(version for version in versions if isinstance(version, str) and version)
    return found


def _parsed(text: str) -> CollationId | None:
    try:
        return CollationId.parse(text)
    except InvalidCollation:
        return None


def _declared(data_type: DataType, above: str) -> Iterator[tuple[str, str]]:
    """Path and identifier of every string that declares a collation, in the order of the schema."""
    match data_type:
        case StructType(fields):
            for field in fields:
                for path in string_paths(field):
                    identifier = declared_collation(field, path)
                    if identifier is not None:
                        yield above + path, identifier
                yield from _declared(field.type, f"{above}{field.name}.")
        case ArrayType(element):
            yield from _declared(element, f"{above}element.")
        case MapType(key, value):
            yield from _declared(key, f"{above}key.")
            yield from _declared(value, f"{above}value.")


def _column(
    path: str,
    text: str,
    hints: Mapping[CollationId, tuple[str, ...]],
    available: tuple[AvailableCollations, ...],
) -> CollatedColumn:
    collation = _parsed(text)
    if collation is None:
        return CollatedColumn(path, text, (), (), f"{text!r} is no collation identifier: nothing prunes under it.")
    wanted = hints.get(collation.without_version, ())
    here = tuple(
        entry.version
        for entry in available
        if entry.provider == collation.canonical.provider and _why_not(collation, entry.version) is None
    )
    missing = " ".join(filter(None, (_why_not(collation, version) for version in wanted))) or None
    if not here and missing is None:
        missing = _why_not(collation, collation.version)
    return CollatedColumn(path, text, wanted, here, missing)


def _why_not(collation: CollationId, version: str | None) -> str | None:
    """Why the collation cannot be evaluated here in that version; None if it can."""
    try:
        registry.collation(collation.canonical if version is None else collation.canonical.with_version(version))
    except DeltaSkipError as error:
        return str(error)
    return None
