"""SparkCatalog: the tables of a session's own catalog, in a Hive metastore or in the memory of the session."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import unquote
from uuid import uuid4

from pyspark.sql import SparkSession

from deltaskip import arguments, errors
from deltaskip.catalogs.identifier import CatalogIdentifier, Namespace, identifier_of, shown_namespace
from deltaskip.catalogs.located import COMMENT, LOCATION, LocatedCatalog, TableEntry
from deltaskip.catalogs.table_catalog import Ident, no_table
from deltaskip.lazy_regex import regex
from deltaskip.spark.catalog.session_tables import (
    POINTER,
    SESSION_CATALOG,
    NamedTable,
    copied,
    is_missing,
    is_taken,
    named_table,
    register_table,
    session_sql_name,
    table_identifier,
)
from deltaskip.spark.session.error_conversion import catalog_errors_named
from deltaskip.spark.session.own_texts import own_literal, own_sql
from deltaskip.spark.session.session_settings import is_classic, java_state, java_view
from deltaskip.sparkexpr.text.sql_text import quoted_path, sql_string
from deltaskip.sparkexpr.types import display_name
from deltaskip.storage import is_local, join, parse_location, uri_of
from deltaskip.table.table import DeltaTable

# A folder that this catalog has chosen. Spark's entry for its table is EXTERNAL, so a rename moves no files. The name
# of the folder shows that dropping the table deletes it.
_MANAGED = regex(r"-managed-[0-9a-f]{32}/*$")
_IS_POINTER = regex(rf"[\[ ]{re.escape(POINTER)}=")


OWNER = "owner"
_LEGACY_END, _NEXT = "))", "), ("


class SparkCatalog(LocatedCatalog):
    """The catalog of a Spark session: its databases are namespaces, with tables in them.

    A name without a namespace belongs to the session's current database. Spark accepts letters, digits and `_` in
    names, and ignores letter case. The catalog stores a table as delta-spark registers it, with the provider delta and
    the location. A Connect server without Delta stores a view instead.

    Args:
        spark: The session, classic or Connect.
        name: Name of the catalog in messages and SQL.
        storage_options: Options of object stores for all tables, as for DeltaTable.
    """

    def __init__(
        self, spark: SparkSession, name: str = "spark_catalog", storage_options: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(name, storage_options)
        self._spark = spark

    def __repr__(self) -> str:
        return f"SparkCatalog({self.name!r})"

    # Tables

    def table_exists(self, ident: Ident) -> bool:
        """Tables of other formats also exist."""
        return self._found(identifier_of(ident)) is not None

    def find_entry(self, ident: CatalogIdentifier) -> TableEntry | None:
        """Raises UnsupportedFeature for a table of another format."""
        found = self._found(ident)
        if found is None:
            return None
        location = None if found.location is None else _location(found.location)
        if location is None or not (found.is_delta or self._is_converted(found, location)):
            raise errors.UnsupportedFeature(
                f"The table {ident} of the catalog {self.name} is not a Delta table; its format is "
                f"{found.provider}: use Spark for it."
            )
        managed = found.kind == "MANAGED" or _MANAGED.search(location) is not None
        return TableEntry(ident, location, managed)

    def register_table(self, ident: Ident, location: str) -> DeltaTable:
        """See TableCatalog.register_table.

        Raises UnsupportedFeature for a folder that this catalog has chosen, because dropping either name of the table
        would delete the files.
        """
        root = parse_location(arguments.path("location", location))
        if _MANAGED.search(root) is not None:
            raise errors.UnsupportedFeature(
                f"The table at {root} cannot be registered in the catalog {self.name}, because a catalog of Spark "
                f"manages its folder: clone the table, and register the clone."
            )
        return super().register_table(ident, location)

    def add_entry(self, entry: TableEntry) -> None:
        parts = self._parts(entry.identifier)
        if parts is None:
            raise self._no_namespace(entry.identifier.namespace)
        name, location = quoted_path(parts), uri_of(entry.location)
        with catalog_errors_named(self.name):
            try:
                try:
                    register_table(self._spark, name, location, managed=False)
                except errors.UnsupportedFeature as error:
                    if "DATA_SOURCE_NOT_FOUND" not in str(error.__cause__):
                        raise
                    self._add_pointer(parts, location)
            except Exception as error:
                if isinstance(error, errors.TableAlreadyExists) or is_taken(error):
                    raise self._taken(entry.identifier) from None
                if is_missing(error):
                    raise self._no_namespace(entry.identifier.namespace) from None
                raise

    def remove_entry(self, entry: TableEntry) -> bool:
        """Spark deletes the files of a managed table."""
        parts, found = self._parts(entry.identifier), self._found(entry.identifier)
        if parts is None or found is None or found.location is None or _location(found.location) != entry.location:
            return False
        with catalog_errors_named(self.name):
            try:
                if found.kind == "VIEW":
                    self._spark.sql(f"DROP VIEW {session_sql_name(*parts)}")
                elif is_classic(self._spark):
                    # A stock session has no data source for the table, so its SQL does not find it.
                    state = java_state(self._spark)
                    state.catalog().dropTable(table_identifier(state, parts), False, False)
                else:
                    self._spark.sql(f"DROP TABLE {session_sql_name(*parts)}")
            except Exception as error:
                if is_missing(error):
                    return False
                raise self._without_delta(entry.identifier, "dropped", error) from None
        return True

    def move_entry(self, entry: TableEntry, new: CatalogIdentifier) -> None:
        """A move to another namespace adds the new name before it removes the old name."""
        before, after, found = self._parts(entry.identifier), self._parts(new), self._found(entry.identifier)
        if before is None or found is None:
            raise self._gone(entry.identifier)
        if after is None:
            raise self._no_namespace(new.namespace)
        if before[0].lower() != after[0].lower():
            self._move_to_namespace(entry, new, found)
            return
        with catalog_errors_named(self.name):
            try:
                if found.kind == "VIEW":
                    self._spark.sql(f"ALTER VIEW {session_sql_name(*before)} RENAME TO {quoted_path(after)}")
                elif is_classic(self._spark):
                    state = java_state(self._spark)
                    state.catalog().renameTable(table_identifier(state, before), table_identifier(state, after))
                else:
                    self._spark.sql(f"ALTER TABLE {session_sql_name(*before)} RENAME TO {quoted_path(after)}")
            except Exception as error:
                if is_taken(error):
                    raise self._taken(new) from None
                if is_missing(error):
                    raise self._gone(entry.identifier) from None
                raise self._without_delta(entry.identifier, "renamed", error) from None

    def new_location(self, ident: CatalogIdentifier) -> str:
        """Each call returns a new folder below the database's folder."""
        parts = self._parts(ident)
        database = None if parts is None else self._database(parts[0])
        if parts is None or database is None:
            raise self._no_namespace(ident.namespace)
        return join(_location(database[LOCATION]), f"{parts[1].lower()}-managed-{uuid4().hex}")

    def table_names(self, namespace: Namespace) -> Iterable[str]:
        """Tables of all formats, without views."""
        parts = self._parts(CatalogIdentifier(namespace, "any"))
        assert parts is not None
        database = session_sql_name(parts[0])
        with catalog_errors_named(self.name):
            found = {row["tableName"] for row in self._rows(f"SHOW TABLES IN {database}") if not row["isTemporary"]}
            views = {row["viewName"] for row in self._rows(f"SHOW VIEWS IN {database}") if not row["isTemporary"]}
            pointers = self._rows(f"SHOW TABLE EXTENDED IN {database} LIKE '*'") if views else []
        return found - views | {row["tableName"] for row in pointers if _IS_POINTER.search(row["information"])}

    # Namespaces

    def child_namespaces(self, parent: Namespace) -> Iterable[Namespace]:
        if parent:
            return []
        with catalog_errors_named(self.name):
            return [(name,) for name in _database_names(self._spark)]

    def find_namespace(self, namespace: Namespace) -> dict[str, str] | None:
        if not namespace:
            return {}
        return self._database(namespace[0]) if len(namespace) == 1 else None

    def add_namespace(self, namespace: Namespace, properties: Mapping[str, str]) -> None:
        if len(namespace) != 1:
            raise errors.UnsupportedFeature(
                f"The catalog {self.name} has no nested namespaces such as {shown_namespace(namespace)}: use "
                f"a name of one part."
            )
        with catalog_errors_named(self.name):
            try:
                _create_database(self._spark, namespace[0], properties)
            except Exception as error:
                if is_taken(error):
                    raise errors.NamespaceAlreadyExists(
                        f"The catalog {self.name} already has a namespace {shown_namespace(namespace)}."
                    ) from None
                raise

    def set_namespace(self, namespace: Namespace, properties: Mapping[str, str]) -> None:
        before = self.find_namespace(namespace)
        if before is None:
            raise self._no_namespace(namespace)
        with catalog_errors_named(self.name):
            _change_database(self._spark, namespace[0], before, properties)

    def remove_namespace(self, namespace: Namespace) -> bool:
        """Raises NamespaceNotEmpty if the namespace contains views or functions."""
        with catalog_errors_named(self.name):
            try:
                self._spark.sql(f"DROP NAMESPACE {session_sql_name(namespace[0])} RESTRICT")
            except Exception as error:
                if is_missing(error):
                    return False
                if "NOT_EMPTY" in str(error) or "not empty" in str(error):
                    raise errors.NamespaceNotEmpty(
                        f"The namespace {shown_namespace(namespace)} of the catalog {self.name} is not empty: drop its "
                        f"views and functions first, with Spark."
                    ) from None
                raise
        return True

    # Entries of the session's catalog

    def _parts(self, ident: CatalogIdentifier) -> tuple[str, str] | None:
        """Database and name of a table; None for a namespace that no session has."""
        if len(ident.namespace) > 1:
            return None
        if ident.namespace:
            return ident.namespace[0], ident.name
        with catalog_errors_named(self.name):
            return str(self._spark.catalog.currentDatabase()), ident.name

    def _found(self, ident: CatalogIdentifier) -> NamedTable | None:
        """The table with this name; None if it does not exist, or is a view that stands for no table."""
        parts = self._parts(ident)
        if parts is None:
            return None
        with catalog_errors_named(self.name):
            found = named_table(self._spark, quoted_path(parts))
        return None if found is not None and found.kind == "VIEW" and not found.is_delta else found

    def _check_free(self, ident: CatalogIdentifier) -> None:
        if self._found(ident) is not None:
            raise self._taken(ident)

    def _is_converted(self, found: NamedTable, location: str) -> bool:
        """Whether a table that is registered as Parquet has been converted to Delta since."""
        return (found.provider or "").lower() == "parquet" and DeltaTable.exists(
            location, storage_options=self.storage_options
        )

    def _database(self, name: str) -> dict[str, str] | None:
        with catalog_errors_named(self.name):
            return _find_database(self._spark, name)

    def _rows(self, statement: str) -> Sequence[Any]:
        return list(self._spark.sql(statement).collect())

    def _add_pointer(self, parts: tuple[str, str], location: str) -> None:
        """Add a view that stands for the table. Spark SQL fails to read it, with an error that names deltaskip."""
        name = display_name(parts)
        why = f"{name} is a Delta table, and this server has no Delta: read {location} through deltaskip."
        pointer = " = ".join(own_literal(self._spark, each) for each in (POINTER, location))
        text = f"SELECT 1 AS delta WHERE raise_error({sql_string(why)}) IS NULL"
        text = f"CREATE VIEW {session_sql_name(*parts)} TBLPROPERTIES ({pointer}) AS {text}"
        own_sql(self._spark, text)

    def _move_to_namespace(self, entry: TableEntry, new: CatalogIdentifier, found: NamedTable) -> None:
        if found.kind == "MANAGED":
            raise errors.UnsupportedFeature(
                f"The table {entry.identifier} of the catalog {self.name} cannot be renamed to {new}, because Spark "
                f"manages its files and keeps them in the folder of the namespace: rename it within the namespace."
            )
        moved = TableEntry(new, entry.location, entry.managed)
        self.add_entry(moved)
        if not self.remove_entry(entry):
            self.remove_entry(moved)
            raise self._gone(entry.identifier)

    def _without_delta(self, ident: CatalogIdentifier, act: str, error: Exception) -> Exception:
        """The error, or UnsupportedFeature if a server without Delta refuses the statement."""
        if "DATA_SOURCE_NOT_FOUND" not in str(error):
            return error
        return errors.UnsupportedFeature(
            f"The table {ident} of the catalog {self.name} cannot be {act}, because another session has registered it "
            f"and this Spark Connect server has no Delta: use a classic session, or a server with Delta."
        )

    def _taken(self, ident: CatalogIdentifier) -> errors.TableAlreadyExists:
        return errors.TableAlreadyExists(f"The catalog {self.name} already has a table or view {ident}.")

    def _gone(self, ident: CatalogIdentifier) -> errors.TableNotFound:
        return no_table(self, ident)


