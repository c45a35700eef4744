"""URI schemes of object stores as Hadoop knows them: `s3://bucket` is read as `s3a://bucket`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from pyspark.sql import SparkSession

from deltaskip.errors import StorageError
from deltaskip.spark.read.file_paths import spark_path

_S3 = "s3a"
_ALIASES = {"s3": _S3, "s3n": _S3, "gcs": "gs"}
_AZURE = frozenset(("az", "azure", "adl", "abfs", "abfss"))
_AZURE_HOST = "dfs.core.windows.net"
_ACCOUNT_OPTIONS = ("azure_storage_account_name", "account_name")
_ACCOUNT_VARIABLE = "AZURE_STORAGE_ACCOUNT_NAME"


def spark_paths(spark: SparkSession, uris: Iterable[str], options: Mapping[str, str] | None) -> list[str]:
    """The paths of files in Spark's Hadoop, as `spark_path` makes them, by their absolute URIs.

    An alias of a scheme is replaced only where the session's Hadoop has no file system of this name. options: storage
    options of the table. Raises StorageError for an Azure container without its account.
    """
    found: dict[str, str] = {}
    renamed = []
    for uri in uris:
        base, path = _split(uri)
        if base not in found:
            found[base] = _hadoop_base(spark, base, options)
        renamed.append(spark_path(found[base] + path))
    return renamed


def _split(uri: str) -> tuple[str, str]:
    """`scheme://authority` and the rest; an empty base for local files."""
    scheme, separator, rest = uri.partition("://")
    if not separator or scheme.lower() == "file":
        return "", uri
    authority, slash, path = rest.partition("/")
    return f"{scheme}://{authority}", slash + path


def _hadoop_base(spark: SparkSession, base: str, options: Mapping[str, str] | None) -> str:
    scheme, _, authority = base.partition("://")
    scheme = scheme.lower()
    if scheme in _ALIASES:
        return base if _is_configured(spark, scheme) else f"{_ALIASES[scheme]}://{authority}"
    if scheme not in _AZURE or "@" in authority or (_is_configured(spark, scheme) and scheme not in ("abfs", "abfss")):
        return base
    account = _account(options)
    if account is None:
        raise StorageError(
            f"Spark needs the storage account of {base}: open the table as abfss://{authority}@ACCOUNT.{_AZURE_HOST}/… "
            f"or with storage_options={{'{_ACCOUNT_OPTIONS[0]}': ACCOUNT}}."
        )
    return f"abfss://{authority}@{account}.{_AZURE_HOST}"


def _account(options: Mapping[str, str] | None) -> str | None:
    lowered = {key.lower(): value for key, value in (options or {}).items()}
    named = (lowered.get(key) for key in _ACCOUNT_OPTIONS)
    return next(filter(None, named), None) or os.environ.get(_ACCOUNT_VARIABLE)


def _is_configured(spark: Any, scheme: str) -> bool:
    """Whether the session's Hadoop has a file system of this scheme, by its settings or among its jars."""
    setting = f"fs.{scheme}.impl"
    if spark.conf.get(f"spark.hadoop.{setting}", None) or spark.conf.get(setting, None):
        return True
    if getattr(spark, "_jvm", None) is None:
        return False
    configuration = spark._jsparkSession.sessionState().newHadoopConf()
    if configuration.get(setting) is not None:
        return True
    try:
        spark._jvm.org.apache.hadoop.fs.FileSystem.getFileSystemClass(scheme, configuration)
    except Exception as error:  # Hadoop raises when there is none; py4j and pyspark wrap that differently
        if type(error).__module__.partition(".")[0] not in ("py4j", "pyspark"):
            raise
        return False
    return True
