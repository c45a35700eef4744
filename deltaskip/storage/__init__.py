"""File access: local files, pyarrow.fs, object stores through obstore, and Hadoop through Spark.

The storages that are not local are in `storage.remote`, which this package does not import until a location is remote.
"""

from deltaskip.storage.catalog_storage import CatalogLog, CatalogStorage, storage_below
from deltaskip.storage.interface import FileInfo, NotAFile, Storage
from deltaskip.storage.local import LocalStorage
from deltaskip.storage.location import (
    HADOOP_SCHEMES,
    LOG_FOLDER,
    address_of,
    is_local,
    join,
    parent,
    parse_location,
    scheme_of,
    split_authority,
    uri_of,
)
from deltaskip.storage.opening import open_storage, storage_for

__all__ = [
    "HADOOP_SCHEMES", "LOG_FOLDER", "CatalogLog", "CatalogStorage", "FileInfo", "LocalStorage", "NotAFile", "Storage",
    "address_of", "is_local", "join", "open_storage", "parent", "parse_location", "scheme_of", "split_authority",
    "storage_below", "storage_for", "uri_of",
]  # fmt: skip
