"""Collated columns of a table, and the collation versions that this process can evaluate for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from deltaskip.errors import DeltaSkipError
from deltaskip.log import Snapshot
from deltaskip.records import dataclass
from deltaskip.shown import Shown
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.collations import AvailableCollations, CollationId, available_collations, kept_versions, lookup


@dataclass(frozen=True, slots=True, repr=False)
class CollatedColumn(Shown):
    """A string column or nested string field with a collation.

    Attributes:
        column: Path of the field; `element`, `key` and `value` are the parts of arrays and maps.
        collation: Collation identifier as the schema contains it.
        write_versions: Collation versions that writers keep statistics for, from the table's `collations` domain.
        evaluated_in: Versions in which this process can evaluate the collation, newest first.
        missing: The reason why this process cannot use statistics of `write_versions`, or of any version if
            `write_versions` is empty; None if it can.
    """

    column: str
    collation: str
    write_versions: tuple[str, ...]
    evaluated_in: tuple[str, ...]
    missing: str | None


def collated_columns(snapshot: Snapshot) -> tuple[CollatedColumn, ...]:
    """Return every collated string of the snapshot's schema, in the order of the schema."""
    listed = kept_versions(snapshot.domains)
    hints = {known: versions for text, versions in listed.items() if (known := CollationId.parsed(text)) is not None}
    available = available_collations()
    return tuple(_column(path, text, hints, available) for path, text in _declared(snapshot.schema, ""))


def _declared(data_type: t.DataType, above: str) -> Iterator[tuple[str, str]]:
    """Path and identifier of every string that declares a collation, in the order of the schema."""
    match data_type:
        case t.StructType(fields):
            for field in fields:
                for path in t.string_paths(field):
                    identifier = t.declared_collation(field, path)
                    if identifier is not None:
                        yield above + path, identifier
                yield from _declared(field.type, f"{above}{field.name}.")
        case t.ArrayType(element):
            yield from _declared(element, f"{above}element.")
        case t.MapType(key, value):
            yield from _declared(key, f"{above}key.")
            yield from _declared(value, f"{above}value.")


def _column(
    path: str, text: str, hints: Mapping[CollationId, tuple[str, ...]], available: tuple[AvailableCollations, ...]
) -> CollatedColumn:
    collation = CollationId.parsed(text)
    if collation is None:
        reason = f"{text!r} is not a collation identifier, so predicates on {path} prune nothing."
        return CollatedColumn(path, text, (), (), reason)
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
    """The reason why this process cannot evaluate the collation in the version; None if it can."""
    try:
        lookup.collation(collation.canonical if version is None else collation.canonical.with_version(version))
    except DeltaSkipError as error:
        return str(error)
    return None