def _location(uri: str) -> str:
    """The location for a URI of Java."""
    found = parse_location(uri)
    return found if is_local(found) else unquote(found)


# The JVM of a classic session returns properties unchanged. A Connect server returns them only as one text, without
# quotes around names and values.
def _database_names(spark: SparkSession) -> list[str]:
    """Return the names of all databases."""
    return [row[0] for row in spark.sql(f"SHOW NAMESPACES IN {SESSION_CATALOG}").collect()]


def _find_database(spark: SparkSession, name: str) -> dict[str, str] | None:
    """Return the properties of a database with its comment and location; None if it does not exist."""
    found = _by_java(spark, name) if is_classic(spark) else _described(spark, name)
    if found is None:
        return None
    return {key: value for key, value in found.items() if key != OWNER and (key != COMMENT or value)}


def _create_database(spark: SparkSession, name: str, properties: Mapping[str, str]) -> None:
    """Create a database. Raises Spark's error if it exists, and InvalidArgument for a property that cannot be set."""
    own = _settable(spark, properties)
    clauses = [f"CREATE NAMESPACE {session_sql_name(name)}"]
    if COMMENT in properties:
        clauses.append(f"COMMENT {own_literal(spark, properties[COMMENT])}")
    if LOCATION in properties:
        clauses.append(f"LOCATION {own_literal(spark, properties[LOCATION])}")
    if own:
        clauses.append(f"WITH DBPROPERTIES ({_pairs(spark, own)})")
    own_sql(spark, " ".join(clauses))


