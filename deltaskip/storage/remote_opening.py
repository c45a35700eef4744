"""The storage of a remote location; its libraries are imported only if a location is remote."""

from collections.abc import Mapping
from datetime import timedelta
from importlib.util import find_spec

import pyarrow as pa
import pyarrow.fs as pafs

from deltaskip.errors import DeltaSkipError, StorageError
from deltaskip.extras import install_command
from deltaskip.redaction import is_secret_name, keep_secret, redacted, secret_in_url
from deltaskip.storage.interface import Storage
from deltaskip.storage.location import HADOOP_SCHEMES, scheme_of, split_authority
from deltaskip.storage.object_options import RETRIES, check_options, divided, require_credentials, unknown_option
from deltaskip.storage.remote import ArrowStorage, ObjectStorage
from deltaskip.storage.remote_errors import opening_error

_LIBHDFS_SCHEMES = {"hdfs", "viewfs"}
# Schemes of other libraries, and deltaskip's scheme for the same store.
_WRITTEN = {
    "gcs": "gs://BUCKET/PATH",
    "s3n": "s3://BUCKET/PATH",
    "wasb": "abfs://CONTAINER@ACCOUNT.dfs.core.windows.net/PATH",
    "wasbs": "abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/PATH",
}
_OBJECT_SCHEMES = {"s3", "s3a", "gs", "az", "adl", "azure", "abfs", "abfss", "http", "https", "memory"}


def refuse_secrets(location: str) -> None:
    """Raise StorageError for a URI with a password or signature in it, which messages and the log would show."""
    found = secret_in_url(location)
    if found is None:
        return
    keep_secret(split_authority(location)[0].partition("://")[2].rpartition("@")[0].partition(":")[2])
    raise StorageError(
        f"Cannot open {redacted(location)}: the URI contains {found}, which the log and messages would show; pass "
        f"credentials in storage_options."
    )


def without_space_around_secrets(location: str, options: Mapping[str, str]) -> Mapping[str, str]:
    """Return the options without white space around secrets, because files of tokens usually end with a newline.

    Messages do not show the secrets from now on. Raises StorageError for a secret with a control character.
    """
    found = dict(options)
    for name, value in options.items():
        if not is_secret_name(name):
            continue
        text = found[name] = value.strip()
        keep_secret(text)
        # The JSON text of a service account has line ends.
        if not text.isprintable() and not text.startswith("{"):
            raise StorageError(
                f"Cannot open {location}: the value of the storage option {name!r} contains a line end or another "
                f"control character; correct it. It is not shown here."
            )
    return found


def remote_storage(location: str, storage_options: Mapping[str, str] | None, near: Storage | None) -> Storage:
    """Return the storage of a location; arguments as for `storage_for`. Raises StorageError."""
    refuse_secrets(location)
    base, _ = split_authority(location)
    scheme = scheme_of(location) or ""
    storage_options = None if storage_options is None else without_space_around_secrets(location, storage_options)
    if storage_options is None and isinstance(near, ObjectStorage) and scheme_of(near.base + "/") == scheme:
        storage_options = near.options
    if scheme not in _OBJECT_SCHEMES:
        return _hadoop_storage(location, base, scheme, storage_options)
    if find_spec("obstore") is None:
        raise StorageError(f"Opening {location} needs obstore: {install_command('cloud')}.")
    return _object_storage(location, base, storage_options)


def located(storage: Storage, root: str) -> str:
    """Return the root location of a table in its storage: in Hadoop, with the authority of the configuration."""
    if isinstance(storage, ObjectStorage | ArrowStorage):
        return root
    # Only a location in Hadoop needs this import.
    from deltaskip.storage.hadoop import HadoopStorage

    return storage.located(root) if isinstance(storage, HadoopStorage) else root


def _hadoop_storage(location: str, base: str, scheme: str, options: Mapping[str, str] | None) -> Storage:
    from deltaskip.storage.hadoop import session_storage

    found = session_storage(location)
    if found is None and scheme not in HADOOP_SCHEMES:
        known = ", ".join(sorted({"file", *HADOOP_SCHEMES, *_OBJECT_SCHEMES}))
        use = f"write {_WRITTEN[scheme]}" if scheme in _WRITTEN else f"use a local path or one of {known}"
        raise StorageError(
            f"Unsupported scheme {scheme!r} of {location}: {use}, or first start a Spark session whose Hadoop "
            f"configuration supports the scheme."
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
        return _libhdfs_storage(location, base)
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


def _libhdfs_storage(location: str, base: str) -> Storage:
    try:
        files, prefix = pafs.FileSystem.from_uri(base + "/")
    except (OSError, pa.ArrowException, ValueError) as error:
        if isinstance(error, DeltaSkipError):
            raise
        raise opening_error(error, location, {}) from error
    return ArrowStorage(files, prefix, base)
