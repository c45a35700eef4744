"""Paths of data files in the two forms that Spark uses for one file.

Hadoop's `Path(String)` does not decode, so paths are passed in decoded. `_metadata.file_path` is `Path.toUri`: encoded,
but not as in RFC 3986.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

from pyspark.sql import SparkSession

from deltaskip.actions.paths import is_local_path, spark_path
from deltaskip.errors import StorageError, UnsupportedFeature
from deltaskip.lazy_regex import regex
from deltaskip.spark.session.session_settings import java_state, java_view

_AUTHORITY = regex(r"[A-Za-z][A-Za-z0-9+.\-]*:(?://[^/]*)?")
# java.net.URI: unreserved, "@", ":", "&", "=", "+", "$", ",", ";" and "/" are not escaped in a path.
_PLAIN = regex(r"[A-Za-z0-9_\-!.~'()*:@&=+$,;/]*")
_GLOB = regex(r"[{}\[\]*?\\]")
_SPACES = frozenset(("Zs", "Zl", "Zp"))
_S3 = "s3a"
_ALIASES = {"s3": _S3, "s3n": _S3, "gcs": "gs"}
_AZURE = frozenset(("az", "azure", "adl", "abfs", "abfss"))
_AZURE_HOST = "dfs.core.windows.net"
_ACCOUNT_OPTIONS = ("azure_storage_account_name", "account_name")
_ACCOUNT_VARIABLE = "AZURE_STORAGE_ACCOUNT_NAME"


def metadata_path(path: str) -> str:
    """The `_metadata.file_path` of a file that was read as `path` (java.net.URI's quoting of a decoded path)."""
    authority = _AUTHORITY.match(path)
    start = authority.end() if authority is not None else 0
    if _PLAIN.fullmatch(path, start):
        return path
    return path[:start] + "".join(map(_quoted, path[start:]))


def needs_own_scan(path: str) -> bool:
    """Whether the file can be read only by a separate scan, unescaped and with __globPaths__=false.

    Hadoop's globbing parses a path segment with a colon as a URI. Without globbing, Spark
    (4.1, DataSource.checkAndGlobPathIfNecessary) replaces every path that looks like a pattern by *all* paths of the
    scan, which duplicates rows unless it is the only path.
    """
    authority = _AUTHORITY.match(path)
    return ":" in path[authority.end() if authority is not None else 0 :] and _GLOB.search(path) is not None


def is_hidden(path: str) -> bool:
    """Whether Spark skips the file although its path is given (HadoopFSUtils.shouldFilterOutPathName)."""
    name = path.rpartition("/")[2]
    if name.startswith(("_common_metadata", "_metadata")):
        return False
    return name.startswith(".") or name.endswith("._COPYING_") or (name.startswith("_") and "=" not in name)


def check_not_hidden(paths: Iterable[str], table_root: str) -> None:
    """Raise UnsupportedFeature for the first of these paths that Spark skips."""
    hidden = next(filter(is_hidden, paths), None)
    if hidden is not None:
        raise UnsupportedFeature(
            f"Spark skips the data file {hidden} of {table_root} because its name marks it as hidden; rewrite it under "
            f"another name."
        )


def _quoted(character: str) -> str:
    if character < "\x80":
        plain = _PLAIN.fullmatch(character) is not None
    else:
        plain = character > "\x9f" and unicodedata.category(character) not in _SPACES
    return character if plain else "".join(f"%{octet:02X}" for octet in character.encode())


def spark_paths(spark: SparkSession, uris: Iterable[str], options: Mapping[str, str] | None) -> list[str]:
    """The paths of files in Spark's Hadoop by their absolute URIs; see `in_hadoop`."""
    return list(map(in_hadoop(spark, options), map(spark_path, uris)))


def in_hadoop(spark: SparkSession, options: Mapping[str, str] | None) -> Callable[[str], str]:
    """Return a function from a spark_path to the path of the same file in the session's Hadoop.

    An alias of a scheme is replaced only where the session's Hadoop has no file system of this name. The function
    raises StorageError for an Azure container without its account. options: storage options of the table.
    """
    base_of = cache(lambda base: _hadoop_base(spark, base, options))

    def renamed(path: str) -> str:
        base, rest = _split(path)
        return base_of(base) + rest

    return renamed


def _split(path: str) -> tuple[str, str]:
    """`scheme://authority` and the rest; an empty base for local files."""
    scheme, separator, rest = path.partition("://")
    if not separator or is_local_path(path):
        return "", path
    authority, slash, below = rest.partition("/")
    return f"{scheme}://{authority}", slash + below


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
    configuration = java_state(spark).newHadoopConf()
    if configuration.get(setting) is not None:
        return True
    try:
        java_view(spark).org.apache.hadoop.fs.FileSystem.getFileSystemClass(scheme, configuration)
    except Exception as error:  # Hadoop raises when there is none; py4j and pyspark wrap that differently
        if type(error).__module__.partition(".")[0] not in ("py4j", "pyspark"):
            raise
        return False
    return True
