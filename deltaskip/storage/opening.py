"""The storage of a location."""

import os
from collections.abc import Mapping

from deltaskip.storage.catalog_storage import storage_below
from deltaskip.storage.interface import Storage
from deltaskip.storage.local import LocalStorage
from deltaskip.storage.location import is_local, parse_location, split_authority


def open_storage(
    table: str | os.PathLike[str], storage_options: Mapping[str, str] | None = None
) -> tuple[Storage, str]:
    """Return the storage of a table, and the table's root location in it. Nothing is read.

    Args:
        table: A path, a `file:` URI, or a remote URI (`s3://`, `gs://`, `abfss://`, `hdfs://` …).
        storage_options: Options of the object store, named as in obstore (`aws_region`, `azure_storage_account_key`).
            `hdfs://` and unknown schemes are read through the running Spark session and its Hadoop configuration, and
            accept no options.

    Raises:
        StorageError: The scheme is not supported, or the options are wrong.
    """
    root = parse_location(table)
    storage = storage_for(root, storage_options)
    if isinstance(storage, LocalStorage):
        return storage, root
    # A local table does not need this import.
    from deltaskip.storage.remote_opening import located

    return storage, located(storage, root)


def storage_for(
    location: str, storage_options: Mapping[str, str] | None = None, near: Storage | None = None
) -> Storage:
    """Return the storage of a location: `near`, whose connections are reused, if it contains the location."""
    near = None if near is None else storage_below(near)
    if is_local(location):
        return near if isinstance(near, LocalStorage) else LocalStorage()
    base, _ = split_authority(location)
    if near is not None and near.base == base:
        return near
    from deltaskip.storage.remote_opening import remote_storage

    return remote_storage(location, storage_options, near)
