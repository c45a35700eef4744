"""Locations of tables for delta-spark's methods: paths, names of the session's catalog, and Hadoop settings."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import SparkSession

from deltaskip.errors import InvalidArgument, InvalidArgumentType, TableNotFound
from deltaskip.spark.catalog.session_tables import DELTA_PROVIDER, name_parts, named_table
from deltaskip.storage import scheme_of
from deltaskip.table.table import DeltaTable

_PREFIXES = ("fs.", "dfs.")
_ACCOUNT_KEY = "fs.azure.account.key."
# Settings of Hadoop's S3 file system that obstore also has.
_OPTIONS = {
    "fs.s3a.access.key": "aws_access_key_id",
    "fs.s3a.secret.key": "aws_secret_access_key",
    "fs.s3a.session.token": "aws_session_token",
    "fs.s3a.endpoint": "aws_endpoint",
    "fs.s3a.endpoint.region": "aws_region",
}
_SCHEMES = {"s3": ("s3", "s3a", "s3n"), "azure": ("abfs", "abfss", "az", "azure")}


def opened(path: str, hadoop_conf: object = None) -> DeltaTable:
    """Return the table at a path. Raises TableNotFound if it does not exist."""
    options = storage_options(path, {} if hadoop_conf is None else hadoop_conf)
    try:
        return DeltaTable(path, storage_options=options or None)
    except TableNotFound as error:
        raise TableNotFound(f"`{path}` is not a Delta table: {error}") from error


def opened_by_name(spark: SparkSession, name: str) -> tuple[DeltaTable, str | None]:
    """Return the table that a session knows by a name, with its full name; None for ``delta.`/path` ``.

    Raises TableNotFound if the session does not know the table, or it is a view or a table of another format.
    """
    path = path_in_name(spark, name)
    if path is not None:
        return opened(path), None
    known = named_table(spark, name)
    if known is None:
        raise TableNotFound(
            f"`{name}` is not a Delta table: the session's catalog has no such table. Use forPath with its location, "
            f"or register it with DeltaTable.create(spark).tableName(…).location(…).execute()."
        )
    # Tables that convertToDelta has converted are still registered as Parquet tables.
    if known.location is None or not (known.is_delta or (known.provider or "").lower() == "parquet"):
        kind = "a view" if known.location is None else f"a table of the format {known.provider}"
        raise TableNotFound(f"`{name}` is not a Delta table, but {kind}.")
    try:
        return DeltaTable(known.location), known.name
    except TableNotFound as error:
        raise TableNotFound(f"`{name}` is not a Delta table: there is no Delta log at {known.location}.") from error


def path_in_name(spark: SparkSession, name: str) -> str | None:
    """Return the path of a name such as ``delta.`/data/events` ``; None for another name."""
    parts = name_parts(spark, name)
    return parts[1] if len(parts) == 2 and parts[0].lower() == DELTA_PROVIDER and "/" in parts[1] else None


def storage_options(path: str, hadoop_conf: object) -> dict[str, str]:
    """Return the storage options for settings of Hadoop: credentials and endpoints of the path's object store.

    Raises:
        InvalidArgument: A setting does not begin with "fs." or "dfs.".
        InvalidArgumentType: `hadoop_conf` is not a dict of str.
    """
    if not isinstance(hadoop_conf, Mapping):
        raise InvalidArgumentType.of("hadoopConf", "a dict of str", hadoop_conf)
    found: dict[str, str] = {}
    scheme = scheme_of(path)
    for key, value in hadoop_conf.items():
        if not isinstance(key, str) or not isinstance(value, str):
            raise InvalidArgumentType("hadoopConf must have names and values of str.")
        if not key.startswith(_PREFIXES):
            raise InvalidArgument(f"hadoopConf accepts only settings that begin with fs. or dfs., not {key!r}.")
        if scheme in _SCHEMES["s3"] and key in _OPTIONS:
            found[_OPTIONS[key]] = value
        elif scheme in _SCHEMES["azure"] and key.startswith(_ACCOUNT_KEY):
            found["azure_storage_account_name"] = key.removeprefix(_ACCOUNT_KEY).partition(".")[0]
            found["azure_storage_account_key"] = value
    return found
