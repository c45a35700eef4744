"""The tables in which a database keeps a catalog, and the steps by which older versions of them are upgraded."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence

from sqlalchemy import (
    Boolean,
    Column,
    Connection,
    ForeignKey,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    inspect,
    select,
    text,
)

from deltaskip.errors import CatalogError

CATALOG_METADATA = MetaData()

# Names have any length, and databases compare strings in different ways: keys are digests of names, so that only the
# primary key decides which of two writers of one name succeeds, and letter case matters.
_ID = String(64)

VERSION = Table("deltaskip_schema", CATALOG_METADATA, Column("version", Integer, primary_key=True, autoincrement=False))
"""One row: the version of these tables."""

NAMESPACES = Table(
    "deltaskip_namespaces",
    CATALOG_METADATA,
    Column("id", _ID, primary_key=True),
    Column("catalog_name", Text, nullable=False),
    # Foreign keys keep a namespace from being dropped while another writer adds something to it.
    Column("parent_id", _ID, ForeignKey("deltaskip_namespaces.id"), index=True),
    Column("namespace", Text, nullable=False),
    Column("properties", Text, nullable=False),
)
"""Namespaces, with the root of each catalog: `namespace` is the JSON list of its parts, `properties` a JSON object."""

TABLES = Table(
    "deltaskip_tables",
    CATALOG_METADATA,
    Column("id", _ID, primary_key=True),
    Column("catalog_name", Text, nullable=False),
    Column("namespace_id", _ID, ForeignKey("deltaskip_namespaces.id"), nullable=False, index=True),
    Column("namespace", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("location", Text, nullable=False),
    Column("managed", Boolean, nullable=False),
)
"""Tables. `managed`: whether dropping the table deletes its files."""


def name_id(catalog: str, namespace: Sequence[str], table: str | None = None) -> str:
    """Return the key of a namespace or table."""
    return hashlib.sha256(json.dumps([catalog, list(namespace), table]).encode()).hexdigest()


def schema_version(connection: Connection, shown: str) -> int:
    """Return the version of the tables of a database; 0 if it has none.

    shown: The database, for messages. Raises CatalogError for a newer version than this release knows, and for a
    SQLite file that contains something else.
    """
    names = set(inspect(connection).get_table_names())
    if VERSION.name not in names:
        if names and connection.dialect.name == "sqlite":
            raise CatalogError(
                f"The database {shown} is not a catalog of deltaskip: it contains {', '.join(sorted(names)[:3])}. Use "
                f"a file of its own for the catalog."
            )
        return 0
    found = connection.execute(select(VERSION.c.version)).scalars().all()
    if len(found) != 1 or found[0] < 1:
        raise CatalogError(
            f"The catalog in the database {shown} is damaged: the table {VERSION.name} must contain one version, not "
            f"{found!r}. Restore the database from a backup."
        )
    if found[0] > len(STEPS):
        raise CatalogError(
            f"The catalog in the database {shown} has version {found[0]}, and this release of deltaskip knows versions "
            f"up to {len(STEPS)}: upgrade deltaskip."
        )
    return int(found[0])


def upgrade_tables(connection: Connection, shown: str) -> None:
    """Create the tables, or bring them to the newest version; other writers wait until the transaction ends."""
    if connection.dialect.name == "postgresql":
        connection.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK})"))
    version = schema_version(connection, shown)
    for step in STEPS[version:]:
        step(connection)
    if version == 0:
        connection.execute(VERSION.insert(), {"version": len(STEPS)})
    elif version < len(STEPS):
        connection.execute(VERSION.update(), {"version": len(STEPS)})


_LOCK = int.from_bytes(b"dltskip")


STEPS: tuple[Callable[[Connection], None], ...] = (CATALOG_METADATA.create_all,)
"""Step i upgrades the tables from version i to i + 1; version 0 has no tables."""
