"""The tables in a session's catalog: their locations, and the registration of new ones.

A stock session has no data source named delta, so its SQL can neither create nor read a table with that provider. Its
catalog still stores such tables. Classic sessions are called through the JVM, which does not look up the data source.
"""

from __future__ import annotations

import re
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from deltaskip.errors import SchemaError, TableAlreadyExists, UnsupportedFeature
from deltaskip.records import dataclass
from deltaskip.spark.session.jvm import Jvm
from deltaskip.spark.session.own_texts import own_literal, own_sql
from deltaskip.spark.session.session_settings import is_classic, java_state, java_view
from deltaskip.sparkexpr.text.sql_text import quoted_name, sql_tokens

DELTA_PROVIDER = "delta"

POINTER = "deltaskip.location"
"""Property of a view that stands for a Delta table in a Connect server without Delta: the URI of the table."""

SESSION_CATALOG = "spark_catalog"
_TAKEN = ("ALREADY_EXISTS", "already exists", "AlreadyExists")
_NOT_FOUND = ("TABLE_OR_VIEW_NOT_FOUND", "SCHEMA_NOT_FOUND", "NoSuchTable", "NoSuchDatabase", "cannot be found")


@dataclass(frozen=True, slots=True)
class NamedTable:
    """A table of a session's catalog.

    Attributes:
        name: The name with catalog and database, such as spark_catalog.default.events.
        provider: The data source, such as delta; None for a view.
        location: The folder as a URI; None for a view.
        kind: MANAGED, EXTERNAL or VIEW. A view with a provider stands for a table of this provider at the location.
    """

    name: str
    provider: str | None
    location: str | None
    kind: str = "EXTERNAL"

    @property
    def is_delta(self) -> bool:
        """Whether it is a Delta table."""
        return self.location is not None and (self.provider or "").lower() == DELTA_PROVIDER


def name_parts(spark: SparkSession, name: str) -> tuple[str, ...]:
    """Return the parts of a name as Spark parses it. Raises PySpark's ParseException, or SchemaError on Connect."""
    if not is_classic(spark):
        return _split(name)
    parsed = java_state(spark).sqlParser().parseMultipartIdentifier(name)
    return tuple(parsed.apply(i) for i in range(parsed.size()))


def named_table(spark: SparkSession, name: str) -> NamedTable | None:
    """Return the table with this name; None if there is none.

    Raises UnsupportedFeature for a name of another catalog, and if a Connect server does not show the table's location.
    """
    parts = _in_session_catalog(name_parts(spark, name))
    if not is_classic(spark):
        return _described(spark, parts)
    state = java_state(spark)
    try:
        found = state.catalog().getTableMetadata(table_identifier(state, parts))
    except AnalysisException as error:
        if is_missing(error):
            return None
        raise
    provider, location = found.provider(), found.storage().locationUri()
    name, kind = _full_name(found.identifier()), str(found.tableType().name())
    if kind == "VIEW":
        pointer = found.properties().get(POINTER)
        return _view(name, pointer.get() if pointer.isDefined() else None)
    return NamedTable(
        name,
        provider.get() if provider.isDefined() else None,
        found.location().toString() if location.isDefined() else None,
        kind,
    )


def default_location(spark: SparkSession, name: str) -> str:
    """Return the URI of the folder that Spark chooses for a table without a location. Classic sessions only.

    Raises UnsupportedFeature for Spark Connect.
    """
    parts = _in_session_catalog(name_parts(spark, name))
    if not is_classic(spark):
        raise UnsupportedFeature(
            f"Where the table {name} would be is not known to a client of Spark Connect: name its folder with "
            f"location()."
        )
    state = java_state(spark)
    return str(state.catalog().defaultTablePath(table_identifier(state, parts)).toString())


def register_table(spark: SparkSession, name: str, location: str, managed: bool) -> None:
    """Add a Delta table that exists to the session's catalog.

    The entry is the same as delta-spark's: provider delta and no columns, because the table's log has them. A session
    with Delta reads the table by this name. SQL of a session without Delta refuses it for lack of the data source.

    Args:
        spark: The session.
        name: Name of the table.
        location: URI of the table's folder, percent-encoded.
        managed: Whether DROP TABLE deletes the folder.

    Raises:
        TableAlreadyExists: The catalog has another table of this name.
        UnsupportedFeature: A Connect server cannot register the table.
    """
    parts = _in_session_catalog(name_parts(spark, name))
    if not is_classic(spark):
        _create_by_sql(spark, parts, location)
        return
    jvm, state = java_view(spark), java_state(spark)
    tables: Any = jvm.org.apache.spark.sql.catalyst.catalog
    storage = tables.CatalogStorageFormat.empty()
    stored = copied(storage, 0, jvm.scala.Option.apply(jvm.java.net.URI(location)))
    table = Jvm(spark).filled(
        tables.CatalogTable,
        table_identifier(state, parts),
        tables.CatalogTableType.MANAGED() if managed else tables.CatalogTableType.EXTERNAL(),
        stored,
        jvm.org.apache.spark.sql.types.StructType(),
        jvm.scala.Option.apply(DELTA_PROVIDER),
    )
    try:
        state.catalog().createTable(table, False, False)
    except AnalysisException as error:
        if not is_taken(error):
            raise
        raise TableAlreadyExists(f"The table {name} already exists in the catalog of the session.") from error


