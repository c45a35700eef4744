"""File access: local files, pyarrow.fs, object stores through obstore, and Hadoop through Spark."""

from deltaskip.storage.hadoop import HadoopStorage
from deltaskip.storage.interface import FileInfo, NotAFile, Storage
from deltaskip.storage.local import LocalStorage
from deltaskip.storage.location import is_local, join, parent, parse_location, scheme_of, uri_of
from deltaskip.storage.opening import HADOOP_SCHEMES, open_storage, storage_for
from deltaskip.storage.remote import ArrowStorage, ObjectStorage

__all__ = [
    "HADOOP_SCHEMES",
    "ArrowStorage",
    "FileInfo",
    "HadoopStorage",
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
    "storage_for",
    "uri_of",
]