def _change_database(spark: SparkSession, name: str, before: Mapping[str, str], after: Mapping[str, str]) -> None:
    """Give a database the properties `after` in place of `before`."""
    own = _settable(spark, after)
    comment = after.get(COMMENT, "")
    if comment != before.get(COMMENT, ""):
        if is_classic(spark):
            state = java_state(spark).catalog()
            state.alterDatabase(copied(state.getDatabaseMetadata(name), 1, comment))
        else:
            own_sql(spark, f"COMMENT ON NAMESPACE {session_sql_name(name)} IS {own_literal(spark, comment)}")
        if (_find_database(spark, name) or {}).get(COMMENT, "") != comment:
            raise errors.UnsupportedFeature(
                f"The comment of the namespace {name} cannot be changed, because the Hive metastore of the session "
                f"keeps it as it was: nothing was changed."
            )
    if is_classic(spark):
        catalog = java_state(spark).catalog()
        java = java_view(spark).java
        members = java.util.HashMap()
        for key, value in own.items():
            members.put(key, value)
        database = catalog.getDatabaseMetadata(name)
        changed = copied(database, 3, java_view(spark).org.apache.spark.api.python.PythonUtils.toScalaMap(members))
        if after.get(LOCATION) not in (None, before.get(LOCATION)):
            changed = copied(changed, 2, java_view(spark).org.apache.hadoop.fs.Path(after[LOCATION]).toUri())
        catalog.alterDatabase(changed)
        return
    new = {key: value for key, value in own.items() if before.get(key) != value}
    gone = [key for key in before if key not in after and key not in (COMMENT, LOCATION)]
    if new:
        own_sql(spark, f"ALTER NAMESPACE {session_sql_name(name)} SET DBPROPERTIES ({_pairs(spark, new)})")
    if gone and spark.version.startswith("3."):
        raise errors.UnsupportedFeature(
            f"The property {gone[0]} of the namespace {name} cannot be removed, because Spark Connect {spark.version} "
            f"has no statement for it: set it to another value, or use a classic session."
        )
    if gone:
        names = ", ".join(own_literal(spark, each) for each in gone)
        own_sql(spark, f"ALTER NAMESPACE {session_sql_name(name)} UNSET DBPROPERTIES ({names})")
    if after.get(LOCATION) not in (None, before.get(LOCATION)):
        own_sql(spark, f"ALTER NAMESPACE {session_sql_name(name)} SET LOCATION {own_literal(spark, after[LOCATION])}")


