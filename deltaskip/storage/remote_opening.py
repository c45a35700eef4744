"""The storage of a location that is not local; what it needs is imported only where a location is remote."""

import os
from collections.abc import Mapping
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path

import pyarrow as pa
import pyarrow.fs as pafs

from deltaskip.errors import DeltaSkipError, StorageError
from deltaskip.storage.interface import Storage
from deltaskip.storage.location import HADOOP_SCHEMES, scheme_of, split_authority
from deltaskip.storage.object_options import (
    RETRIES,
    check_options,
    divided,
    require_credentials,
    unknown_option,
)
from deltaskip.storage.remote import ArrowStorage, ObjectStorage
from deltaskip.storage.remote_errors import opening_error
from deltaskip.storage.secret_options import refuse_secrets, trimmed

__all__ = ["located", "remote_storage"]

_ARROW_SCHEMES = {"s3", "s3a", "gs", "gcs", "abfs", "abfss"}
_LIBHDFS_SCHEMES = {"hdfs", "viewfs"}
_OBJECT_SCHEMES = {"s3", "s3a", "gs", "az", "adl", "azure", "abfs", "abfss", "http", "https", "memory"}


def remote_storage(location: str, storage_options: Mapping[str, str] | None, near: Storage | None) -> Storage:
    """Return the storage of a location; the arguments are those of `storage_for`. Raises StorageError."""
    refuse_secrets(location)
    base, _ = split_authority(location)
    scheme = scheme_of(location) or ""
    storage_options = None if storage_options is None else trimmed(location, storage_options)
    if storage_options is None and isinstance(near, ObjectStorage) and scheme_of(near.base + "/") == scheme:
        storage_options = near.options
    if scheme in _OBJECT_SCHEMES and find_spec("obstore") is not None:
        return _object_storage(location, base, storage_options)
    if scheme not in _ARROW_SCHEMES | _OBJECT_SCHEMES:
        return _hadoop_storage(location, base, scheme, storage_options)
    if storage_options:
        raise StorageError(f"Opening {location} with storage_options needs obstore: pip install 'deltaskip[cloud]'.")
    if scheme in _ARROW_SCHEMES:
        return _arrow_storage(location, base, scheme)
    raise StorageError(f"Opening {location} needs obstore: pip install 'deltaskip[cloud]'.")


def located(storage: Storage, root: str) -> str:
    """Return the root location of a table as its storage has it: in Hadoop, with the authority of the configuration."""
    if isinstance(storage, ObjectStorage | ArrowStorage):
        return root
    # Only a location in Hadoop needs what reads it.
    from deltaskip.storage.hadoop import HadoopStorage

    return storage.located(root) if isinstance(storage, HadoopStorage) else root


def _hadoop_storage(location: str, base: str, scheme: str, options: Mapping[str, str] | None) -> Storage:
    from deltaskip.storage.hadoop import session_storage

    found = session_storage(location)
    if found is None and scheme not in HADOOP_SCHEMES:
        known = ", ".join(sorted({"file", *_ARROW_SCHEMES, *HADOOP_SCHEMES, *_OBJECT_SCHEMES}))
        raise StorageError(
            f"Unsupported scheme {scheme!r} of {location}: use a local path or one of {known}, or first start a Spark "
            f"session whose Hadoop configuration supports the scheme."
        )
    if options:
        raise StorageError(
            f"Opening {location} accepts no storage_options: set them in the Spark session as spark.hadoop.* settings."
        )
    if found is not None:
        return found
    cure = "start a Spark session first (classic, not Connect)"
    if scheme not in _LIBHDFS_SCHEMES:
        raise StorageError(f"Opening {location} goes through Spark: {cure}.")
    try:
        return _arrow_storage(location, base, scheme)
    except StorageError as error:
        raise StorageError(f"{str(error).rstrip('.')}; {cure}, or set up libhdfs for pyarrow.") from error


def _object_storage(location: str, base: str, options: Mapping[str, str] | None) -> Storage:
    from obstore.exceptions import BaseError, UnknownConfigurationKeyError
    from obstore.store import from_url

    check_options(location, options or {})
    config, client = divided(options or {})
    if config and scheme_of(location) in ("http", "https", "memory"):
        raise unknown_option(location, next(iter(config)))
    retries = {"max_retries": RETRIES["max_retries"], "retry_timeout": timedelta(seconds=RETRIES["retry_seconds"])}
    try:
        store = from_url(base, config=config or None, client_options=client or None, retry_config=retries)
    except UnknownConfigurationKeyError as error:
        raise unknown_option(location, _key_in(error, config)) from error
    except (BaseError, ValueError, TypeError, OSError, OverflowError) as error:
        raise opening_error(error, location, dict(options or {})) from error
    require_credentials(location, options or {})
    return ObjectStorage(store, base, options)


def _key_in(error: Exception, config: Mapping[str, str]) -> str:
    return next((key for key in config if f"'{key.lower()}'" in str(error).lower()), next(iter(config)))


def _arrow_storage(location: str, base: str, scheme: str) -> Storage:
    target = "s3" + base[len("s3a") :] if scheme == "s3a" else base
    try:
        if target.startswith("s3:"):
            if not target.removeprefix("s3://"):
                raise ValueError("no bucket")
            region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
            endpoint = os.environ.get("AWS_ENDPOINT_URL")
            _require_aws_credentials(location)
            files: pafs.FileSystem = pafs.S3FileSystem(
                region=region, endpoint_override=endpoint, connect_timeout=5, request_timeout=30
            )
            return ArrowStorage(files, target.partition("://")[2], base)
        require_credentials(location, {})
        files, prefix = pafs.FileSystem.from_uri(target + "/")
    except (OSError, pa.ArrowException, ValueError) as error:
        if isinstance(error, DeltaSkipError):
            raise
        raise opening_error(error, location, {}) from error
    return ArrowStorage(files, prefix, base)


def _require_aws_credentials(location: str) -> None:
    """Raise StorageError where the AWS library of pyarrow would find none; unlike obstore, it reads profiles."""
    profiles = {"AWS_SHARED_CREDENTIALS_FILE": "~/.aws/credentials", "AWS_CONFIG_FILE": "~/.aws/config"}
    if not any(Path(os.environ.get(name, usual)).expanduser().is_file() for name, usual in profiles.items()):
        require_credentials(location, {})
