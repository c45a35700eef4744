"""File access: local files, pyarrow.fs, object stores through obstore, and Hadoop through Spark."""

from deltaskip.storage.catalog_storage import CatalogLog, CatalogStorage, storage_below
from deltaskip.storage.interface import FileInfo, NotAFile, Storage
from deltaskip.storage.local import LocalStorage
from deltaskip.storage.location import is_local, join, parent, parse_location, scheme_of, split_authority, uri_of
from deltaskip.storage.opening import HADOOP_SCHEMES, open_storage, storage_for
from deltaskip.storage.remote import ArrowStorage, ObjectStorage

__all__ = [
    "HADOOP_SCHEMES",
    "ArrowStorage",
    "CatalogLog",
    "CatalogStorage",
    "FileInfo",
    "LocalStorage",
    "NotAFile",
    "ObjectStorage",
    "Storage",
    "is_local",
    "join",
    "open_storage",
    "parent",
    "parse_location",
    "scheme_of",
    "split_authority",
    "storage_below",
    "storage_for",
    "uri_of",
]
