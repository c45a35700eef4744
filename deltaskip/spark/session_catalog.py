"""Tables that a session knows by name: where they are, and how new ones are registered.

A stock session has no data source named delta, so its SQL can neither create nor read a table of that provider. Its
catalog keeps them nevertheless: classic sessions are asked through the JVM, where no data source is looked up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from deltaskip.errors import SchemaError, TableExists, UnsupportedFeature
from deltaskip.schema.sql_text import quoted_name, sql_tokens

__all__ = ["NamedTable", "default_location", "name_parts", "named_table", "register_table"]

PROVIDER = "delta"

_SESSION_CATALOG = "spark_catalog"
_NOT_FOUND = ("TABLE_OR_VIEW_NOT_FOUND", "SCHEMA_NOT_FOUND", "NoSuchTable", "NoSuchDatabase", "cannot be found")


@dataclass(frozen=True, slots=True)
class NamedTable:
    """A table of a session's catalog.

    Attributes:
        name: The name with catalog and database, such as spark_catalog.default.events.
        provider: The data source, such as delta; None for a view.
        location: The folder as a URI; None for a view.
    """

    name: str
    provider: str | None
    location: str | None

    @property
    def is_delta(self) -> bool:
        """Whether it is a Delta table."""
        return self.location is not None and (self.provider or "").lower() == PROVIDER


def name_parts(spark: SparkSession, name: str) -> tuple[str, ...]:
    """Return the parts of a name as Spark parses it. Raises PySpark's ParseException, SchemaError for Connect."""
    if not _is_classic(spark):
        return _split(name)
    parsed = _state(spark).sqlParser().parseMultipartIdentifier(name)
    return tuple(parsed.apply(i) for i in range(parsed.size()))


def named_table(spark: SparkSession, name: str) -> NamedTable | None:
    """Return the table with this name; None if the session knows none.

    Raises UnsupportedFeature for a name of another catalog, and if a Connect server does not show where the table is.
    """
    parts = _in_session_catalog(name_parts(spark, name))
    if not _is_classic(spark):
        return _described(spark, parts)
    state = _state(spark)
    try:
        found = state.catalog().getTableMetadata(_identifier(state, parts))
    except AnalysisException as error:
        if any(each in str(error) for each in _NOT_FOUND):
            return None
        raise
    provider, location = found.provider(), found.storage().locationUri()
    return NamedTable(
        _full_name(found.identifier()),
        provider.get() if provider.isDefined() else None,
        found.location().toString() if location.isDefined() else None,
    )


def default_location(spark: SparkSession, name: str) -> str:
    """Return the URI of the folder that Spark chooses for a table without a location. Classic sessions only.

    Raises UnsupportedFeature for Spark Connect.
    """
    parts = _in_session_catalog(name_parts(spark, name))
    if not _is_classic(spark):
        raise UnsupportedFeature(
            f"Where the table {name} would be is not known to a client of Spark Connect: name its folder with "
            f"location()."
        )
    state = _state(spark)
    return str(state.catalog().defaultTablePath(_identifier(state, parts)).toString())


