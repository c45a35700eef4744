"""The databases of a session's catalog, which are the namespaces of the catalog: their names and properties.

A classic session is asked through the JVM, which gives properties as they are. A Connect server shows them only as text
in which names and values are not quoted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import SparkSession

from deltaskip.errors import InvalidArgument, UnsupportedFeature
from deltaskip.spark.catalog.session_tables import (
    SESSION_CATALOG,
    copied,
    is_classic,
    is_missing,
    java_state,
    sql_name,
    sql_text,
)

__all__ = ["COMMENT", "LOCATION", "OWNER", "change_database", "create_database", "database_names", "find_database"]

COMMENT, LOCATION, OWNER = "comment", "location", "owner"
_LEGACY_END, _NEXT = "))", "), ("


def database_names(spark: SparkSession) -> list[str]:
    """Return the names of all databases."""
    return [row[0] for row in spark.sql(f"SHOW NAMESPACES IN {SESSION_CATALOG}").collect()]


def find_database(spark: SparkSession, name: str) -> dict[str, str] | None:
    """Return the properties of a database with its comment and location; None if it does not exist."""
    found = _by_java(spark, name) if is_classic(spark) else _described(spark, name)
    if found is None:
        return None
    return {key: value for key, value in found.items() if key != OWNER and (key != COMMENT or value)}


def create_database(spark: SparkSession, name: str, properties: Mapping[str, str]) -> None:
    """Create a database. Raises Spark's error if it exists, and InvalidArgument for a property that cannot be set."""
    own = _settable(spark, properties)
    clauses = [f"CREATE NAMESPACE {sql_name(name)}"]
    if COMMENT in properties:
        clauses.append(f"COMMENT {sql_text(properties[COMMENT])}")
    if LOCATION in properties:
        clauses.append(f"LOCATION {sql_text(properties[LOCATION])}")
    if own:
        clauses.append(f"WITH DBPROPERTIES ({_pairs(own)})")
    spark.sql(" ".join(clauses))


def change_database(spark: SparkSession, name: str, before: Mapping[str, str], after: Mapping[str, str]) -> None:
    """Give a database the properties `after` in place of `before`."""
    own = _settable(spark, after)
    comment = after.get(COMMENT, "")
    if comment != before.get(COMMENT, ""):
        if is_classic(spark):
            state = java_state(spark).catalog()
            state.alterDatabase(copied(state.getDatabaseMetadata(name), 1, comment))
        else:
            spark.sql(f"COMMENT ON NAMESPACE {sql_name(name)} IS {sql_text(comment)}")
        if (find_database(spark, name) or {}).get(COMMENT, "") != comment:
            raise UnsupportedFeature(
                f"The comment of the namespace {name} cannot be changed, because the Hive metastore of the session "
                f"keeps it as it was: nothing was changed."
            )
    if is_classic(spark):
        catalog = java_state(spark).catalog()
        java = spark._jvm.java
        members = java.util.HashMap()
        for key, value in own.items():
            members.put(key, value)
        database = catalog.getDatabaseMetadata(name)
        changed = copied(database, 3, spark._jvm.org.apache.spark.api.python.PythonUtils.toScalaMap(members))
        if after.get(LOCATION) not in (None, before.get(LOCATION)):
            changed = copied(changed, 2, spark._jvm.org.apache.hadoop.fs.Path(after[LOCATION]).toUri())
        catalog.alterDatabase(changed)
        return
    new = {key: value for key, value in own.items() if before.get(key) != value}
    gone = [key for key in before if key not in after and key not in (COMMENT, LOCATION)]
    if new:
        spark.sql(f"ALTER NAMESPACE {sql_name(name)} SET DBPROPERTIES ({_pairs(new)})")
    if gone and spark.version.startswith("3."):
        raise UnsupportedFeature(
            f"The property {gone[0]} of the namespace {name} cannot be removed, because Spark Connect {spark.version} "
            f"has no statement for it: set it to another value, or use a classic session."
        )
    if gone:
        spark.sql(f"ALTER NAMESPACE {sql_name(name)} UNSET DBPROPERTIES ({', '.join(map(sql_text, gone))})")
    if after.get(LOCATION) not in (None, before.get(LOCATION)):
        spark.sql(f"ALTER NAMESPACE {sql_name(name)} SET LOCATION {sql_text(after[LOCATION])}")


def _settable(spark: SparkSession, properties: Mapping[str, str]) -> dict[str, str]:
    """The properties that are no clause of their own."""
    if OWNER in properties:
        raise InvalidArgument("The property owner of a namespace is kept by Spark and cannot be set.")
    own = {key: value for key, value in properties.items() if key not in (COMMENT, LOCATION)}
    if not is_classic(spark):
        for key, value in own.items():
            if "," in key or _NEXT in f"{key},{value}" or value.endswith(_LEGACY_END):
                raise UnsupportedFeature(
                    f"The property {key!r} cannot be set, because Spark Connect would not show where its name and "
                    f"value end: use a classic session, or no commas in the name and no parentheses in the value."
                )
    return own


def _pairs(properties: Mapping[str, str]) -> str:
    return ", ".join(f"{sql_text(key)} = {sql_text(value)}" for key, value in properties.items())


def _by_java(spark: SparkSession, name: str) -> dict[str, str] | None:
    try:
        found = java_state(spark).catalog().getDatabaseMetadata(name)
    except Exception as error:  # a name that is not valid is no AnalysisException in every release
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
        rows = spark.sql(f"DESCRIBE NAMESPACE EXTENDED {sql_name(name)}").collect()
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