def is_missing(error: Exception) -> bool:
    """Whether Spark has refused a statement because a table, view or database does not exist."""
    return any(each in str(error) for each in _NOT_FOUND)


def is_taken(error: Exception) -> bool:
    """Whether Spark has refused a statement because a table, view or database exists already."""
    return any(each in str(error) for each in _TAKEN)


def session_sql_name(*parts: str) -> str:
    """Return the name of a table or database in the session's catalog as SQL."""
    return ".".join(map(quoted_name, (SESSION_CATALOG, *parts)))


def _in_session_catalog(parts: tuple[str, ...]) -> tuple[str, ...]:
    if len(parts) == 3 and parts[0].lower() == SESSION_CATALOG:
        return parts[1:]
    if len(parts) > 2:
        raise UnsupportedFeature(
            f"{'.'.join(parts)} is a name of the catalog {parts[0]}, which deltaskip does not know: use the location "
            f"of the table, with forPath or location()."
        )
    return parts


def table_identifier(state: Any, parts: tuple[str, ...]) -> Any:
    """Return the TableIdentifier of the JVM for a table."""
    return state.sqlParser().parseTableIdentifier(".".join(map(quoted_name, parts)))


def _full_name(identifier: Any) -> str:
    database = identifier.database()
    names = [database.get()] if database.isDefined() else []
    return ".".join([SESSION_CATALOG, *names, identifier.table()])


def _view(name: str, pointer: str | None) -> NamedTable:
    return NamedTable(name, None if pointer is None else DELTA_PROVIDER, pointer, "VIEW")


def _described(spark: SparkSession, parts: tuple[str, ...]) -> NamedTable | None:
    """The table as the server of a Connect session describes it."""
    name = ".".join(map(quoted_name, parts))
    try:
        rows = spark.sql(f"DESCRIBE TABLE EXTENDED {name}").collect()
    except Exception as error:  # the classes of Connect's errors differ between releases
        if is_missing(error):
            return None
        if "DATA_SOURCE_NOT_FOUND" not in str(error):
            raise
        found = _listed(spark, parts)
        if found is not None:
            return found
        raise UnsupportedFeature(
            f"The Spark Connect server does not show where the table {name} is, because it has no Delta: use the "
            f"location of the table, with forPath."
        ) from error
    facts = {row[0]: row[1] for row in rows}
    full = ".".join([SESSION_CATALOG, *(facts[key] for key in ("Database", "Table") if key in facts)])
    if facts.get("Type") == "VIEW":
        properties = {row[0]: row[1] for row in spark.sql(f"SHOW TBLPROPERTIES {name}").collect()}
        return _view(full, properties.get(POINTER))
    return NamedTable(full, facts.get("Provider"), facts.get("Location"), facts.get("Type", "EXTERNAL"))


def _listed(spark: SparkSession, parts: tuple[str, ...]) -> NamedTable | None:
    """The table as SHOW TABLE EXTENDED lists it, for a server without the data source; None if it is not listed."""
    if not all(re.fullmatch(r"\w+", part) for part in parts):
        return None
    place = f" IN {quoted_name(parts[0])}" if len(parts) > 1 else ""
    for row in spark.sql(f"SHOW TABLE EXTENDED{place} LIKE '{parts[-1]}'").collect():
        facts = dict(line.split(": ", 1) for line in row["information"].splitlines() if ": " in line)
        if "Provider" in facts and "Location" in facts:
            name = ".".join([SESSION_CATALOG, facts["Database"], facts["Table"]])
            return NamedTable(name, facts["Provider"], facts["Location"], facts.get("Type", "EXTERNAL"))
    return None


def _create_by_sql(spark: SparkSession, parts: tuple[str, ...], location: str) -> None:
    name = ".".join(map(quoted_name, parts))
    try:
        own_sql(spark, f"CREATE TABLE {name} USING {DELTA_PROVIDER} LOCATION {own_literal(spark, location)}")
    except Exception as error:  # the classes of Connect's errors differ between releases
        if is_taken(error):
            raise TableAlreadyExists(f"The table {name} already exists in the catalog of the session.") from error
        raise UnsupportedFeature(
            f"The table at {location} cannot be registered as {name}, because the Spark Connect server refuses it: "
            f"{str(error).strip().splitlines()[0]} Use its location with forPath."
        ) from error


def _split(name: str) -> tuple[str, ...]:
    tokens = sql_tokens(name)
    names, dots = tokens[::2], tokens[1::2]
    if len(tokens) % 2 == 0 or any(not dot.is_symbol(".") for dot in dots) or any(n.kind == "symbol" for n in names):
        raise SchemaError(f"{name!r} is not the name of a table; put odd names in backticks.")
    return tuple(token.text for token in names)


def _arity(value: Any, method: str) -> int:
    """The greatest number of parameters of a method. It differs between releases of Spark."""
    methods = value.getClass().getMethods()
    return max(len(each.getParameterTypes()) for each in methods if each.getName() == method)


def copied(value: Any, index: int, member: Any) -> Any:
    """Return a copy of an instance of a Scala case class, with one member replaced."""
    members = [getattr(value, f"copy$default${i}")() for i in range(1, _arity(value, "copy") + 1)]
    members[index] = member
    return value.copy(*members)