def _settable(spark: SparkSession, properties: Mapping[str, str]) -> dict[str, str]:
    """The properties that need no separate clause. Raises for a property that the catalog cannot store."""
    if OWNER in properties:
        raise errors.InvalidArgument("The property owner of a namespace is kept by Spark and cannot be set.")
    own = {key: value for key, value in properties.items() if key not in (COMMENT, LOCATION)}
    if not is_classic(spark):
        for key, value in own.items():
            if "," in key or _NEXT in f"{key},{value}" or value.endswith(_LEGACY_END):
                raise errors.UnsupportedFeature(
                    f"The property {key!r} cannot be set: Spark Connect would return it without a clear end. Use "
                    f"a classic session, or a name without commas and a value without parentheses."
                )
    return own


def _pairs(spark: SparkSession, properties: Mapping[str, str]) -> str:
    return ", ".join(f"{own_literal(spark, key)} = {own_literal(spark, value)}" for key, value in properties.items())


def _by_java(spark: SparkSession, name: str) -> dict[str, str] | None:
    try:
        found = java_state(spark).catalog().getDatabaseMetadata(name)
    except Exception as error:  # some releases raise no AnalysisException for an invalid name
        if is_missing(error):
            return None
        raise
    members: dict[str, str] = {COMMENT: found.description() or "", LOCATION: found.locationUri().toString()}
    pairs: Any = found.properties().iterator()
    while pairs.hasNext():
        pair = pairs.next()
        members[pair._1()] = pair._2()
    return members


def _described(spark: SparkSession, name: str) -> dict[str, str] | None:
    try:
        rows = spark.sql(f"DESCRIBE NAMESPACE EXTENDED {session_sql_name(name)}").collect()
    except Exception as error:  # the classes of Connect's errors differ between releases
        if is_missing(error):
            return None
        raise
    facts = {row[0]: row[1] for row in rows}
    text = facts.get("Properties") or ""
    members = {COMMENT: facts.get("Comment") or "", LOCATION: facts["Location"]}
    if text.startswith("((") and text.endswith("))"):
        for pair in text[2:-2].split(_NEXT):
            key, _, value = pair.partition(",")
            members[key] = value
    return members