def register_table(spark: SparkSession, name: str, location: str, managed: bool) -> None:
    """Add a Delta table that exists to the session's catalog.

    Its entry is what delta-spark registers: provider delta, and no columns, which are in the table's log. A session
    with Delta reads the table by this name. SQL of one without refuses it, because it has no such data source.

    Args:
        spark: The session.
        name: Name of the table.
        location: URI of its folder, percent-encoded.
        managed: Whether DROP TABLE deletes the folder.

    Raises:
        TableExists: The catalog has another table of this name.
        UnsupportedFeature: A Connect server cannot register the table.
    """
    parts = _in_session_catalog(name_parts(spark, name))
    if not _is_classic(spark):
        _create_by_sql(spark, parts, location)
        return
    jvm, state = spark._jvm, _state(spark)
    tables: Any = jvm.org.apache.spark.sql.catalyst.catalog
    storage = _companion(tables, "CatalogStorageFormat").empty()
    stored = _copied(storage, 0, jvm.scala.Option.apply(jvm.java.net.URI(location)))
    kinds = _companion(tables, "CatalogTableType")
    made = _companion(tables, "CatalogTable")
    given = [
        _identifier(state, parts),
        kinds.MANAGED() if managed else kinds.EXTERNAL(),
        stored,
        jvm.org.apache.spark.sql.types.StructType(),
        jvm.scala.Option.apply(PROVIDER),
    ]
    rest = range(len(given) + 1, _arity(made, "apply") + 1)
    table = made.apply(*given, *(getattr(made, f"apply$default${i}")() for i in rest))
    try:
        state.catalog().createTable(table, False, False)
    except AnalysisException as error:
        if "ALREADY_EXISTS" not in str(error) and "already exists" not in str(error):
            raise
        raise TableExists(f"The table {name} already exists in the catalog of the session.") from error


def _in_session_catalog(parts: tuple[str, ...]) -> tuple[str, ...]:
    if len(parts) == 3 and parts[0].lower() == _SESSION_CATALOG:
        return parts[1:]
    if len(parts) > 2:
        raise UnsupportedFeature(
            f"{'.'.join(parts)} is a name of the catalog {parts[0]}, which deltaskip does not know: use the location "
            f"of the table, with forPath or location()."
        )
    return parts


def _identifier(state: Any, parts: tuple[str, ...]) -> Any:
    return state.sqlParser().parseTableIdentifier(".".join(map(quoted_name, parts)))


def _full_name(identifier: Any) -> str:
    database = identifier.database()
    names = [database.get()] if database.isDefined() else []
    return ".".join([_SESSION_CATALOG, *names, identifier.table()])


def _described(spark: SparkSession, parts: tuple[str, ...]) -> NamedTable | None:
    """The table as the server of a Connect session describes it."""
    name = ".".join(map(quoted_name, parts))
    try:
        rows = spark.sql(f"DESCRIBE TABLE EXTENDED {name}").collect()
    except Exception as error:  # the classes of Connect's errors differ between releases
        if any(each in str(error) for each in _NOT_FOUND):
            return None
        if "DATA_SOURCE_NOT_FOUND" not in str(error):
            raise
        raise UnsupportedFeature(
            f"The Spark Connect server does not show where the table {name} is, because it has no Delta: use the "
            f"location of the table, with forPath."
        ) from error
    facts = {row[0]: row[1] for row in rows}
    full = ".".join([_SESSION_CATALOG, *(facts[key] for key in ("Database", "Table") if key in facts)])
    return NamedTable(full, facts.get("Provider"), facts.get("Location"))


def _create_by_sql(spark: SparkSession, parts: tuple[str, ...], location: str) -> None:
    name = ".".join(map(quoted_name, parts))
    text = location.replace("\\", "\\\\").replace("'", "\\'")
    try:
        spark.sql(f"CREATE TABLE {name} USING {PROVIDER} LOCATION '{text}'")
    except Exception as error:  # the classes of Connect's errors differ between releases
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


def _is_classic(spark: object) -> bool:
    return isinstance(spark, SparkSession) and getattr(spark, "_jsparkSession", None) is not None


def _state(spark: SparkSession) -> Any:
    return spark._jsparkSession.sessionState()


def _companion(package: Any, name: str) -> Any:
    return getattr(getattr(package, f"{name}$"), "MODULE$")


def _arity(value: Any, method: str) -> int:
    """The greatest number of parameters of a method, which differs between releases of Spark."""
    methods = value.getClass().getMethods()
    return max(len(each.getParameterTypes()) for each in methods if each.getName() == method)


def _copied(value: Any, index: int, member: Any) -> Any:
    """A copy of an object of a Scala case class with another member."""
    members = [getattr(value, f"copy$default${i}")() for i in range(1, _arity(value, "copy") + 1)]
    members[index] = member
    return value.copy(*members)
